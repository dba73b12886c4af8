//! The matrix between the two bases.

use serde::{Deserialize, Serialize};

use crate::kernel::factor::FactorError;
use crate::kernel::small::{SmallSvd, small_svd};

/// A small matrix that grows: a row for each column of V, a column for each of U.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Table {
    columns: usize,
    /// Row after row.
    entries: Vec<f64>,
}

/// Its singular triplets.
#[derive(Clone)]
pub(super) struct Triplets {
    pub(super) values: Vec<f64>,
    /// One row a column of U, one column a triplet.
    pub(super) left: Vec<f64>,
    /// One row a column of V.
    pub(super) right: Vec<f64>,
}

impl Table {
    pub(super) fn rows(&self) -> usize {
        self.entries.len().checked_div(self.columns).unwrap_or(0)
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// How many entries it has.
    pub(super) fn entries(&self) -> usize {
        self.entries.len()
    }

    /// A matrix without rows yet, for so many columns of U.
    pub(super) fn of_columns(columns: usize) -> Self {
        Self { columns, entries: Vec::new() }
    }

    pub(super) fn diagonal(values: &[f64]) -> Self {
        let columns = values.len();
        let mut entries = vec![0.0; columns * columns];
        entries.iter_mut().step_by(columns + 1).zip(values).for_each(|(entry, value)| *entry = *value);
        Self { columns, entries }
    }

    /// Rows for new columns of V, from the products of U with their images: a row for each column of U, `width` columns.
    pub(super) fn push_rows(&mut self, products: &[f64], width: usize) {
        let of_basis = &products[..self.columns * width];
        for place in 0..width {
            self.entries.extend(of_basis.iter().skip(place).step_by(width));
        }
    }

    /// Rows for new columns of V, from their own products with the images of each block of U, which has so many
    /// columns: `height` rows.
    pub(super) fn push_wide_rows(&mut self, products: &[(usize, Vec<f64>)], height: usize) {
        for row in 0..height {
            for (width, of_block) in products {
                self.entries.extend(&of_block[row * width..(row + 1) * width]);
            }
        }
    }

    /// Columns for new columns of U, from the products of V with their images.
    pub(super) fn push_columns(&mut self, products: &[f64], width: usize) {
        let (rows, columns) = (self.rows(), self.columns);
        let own = self.entries.chunks_exact(columns).zip(products[..rows * width].chunks_exact(width));
        self.entries = own.flat_map(|(row, more)| row.iter().chain(more)).copied().collect();
        self.columns += width;
    }

    /// The largest `most` triplets; those of zero are left out.
    pub(super) fn decompose(&self, most: usize) -> Result<Triplets, FactorError> {
        let SmallSvd { left, values, right } = small_svd(&self.entries, self.rows(), self.columns)?;
        let count = values.iter().take(most).take_while(|&&value| value > 0.0).count();
        let first = |rotation: &[f64]| -> Vec<f64> {
            rotation.chunks_exact(values.len().max(1)).flat_map(|row| &row[..count]).copied().collect()
        };
        Ok(Triplets { left: first(&right), right: first(&left), values: values[..count].to_vec() })
    }
}
