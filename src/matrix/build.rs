//! Constructors and the fallible forms of every operation: this is where shapes are checked.

use std::sync::Arc;

use super::display::brief;
use super::{Dense, Entries, Kind, Matrix, MatrixError, Shape};
use crate::graph::Sparse;
use crate::kernel::Mask;
use crate::kernel::elementwise::first_non_finite;

/// Leaves.
impl Matrix {
    /// A stored sparse matrix. Its values are finite: [`Sparse`] admits no others.
    pub fn sparse(name: &str, data: Arc<Sparse>) -> Self {
        let shape = Shape::new(data.rows(), data.cols());
        Self::node(shape, Kind::Sparse { name: name.into(), data })
    }

    /// A stored dense matrix of finite entries.
    pub fn dense(name: &str, data: impl Into<Arc<Dense>>) -> Result<Self, MatrixError> {
        let data = data.into();
        let columns = data.columns();
        check_finite(name, data.data(), |entry| (entry / columns, entry % columns))?;
        let shape = data.shape();
        Ok(Self::node(shape, Kind::Dense { name: name.into(), data, mask: None }))
    }

    /// A diagonal matrix with this diagonal, of finite entries.
    pub fn diagonal(name: &str, values: Vec<f32>) -> Result<Self, MatrixError> {
        Self::diagonal_of(name, values.into())
    }

    /// A diagonal matrix with entries that are shared, or known only in outline.
    pub fn diagonal_of(name: &str, values: Entries) -> Result<Self, MatrixError> {
        check_finite(name, &values, |entry| (entry, entry))?;
        let shape = Shape::new(values.length(), values.length());
        Ok(Self::node(shape, Kind::Diagonal { name: name.into(), values }))
    }

    /// The identity of `size` rows.
    pub fn identity(size: usize) -> Self {
        Self::node(Shape::new(size, size), Kind::Identity)
    }

    /// Ones everywhere; printed `J`. Rank one, never stored.
    pub fn ones(rows: usize, columns: usize) -> Self {
        Self::node(Shape::new(rows, columns), Kind::Ones)
    }

    /// Zeros everywhere.
    pub fn zero(rows: usize, columns: usize) -> Self {
        Self::node(Shape::new(rows, columns), Kind::Zero)
    }
}

/// Nodes, with their errors. The operators `+ - *` and the short forms of the same names call these
/// and panic instead.
impl Matrix {
    /// `self + other`.
    pub fn try_add(&self, other: &Matrix) -> Result<Self, MatrixError> {
        self.same_shape("add", other)?;
        Ok(Self::node(self.shape(), Kind::Sum(self.clone(), other.clone())))
    }

    /// `self − other`.
    pub fn try_subtract(&self, other: &Matrix) -> Result<Self, MatrixError> {
        self.same_shape("subtract", other)?;
        Ok(Self::node(self.shape(), Kind::Difference(self.clone(), other.clone())))
    }

    /// `coefficient · self`.
    pub fn try_scale(&self, coefficient: f64) -> Result<Self, MatrixError> {
        self.check_coefficient(coefficient)?;
        Ok(Self::node(self.shape(), Kind::Scaled(coefficient, self.clone())))
    }

    /// The matrix product `self · other`.
    pub fn try_multiply(&self, other: &Matrix) -> Result<Self, MatrixError> {
        if self.shape().columns != other.shape().rows {
            return Err(self.mismatch("multiply", other, "the columns of the first must equal the rows of the second"));
        }
        let shape = Shape::new(self.shape().rows, other.shape().columns);
        Ok(Self::node(shape, Kind::Product(self.clone(), other.clone())))
    }

    /// `self` times itself, `exponent` times in all.
    pub fn try_pow(&self, exponent: u32) -> Result<Self, MatrixError> {
        self.check_square()?;
        Ok(Self::node(self.shape(), Kind::Power(self.clone(), exponent)))
    }

