//! What can be wrong with a matrix when it is stated.

use super::Shape;

/// Why a matrix could not be stated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// Two operands do not fit each other.
    #[error("cannot {verb} {left} ({left_shape}) and {right} ({right_shape}): {rule}")]
    Mismatch {
        verb: &'static str,
        left: String,
        left_shape: Shape,
        right: String,
        right_shape: Shape,
        rule: &'static str,
    },
    /// Only square matrices have powers.
    #[error("cannot take powers of {operand} ({shape}): it is not square")]
    NotSquare { operand: String, shape: Shape },
    /// A gather asks for a row or column that is not there.
    #[error("cannot gather {side} {index} of {operand} ({shape}): entry {position} of the list must be below {bound}")]
    NoSuchIndex { side: &'static str, index: usize, position: usize, operand: String, shape: Shape, bound: usize },
    /// A gather needs 32-bit row and column numbers.
    #[error("cannot gather {side}s of {operand} ({shape}): at most 4294967295 {side}s can be told apart")]
    TooLargeToGather { side: &'static str, operand: String, shape: Shape },
    /// A concatenation of nothing has no shape.
    #[error("cannot concatenate no matrices: name at least one")]
    NothingToConcatenate,
    /// A leaf holds NaN or an infinity.
    #[error("{name} has {value} at row {row}, column {column}: every entry must be a finite number")]
    NotFinite { name: String, value: f32, row: usize, column: usize },
    /// A coefficient is NaN or an infinity.
    #[error("cannot multiply {operand} by {value}: a coefficient must be a finite number")]
    CoefficientNotFinite { operand: String, value: f64 },
    /// The stored data does not fill the stated shape.
    #[error("{name} is stated as {shape} but {entries} entries were given")]
    WrongLength { name: String, shape: Shape, entries: usize },
}
