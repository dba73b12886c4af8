//! How far to trust the answer.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::completeness::CompletenessCheck;
use crate::engine::{EngineError, Session, Shard};

/// Products in f32 turn a singular value of zero into less than this multiple of σ₁: each entry is
/// a sum over a row, and its rounding error grows with the length of the row.
pub(super) const PRODUCT_ROUNDING: f64 = 16.0 * f32::EPSILON as f64;
/// Unit vectors in f32 turn a singular value of zero into less than this multiple of σ₁, where the
/// products with the dominant triplets are exact (sums over all rows are in f64): rounding each
/// entry turns a vector towards the dominant ones by at most ε/2, on either side.
const VECTOR_ROUNDING: f64 = 2.0 * f32::EPSILON as f64;
/// Below this multiple of σ₁ there is nothing that unit vectors in f32 can tell from rounding: Ritz
/// values are as accurate as the square of their vectors.
const NOTHING: f64 = 16.0 * (f32::EPSILON as f64) * (f32::EPSILON as f64);
/// The relative residual of a triplet that is rounding and nothing else is one or more.
const NOISY_RESIDUAL: f64 = 0.5;

/// How residuals are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Evidence {
    /// By products with M itself.
    #[default]
    Measured,
    /// From small matrices, or by a bound.
    Estimated,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured",
            Self::Estimated => "estimated",
        })
    }
}

/// What is known of the errors of a decomposition.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Certificate {
    /// The larger of ‖Mv − σu‖/σ and ‖Mᵀu − σv‖/σ of every triplet, in the order of the singular
    /// values. Where u is made of M·v, the first is zero up to rounding and only the second is
    /// measured.
    pub relative_residuals: Vec<f64>,
    /// How the residuals are known.
    pub evidence: Evidence,
    /// The largest entry of |UᵀU − I| and |VᵀV − I|.
    pub orthogonality_loss: f64,
    /// The triplets are exact for M + E with ‖E‖ at most about this multiple of σ₁.
    pub backward_error: f64,
    /// What the checks on the way to the answer found.
    pub history: Vec<ConvergenceCheck>,
    /// The check that no larger singular value is missing; `None` where it was not made.
    pub completeness: Option<CompletenessCheck>,
}

/// What a check on the way to an answer found. Its residual is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ConvergenceCheck {
    /// Iterations made.
    pub iterations: usize,
    /// Columns multiplied by M or its transpose; those of a surrogate count as the part of the work
    /// that they are.
    pub operator_columns: usize,
    /// The worst residual of a wanted triplet, relative to its own σ; where the last wanted one alone
    /// was too large, that one.
    pub worst_residual: f64,
}

/// Whether a certificate meets a tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Every measured residual is within the tolerance.
    Met,
    /// A residual is larger than the tolerance, or not a number.
    Missed,
    /// The estimates are within the tolerance, but nothing was measured.
    NotMeasured,
}

/// Singular values below this cannot be told from zero, given the largest one.
pub(super) fn rounding_level(largest: f64) -> f64 {
    VECTOR_ROUNDING * largest
}

/// How many triplets at the front are more than rounding, given M·V, U and ‖Mv − σu‖² of each
/// triplet, or the same of the transpose.
///
/// A small singular value is real if its residual is small without the components along the
/// dominant vectors: what rounding leaves of those in a unit vector of f32 is multiplied by their
/// σ, and may be most of the residual of a triplet that is right otherwise.
pub(super) fn count_significant(
    session: &mut Session<'_>,
    images: &Shard,
    vectors: &Shard,
    residual_squares: &[f64],
    singular_values: &[f64],
) -> Result<usize, EngineError> {
    let first = singular_values.first().copied().unwrap_or(0.0);
    let (found, level) = (singular_values.len(), PRODUCT_ROUNDING * first);
    let dominant = singular_values.iter().take_while(|value| **value > level).count();
    if dominant == found {
        return Ok(found);
    }
    let components = session.cross_gram(vectors, images)?;
    let is_real = |place: &usize| {
        let along_dominant: f64 = (0..dominant).map(|row| components[row * found + place].powi(2)).sum();
        // A residual that is not a number is no rounding.
        let is_rounding =
            residual_squares[*place] - along_dominant >= (NOISY_RESIDUAL * singular_values[*place]).powi(2);
        singular_values[*place] > NOTHING * first && !is_rounding
    };
    Ok(dominant + (dominant..found).take_while(is_real).count())
}

