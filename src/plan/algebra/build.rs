//! Converts steps into nodes.

use std::collections::HashMap;

use super::monomials::{Monomial, Monomials};
use super::{Algebra, Entry, Letter, Node, Sum, add_entry};
use crate::plan::compile::DiagonalProduct;
use crate::plan::program::{Action, Diagonal, Program, Value};

impl Algebra {
    /// The nodes of a program whose steps have no epilogues.
    pub(super) fn build(program: &Program, diagonals: &[DiagonalProduct]) -> Algebra {
        let letters = Vec::new();
        let monomials = Monomials::new();
        let mut algebra = Algebra {
            input_rows: program.input_rows,
            letters,
            nodes: Vec::new(),
            rows: Vec::new(),
            monomials,
            root: 0,
        };
        let mut builder = Builder { program, known: HashMap::new(), nodes: Vec::new(), algebra: &mut algebra };
        for made in diagonals {
            let [outer, inner] = [&made.outer, &made.inner].map(|diagonal| builder.monomial(Some(diagonal)));
            let product = builder.algebra.monomials.times(outer, inner);
            builder.known.insert(address(&made.product), product);
        }
        let input = builder.node(Letter::Input, program.input_rows, Vec::new());
        builder.nodes.push(input);
        for step in &program.steps {
            let node = builder.step(&step.action, step.rows);
            builder.nodes.push(node);
        }
        let output = builder.plain(program.output);
        let root = builder.node(Letter::Panel, program.rows(program.output), vec![output]);
        algebra.root = root;
        algebra
    }
}

fn address(diagonal: &Diagonal) -> usize {
    diagonal.values.as_ptr().addr()
}

struct Builder<'a> {
    program: &'a Program,
    /// Monomials of diagonals, by the address of their entries. The program keeps them alive.
    known: HashMap<usize, Monomial>,
    /// The node of every value.
    nodes: Vec<usize>,
    algebra: &'a mut Algebra,
}

impl Builder<'_> {
    fn monomial(&mut self, diagonal: Option<&Diagonal>) -> Monomial {
        let Some(diagonal) = diagonal else { return Monomial::EMPTY };
        let monomials = &mut self.algebra.monomials;
        *self.known.entry(address(diagonal)).or_insert_with(|| monomials.of_factor(diagonal))
    }

    fn node(&mut self, letter: Letter, rows: usize, inputs: Vec<Sum>) -> usize {
        let algebra = &mut *self.algebra;
        let known = algebra.letters.iter().position(|known| known.is_same(&letter));
        let letter = known.unwrap_or_else(|| {
            algebra.letters.push(letter);
            algebra.letters.len() - 1
        });
        algebra.nodes.push(Node { letter, inputs });
        algebra.rows.push(rows);
        algebra.nodes.len() - 1
    }

    fn plain(&self, value: Value) -> Sum {
        vec![Entry { node: self.nodes[value.0], monomial: Monomial::EMPTY, coefficient: 1.0 }]
    }

    /// The node of a step. A reduction and the step that distributes it again are one node: the
    /// panel before the reduction can be added to others, reduced values cannot.
    fn step(&mut self, action: &Action, rows: usize) -> usize {
        match action {
            Action::Sparse { role, name, matrix, right, input, .. } => {
                let letter = Letter::Sparse { role: *role, name: name.clone(), matrix: matrix.clone() };
                let monomial = self.monomial(right.as_ref());
                let entry = Entry { node: self.nodes[input.0], monomial, coefficient: 1.0 };
                self.node(letter, rows, vec![vec![entry]])
            }
            Action::Dense { name, matrix, mask, input, .. } => {
                let (name, matrix, mask) = (name.clone(), matrix.clone(), *mask);
                let input = self.plain(*input);
                self.node(Letter::Dense { name, matrix, mask, is_transposed: false }, rows, vec![input])
            }
            Action::Map { name, map, side, input, .. } => {
                let (name, map, side) = (name.clone(), map.clone(), *side);
                let input = self.plain(*input);
                self.node(Letter::Map { name, map, side }, rows, vec![input])
            }
            Action::Project { name, matrix, mask, input } => {
                let (name, matrix, mask) = (name.clone(), matrix.clone(), *mask);
                let input = self.plain(*input);
                self.node(Letter::Dense { name, matrix, mask, is_transposed: true }, rows, vec![input])
            }
            Action::Spread { input, .. } | Action::ColumnSums { input } => self.nodes[input.0],
            Action::RankOne { input, .. } => {
                let summed = self.nodes[input.0];
                let columns = self.algebra.rows[summed];
                let input = self.plain(*input);
                self.node(Letter::Ones { rows, columns }, rows, vec![input])
            }
            Action::Combine { terms, .. } => {
                let mut sum = Sum::new();
                for term in terms {
                    let monomial = self.monomial(term.diagonal.as_ref());
                    let entry = Entry { node: self.nodes[term.value.0], monomial, coefficient: term.coefficient };
                    add_entry(&mut sum, entry, 1.0);
                }
                self.node(Letter::Panel, rows, vec![sum])
            }
            Action::Arrange { pieces } => {
                let mut parts: Vec<Sum> = Vec::with_capacity(pieces.len());
                for piece in pieces {
                    let (all_rows, of) = (self.plain(piece.value), self.program.rows(piece.value));
                    parts.push(match piece.rows == of {
                        true => all_rows,
                        false => {
                            let letter = Letter::Slice { first_row: piece.first_row, rows: piece.rows, of };
                            let node = self.node(letter, piece.rows, vec![all_rows]);
                            vec![Entry { node, monomial: Monomial::EMPTY, coefficient: 1.0 }]
                        }
                    });
                }
                match parts.len() {
                    1 => self.node(Letter::Panel, rows, parts),
                    _ => {
                        let heights = pieces.iter().map(|piece| piece.rows).collect();
                        self.node(Letter::Stack { heights }, rows, parts)
                    }
                }
            }
            Action::Stored { .. } | Action::HStack { .. } => {
                unreachable!("only programs that form a matrix have this step")
            }
        }
    }
}
