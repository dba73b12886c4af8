//! The matrix between the two bases.

use serde::{Deserialize, Serialize};

use crate::kernel::factor::FactorError;
use crate::kernel::small::{SmallSvd, small_svd};

/// `T` of `MᵀU = V·T`, a column for each column of U.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Projected {
    /// Column after column; what is missing at the end of a column is zero.
    columns: Vec<Vec<f64>>,
}

/// The SVD of T: rotations of both bases into singular vectors.
pub(super) struct Rotations {
    pub(super) singular_values: Vec<f64>,
    /// One row a column of U, one column a triplet.
    pub(super) left: Vec<f64>,
    /// One row a column of V.
    pub(super) right: Vec<f64>,
}

impl Projected {
    /// The images of new columns of U, row after row, one row a column of V.
    pub(super) fn push(&mut self, coefficients: &[f64], width: usize) {
        let column = |place: usize| coefficients.iter().skip(place).step_by(width).copied().collect();
        self.columns.extend((0..width).map(column));
    }

    /// When both bases are rotated, what is left of T is its first singular values.
    pub(super) fn restart(&mut self, singular_values: &[f64]) {
        let column = |(place, value): (usize, &f64)| {
            let mut column = vec![0.0; place];
            column.push(*value);
            column
        };
        self.columns = singular_values.iter().enumerate().map(column).collect();
    }

    /// Decomposes T, which has `rows` rows.
    pub(super) fn decompose(&self, rows: usize) -> Result<Rotations, FactorError> {
        let width = self.columns.len();
        let mut entries = vec![0.0; rows * width];
        for (place, column) in self.columns.iter().enumerate() {
            for (row, entry) in column.iter().enumerate() {
                entries[row * width + place] = *entry;
            }
        }
        let SmallSvd { left, values, right } = small_svd(&entries, rows, width)?;
        Ok(Rotations { singular_values: values, left: right, right: left })
    }
}

impl Rotations {
    /// The first `count` columns of a rotation.
    pub(super) fn first(rotation: &[f64], of: usize, count: usize) -> Vec<f64> {
        rotation.chunks_exact(of.max(1)).flat_map(|row| &row[..count]).copied().collect()
    }

    /// ‖Mv − σu‖/σ of the first `count` triplets, from what M makes of the last columns of V beyond U: `coupling`, with as
    /// many columns. M makes nothing of the others beyond U.
    pub(super) fn relative_residuals(&self, coupling: &[f64], width: usize, count: usize) -> Vec<f64> {
        let of = self.singular_values.len();
        let last = &self.right[self.right.len() - width * of..];
        let mut squares = vec![0.0; count];
        let mut sums = vec![0.0; count];
        for row in coupling.chunks_exact(width.max(1)) {
            sums.fill(0.0);
            for (factor, entries) in row.iter().zip(last.chunks_exact(of)) {
                sums.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += factor * entry);
            }
            squares.iter_mut().zip(&sums).for_each(|(square, sum)| *square += sum * sum);
        }
        squares.iter().zip(&self.singular_values).map(|(square, value)| square.sqrt() / value).collect()
    }
}
