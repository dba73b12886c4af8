//! Residuals along a few random directions.

use super::options::SvdError;
use crate::engine::{Session, Shard};
use crate::kernel::random;

/// Random directions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Directions {
    /// How many.
    pub(super) count: usize,
    /// Names them.
    pub(super) seed: u64,
    /// The program that multiplies them by Nᵀ.
    pub(super) program: usize,
}

impl Directions {
    /// ‖Nx − σy‖² of each x, σ and y, up to chance: `Ωᵀ(Nx − σy)` for random directions Ω follows from NᵀΩ, and is as long.
    pub(super) fn residual_squares(
        self,
        session: &mut Session<'_>,
        x: &Shard,
        values: &[f64],
        y: &Shard,
    ) -> Result<Vec<f64>, SvdError> {
        let omega = session.random_normal(y.total_rows(), self.count, self.seed, random::stream::PROBE)?;
        let images = session.multiply(self.program, &omega)?;
        let (of_x, of_y) = (session.gram_against(&[images], x)?, session.gram_against(&[omega], y)?);
        let square = |(column, value): (usize, &f64)| {
            let along = |row: usize| of_x[row * values.len() + column] - value * of_y[row * values.len() + column];
            (0..self.count).map(|row| along(row).powi(2)).sum::<f64>() / self.count as f64
        };
        Ok(values.iter().enumerate().map(square).collect())
    }
}
