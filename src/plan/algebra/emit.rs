//! Converts nodes back into steps.

use std::collections::HashMap;

use super::monomials::Monomial;
use super::{Algebra, Entry, Letter};
use crate::plan::program::{Action, Diagonal, Epilogue, Program, RowRange, Side, Step, Term, Value};

impl Algebra {
    /// The program of the nodes that the output depends on, without epilogues.
    pub(super) fn emit(mut self) -> Program {
        let order = self.order_of_steps();
        let (root, input_rows) = (self.root, self.input_rows);
        let values = vec![Value::INPUT; self.nodes.len()];
        let (steps, panels, sums) = (Vec::new(), HashMap::new(), HashMap::new());
        let mut emitter = Emitter { algebra: &mut self, steps, values, panels, sums };
        for node in order {
            let value = emitter.node(node);
            emitter.values[node] = value;
        }
        let output = emitter.values[root];
        Program { input_rows, steps: emitter.steps, output }
    }

    /// The deepest term of a sum is computed first: the panels of the others are then not in memory
    /// meanwhile, and each can add the terms before it in its epilogue.
    fn order_of_steps(&self) -> Vec<usize> {
        let mut depths = vec![0; self.nodes.len()];
        for node in self.order() {
            let below = self.nodes[node].inputs.iter().flatten().map(|entry| depths[entry.node]).max();
            depths[node] = below.map_or(0, |below| below + 1);
        }
        self.order_by_depth(&depths)
    }
}

/// Identifies a panel by its rows and its terms: node, monomial and the bits of the coefficient.
type PanelKey = (usize, Vec<(usize, Monomial, u64)>);

struct Emitter<'a> {
    algebra: &'a mut Algebra,
    steps: Vec<Step>,
    /// The value of every node.
    values: Vec<Value>,
    /// Panels of sums, by their terms and rows.
    panels: HashMap<PanelKey, Value>,
    /// Column sums of values.
    sums: HashMap<Value, Value>,
}

impl Emitter<'_> {
    fn push(&mut self, rows: usize, action: Action) -> Value {
        self.steps.push(Step { rows, action });
        Value(self.steps.len())
    }

    fn node(&mut self, node: usize) -> Value {
        let rows = self.algebra.rows[node];
        let epilogue = Epilogue::default();
        // The sums of a node are not read again: its readers refer to its value.
        let mut inputs = std::mem::take(&mut self.algebra.nodes[node].inputs).into_iter();
        let sum = inputs.next().unwrap_or_default();
        match &self.algebra.letters[self.algebra.nodes[node].letter] {
            Letter::Input => Value::INPUT,
            Letter::Panel => self.panel(&sum, rows),
            Letter::Stack { heights } => {
                let heights = heights.clone();
                let sums = std::iter::once(sum).chain(inputs);
                let parts: Vec<_> = sums.zip(heights).collect();
                let piece =
                    |(sum, rows): (Vec<Entry>, usize)| RowRange { value: self.panel(&sum, rows), first_row: 0, rows };
                let pieces = parts.into_iter().map(piece).collect();
                self.push(rows, Action::Arrange { pieces })
            }
            &Letter::Slice { first_row, rows, of } => {
                let value = self.panel(&sum, of);
                self.push(rows, Action::Arrange { pieces: vec![RowRange { value, first_row, rows }] })
            }
            &Letter::Ones { rows, columns } => {
                let input = self.panel(&sum, columns);
                let sums = match self.sums.get(&input) {
                    Some(&sums) => sums,
                    None => self.push(1, Action::ColumnSums { input }),
                };
                self.sums.insert(input, sums);
                self.push(rows, Action::RankOne { input: sums, epilogue })
            }
            Letter::Sparse { role, name, matrix } => {
                let (role, name, matrix) = (*role, name.clone(), matrix.clone());
                let (right, input) = self.scaled(&sum, matrix.cols());
                self.push(rows, Action::Sparse { role, name, matrix, right, input, epilogue })
            }
            Letter::Map { name, map, side } => {
                let (name, map, side) = (name.clone(), map.clone(), *side);
                let shape = map.shape();
                let columns = if side == Side::Plain { shape.columns } else { shape.rows };
                let input = self.panel(&sum, columns);
                self.push(rows, Action::Map { name, map, side, input, epilogue })
            }
            Letter::Dense { name, matrix, mask, is_transposed } => {
                let (name, matrix, mask, is_transposed) = (name.clone(), matrix.clone(), *mask, *is_transposed);
                if is_transposed {
                    let input = self.panel(&sum, matrix.rows());
                    let sums = self.push(rows, Action::Project { name, matrix, mask, input });
                    return self.push(rows, Action::Spread { input: sums, epilogue });
                }
                let input = self.panel(&sum, matrix.columns());
                self.push(rows, Action::Dense { name, matrix, mask, input, epilogue })
            }
        }
    }

    /// A sum as a diagonal and a value. A sparse product applies the diagonal at no cost.
    fn scaled(&mut self, sum: &[Entry], rows: usize) -> (Option<Diagonal>, Value) {
        match sum {
            &[Entry { node, monomial, coefficient: 1.0 }] => {
                (self.algebra.monomials.diagonal(monomial), self.values[node])
            }
            _ => (None, self.panel(sum, rows)),
        }
    }

    /// The panel of a sum, computed once.
    fn panel(&mut self, sum: &[Entry], rows: usize) -> Value {
        if let &[Entry { node, monomial: Monomial::EMPTY, coefficient: 1.0 }] = sum {
            return self.values[node];
        }
        let key = (rows, sum.iter().map(|entry| (entry.node, entry.monomial, entry.coefficient.to_bits())).collect());
        if let Some(&value) = self.panels.get(&key) {
            return value;
        }
        let term = |&Entry { node, monomial, coefficient }: &Entry| {
            let diagonal = self.algebra.monomials.diagonal(monomial);
            Term { coefficient, diagonal, value: self.values[node] }
        };
        let terms = sum.iter().map(term).collect();
        let value = self.push(rows, Action::Combine { terms, like: Value::INPUT });
        self.panels.insert(key, value);
        value
    }
}
