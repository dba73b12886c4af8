//! Cholesky factors of Gram matrices with dependent columns.
//!
//! A Gram matrix of nearly dependent columns has pivots near zero. The caller may inspect them,
//! shift the diagonal, or drop dependent columns, so the blocked factorisation is written here, and
//! the library multiplies.

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_inverse::invert_upper_triangular;
use faer::{Accum, MatMut, MatRef, Par};
use thiserror::Error;

/// Rows of a block.
const BLOCK: usize = 32;

/// Why a matrix has no factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FactorError {
    /// An entry is not finite, or became so.
    #[error(
        "entry ({row}, {col}) of a small matrix is not a finite number: the block it was computed from overflowed or holds bad values"
    )]
    NotFinite {
        /// Row of the entry.
        row: usize,
        /// Column of the entry.
        col: usize,
    },
    /// The singular value iteration did not settle.
    #[error("the singular values of a {rows} × {cols} matrix did not converge")]
    NoConvergence {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },
}

/// An upper triangular factor of a Gram matrix: `G ≈ RᵀR`.
#[derive(Clone, Debug, PartialEq)]
pub struct UpperFactor {
    /// Columns that were kept, ascending; the others depend on those before them.
    pub kept: Vec<usize>,
    /// `R`, `kept.len() × order`, row-major.
    pub upper: Vec<f64>,
    /// The smallest squared pivot, dropped ones included; infinite when the order is zero.
    pub smallest_pivot: f64,
    /// Columns of the Gram matrix.
    pub order: usize,
}

impl UpperFactor {
    /// Whether no column was dropped.
    pub fn is_full(&self) -> bool {
        self.kept.len() == self.order
    }

    /// The kept columns of `R`: square, upper triangular, row-major.
    pub fn square(&self) -> Vec<f64> {
        self.upper.chunks_exact(self.order.max(1)).flat_map(|row| self.kept.iter().map(|&j| row[j])).collect()
    }

    /// The matrix by which a panel is multiplied so that its kept columns become orthonormal: `R⁻¹`
    /// with zero rows at dropped columns, `order × kept.len()`, row-major.
    pub fn orthonormaliser(&self) -> Vec<f64> {
        let kept = self.kept.len();
        let inverse = invert_upper(&self.square(), kept);
        let mut out = vec![0.0; self.order * kept];
        for (i, &column) in self.kept.iter().enumerate() {
            out[column * kept..(column + 1) * kept].copy_from_slice(&inverse[i * kept..(i + 1) * kept]);
        }
        out
    }
}

/// A factor of the plain Gram matrix: a column is dropped only when its squared pivot is not
/// positive.
pub fn cholesky(gram: &[f64], order: usize) -> Result<UpperFactor, FactorError> {
    factor(gram, order, 0.0, 0.0)
}

/// Factors `gram + shift · I` (`order × order`, row-major, of which the upper triangle is read),
/// dropping every column whose squared pivot is not above `drop_below`.
///
/// Pivots measure dependence only for columns of equal length: scale the Gram matrix to a unit
/// diagonal first ([`scale_to_unit`]).
///
/// # Panics
/// If `gram` has another size.
pub fn factor(gram: &[f64], order: usize, shift: f64, drop_below: f64) -> Result<UpperFactor, FactorError> {
    assert_eq!(gram.len(), order * order, "a matrix of order {order}");
    check_finite(gram, order)?;
    let mut work = gram.to_vec();
    (0..order).for_each(|j| work[j * order + j] += shift);
    let mut kept = Vec::with_capacity(order);
    let mut smallest_pivot = f64::INFINITY;
    for first in (0..order).step_by(BLOCK) {
        let end = order.min(first + BLOCK);
        for j in first..end {
            let pivot = work[j * order + j];
            if !pivot.is_finite() {
                return Err(FactorError::NotFinite { row: j, col: j });
            }
            smallest_pivot = smallest_pivot.min(pivot);
            let (above, below) = work.split_at_mut((j + 1) * order);
            let row = &mut above[j * order..];
            if pivot <= drop_below {
                row.fill(0.0);
                continue;
            }
            kept.push(j);
            let root = pivot.sqrt();
            row[..j].fill(0.0);
            row[j..].iter_mut().for_each(|x| *x /= root);
            for i in j + 1..end {
                let factor = row[i];
                let target = &mut below[(i - j - 1) * order..][i..order];
                target.iter_mut().zip(&row[i..]).for_each(|(t, r)| *t -= factor * r);
            }
        }
        let rest = order - end;
        if rest > 0 {
            let (done, rest_rows) = work.split_at_mut(end * order);
            let rows = MatRef::from_row_major_slice(&done[first * order..], end - first, order).get(.., end..);
            let target = MatMut::from_row_major_slice_mut(rest_rows, rest, order).get_mut(.., end..);
            let (full, upper) = (BlockStructure::Rectangular, BlockStructure::TriangularUpper);
            matmul(target, upper, Accum::Add, rows.transpose(), full, rows, full, -1.0, Par::Seq);
        }
    }
    let upper = kept.iter().flat_map(|&j| work[j * order..(j + 1) * order].iter().copied()).collect();
    Ok(UpperFactor { kept, upper, smallest_pivot, order })
}

