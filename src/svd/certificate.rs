//! How far to trust the answer.

use serde::{Deserialize, Serialize};

use super::completeness::CompletenessCheck;

/// Singular values below this many times the largest may be what rounding makes of zero.
const ROUNDING: f64 = 16.0 * f32::EPSILON as f64;
/// They are, if their relative residual is above this: that of pure rounding is one or more.
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

/// Singular values below this may be what rounding makes of zero, given the largest one.
pub(super) fn rounding_level(largest: f64) -> f64 {
    ROUNDING * largest
}

impl Certificate {
    /// Divides each residual by its own singular value.
    pub(super) fn new(residual_squares: &[f64], singular_values: &[f64]) -> Self {
        let relative = |(square, sigma): (&f64, &f64)| square.max(0.0).sqrt() / sigma;
        Self {
            relative_residuals: residual_squares.iter().zip(singular_values).map(relative).collect(),
            ..Self::default()
        }
    }

    /// The largest; 0 where there are no triplets, NaN where one is.
    pub fn worst(&self) -> f64 {
        let larger = |worst: f64, residual: f64| if residual <= worst { worst } else { residual };
        self.relative_residuals.iter().copied().fold(0.0, larger)
    }

    /// How many triplets at the front are more than rounding. A singular value that is tiny beside the largest and no
    /// larger than about its own residual is what rounding makes of zero.
    pub(super) fn count_real(&self, singular_values: &[f64]) -> usize {
        let noise = rounding_level(singular_values.first().copied().unwrap_or(0.0));
        let pairs = singular_values.iter().zip(&self.relative_residuals);
        pairs.take_while(|(value, residual)| **value > noise || **residual < NOISY_RESIDUAL).count()
    }
}
