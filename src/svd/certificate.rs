//! How far to trust the answer.

/// The measured residual ‖Mv − σu‖/σ of every triplet.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Certificate {
    /// One a triplet, in the order of the singular values.
    pub relative_residuals: Vec<f64>,
}

impl Certificate {
    /// Divides each residual by its own singular value.
    pub(super) fn new(residual_squares: &[f64], singular_values: &[f64]) -> Self {
        let relative = |(square, sigma): (&f64, &f64)| square.max(0.0).sqrt() / sigma;
        Self { relative_residuals: residual_squares.iter().zip(singular_values).map(relative).collect() }
    }

    /// The largest; 0 where there are no triplets.
    pub fn worst(&self) -> f64 {
        self.relative_residuals.iter().copied().fold(0.0, f64::max)
    }
}
