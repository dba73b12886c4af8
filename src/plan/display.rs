//! A program, one line a step.

use std::fmt::{self, Display, Formatter};

use super::program::{Action, Epilogue, Program, SparseRole, Step, Term, Value};

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Value::INPUT => f.write_str("G"),
            Value(number) => write!(f, "v{number}"),
        }
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.coefficient != 1.0 {
            write!(f, "{}·", self.coefficient)?;
        }
        if let Some(diagonal) = &self.diagonal {
            write!(f, "{}·", diagonal.name)?;
        }
        write!(f, "{}", self.value)
    }
}

impl Action {
    /// What kind of step it is, in one word.
    pub fn verb(&self) -> &'static str {
        match self {
            Action::Sparse { role: SparseRole::Multiply, .. } => "spmm",
            Action::Sparse { role: SparseRole::Gather, .. } => "gather",
            Action::Sparse { role: SparseRole::Scatter, .. } => "scatter",
            Action::Dense { .. } => "gemm",
            Action::Project { .. } => "project",
            Action::ColumnSums { .. } => "column-sums",
            Action::Spread { .. } => "spread",
            Action::RankOne { .. } => "rank-one",
            Action::Combine { terms, .. } if terms.len() == 1 => "scale",
            Action::Combine { .. } => "add",
            Action::Arrange { pieces } if pieces.len() == 1 => "slice",
            Action::Arrange { .. } => "stack",
            Action::Stored { .. } => "load",
            Action::Beside { .. } => "beside",
        }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.action.verb())?;
        match &self.action {
            Action::Sparse { name, right, input, epilogue, .. } => {
                write_scaling(epilogue, f)?;
                write!(f, "{name}·")?;
                if let Some(right) = right {
                    write!(f, "{}·", right.name)?;
                }
                write!(f, "{input}")?;
                write_add(epilogue, f)
            }
            Action::Dense { name, input, epilogue, .. } => {
                write_scaling(epilogue, f)?;
                write!(f, "{name}·{input}")?;
                write_add(epilogue, f)
            }
            Action::Project { name, input, .. } => write!(f, "{name}·{input}"),
            Action::ColumnSums { input } => write!(f, "1ᵀ·{input}"),
            Action::Spread { input, epilogue } => {
                write_scaling(epilogue, f)?;
                write!(f, "{input}")?;
                write_add(epilogue, f)
            }
            Action::RankOne { input, epilogue } => {
                write_scaling(epilogue, f)?;
                write!(f, "1·{input}")?;
                write_add(epilogue, f)
            }
            Action::Combine { terms, .. } => {
                for (position, term) in terms.iter().enumerate() {
                    write!(f, "{}{term}", if position > 0 { " + " } else { "" })?;
                }
                if terms.is_empty() { f.write_str("0") } else { Ok(()) }
            }
            Action::Arrange { pieces } => {
                for (position, piece) in pieces.iter().enumerate() {
                    let separator = if position > 0 { "; " } else { "" };
                    write!(f, "{separator}{}[{}..{}]", piece.value, piece.first_row, piece.first_row + piece.rows)?;
                }
                Ok(())
            }
            Action::Stored { name, .. } => f.write_str(name),
            Action::Beside { values } => {
                let values: Vec<String> = values.iter().map(Value::to_string).collect();
                write!(f, "[{}]", values.join(", "))
            }
        }
    }
}

fn write_scaling(epilogue: &Epilogue, f: &mut Formatter<'_>) -> fmt::Result {
    if epilogue.alpha != 1.0 {
        write!(f, "{}·", epilogue.alpha)?;
    }
    match &epilogue.left {
        None => Ok(()),
        Some(left) => write!(f, "{}·", left.name),
    }
}

fn write_add(epilogue: &Epilogue, f: &mut Formatter<'_>) -> fmt::Result {
    match &epilogue.add {
        None => Ok(()),
        Some(add) => write!(f, " + {add}"),
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (position, step) in self.steps().iter().enumerate() {
            writeln!(f, "{} = {step}", Value(position + 1))?;
        }
        write!(f, "answer {}", self.output())
    }
}
