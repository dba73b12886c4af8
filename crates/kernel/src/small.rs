//! Products, eigenvalues and the SVD of small matrices, in f64.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par, Side};

use super::factor::{FactorError, check_finite};
use super::simd::faster;

/// A thin SVD, `A = U · diag(s) · Vᵀ`, with `k = min(rows, cols)`.
#[derive(Clone, Debug, PartialEq)]
pub struct SmallSvd {
    /// Left singular vectors, `rows × k`, row-major.
    pub left: Vec<f64>,
    /// Singular values, descending.
    pub values: Vec<f64>,
    /// Right singular vectors, `cols × k`, row-major.
    pub right: Vec<f64>,
}

/// The SVD of a `rows × cols` matrix, row-major.
///
/// # Panics
/// If `a` has another size.
pub fn small_svd(a: &[f64], rows: usize, cols: usize) -> Result<SmallSvd, FactorError> {
    assert_eq!(a.len(), rows * cols, "a matrix of {rows} × {cols}");
    check_finite(a, cols)?;
    if a.is_empty() {
        return Ok(SmallSvd { left: vec![], values: vec![], right: vec![] });
    }
    let svd = MatRef::from_row_major_slice(a, rows, cols)
        .thin_svd()
        .map_err(|_| FactorError::NoConvergence { rows, cols })?;
    let values = svd.S().column_vector().iter().copied().collect();
    Ok(SmallSvd { left: row_major(svd.U()), values, right: row_major(svd.V()) })
}

