//! The matrix between the two bases.

use serde::{Deserialize, Serialize};

use crate::kernel::factor::FactorError;
use crate::kernel::small::{SmallSvd, small_svd};

/// T of `NᵀU = V·T`: a row for each column of V, a column for each of U.
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

impl Triplets {
    /// One right vector, as a combination of the columns of V.
    pub(super) fn right_of(&self, place: usize) -> Vec<f64> {
        self.right.iter().skip(place).step_by(self.values.len().max(1)).copied().collect()
    }

    /// The first `count` of them.
    pub(super) fn first(&self, count: usize) -> Self {
        let of = self.values.len();
        let places: Vec<usize> = (0..count.min(of)).collect();
        let values = self.values[..places.len()].to_vec();
        Self { values, left: picked(&self.left, of, &places), right: picked(&self.right, of, &places) }
    }
}

/// Some columns of a small matrix that has `of`.
pub(super) fn picked(matrix: &[f64], of: usize, places: &[usize]) -> Vec<f64> {
    matrix.chunks_exact(of.max(1)).flat_map(|row| places.iter().map(|&place| row[place])).collect()
}

impl Table {
    pub(super) fn rows(&self) -> usize {
        self.entries.len().checked_div(self.columns).unwrap_or(0)
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn diagonal(values: &[f64]) -> Self {
        let columns = values.len();
        let mut entries = vec![0.0; columns * columns];
        entries.iter_mut().step_by(columns + 1).zip(values).for_each(|(entry, value)| *entry = *value);
        Self { columns, entries }
    }

    /// Adds columns to U: `products` are those of V, with all that is new in it, and their images. V holds all images, so
    /// what is new in it has nothing of those before.
    pub(super) fn push(&mut self, products: &[f64], width: usize) {
        let before = self.columns;
        self.entries.resize(products.len() / width.max(1) * before, 0.0);
        let mut entries = Vec::with_capacity(self.entries.len() + products.len());
        for (row, more) in products.chunks_exact(width.max(1)).enumerate() {
            entries.extend_from_slice(&self.entries[row * before..(row + 1) * before]);
            entries.extend_from_slice(more);
        }
        self.entries = entries;
        self.columns += width;
    }

    /// What Nᵀ of U has in common with a column of V that is this combination: one number a column of U.
    pub(super) fn of_combination(&self, factors: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.columns];
        for (row, factor) in self.entries.chunks_exact(self.columns.max(1)).zip(factors) {
            sums.iter_mut().zip(row).for_each(|(sum, entry)| *sum += factor * entry);
        }
        sums
    }

    /// The largest `most` triplets; those of zero are left out.
    pub(super) fn decompose(&self, most: usize) -> Result<Triplets, FactorError> {
        let SmallSvd { left, values, right } = small_svd(&self.entries, self.rows(), self.columns)?;
        let count = values.iter().take(most).take_while(|&&value| value > 0.0).count();
        Ok(Triplets { left: right, right: left, values }.first(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_in_both_bases_is_put_at_the_end() {
        let mut table = Table::diagonal(&[3.0, 2.0]);
        table.push(&[0.5, 0.25, 4.0], 1);
        assert_eq!((table.rows(), table.columns()), (3, 3));
        assert_eq!(table.entries, [3.0, 0.0, 0.5, 0.0, 2.0, 0.25, 0.0, 0.0, 4.0]);
        assert_eq!(table.of_combination(&[1.0, 0.0, 1.0]), [3.0, 0.0, 4.5]);
        // Images that V holds already bring no row.
        table.push(&[1.0, 1.0, 1.0], 1);
        assert_eq!((table.rows(), table.columns()), (3, 4));
        let triplets = table.decompose(2).unwrap();
        assert_eq!((triplets.values.len(), triplets.left.len(), triplets.right.len()), (2, 8, 6));
        assert_eq!(picked(&[1.0, 2.0, 3.0, 4.0], 2, &[1]), [2.0, 4.0]);
    }
}
