//! Rust's operators, and short names, for building expressions.
//!
//! They panic where the `try_` form of the same name returns an error, as indexing and slicing do.

use std::ops::{Add, Mul, Neg, Sub};

use super::{Matrix, MatrixError};

fn or_panic(result: Result<Matrix, MatrixError>) -> Matrix {
    result.unwrap_or_else(|error| panic!("{error}"))
}

impl Matrix {
    /// `self^exponent`.
    ///
    /// # Panics
    /// When the matrix is not square; see [`Matrix::try_pow`].
    pub fn pow(&self, exponent: u32) -> Matrix {
        or_panic(self.try_pow(exponent))
    }

    /// `Σ coefficients[q] · self^q`, from q = 0 on.
    ///
    /// # Panics
    /// When the matrix is not square or a coefficient not finite; see [`Matrix::try_polynomial`].
    pub fn polynomial(&self, coefficients: &[f64]) -> Matrix {
        or_panic(self.try_polynomial(coefficients))
    }

    /// Side by side.
    ///
    /// # Panics
    /// When the heights differ; see [`Matrix::try_hstack`].
    pub fn hstack(parts: &[Matrix]) -> Matrix {
        or_panic(Matrix::try_hstack(parts))
    }

    /// One above the other.
    ///
    /// # Panics
    /// When the widths differ; see [`Matrix::try_vstack`].
    pub fn vstack(parts: &[Matrix]) -> Matrix {
        or_panic(Matrix::try_vstack(parts))
    }

    /// The rows in `indices`.
    ///
    /// # Panics
    /// When an index is out of range; see [`Matrix::try_rows`].
    pub fn rows(&self, indices: &[usize]) -> Matrix {
        or_panic(self.try_rows(indices))
    }

    /// The columns in `indices`.
    ///
    /// # Panics
    /// When an index is out of range; see [`Matrix::try_columns`].
    pub fn columns(&self, indices: &[usize]) -> Matrix {
        or_panic(self.try_columns(indices))
    }
}

/// Implements a binary operator for every mix of handles and references.
macro_rules! binary {
    ($operator:ident, $method:ident, $fallible:ident) => {
        impl $operator<&Matrix> for &Matrix {
            type Output = Matrix;
            fn $method(self, other: &Matrix) -> Matrix {
                or_panic(self.$fallible(other))
            }
        }
        impl $operator<Matrix> for &Matrix {
            type Output = Matrix;
            fn $method(self, other: Matrix) -> Matrix {
                or_panic(self.$fallible(&other))
            }
        }
        impl $operator<&Matrix> for Matrix {
            type Output = Matrix;
            fn $method(self, other: &Matrix) -> Matrix {
                or_panic(self.$fallible(other))
            }
        }
        impl $operator<Matrix> for Matrix {
            type Output = Matrix;
            fn $method(self, other: Matrix) -> Matrix {
                or_panic(self.$fallible(&other))
            }
        }
    };
}

binary!(Add, add, try_add);
binary!(Sub, sub, try_subtract);
binary!(Mul, mul, try_multiply);

/// Implements multiplication by a scalar from both sides, and negation, for a handle or a
/// reference.
macro_rules! scalar {
    ($operand:ty) => {
        impl Mul<f64> for $operand {
            type Output = Matrix;
            fn mul(self, coefficient: f64) -> Matrix {
                or_panic(self.try_scale(coefficient))
            }
        }
        impl Mul<$operand> for f64 {
            type Output = Matrix;
            fn mul(self, matrix: $operand) -> Matrix {
                or_panic(matrix.try_scale(self))
            }
        }
        impl Neg for $operand {
            type Output = Matrix;
            fn neg(self) -> Matrix {
                or_panic(self.try_scale(-1.0))
            }
        }
    };
}

scalar!(Matrix);
scalar!(&Matrix);
