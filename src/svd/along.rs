//! Residuals along a few random directions.

use super::options::SvdError;
use crate::engine::{Session, Shard};
use crate::kernel::random;

/// Random directions Ω, and what the transpose of a matrix A makes of them.
pub(super) struct Directions {
    pub(super) omega: Shard,
    /// AᵀΩ
    pub(super) images: Shard,
}

impl Directions {
    /// So many directions in so many dimensions; a seed names them.
    pub(super) fn draw(session: &mut Session<'_>, rows: usize, count: usize, seed: u64) -> Result<Shard, SvdError> {
        Ok(session.random_normal(rows, count, seed, random::stream::PROBE)?)
    }

    /// ‖Ax − σy‖² of each x, σ and y, up to chance: `Ωᵀ(Ax − σy)` follows from AᵀΩ, and is as long.
    pub(super) fn residual_squares(
        self,
        session: &mut Session<'_>,
        x: &Shard,
        values: &[f64],
        y: &Shard,
    ) -> Result<Vec<f64>, SvdError> {
        let count = self.omega.cols();
        let (of_x, of_y) = (session.cross_gram(&self.images, x)?, session.cross_gram(&self.omega, y)?);
        let square = |(column, value): (usize, &f64)| {
            let along = |row: usize| of_x[row * values.len() + column] - value * of_y[row * values.len() + column];
            (0..count).map(|row| along(row).powi(2)).sum::<f64>() / count as f64
        };
        Ok(values.iter().enumerate().map(square).collect())
    }
}