/// `A·B` of a `rows × depth` and a `depth × cols` matrix, row-major.
///
/// # Panics
/// If a matrix has another size.
pub fn small_product(a: &[f64], b: &[f64], rows: usize, depth: usize, cols: usize) -> Vec<f64> {
    let mut out = vec![0.0; rows * cols];
    let (a, b) = (MatRef::from_row_major_slice(a, rows, depth), MatRef::from_row_major_slice(b, depth, cols));
    matmul(MatMut::from_row_major_slice_mut(&mut out, rows, cols), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// `sum += A·B`, where `sum` and `B` have `cols` columns, row-major; with no columns or nothing to
/// sum, nothing happens.
///
/// # Panics
/// If the matrices do not fit each other.
pub fn add_small_product(sum: &mut [f64], a: &[f64], b: &[f64], cols: usize) {
    let depth = b.len().checked_div(cols).unwrap_or(0);
    if depth == 0 || sum.is_empty() {
        return;
    }
    let rows = sum.len() / cols;
    let (a, b) = (MatRef::from_row_major_slice(a, rows, depth), MatRef::from_row_major_slice(b, depth, cols));
    matmul(MatMut::from_row_major_slice_mut(sum, rows, cols), Accum::Add, a, b, 1.0, Par::Seq);
}

/// `sum −= AᵀA` for the rows of `a`, as many columns as `sum`, row-major.
///
/// # Panics
/// If the matrices do not fit each other.
pub fn subtract_gram(sum: &mut [f64], a: &[f64], cols: usize) {
    if a.is_empty() {
        return;
    }
    let a = MatRef::from_row_major_slice(a, a.len() / cols, cols);
    matmul(MatMut::from_row_major_slice_mut(sum, cols, cols), Accum::Add, a.transpose(), a, -1.0, Par::Seq);
}

/// The Gram matrix of columns, row-major, given that of the first ones; shorter columns are padded
/// with zeros. The bits do not depend on how many are given.
pub fn extended_gram(known: &[f64], columns: &[Vec<f64>]) -> Vec<f64> {
    let mut gram = vec![0.0; columns.len() * columns.len()];
    extend_gram(known, columns, &mut gram);
    gram
}

fn extend_gram(known: &[f64], columns: &[Vec<f64>], gram: &mut [f64]) {
    faster!(extend_gram_rows(known: &[f64], columns: &[Vec<f64>], gram: &mut [f64]));
}

#[inline(always)]
fn extend_gram_rows(known: &[f64], columns: &[Vec<f64>], gram: &mut [f64]) {
    let (order, of_known) = (columns.len(), known.len().isqrt());
    for (row, to) in known.chunks_exact(of_known.max(1)).zip(gram.chunks_exact_mut(order.max(1))) {
        to[..of_known].copy_from_slice(row);
    }
    for (place, column) in columns.iter().enumerate().skip(of_known) {
        for (other_place, other) in columns[..=place].iter().enumerate() {
            let common = column.len().min(other.len());
            let product = dot(&column[..common], &other[..common]);
            gram[place * order + other_place] = product;
            gram[other_place * order + place] = product;
        }
    }
}

/// The inner product of two vectors, in sums that fill a register.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const PARTS: usize = 16;
    let mut sums = [0.0; PARTS];
    let (a, b) = (a.chunks_exact(PARTS), b.chunks_exact(PARTS));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        for part in 0..PARTS {
            sums[part] += a[part] * b[part];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Eigenvalues and orthonormal eigenvectors of a symmetric matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigen {
    /// Descending.
    pub values: Vec<f64>,
    /// One column a value, `order × order`, row-major.
    pub vectors: Vec<f64>,
}

/// The eigenvalues of a symmetric `order × order` matrix, row-major.
///
/// # Panics
/// If `a` has another size.
pub fn symmetric_eigen(a: &[f64], order: usize) -> Result<Eigen, FactorError> {
    assert_eq!(a.len(), order * order, "a matrix of order {order}");
    check_finite(a, order)?;
    if order == 0 {
        return Ok(Eigen { values: vec![], vectors: vec![] });
    }
    let eigen = MatRef::from_row_major_slice(a, order, order)
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| FactorError::NoConvergence { rows: order, cols: order })?;
    // faer returns them ascending.
    let values = eigen.S().column_vector().iter().rev().copied().collect();
    let columns = eigen.U();
    let row = |i: usize| (0..order).rev().map(move |j| columns[(i, j)]);
    Ok(Eigen { values, vectors: (0..order).flat_map(row).collect() })
}

impl Eigen {
    /// ‖Av − λv‖ of the first `count` eigenpairs of `a`.
    ///
    /// # Panics
    /// If `a` has another size.
    pub fn residuals(&self, a: &[f64], count: usize) -> Vec<f64> {
        let order = self.values.len();
        assert_eq!(a.len(), order * order, "a matrix of order {order}");
        if count == 0 {
            return vec![];
        }
        let vectors = MatRef::from_row_major_slice(&self.vectors, order, order).subcols(0, count);
        let images = MatRef::from_row_major_slice(a, order, order) * vectors;
        let distance = |place: usize| {
            let parts = (0..order).map(|row| images[(row, place)] - self.values[place] * vectors[(row, place)]);
            parts.map(|part| part * part).sum::<f64>().sqrt()
        };
        (0..count).map(distance).collect()
    }
}

fn row_major(a: MatRef<f64>) -> Vec<f64> {
    (0..a.nrows()).flat_map(|i| (0..a.ncols()).map(move |j| a[(i, j)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    fn drawn(rows: usize, cols: usize) -> Vec<f64> {
        (0..rows * cols).map(|i| f64::from(normal(6, 1, (i / cols) as u64, (i % cols) as u32))).collect()
    }

    fn gram(rows: &[f64], cols: usize) -> Vec<f64> {
        let mut out = vec![0.0; cols * cols];
        for row in rows.chunks_exact(cols) {
            for i in 0..cols {
                (0..cols).for_each(|j| out[i * cols + j] += row[i] * row[j]);
            }
        }
        out
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn eigenvectors_are_orthonormal_and_multiply_to_the_matrix() {
        assert_eq!(symmetric_eigen(&[], 0), Ok(Eigen { values: vec![], vectors: vec![] }));
        for order in [1, 2, 7, 40] {
            let a = gram(&drawn(order / 2 + 1, order), order);
            let eigen = symmetric_eigen(&a, order).unwrap();
            let Eigen { values, vectors } = &eigen;
            assert!(values.is_sorted_by(|x, y| x >= y));
            let mut product = vec![0.0; order * order];
            for i in 0..order {
                for j in 0..order {
                    let pairs = (0..order).map(|t| vectors[i * order + t] * vectors[j * order + t]);
                    product[i * order + j] = pairs.zip(values).map(|(pair, value)| pair * value).sum();
                }
            }
            assert!(distance(&product, &a) < 1e-10, "{order}");
            assert!(eigen.residuals(&a, order).iter().all(|&residual| residual < 1e-10));
            let identity = gram(vectors, order);
            assert!(
                (0..order * order).all(|e| (identity[e] - f64::from(u8::from(e / order == e % order))).abs() < 1e-10)
            );
        }
        assert!(symmetric_eigen(&[f64::NAN], 1).is_err());
    }

    #[test]
    fn products_of_small_matrices() {
        let (a, b) = (drawn(7, 5), drawn(5, 3));
        let product = small_product(&a, &b, 7, 5, 3);
        for (row, sums) in a.chunks_exact(5).zip(product.chunks_exact(3)) {
            for (j, sum) in sums.iter().enumerate() {
                let exact: f64 = row.iter().zip(b.iter().skip(j).step_by(3)).map(|(x, y)| x * y).sum();
                assert!((sum - exact).abs() < 1e-12);
            }
        }
        let mut twice = product.clone();
        add_small_product(&mut twice, &a, &b, 3);
        assert!(twice.iter().zip(&product).all(|(twice, once)| (twice - 2.0 * once).abs() < 1e-12));
        let mut rest = gram(&a, 5);
        subtract_gram(&mut rest, &a, 5);
        subtract_gram(&mut rest, &[], 5);
        assert!(rest.iter().all(|entry| entry.abs() < 1e-12));
        add_small_product(&mut [], &[], &[], 0);
    }

    /// Catches products of columns that are cut off wrongly, and bits that hang on when they were
    /// asked for.
    #[test]
    fn a_gram_matrix_grows_with_its_columns() {
        let (rows, cols) = (37, 23);
        let mut a = drawn(rows, cols);
        let columns: Vec<Vec<f64>> = (0..cols)
            .map(|place| {
                let height = rows - (cols - place);
                a.iter_mut().skip(place).step_by(cols).skip(height).for_each(|entry| *entry = 0.0);
                a.iter().skip(place).step_by(cols).take(height).copied().collect()
            })
            .collect();
        let at_once = extended_gram(&[], &columns);
        assert!(distance(&at_once, &gram(&a, cols)) < 1e-12);
        let by_and_by =
            [3, 3, 16, cols].iter().fold(Vec::new(), |known, &count| extended_gram(&known, &columns[..count]));
        assert_eq!(by_and_by, at_once);
        assert!(extended_gram(&[], &[]).is_empty());
    }

    #[test]
    fn svd_factors_multiply_to_the_matrix() {
        for (rows, cols) in [(1, 1), (5, 3), (3, 5), (40, 40), (0, 4)] {
            let a = drawn(rows, cols);
            let SmallSvd { left, values, right } = small_svd(&a, rows, cols).unwrap();
            let k = rows.min(cols);
            assert_eq!((left.len(), values.len(), right.len()), (rows * k, k, if rows == 0 { 0 } else { cols * k }));
            assert!(values.is_sorted_by(|x, y| x >= y) && values.iter().all(|&s| s >= 0.0));
            for i in 0..rows {
                for j in 0..cols {
                    let sum: f64 = (0..k).map(|t| left[i * k + t] * values[t] * right[j * k + t]).sum();
                    assert!((sum - a[i * cols + j]).abs() < 1e-10);
                }
            }
        }
        assert_eq!(small_svd(&[1.0, f64::NAN], 1, 2), Err(FactorError::NotFinite { row: 0, col: 1 }));
    }
}
