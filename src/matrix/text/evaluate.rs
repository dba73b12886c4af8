//! An [`Expression`] becomes a [`Matrix`].

use std::collections::HashMap;
use std::ops::Range;

use super::error::{Fault, Problem};
use super::function;
use super::hint::nearest;
use super::syntax::{Expression, Form, Operator};
use super::value::{Names, Refusal, Value, Vector};
use super::{MOST_POWER, MOST_ROWS};
use crate::matrix::{Matrix, MatrixError};

pub(super) type Found<T> = Result<T, Fault>;

/// The operation that made a matrix, and the identities of its operands.
type Recipe = (String, Vec<usize>);

/// Evaluates expressions. Equal subexpressions become one node, so that they are computed once.
pub(super) struct Evaluator<'a> {
    pub names: &'a mut dyn Names,
    /// Results by operation. The operands are kept alive, because the identity of a node is unique
    /// only while the node lives.
    made: HashMap<Recipe, (Vec<Matrix>, Matrix)>,
}

impl<'a> Evaluator<'a> {
    pub fn new(names: &'a mut dyn Names) -> Self {
        Self { names, made: HashMap::new() }
    }

    pub fn value(&mut self, expression: &Expression) -> Found<Value> {
        let span = &expression.span;
        match &expression.form {
            Form::Number(number) => Ok(Value::Number(*number)),
            Form::Name(name) => self.name(name, span),
            Form::Call { name, name_span, arguments } => function::call(self, span, name, name_span, arguments),
            Form::Negated(inner) => match self.value(inner)? {
                Value::Number(number) => Ok(Value::Number(-number)),
                other => {
                    let matrix = matrix_of(other, &inner.span)?;
                    self.make("-", &[&matrix], span, || matrix.try_scale(-1.0))
                }
            },
            Form::Transposed(inner) => {
                let matrix = self.matrix(inner)?;
                self.make(".T", &[&matrix], span, || Ok(matrix.t()))
            }
            Form::Binary { operator, operator_span, left, right } => self.binary(*operator, operator_span, left, right),
            Form::Hstack(parts) => self.concatenation(",", parts, Matrix::try_hstack),
            Form::Vstack(parts) => self.concatenation(";", parts, Matrix::try_vstack),
        }
    }

    pub fn matrix(&mut self, expression: &Expression) -> Found<Matrix> {
        matrix_of(self.value(expression)?, &expression.span)
    }

    pub fn number(&mut self, expression: &Expression) -> Found<f64> {
        match self.value(expression)? {
            Value::Number(number) => Ok(number),
            other => wrong_kind(&other, "a number", &expression.span),
        }
    }

    pub fn vector(&mut self, expression: &Expression) -> Found<Vector> {
        match self.value(expression)? {
            Value::Vector(vector) => Ok(vector),
            other => wrong_kind(&other, "a vector", &expression.span),
        }
    }

    /// A whole number within bounds.
    pub fn whole(&mut self, expression: &Expression, what: &'static str, least: usize, most: usize) -> Found<usize> {
        let value = self.number(expression)?;
        match value.fract() == 0.0 && value >= least as f64 && value <= most as f64 {
            true => Ok(value as usize),
            false => Err(Fault::new(expression.span.clone(), Problem::NotWhole { what, value, least, most })),
        }
    }

    /// The rows or columns of a named set, or of a list of numbers.
    pub fn indices(&mut self, expression: &Expression) -> Found<Vec<usize>> {
        if let Form::Hstack(parts) = &expression.form {
            return parts.iter().map(|part| self.whole(part, "an index", 0, MOST_ROWS)).collect();
        }
        match self.value(expression)? {
            Value::Indices(indices) => Ok(indices.to_vec()),
            other => wrong_kind(&other, "an index set", &expression.span),
        }
    }

    /// Builds a matrix from others, or returns the one that was built before.
    pub fn make(
        &mut self,
        how: impl Into<String>,
        of: &[&Matrix],
        span: &Range<usize>,
        build: impl FnOnce() -> Result<Matrix, MatrixError>,
    ) -> Found<Value> {
        self.make_with(how, of, |_| build().map_err(|error| Fault::new(span.clone(), error.into())))
    }

    /// [`Evaluator::make`] with the names at hand.
    pub fn make_with(
        &mut self,
        how: impl Into<String>,
        of: &[&Matrix],
        build: impl FnOnce(&mut dyn Names) -> Found<Matrix>,
    ) -> Found<Value> {
        let recipe = (how.into(), of.iter().map(|matrix| matrix.identity_key()).collect());
        if let Some((_, made)) = self.made.get(&recipe) {
            return Ok(Value::Matrix(made.clone()));
        }
        let made = build(self.names)?;
        let of = of.iter().map(|&matrix| matrix.clone()).collect();
        self.made.insert(recipe, (of, made.clone()));
        Ok(Value::Matrix(made))
    }