    /// `Σ coefficients[q] · self^q`, from q = 0 on.
    pub fn try_polynomial(&self, coefficients: &[f64]) -> Result<Self, MatrixError> {
        self.check_square()?;
        for &coefficient in coefficients {
            self.check_coefficient(coefficient)?;
        }
        let kind = Kind::Polynomial { coefficients: coefficients.into(), base: self.clone() };
        Ok(Self::node(self.shape(), kind))
    }

    /// Rows and columns exchanged.
    pub fn t(&self) -> Self {
        Self::node(self.shape().transposed(), Kind::Transpose(self.clone()))
    }

    /// Matrices of equal height, side by side: `[a, b, …]`.
    pub fn try_hstack(parts: &[Matrix]) -> Result<Self, MatrixError> {
        let first = parts.first().ok_or(MatrixError::NothingToConcatenate)?;
        for part in parts {
            if part.shape().rows != first.shape().rows {
                return Err(first.mismatch("put side by side", part, "both must have the same number of rows"));
            }
        }
        let columns = parts.iter().map(|part| part.shape().columns).sum();
        Ok(Self::node(Shape::new(first.shape().rows, columns), Kind::Hstack(parts.into())))
    }

    /// Matrices of equal width, one above the other: `[a; b; …]`.
    pub fn try_vstack(parts: &[Matrix]) -> Result<Self, MatrixError> {
        let first = parts.first().ok_or(MatrixError::NothingToConcatenate)?;
        for part in parts {
            if part.shape().columns != first.shape().columns {
                return Err(first.mismatch("stack", part, "both must have the same number of columns"));
            }
        }
        let rows = parts.iter().map(|part| part.shape().rows).sum();
        Ok(Self::node(Shape::new(rows, first.shape().columns), Kind::Vstack(parts.into())))
    }

    /// The rows in `indices`, in that order; a row may be asked for more than once.
    pub fn try_rows(&self, indices: &[usize]) -> Result<Self, MatrixError> {
        self.check_indices("row", indices, self.shape().rows)?;
        let shape = Shape::new(indices.len(), self.shape().columns);
        Ok(Self::node(shape, Kind::Rows(self.clone(), indices.into())))
    }

    /// The columns in `indices`, in that order; a column may be asked for more than once.
    pub fn try_columns(&self, indices: &[usize]) -> Result<Self, MatrixError> {
        self.check_indices("column", indices, self.shape().columns)?;
        let shape = Shape::new(self.shape().rows, indices.len());
        Ok(Self::node(shape, Kind::Columns(self.clone(), indices.into())))
    }

    /// A stored dense matrix with entries zeroed at random, the others scaled up. The mask is drawn
    /// wherever a row is used and never stored; what is not stored must be formed first, since its
    /// entries are not there to be dropped.
    pub fn try_dropout(&self, mask: Mask) -> Result<Self, MatrixError> {
        match self.kind() {
            Kind::Dense { name, data, mask: None } => {
                Ok(Self::node(self.shape(), Kind::Dense { name: name.clone(), data: data.clone(), mask: Some(mask) }))
            }
            _ => Err(MatrixError::NotStored { operand: brief(self), shape: self.shape() }),
        }
    }

    fn same_shape(&self, verb: &'static str, other: &Matrix) -> Result<(), MatrixError> {
        if self.shape() == other.shape() {
            return Ok(());
        }
        Err(self.mismatch(verb, other, "both must have the same shape"))
    }

    fn mismatch(&self, verb: &'static str, other: &Matrix, rule: &'static str) -> MatrixError {
        MatrixError::Mismatch {
            verb,
            left: brief(self),
            left_shape: self.shape(),
            right: brief(other),
            right_shape: other.shape(),
            rule,
        }
    }

    fn check_square(&self) -> Result<(), MatrixError> {
        if self.shape().rows == self.shape().columns {
            return Ok(());
        }
        Err(MatrixError::NotSquare { operand: brief(self), shape: self.shape() })
    }

