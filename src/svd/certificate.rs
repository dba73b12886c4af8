//! How far to trust the answer.

use serde::{Deserialize, Serialize};

use super::completeness::CompletenessCheck;
use crate::engine::{EngineError, Session, Shard};

/// Products in f32 make less than this multiple of σ₁ of a singular value of zero: each entry is a
/// sum over a row, and its rounding error grows with the length of the row.
const PRODUCT_ROUNDING: f64 = 16.0 * f32::EPSILON as f64;
/// Unit vectors in f32 make less than this multiple of σ₁ of a singular value of zero, where the
/// products with the dominant triplets are exact (sums over all rows are in f64): rounding each
/// entry turns a vector towards the dominant ones by at most ε/2, on either side.
const VECTOR_ROUNDING: f64 = 2.0 * f32::EPSILON as f64;
/// The relative residual of a triplet that is rounding and nothing else is one or more.
const NOISY_RESIDUAL: f64 = 0.5;

/// The measured residual of every triplet: ‖Mv − σu‖/σ or ‖Mᵀu − σv‖/σ, the one that is not zero by construction.
/// From vectors to start from it is measured along random directions, and told with a margin that is too small in one of twenty cases. Where a
/// near matrix stood for M, so that the other is not zero either, it is the root of the sum of both squares.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Certificate {
    /// One a triplet, in the order of the singular values.
    pub relative_residuals: Vec<f64>,
    /// What was found on the way, where somebody looked.
    pub looks: Vec<Look>,
    /// The check that no larger singular value is missing; `None` where it was not made.
    pub completeness: Option<CompletenessCheck>,
}

/// How far the triplets were at some moment on the way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Iterations made.
    pub iterations: usize,
    /// Columns multiplied by M or its transpose, or what comes to as much work.
    pub operator_columns: usize,
    /// The worst residual of a wanted triplet, relative to its own σ; where the last one was too large already, that one.
    pub worst_residual: f64,
}

/// Singular values below this cannot be told from zero, given the largest one.
pub(super) fn rounding_level(largest: f64) -> f64 {
    VECTOR_ROUNDING * largest
}

/// How many triplets at the front are more than rounding, given M·V, U and ‖Mv − σu‖² of each
/// triplet, or the same of the transpose.
///
/// A small singular value is real if its residual is small without the components along the dominant
/// vectors: what rounding leaves of those in a unit vector of f32 is multiplied by their σ, and may
/// be most of the residual of a triplet that is right otherwise.
pub(super) fn count_significant(
    session: &mut Session<'_>,
    images: &Shard,
    vectors: &Shard,
    residual_squares: &[f64],
    singular_values: &[f64],
) -> Result<usize, EngineError> {
    let found = singular_values.len();
    let level = PRODUCT_ROUNDING * singular_values.first().copied().unwrap_or(0.0);
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
        !is_rounding
    };
    Ok(dominant + (dominant..found).take_while(is_real).count())
}

/// The largest of some residuals; NaN where one is, `None` where there are none.
pub fn worst_residual(residuals: &[f64]) -> Option<f64> {
    let larger = |worst: f64, residual: f64| if worst.is_nan() || residual <= worst { worst } else { residual };
    residuals.iter().copied().reduce(larger)
}

impl Certificate {
    /// Divides each residual by its own singular value.
    pub(super) fn new(residual_squares: &[f64], singular_values: &[f64]) -> Self {
        // Rounding may leave a negative square; NaN stays what it is.
        let root = |square: f64| if square < 0.0 { 0.0 } else { square.sqrt() };
        let relative = |(square, sigma): (&f64, &f64)| root(*square) / sigma;
        Self {
            relative_residuals: residual_squares.iter().zip(singular_values).map(relative).collect(),
            ..Self::default()
        }
    }

    /// The largest; 0 where there are no triplets, NaN where one is.
    pub fn worst(&self) -> f64 {
        worst_residual(&self.relative_residuals).unwrap_or(0.0)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a residual that is not a number and is passed over.
    #[test]
    fn one_residual_that_is_not_a_number_spoils_the_certificate() {
        for relative_residuals in [vec![0.9, f64::NAN, 0.1], vec![f64::NAN, 0.1], vec![0.1, f64::NAN]] {
            assert!(Certificate { relative_residuals, ..Certificate::default() }.worst().is_nan());
        }
        assert!(Certificate::new(&[1e-6, f64::NAN, 1e-8], &[1.0; 3]).worst().is_nan());
        assert_eq!(Certificate::new(&[-1e-20, 1e-4], &[1.0; 2]).worst(), 1e-2);
        assert_eq!(Certificate::default().worst(), 0.0);
    }
}
