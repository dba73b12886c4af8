//! From steps to nodes.

use std::collections::HashMap;

use super::words::{Word, Words};
use super::{Algebra, Entry, Letter, Node, Sum, add_entry};
use crate::plan::compile::DiagonalProduct;
use crate::plan::program::{Action, Diagonal, Program, Value};

impl Algebra {
    /// The nodes of a program with nothing fused.
    pub(super) fn build(program: &Program, diagonals: &[DiagonalProduct]) -> Algebra {
        let letters = Vec::new();
        let words = Words::new();
        let mut algebra =
            Algebra { input_rows: program.input_rows, letters, nodes: Vec::new(), rows: Vec::new(), words, root: 0 };
        let mut builder = Builder { program, known: HashMap::new(), nodes: Vec::new(), algebra: &mut algebra };
        for made in diagonals {
            let [outer, inner] = [&made.outer, &made.inner].map(|diagonal| builder.word(Some(diagonal)));
            let product = builder.algebra.words.times(outer, inner);
            builder.known.insert(address(&made.product), product);
        }
        let input = builder.node(Letter::Input, program.input_rows, Vec::new());
        builder.nodes.push(input);
        for step in &program.steps {
            let node = builder.step(&step.action, step.rows);
            builder.nodes.push(node);
        }
        let answer = builder.plain(program.output);
        let root = builder.node(Letter::Panel, program.rows(program.output), vec![answer]);
        algebra.root = root;
        algebra
    }
}

fn address(diagonal: &Diagonal) -> usize {
    diagonal.values.as_ptr().addr()
}

struct Builder<'a> {
    program: &'a Program,
    /// Words of the diagonals met, by where their entries are. The program keeps all of them alive.
    known: HashMap<usize, Word>,
    /// The node of every value.
    nodes: Vec<usize>,
    algebra: &'a mut Algebra,
}

impl Builder<'_> {
    fn word(&mut self, diagonal: Option<&Diagonal>) -> Word {
        let Some(diagonal) = diagonal else { return Word::EMPTY };
        let words = &mut self.algebra.words;
        *self.known.entry(address(diagonal)).or_insert_with(|| words.of_factor(diagonal))
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
        vec![Entry { node: self.nodes[value.0], word: Word::EMPTY, coefficient: 1.0 }]
    }

    /// The node of a step. What is summed over all rows before it is spread is one node with the spreading: the sums
    /// alone cannot be added up, and stand for what they are the sums of.
    fn step(&mut self, action: &Action, rows: usize) -> usize {
        match action {
            Action::Sparse { role, name, matrix, right, input, .. } => {
                let letter = Letter::Sparse { role: *role, name: name.clone(), matrix: matrix.clone() };
                let word = self.word(right.as_ref());
                let entry = Entry { node: self.nodes[input.0], word, coefficient: 1.0 };
                self.node(letter, rows, vec![vec![entry]])
            }
            Action::Dense { name, matrix, mask, input, .. } => {
                let (name, matrix, mask) = (name.clone(), matrix.clone(), *mask);
                let input = self.plain(*input);
                self.node(Letter::Dense { name, matrix, mask, is_transposed: false }, rows, vec![input])
            }
            Action::Own { name, map, side, input, .. } => {
                let (name, map, side) = (name.clone(), map.clone(), *side);
                let input = self.plain(*input);
                self.node(Letter::Own { name, map, side }, rows, vec![input])
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
                    let word = self.word(term.diagonal.as_ref());
                    let entry = Entry { node: self.nodes[term.value.0], word, coefficient: term.coefficient };
                    add_entry(&mut sum, entry, 1.0);
                }
                self.node(Letter::Panel, rows, vec![sum])
            }
            Action::Arrange { pieces } => {
                let mut parts: Vec<Sum> = Vec::with_capacity(pieces.len());
                for piece in pieces {
                    let (whole, of) = (self.plain(piece.value), self.program.rows(piece.value));
                    parts.push(match piece.rows == of {
                        true => whole,
                        false => {
                            let letter = Letter::Slice { first_row: piece.first_row, rows: piece.rows, of };
                            let node = self.node(letter, piece.rows, vec![whole]);
                            vec![Entry { node, word: Word::EMPTY, coefficient: 1.0 }]
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
                unreachable!("only programs that form a matrix have these")
            }
        }
    }
}