    fn name(&mut self, name: &str, span: &Range<usize>) -> Found<Value> {
        let problem = match self.names.find(name) {
            Ok(Some(value)) => return Ok(value),
            Err(refusal) => refused(name, refusal),
            Ok(None) => match function::usage(name) {
                Some(usage) => Problem::FunctionAlone { name: name.to_owned(), usage },
                None => {
                    let known = self.names.known();
                    let nearest = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
                    Problem::UnknownName { name: name.to_owned(), nearest, known }
                }
            },
        };
        Err(Fault::new(span.clone(), problem))
    }

    fn concatenation(
        &mut self,
        how: &str,
        parts: &[Expression],
        join: fn(&[Matrix]) -> Result<Matrix, MatrixError>,
    ) -> Found<Value> {
        let matrices: Vec<Matrix> = parts.iter().map(|part| self.matrix(part)).collect::<Found<_>>()?;
        // The first that does not fit the first of all is the one to point at.
        let misfit = matrices.iter().position(|matrix| join(&[matrices[0].clone(), matrix.clone()]).is_err());
        let span = &parts[misfit.unwrap_or(0)].span;
        self.make(how, &matrices.iter().collect::<Vec<_>>(), span, || join(&matrices))
    }

    fn binary(
        &mut self,
        operator: Operator,
        sign: &Range<usize>,
        left: &Expression,
        right: &Expression,
    ) -> Found<Value> {
        if operator == Operator::Power {
            return self.power(sign, left, right);
        }
        let (first, second) = (self.value(left)?, self.value(right)?);
        let fault = |problem| Err(Fault::new(sign.clone(), problem));
        if let (Value::Number(a), Value::Number(b)) = (&first, &second) {
            return match operator {
                Operator::Add => finite(a + b, sign),
                Operator::Subtract => finite(a - b, sign),
                Operator::Scale => finite(a * b, sign),
                Operator::Divide => finite(a / b, sign),
                _ => fault(Problem::ProductWithNumber),
            };
        }
        let is_number = |value: &Value| matches!(value, Value::Number(_));
        match (operator, is_number(&first) || is_number(&second)) {
            (Operator::Divide, _) => {
                let (value, span) = if is_number(&first) { (second, &right.span) } else { (first, &left.span) };
                wrong_kind(&value, "a number", span)
            }
            (Operator::Scale, true) => {
                let (coefficient, matrix) = match (first, second) {
                    (Value::Number(coefficient), other) => (coefficient, matrix_of(other, &right.span)?),
                    (other, Value::Number(coefficient)) => (coefficient, matrix_of(other, &left.span)?),
                    _ => unreachable!("one of them is a number"),
                };
                let how = format!("* {:x}", coefficient.to_bits());
                self.make(how, &[&matrix], sign, || matrix.try_scale(coefficient))
            }
            (_, is_with_number) => {
                // What is neither a number nor a matrix is wrong whatever stands beside it.
                for (value, span) in [(&first, &left.span), (&second, &right.span)] {
                    if matches!(value, Value::Vector(_) | Value::Indices(_)) {
                        return wrong_kind(value, "a matrix", span);
                    }
                }
                if is_with_number {
                    let is_product = operator == Operator::Multiply;
                    return fault(if is_product { Problem::ProductWithNumber } else { Problem::NumberPlusMatrix });
                }
                let (a, b) = (matrix_of(first, &left.span)?, matrix_of(second, &right.span)?);
                match operator {
                    Operator::Add => self.make("+", &[&a, &b], sign, || a.try_add(&b)),
                    Operator::Subtract => self.make("−", &[&a, &b], sign, || a.try_subtract(&b)),
                    Operator::Multiply => self.make("@", &[&a, &b], sign, || a.try_multiply(&b)),
                    _ => fault(Problem::StarOfMatrices),
                }
            }
        }
    }

    fn power(&mut self, sign: &Range<usize>, left: &Expression, right: &Expression) -> Found<Value> {
        let base = self.value(left)?;
        let exponent = self.whole(right, "the power", 0, MOST_POWER)?;
        if let Value::Number(number) = base {
            return finite(number.powi(exponent as i32), sign);
        }
        let base = matrix_of(base, &left.span)?;
        self.make(format!("^ {exponent}"), &[&base], &left.span, || base.try_pow(exponent as u32))
    }
}

/// The problem of something that is known but cannot be had.
pub(super) fn refused(name: &str, refusal: Refusal) -> Problem {
    Problem::Refused { name: name.to_owned(), refusal }
}

pub(super) fn matrix_of(value: Value, span: &Range<usize>) -> Found<Matrix> {
    match value {
        Value::Matrix(matrix) => Ok(matrix),
        other => wrong_kind(&other, "a matrix", span),
    }
}

pub(super) fn wrong_kind<T>(found: &Value, needed: &'static str, span: &Range<usize>) -> Found<T> {
    Err(Fault::new(span.clone(), Problem::WrongKind { found: found.kind(), needed }))
}

pub(super) fn finite(value: f64, span: &Range<usize>) -> Found<Value> {
    match value.is_finite() {
        true => Ok(Value::Number(value)),
        false => Err(Fault::new(span.clone(), Problem::NotFinite { value })),
    }
}
