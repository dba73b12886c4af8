//! The functions of the language.

use std::ops::Range;

use super::error::{Fault, Problem};
use super::evaluate::{Evaluator, Found, finite, refused, wrong_kind};
use super::hint::nearest;
use super::syntax::Expression;
use super::value::Value;
use super::{MOST_COPIES, MOST_POWER, MOST_ROWS};
use crate::matrix::{Matrix, walk::window_coefficients};

/// Every function, and how it is called.
const USAGES: &[(&str, &str)] = &[
    ("rows", "rows(M, train)"),
    ("cols", "cols(M, train)"),
    ("diag", "diag(degree)"),
    ("walk", "walk(T, 10)"),
    ("sqrt", "sqrt(degree)"),
    ("inv", "inv(degree)"),
    ("center", "center(X)"),
    ("dropout", "dropout(X, 0.5)` or `dropout(X, 0.5, 1)"),
    ("I", "I(10)"),
    ("J", "J(10, 3)"),
];

/// How a function is called, if there is one of that name.
pub(super) fn usage(name: &str) -> Option<&'static str> {
    USAGES.iter().find(|(known, _)| *known == name).map(|(_, usage)| *usage)
}

/// What a function gives.
pub(super) fn call(
    evaluator: &mut Evaluator<'_>,
    span: &Range<usize>,
    name: &str,
    name_span: &Range<usize>,
    arguments: &[Expression],
) -> Found<Value> {
    match (name, arguments) {
        ("rows", [matrix, set]) => {
            let (matrix, indices) = (evaluator.matrix(matrix)?, evaluator.indices(set)?);
            evaluator.make(format!("rows {indices:?}"), &[&matrix], &set.span, || matrix.try_rows(&indices))
        }
        ("cols", [matrix, set]) => {
            let (matrix, indices) = (evaluator.matrix(matrix)?, evaluator.indices(set)?);
            evaluator.make(format!("cols {indices:?}"), &[&matrix], &set.span, || matrix.try_columns(&indices))
        }
        ("diag", [vector]) => {
            let entries = evaluator.vector(vector)?;
            let (name, values) = (&entries.name, entries.values.clone());
            evaluator.make(format!("diag {name}"), &[], &vector.span, || Matrix::diagonal_of(name, values))
        }
        ("walk", [step, window]) => {
            let steps = evaluator.matrix(step)?;
            let window = evaluator.whole(window, "the longest walk", 1, MOST_POWER)?;
            let coefficients = window_coefficients(window);
            evaluator.make(format!("walk {window}"), &[&steps], &step.span, || steps.try_polynomial(&coefficients))
        }
        ("sqrt" | "inv", [argument]) => match (evaluator.value(argument)?, name) {
            (Value::Vector(vector), "sqrt") => Ok(Value::Vector(vector.sqrt())),
            (Value::Vector(vector), _) => Ok(Value::Vector(vector.inv())),
            (Value::Number(number), "sqrt") => finite(number.sqrt(), span),
            (Value::Number(number), _) => finite(number.recip(), span),
            (other, _) => wrong_kind(&other, "a vector", &argument.span),
        },
        ("center", [argument]) => {
            let matrix = evaluator.matrix(argument)?;
            let fault = |refusal| Fault::new(span.clone(), refused(name, refusal));
            evaluator.make_with(name, &[&matrix], |names| names.center(&matrix).map_err(fault))
        }
        ("dropout", [argument, rate]) => dropout(evaluator, span, argument, rate, None),
        ("dropout", [argument, rate, copy]) => dropout(evaluator, span, argument, rate, Some(copy)),
        ("I", [rows]) => {
            let rows = evaluator.whole(rows, "the number of rows", 1, MOST_ROWS)?;
            evaluator.make(format!("I {rows}"), &[], span, || Ok(Matrix::identity(rows)))
        }
        ("J", [rows, columns]) => {
            let rows = evaluator.whole(rows, "the number of rows", 1, MOST_ROWS)?;
            let columns = evaluator.whole(columns, "the number of columns", 1, MOST_ROWS)?;
            evaluator.make(format!("J {rows} {columns}"), &[], span, || Ok(Matrix::ones(rows, columns)))
        }
        _ => Err(no_such_call(name, name_span, arguments.len())),
    }
}

fn dropout(
    evaluator: &mut Evaluator<'_>,
    span: &Range<usize>,
    argument: &Expression,
    rate: &Expression,
    copy: Option<&Expression>,
) -> Found<Value> {
    let matrix = evaluator.matrix(argument)?;
    let value = evaluator.number(rate)?;
    if !(0.0..1.0).contains(&value) {
        return Err(Fault::new(rate.span.clone(), Problem::BadRate { value }));
    }
    let copy = match copy {
        Some(copy) => evaluator.whole(copy, "the number of the copy", 0, MOST_COPIES)? as u32,
        None => 0,
    };
    let fault = |refusal| Fault::new(span.clone(), refused("dropout", refusal));
    let how = format!("dropout {:x} {copy}", value.to_bits());
    evaluator.make_with(how, &[&matrix], |names| names.dropout(&matrix, value, copy).map_err(fault))
}

fn no_such_call(name: &str, span: &Range<usize>, found: usize) -> Fault {
    let known = || USAGES.iter().map(|(known, _)| *known);
    let problem = match usage(name) {
        Some(usage) => Problem::WrongCount { name: name.to_owned(), found, usage },
        None => Problem::UnknownFunction {
            name: name.to_owned(),
            nearest: nearest(name, known()),
            known: known().collect(),
        },
    };
    Fault::new(span.clone(), problem)
}
