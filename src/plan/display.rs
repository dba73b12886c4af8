//! A program as text, one line a step.

use std::fmt::{self, Display, Formatter, Write as _};

use super::program::{Action, Epilogue, Program, SparseRole, Step, Term, Value};

/// The text of a value where a step reads it.
pub(super) type Spelling<'a> = &'a dyn Fn(Value) -> String;

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Value::INPUT => f.write_str("G"),
            Value(number) => write!(f, "v{number}"),
        }
    }
}

impl Action {
    /// The kind of the step, in one word.
    pub fn verb(&self) -> &'static str {
        match self {
            Action::Sparse { role: SparseRole::Multiply, .. } => "spmm",
            Action::Sparse { role: SparseRole::Gather, .. } => "gather",
            Action::Sparse { role: SparseRole::Scatter, .. } => "scatter",
            Action::Dense { .. } => "gemm",
            Action::Map { .. } => "map",
            Action::Project { .. } => "project",
            Action::ColumnSums { .. } => "column-sums",
            Action::Spread { .. } => "spread",
            Action::RankOne { .. } => "rank-one",
            Action::Combine { terms, .. } if terms.len() == 1 => "scale",
            Action::Combine { .. } => "add",
            Action::Arrange { pieces } if pieces.len() == 1 => "slice",
            Action::Arrange { .. } => "stack",
            Action::Stored { .. } => "load",
            Action::HStack { .. } => "hstack",
        }
    }

    /// Whether the formula of the step is a sum, which needs parentheses as a factor.
    pub(super) fn is_sum(&self) -> bool {
        self.epilogue().is_some_and(|epilogue| epilogue.add.is_some()) || self.terms().len() > 1
    }

    /// The formula of the step, with values as `spell` writes them.
    pub(super) fn formula(&self, spell: Spelling<'_>) -> String {
        let mut text = self.epilogue().map(scaling).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = match self {
            Action::Sparse { name, right, input, .. } => {
                let right = right.as_ref().map_or(String::new(), |right| format!("{}·", right.name));
                write!(text, "{name}·{right}{}", spell(*input))
            }
            Action::Dense { name, input, .. }
            | Action::Map { name, input, .. }
            | Action::Project { name, input, .. } => {
                write!(text, "{name}·{}", spell(*input))
            }
            Action::ColumnSums { input } => write!(text, "1ᵀ·{}", spell(*input)),
            Action::Spread { input, .. } => text.write_str(&spell(*input)),
            Action::RankOne { input, .. } => write!(text, "1·{}", spell(*input)),
            Action::Combine { terms, .. } if terms.is_empty() => text.write_str("0"),
            Action::Combine { terms, .. } => {
                let terms: Vec<String> = terms.iter().map(|term| spelled(term, spell)).collect();
                text.write_str(&terms.join(" + "))
            }
            Action::Arrange { pieces } => {
                let piece = |piece: &super::program::RowRange| {
                    format!("{}[{}..{}]", spell(piece.value), piece.first_row, piece.first_row + piece.rows)
                };
                text.write_str(&pieces.iter().map(piece).collect::<Vec<_>>().join("; "))
            }
            Action::Stored { name, .. } => text.write_str(name),
            Action::HStack { values } => {
                let values: Vec<String> = values.iter().map(|value| spell(*value)).collect();
                write!(text, "[{}]", values.join(", "))
            }
        };
        if let Some(add) = self.epilogue().and_then(|epilogue| epilogue.add.as_ref()) {
            let _ = write!(text, " + {}", spelled(add, spell));
        }
        text
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.action.verb(), self.action.formula(&|value| value.to_string()))
    }
}

fn spelled(term: &Term, spell: Spelling<'_>) -> String {
    let diagonal = term.diagonal.as_ref().map_or(String::new(), |diagonal| format!("{}·", diagonal.name));
    format!("{}{diagonal}{}", factor(term.coefficient), spell(term.value))
}

fn scaling(epilogue: &Epilogue) -> String {
    let left = epilogue.left.as_ref().map_or(String::new(), |left| format!("{}·", left.name));
    factor(epilogue.alpha) + &left
}

fn factor(coefficient: f64) -> String {
    if coefficient == 1.0 { String::new() } else { format!("{coefficient}·") }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (position, step) in self.steps().iter().enumerate() {
            writeln!(f, "{} = {step}", Value(position + 1))?;
        }
        write!(f, "answer {}", self.output())
    }
}
