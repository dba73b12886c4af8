//! The directions in which residuals lie.

use crate::kernel::factor::FactorError;
use crate::kernel::small::{Eigen, symmetric_eigen};

/// A direction with less of the residuals' square than this, of all of it, is rounding.
const NOTHING: f64 = 1e-10;

/// Orthogonal directions, from that with most of the residuals down.
pub(super) struct Spread {
    eigen: Eigen,
    /// The square of each residual.
    squares: Vec<f64>,
}

impl Spread {
    /// Given the products of so many residuals with each other.
    pub(super) fn of(gram: &[f64], order: usize) -> Result<Self, FactorError> {
        let squares = gram.iter().step_by(order + 1).copied().collect();
        Ok(Self { eigen: symmetric_eigen(gram, order)?, squares })
    }

    /// How many of them it takes until no more than this is left of any residual: all that are not rounding, if that is never.
    pub(super) fn count(&self, enough: f64) -> usize {
        let (values, order) = (&self.eigen.values, self.squares.len());
        let least = NOTHING * values.first().copied().unwrap_or(0.0);
        let real = values.iter().take_while(|&&value| value > least && value > 0.0).count();
        let (mut left, enough) = (self.squares.clone(), enough * enough);
        let mut count = 0;
        while count < real && left.iter().any(|&square| square > enough) {
            for (square, row) in left.iter_mut().zip(self.eigen.vectors.chunks_exact(order)) {
                *square -= values[count] * row[count] * row[count];
            }
            count += 1;
        }
        count
    }

    /// What to multiply the residuals with to get the first so many as columns of unit length.
    pub(super) fn first(&self, count: usize) -> Vec<f64> {
        let rows = self.eigen.vectors.chunks_exact(self.squares.len().max(1));
        rows.flat_map(|row| row[..count].iter().zip(&self.eigen.values).map(|(entry, value)| entry / value.sqrt()))
            .collect()
    }
}