    fn check_coefficient(&self, value: f64) -> Result<(), MatrixError> {
        if value.is_finite() {
            return Ok(());
        }
        Err(MatrixError::CoefficientNotFinite { operand: brief(self), value })
    }

    fn check_indices(&self, side: &'static str, indices: &[usize], bound: usize) -> Result<(), MatrixError> {
        // A gather is carried out by a sparse matrix, whose rows and columns are numbered in 32
        // bits.
        const LIMIT: usize = u32::MAX as usize;
        if bound > LIMIT || indices.len() > LIMIT {
            return Err(MatrixError::TooLargeToGather { side, operand: brief(self), shape: self.shape() });
        }
        match indices.iter().position(|&index| index >= bound) {
            None => Ok(()),
            Some(position) => Err(MatrixError::NoSuchIndex {
                side,
                index: indices[position],
                position,
                operand: brief(self),
                shape: self.shape(),
                bound,
            }),
        }
    }
}

fn check_finite(name: &str, values: &[f32], place: impl Fn(usize) -> (usize, usize)) -> Result<(), MatrixError> {
    match first_non_finite(values) {
        None => Ok(()),
        Some(entry) => {
            let (row, column) = place(entry);
            Err(MatrixError::NotFinite { name: name.into(), value: values[entry], row, column })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(name: &str, rows: usize, columns: usize) -> Matrix {
        Matrix::dense(name, Dense::new(rows, columns, vec![1.0; rows * columns]).unwrap()).unwrap()
    }

    #[test]
    fn a_mismatch_names_both_operands_and_both_shapes() {
        let (a, b) = (dense("A", 2, 3), dense("B", 2, 4));
        let message = a.try_add(&b).unwrap_err().to_string();
        assert_eq!(message, "cannot add A (2×3) and B (2×4): both must have the same shape");
        let message = a.try_multiply(&b.t()).unwrap_err().to_string();
        assert_eq!(
            message,
            "cannot multiply A (2×3) and Bᵀ (4×2): the columns of the first must equal the rows of the second"
        );
        assert!(Matrix::try_hstack(&[a.clone(), dense("C", 3, 1)]).is_err());
        assert!(Matrix::try_vstack(&[a, b]).is_err());
    }

    #[test]
    fn only_square_matrices_have_powers() {
        assert!(dense("A", 2, 3).try_pow(2).is_err());
        assert!(dense("A", 2, 3).try_polynomial(&[1.0]).is_err());
        assert!(dense("A", 3, 3).try_pow(0).is_ok());
    }

    #[test]
    fn a_gather_out_of_range_says_which_entry() {
        let message = dense("A", 2, 3).try_rows(&[1, 2]).unwrap_err().to_string();
        assert_eq!(message, "cannot gather row 2 of A (2×3): entry 1 of the list must be below 2");
        assert!(dense("A", 2, 3).try_columns(&[2, 0, 2]).is_ok());
    }

    #[test]
    fn a_gather_from_too_large_a_matrix_is_refused() {
        let huge = Matrix::identity(5_000_000_000);
        assert!(matches!(huge.try_rows(&[0]), Err(MatrixError::TooLargeToGather { .. })));
        assert!(matches!(huge.try_columns(&[0]), Err(MatrixError::TooLargeToGather { .. })));
    }

    #[test]
    fn leaves_and_coefficients_must_be_finite() {
        let nan = Dense::new(2, 2, vec![0.0, 1.0, f32::NAN, 0.0]).unwrap();
        let message = Matrix::dense("X", nan).unwrap_err().to_string();
        assert_eq!(message, "X has NaN at row 1, column 0: every entry must be a finite number");
        assert!(Matrix::diagonal("d", vec![f32::INFINITY]).is_err());
        assert!(dense("A", 1, 1).try_scale(f64::NAN).is_err());
    }

    #[test]
    fn dense_data_must_fill_its_shape() {
        assert!(Dense::new(2, 2, vec![0.0; 3]).is_err());
        assert!(Dense::new(usize::MAX, 2, vec![]).is_err());
    }
}
