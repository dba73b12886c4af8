//! Errors in the statement of a matrix.

use super::Shape;

/// Why a matrix could not be stated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// Two operands do not fit each other.
    #[error("cannot {verb} {left} ({left_shape}) and {right} ({right_shape}): {rule}")]
    Mismatch {
        /// What was to be done.
        verb: &'static str,
        /// The first operand.
        left: String,
        /// Its shape.
        left_shape: Shape,
        /// The second operand.
        right: String,
        /// Its shape.
        right_shape: Shape,
        /// What must hold.
        rule: &'static str,
    },
    /// Only square matrices have powers.
    #[error("cannot take powers of {operand} ({shape}): it is not square")]
    NotSquare {
        /// The matrix.
        operand: String,
        /// Its shape.
        shape: Shape,
    },
    /// Only stored entries can be dropped.
    #[error("cannot drop entries of {operand} ({shape}): it is not a stored dense matrix, form it first")]
    NotStored {
        /// The matrix.
        operand: String,
        /// Its shape.
        shape: Shape,
    },
    /// A gather asks for a row or column that is not there.
    #[error("cannot gather {side} {index} of {operand} ({shape}): entry {position} of the list must be below {bound}")]
    NoSuchIndex {
        /// Rows or columns.
        side: &'static str,
        /// What was asked for.
        index: usize,
        /// Where in the list.
        position: usize,
        /// The matrix.
        operand: String,
        /// Its shape.
        shape: Shape,
        /// How many there are.
        bound: usize,
    },
    /// A gather needs 32-bit row and column numbers.
    #[error("cannot gather {side}s of {operand} ({shape}): at most 4294967295 {side}s can be told apart")]
    TooLargeToGather {
        /// Rows or columns.
        side: &'static str,
        /// The matrix.
        operand: String,
        /// Its shape.
        shape: Shape,
    },
    /// A concatenation of nothing has no shape.
    #[error("cannot concatenate no matrices: name at least one")]
    NothingToConcatenate,
    /// A leaf holds NaN or an infinity.
    #[error("{name} has {value} at row {row}, column {column}: every entry must be a finite number")]
    NotFinite {
        /// The leaf.
        name: String,
        /// The number.
        value: f32,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
    },
    /// A coefficient is NaN or an infinity.
    #[error("cannot multiply {operand} by {value}: a coefficient must be a finite number")]
    CoefficientNotFinite {
        /// The matrix.
        operand: String,
        /// The number.
        value: f64,
    },
    /// The stored data does not fill the stated shape.
    #[error("{name} is stated as {shape} but {entries} entries were given")]
    WrongLength {
        /// The leaf.
        name: String,
        /// Its shape.
        shape: Shape,
        /// How many were given.
        entries: usize,
    },
}