/// The largest of some residuals; NaN where one is, `None` where there are none.
pub fn worst_residual(residuals: &[f64]) -> Option<f64> {
    residuals.iter().copied().reduce(larger)
}

/// The larger of two numbers, or the one that is NaN.
pub(super) fn larger(one: f64, other: f64) -> f64 {
    if other <= one || one.is_nan() { one } else { other }
}

impl Certificate {
    /// Measured residuals, given their squares and the singular values.
    pub(super) fn new(residual_squares: &[f64], singular_values: &[f64]) -> Self {
        // Rounding may leave a negative square; NaN stays what it is.
        let root = |square: f64| if square < 0.0 { 0.0 } else { square.sqrt() };
        let relative = |(square, sigma): (&f64, &f64)| root(*square) / sigma;
        let total: f64 = residual_squares.iter().map(|&square| root(square).powi(2)).sum();
        let first = singular_values.first().copied().unwrap_or(1.0);
        Self {
            relative_residuals: residual_squares.iter().zip(singular_values).map(relative).collect(),
            // E = −R·Vᵀ − U·Sᵀ with the residuals R of Mv = σu and S of Mᵀu = σv.
            backward_error: (2.0 * total).sqrt() / first,
            ..Self::default()
        }
    }

    /// Measured residuals, and nothing else.
    #[cfg(all(test, feature = "experiment"))]
    pub(crate) fn of_residuals(relative_residuals: &[f64]) -> Self {
        Self { relative_residuals: relative_residuals.to_vec(), ..Self::default() }
    }

    /// The largest; 0 where there are no triplets, NaN where one is.
    pub fn worst(&self) -> f64 {
        worst_residual(&self.relative_residuals).unwrap_or(0.0)
    }

    /// Whether the residuals are within a tolerance. An estimate does not pass for a measurement.
    pub fn verdict(&self, tolerance: f64) -> Verdict {
        let is_within = self.worst() <= tolerance;
        match self.evidence {
            Evidence::Measured if is_within => Verdict::Met,
            Evidence::Estimated if is_within => Verdict::NotMeasured,
            _ => Verdict::Missed,
        }
    }

    /// How many triplets at the front are more than rounding, as far as their residuals alone say: a
    /// singular value that rounding may make of zero has a residual as large as itself. So has one that
    /// is still to converge.
    pub(super) fn count_real(&self, singular_values: &[f64]) -> usize {
        let noise = rounding_level(singular_values.first().copied().unwrap_or(0.0));
        let pairs = singular_values.iter().zip(&self.relative_residuals);
        pairs
            .take_while(|(value, residual)| **value > noise || residual.is_nan() || **residual < NOISY_RESIDUAL)
            .count()
    }

    /// The same for the first `count` triplets.
    pub(super) fn truncated(mut self, count: usize) -> Self {
        self.relative_residuals.truncate(count);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a residual that is not a number and is passed over.
    #[test]
    fn one_residual_that_is_not_a_number_spoils_the_certificate() {
        for relative_residuals in [vec![0.9, f64::NAN, 0.1], vec![f64::NAN, 0.1], vec![0.1, f64::NAN]] {
            let certificate = Certificate { relative_residuals, ..Certificate::default() };
            assert!(certificate.worst().is_nan());
            assert_eq!(certificate.verdict(10.0), Verdict::Missed);
        }
        assert!(Certificate::new(&[1e-6, f64::NAN, 1e-8], &[1.0; 3]).worst().is_nan());
        assert_eq!(Certificate::new(&[-1e-20, 1e-4], &[1.0; 2]).worst(), 1e-2);
        assert_eq!(Certificate::default().worst(), 0.0);
    }

    /// Catches an estimate that passes for a measurement.
    #[test]
    fn an_estimate_does_not_meet_a_tolerance() {
        let certificate = |evidence| Certificate { evidence, ..Certificate::new(&[1e-4], &[1.0]) };
        assert_eq!(certificate(Evidence::Measured).verdict(0.02), Verdict::Met);
        assert_eq!(certificate(Evidence::Estimated).verdict(0.02), Verdict::NotMeasured);
        assert_eq!(certificate(Evidence::Estimated).verdict(0.005), Verdict::Missed);
    }
}
