//! The syntax tree of a text.

use std::ops::Range;

/// A part of a text that stands for something, and the bytes that it takes up.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// Where it stands in the text.
    pub span: Range<usize>,
    /// What it is made of.
    pub form: Form,
    /// How many forms are inside each other, this one included.
    pub(super) height: usize,
}

/// What an [`Expression`] is made of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Form {
    /// A number.
    Number(f64),
    /// Something that has a name.
    Name(String),
    /// A function of something.
    Call {
        /// Which function.
        name: String,
        /// Where its name stands.
        name_span: Range<usize>,
        /// Of what.
        arguments: Vec<Expression>,
    },
    /// `-a`
    Negated(Box<Expression>),
    /// `a.T`
    Transposed(Box<Expression>),
    /// `a + b` and the like.
    Binary {
        /// What is done.
        operator: Operator,
        /// Where it says so.
        operator_span: Range<usize>,
        /// The first operand.
        left: Box<Expression>,
        /// The second operand.
        right: Box<Expression>,
    },
    /// `[a, b, …]`
    Hstack(Vec<Expression>),
    /// `[a; b; …]`
    Vstack(Vec<Expression>),
}

/// What is done with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`, of which one operand at least is a number.
    Scale,
    /// `/`, of numbers.
    Divide,
    /// `@`, the product of matrices.
    Multiply,
    /// `^`
    Power,
}

impl Expression {
    pub(super) fn new(span: Range<usize>, form: Form) -> Self {
        let tallest = |parts: &[Expression]| parts.iter().map(|part| part.height).max().unwrap_or(0);
        let inside = match &form {
            Form::Number(_) | Form::Name(_) => 0,
            Form::Negated(inner) | Form::Transposed(inner) => inner.height,
            Form::Binary { left, right, .. } => left.height.max(right.height),
            Form::Call { arguments: parts, .. } | Form::Hstack(parts) | Form::Vstack(parts) => tallest(parts),
        };
        Self { span, form, height: inside + 1 }
    }
}