/// Scales rows and columns of a Gram matrix so that its diagonal is one, and returns the factor of
/// each column: one over its length, zero for a column of zeros or of numbers too small to tell
/// from them.
///
/// # Panics
/// If `gram` has another size.
pub fn scale_to_unit(gram: &mut [f64], order: usize) -> Vec<f64> {
    assert_eq!(gram.len(), order * order, "a matrix of order {order}");
    // A shorter column cannot be scaled to unit length in f32.
    let shortest = f64::from(f32::MIN_POSITIVE).powi(2);
    let inverse = |square: f64| {
        if square < shortest { 0.0 } else { 1.0 / square.sqrt() }
    };
    let scale: Vec<f64> = (0..order).map(|j| inverse(gram[j * order + j])).collect();
    for (row, s) in gram.chunks_exact_mut(order.max(1)).zip(&scale) {
        row.iter_mut().zip(&scale).for_each(|(x, t)| *x *= s * t);
    }
    scale
}

/// The inverse of an upper triangular matrix, row-major.
///
/// # Panics
/// If `upper` has another size.
pub fn invert_upper(upper: &[f64], order: usize) -> Vec<f64> {
    assert_eq!(upper.len(), order * order, "a matrix of order {order}");
    let mut out = vec![0.0; order * order];
    if order > 0 {
        let from = MatRef::from_row_major_slice(upper, order, order);
        let to = MatMut::from_row_major_slice_mut(&mut out, order, order);
        invert_upper_triangular(to, from, Par::Seq);
    }
    out
}

/// The position of a non-finite entry.
pub(super) fn check_finite(values: &[f64], cols: usize) -> Result<(), FactorError> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(place) => Err(FactorError::NotFinite { row: place / cols, col: place % cols }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    fn gram_of(rows: usize, cols: usize, column: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut gram = vec![0.0; cols * cols];
        for r in 0..rows {
            for i in 0..cols {
                (0..cols).for_each(|j| gram[i * cols + j] += column(r, i) * column(r, j));
            }
        }
        gram
    }

    fn drawn(r: usize, j: usize) -> f64 {
        f64::from(normal(4, 1, r as u64, j as u32))
    }

    fn error(gram: &[f64], f: &UpperFactor, shift: f64) -> f64 {
        let n = f.order;
        let mut worst = 0.0f64;
        for i in 0..n {
            for j in 0..n {
                let sum: f64 = f.upper.chunks_exact(n).map(|row| row[i] * row[j]).sum();
                let wanted = gram[i * n + j] + if i == j { shift } else { 0.0 };
                worst = worst.max((sum - wanted).abs());
            }
        }
        worst
    }

    #[test]
    fn factors_multiply_to_the_gram_matrix() {
        for order in [1, 2, 31, 32, 33, 100, 130] {
            let gram = gram_of(order + 20, order, drawn);
            for shift in [0.0, 0.5] {
                let f = factor(&gram, order, shift, 0.0).unwrap();
                assert!(f.is_full() && f.smallest_pivot > 0.0);
                assert!(error(&gram, &f, shift) < 1e-10, "{order}");
                assert!((0..order).all(|i| (0..i).all(|j| f.upper[i * order + j] == 0.0)));
                let inverse = invert_upper(&f.upper, order);
                for i in 0..order {
                    for j in 0..order {
                        let sum: f64 = (0..order).map(|k| f.upper[i * order + k] * inverse[k * order + j]).sum();
                        assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-9);
                    }
                }
            }
        }
        assert!(cholesky(&[], 0).unwrap().kept.is_empty());
    }

    #[test]
    fn dependent_columns_are_dropped() {
        // Column 3 is a sum of two others, column 40 a copy, column 50 zero.
        let order = 60;
        let column = |r: usize, j: usize| match j {
            3 => drawn(r, 0) + drawn(r, 1),
            40 => drawn(r, 7),
            50 => 0.0,
            _ => drawn(r, j),
        };
        let mut gram = gram_of(200, order, column);
        let scale = scale_to_unit(&mut gram, order);
        assert_eq!(scale[50], 0.0);
        let f = factor(&gram, order, 0.0, 1e-12).unwrap();
        let expected: Vec<usize> = (0..order).filter(|j| ![3, 40, 50].contains(j)).collect();
        assert_eq!(f.kept, expected);
        assert!(!f.is_full() && f.smallest_pivot.abs() < 1e-12);
        assert!(error(&gram, &f, 0.0) < 1e-10);
        let basis = f.orthonormaliser();
        let kept = f.kept.len();
        for i in 0..kept {
            for j in 0..kept {
                let mut sum = 0.0;
                for p in 0..order {
                    (0..order).for_each(|q| sum += basis[p * kept + i] * gram[p * order + q] * basis[q * kept + j]);
                }
                assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn bad_numbers_have_an_error() {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut gram = gram_of(20, 5, drawn);
            gram[2 * 5 + 3] = bad;
            assert_eq!(cholesky(&gram, 5), Err(FactorError::NotFinite { row: 2, col: 3 }));
        }
    }
}
