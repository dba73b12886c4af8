//! A program as one expression.

use super::program::{Program, Value};

/// A program as an expression over its input G. A value that is read several times has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// The expression of the output.
    pub answer: String,
    /// Names and their expressions, each after those that it refers to.
    pub shared: Vec<(String, String)>,
}

impl Program {
    /// The program as one expression.
    ///
    /// ```
    /// use isvd_dist::matrix::{Dense, Matrix};
    /// use isvd_dist::plan::{Program, Side};
    ///
    /// let t = Matrix::dense("T", Dense::new(2, 2, vec![0.0, 1.0, 0.5, 0.5])?)?;
    /// let program = Program::compile(&t.polynomial(&[0.0, 0.5, 0.25]), Side::Plain);
    /// assert_eq!(program.rewritten().answer, "T·(0.25·T·G + 0.5·G)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rewritten(&self) -> Rewritten {
        let mut readers = vec![0; self.steps().len() + 1];
        for step in self.steps() {
            step.action.reads().iter().for_each(|(value, _)| readers[value.0] += 1);
        }
        let mut shared = Vec::new();
        // The text of every value, and whether it is a sum.
        let mut spelled: Vec<(String, bool)> = vec![(Value::INPUT.to_string(), false)];
        for (position, step) in self.steps().iter().enumerate() {
            let value = Value(position + 1);
            let spell = |value: Value| match &spelled[value.0] {
                (text, true) if !step.action.is_sum_of(value) => format!("({text})"),
                (text, _) => text.clone(),
            };
            let formula = step.action.formula(&spell);
            if readers[value.0] > 1 && value != self.output() {
                shared.push((value.to_string(), formula));
                spelled.push((value.to_string(), false));
            } else {
                spelled.push((formula, step.action.is_sum()));
            }
        }
        Rewritten { answer: spelled.swap_remove(self.output().0).0, shared }
    }
}
