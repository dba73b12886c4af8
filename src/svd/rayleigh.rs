//! The small matrix T that a factorisation leaves of the operator, and its Ritz triplets.

use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

use super::factorization::Kind;
use super::small::{Eigenpairs, eigen, largest, stored, svd};
use super::tuning::LEAST_SQUARE;
use crate::kernel::banded::{Banded, Eigenpair};
use crate::kernel::factor::FactorError;

/// T, of `MᵀM·V ≈ V·T` or of `MᵀU = V·T`: one column for each column of V or of U.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RayleighQuotient {
    kind: Kind,
    #[serde(with = "stored")]
    entries: Mat<f64>,
    /// The width of the widest block, which is the bandwidth as long as T is block tridiagonal.
    bandwidth: usize,
    /// Whether T is block tridiagonal.
    is_banded: bool,
}

/// Ritz values, and what rotates the bases into Ritz vectors.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ritz {
    /// Approximate singular values, from the largest down.
    pub(super) values: Vec<f64>,
    /// One row for each column of U, one column for each value; empty where U is not kept.
    #[serde(with = "stored")]
    pub(super) left: Mat<f64>,
    /// One row for each column of V.
    #[serde(with = "stored")]
    pub(super) right: Mat<f64>,
}

impl RayleighQuotient {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, entries: Mat::new(), bandwidth: 0, is_banded: kind == Kind::Normal }
    }

    /// The number of columns.
    pub(super) fn order(&self) -> usize {
        self.entries.ncols()
    }

    /// Adds columns, with one row for each column of V. The T of MᵀM stays symmetric: its rows are
    /// those columns, and of the two triangles of a diagonal block the mean is taken.
    pub(super) fn push(&mut self, columns: MatRef<'_, f64>) {
        let (rows, before) = (columns.nrows(), self.order());
        self.entries.resize_with(rows, before + columns.ncols(), |_, _| 0.0);
        self.entries.subcols_mut(before, columns.ncols()).copy_from(columns);
        if self.kind == Kind::Normal {
            for column in before..rows {
                for row in 0..before {
                    self.entries[(column, row)] = self.entries[(row, column)];
                }
                for row in before..column {
                    let mean = 0.5 * (self.entries[(row, column)] + self.entries[(column, row)]);
                    (self.entries[(row, column)], self.entries[(column, row)]) = (mean, mean);
                }
            }
        }
        self.bandwidth = self.bandwidth.max(columns.ncols());
    }

    /// Notes that the next columns couple to more than the last block.
    pub(super) fn no_longer_banded(&mut self) {
        self.is_banded = false;
    }

    /// The quotient after the bases were rotated into the Ritz vectors of these values.
    pub(super) fn restart(&mut self, values: &[f64]) {
        let power = if self.kind == Kind::Normal { 2 } else { 1 };
        let entry = |row: usize, column: usize| if row == column { values[row].powi(power) } else { 0.0 };
        self.entries = Mat::from_fn(values.len(), values.len(), entry);
        self.is_banded = false;
    }

    /// How many times as long the longest column of T is as the longest of the last `count`.
    pub(super) fn stretch(&self, count: usize) -> f64 {
        let longest = |columns: MatRef<'_, f64>| columns.col_iter().map(|column| column.norm_l2()).fold(0.0, f64::max);
        let (all, last) = (
            longest(self.entries.as_ref()),
            longest(self.entries.subcols(self.order().saturating_sub(count), count.min(self.order()))),
        );
        if last > 0.0 { all / last } else { 1.0 }
    }

    /// The first `count` Ritz triplets, or all. Of a T that is not symmetric the first are eigenvectors
    /// of TᵀT, which take a fraction of the time, where the squares of the values are far above
    /// rounding.
    pub(super) fn ritz(&self, count: Option<usize>) -> Result<Ritz, FactorError> {
        let t = &self.entries;
        let count = count.unwrap_or(self.order()).min(t.nrows()).min(t.ncols());
        let is_all = count == t.ncols();
        if self.kind == Kind::Normal {
            let found = if is_all { eigen(t.as_ref())? } else { largest(t.as_ref(), count)? };
            return Ok(Ritz::of_squares(found));
        }
        if !is_all && count > 0 {
            let Eigenpairs { values, vectors: left } = largest((t.transpose() * t).as_ref(), count)?;
            if values[count - 1] > LEAST_SQUARE * values[0] {
                let values: Vec<f64> = values.iter().map(|value| value.sqrt()).collect();
                let images = t * &left;
                let right = Mat::from_fn(t.nrows(), count, |row, column| images[(row, column)] / values[column]);
                return Ok(Ritz { values, left, right });
            }
        }
        let (right, mut values, left) = svd(t.as_ref())?;
        values.truncate(count);
        let first = |vectors: Mat<f64>| vectors.subcols(0, values.len()).to_owned();
        Ok(Ritz { left: first(left), right: first(right), values })
    }

    /// The Ritz pair at position `place` alone, by bisection and inverse iteration on the banded T;
    /// `None` where T is not banded or the pair is not found.
    pub(super) fn one(&self, place: usize) -> Option<Ritz> {
        if !self.is_banded {
            return None;
        }
        let banded = Banded::new(self.order(), self.bandwidth, |row, column| self.entries[(row, column)]);
        let Eigenpair { value, vector } = banded.eigenpair(place)?;
        let vectors = Mat::from_fn(vector.len(), 1, |row, _| vector[row]);
        Some(Ritz::of_squares(Eigenpairs { values: vec![value], vectors }))
    }
}

impl Ritz {
    /// From the eigenpairs of the symmetric T of MᵀM.
    fn of_squares(Eigenpairs { values, vectors: right }: Eigenpairs) -> Self {
        let values = values.into_iter().map(|value| value.max(0.0).sqrt()).collect();
        Self { values, left: Mat::new(), right }
    }

    /// Of bases that are Ritz vectors themselves.
    pub(super) fn of_rotated_bases(kind: Kind, values: &[f64]) -> Self {
        let right = Mat::identity(values.len(), values.len());
        let left = if kind == Kind::Normal { Mat::new() } else { right.clone() };
        Self { values: values.to_vec(), left, right }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::normal;

    /// A banded T of blocks with these widths, coupled by triangles.
    fn banded(widths: &[usize]) -> RayleighQuotient {
        let block_of: Vec<usize> = widths.iter().enumerate().flat_map(|(block, &width)| vec![block; width]).collect();
        let place_in = |row: usize| row - widths[..block_of[row]].iter().sum::<usize>();
        let drawn = |row: usize, column: usize| f64::from(normal(5, 1, row as u64, column as u32));
        let lower = |row: usize, column: usize| match block_of[row] - block_of[column] {
            0 if row == column => 5.0 + 0.3 * drawn(row, column),
            0 => 0.1 * drawn(row, column),
            1 if place_in(row) <= place_in(column) => 0.5 * drawn(row, column),
            _ => 0.0,
        };
        let mut quotient = RayleighQuotient::new(Kind::Normal);
        for &width in widths {
            let before = quotient.order();
            let entry = |row: usize, column: usize| lower(row.max(before + column), row.min(before + column));
            quotient.push(Mat::from_fn(before + width, width, entry).as_ref());
        }
        quotient
    }

    /// Catches a pair that is found alone and is not the one found with all others, and a bandwidth
    /// that is that of the newest block where an earlier one is wider.
    #[test]
    fn a_pair_found_alone_is_the_one_found_with_all() {
        let rank = 10;
        for widths in [vec![4; 9], vec![4, 4, 4, 4, 4, 3, 2, 1]] {
            let quotient = banded(&widths);
            let all = quotient.ritz(Some(rank)).unwrap();
            let one = quotient.one(rank - 1).expect("it is positive");
            assert!((one.values[0] - all.values[rank - 1]).abs() < 1e-4 * one.values[0], "{widths:?}");
            let product = one.right.col(0).transpose() * all.right.col(rank - 1);
            assert!((product.abs() - 1.0).abs() < 1e-3, "{widths:?}: {product}");
        }
        let mut quotient = banded(&[4; 9]);
        quotient.restart(&[3.0, 2.0]);
        assert!(quotient.one(0).is_none(), "after a restart T is an arrowhead");
    }
}
