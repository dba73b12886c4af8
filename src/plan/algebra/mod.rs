//! The planner: fewer products of each letter.
//!
//! M is a polynomial in letters that do not commute: stored matrices, all ones, the cutting and stacking of rows. A
//! program is a list of nodes `letter · (Σ c · diagonal · earlier node)`, and two sweeps make it shorter. *Right*: nodes
//! of one letter with proportional inputs are one node, `A·x + A·2x = 3·A·x`. *Left*: nodes of one letter whose results
//! are read in proportional ways are one node, and their inputs add up, `A·x + A·B·y = A·(x + B·y)`; that is Horner's rule,
//! found and not written. A sweep only removes products, so the plan is never worse than what it starts from, and of all
//! plans the one with the fewest sparse products is kept, then the one with the fewest flops and bytes.
//!
//! A sum that several nodes read can stay a panel of its own, or be written out at every reader, diagonals distributed
//! over it. Neither is always better for what can be merged, so both are tried.

mod build;
mod emit;
mod left;
mod panels;
mod right;
mod words;

use std::sync::Arc;

use super::compile::DiagonalProduct;
use super::fuse::fuse;
use super::program::{Program, Side, SparseRole};
use crate::graph::Sparse;
use crate::kernel::Mask;
use crate::matrix::{Dense, LinearMap};
use words::{Word, Words};

/// Longer programs are left as they are, so that planning takes bounded time.
const LARGEST_PROGRAM: usize = 4096;
/// A plan whose sums have more terms than this is given up.
const LARGEST_PLAN: usize = 20_000;
/// Every round shortens the program, and few do so after the third.
const MOST_ROUNDS: usize = 64;
/// Columns of the panel that costs are counted for.
const COUNTED_COLUMNS: usize = 64;

/// The cheapest program that does the same.
pub(super) fn plan(program: &Program, diagonals: &[DiagonalProduct]) -> Program {
    let mut best = fuse(program.clone());
    if program.steps.len() > LARGEST_PROGRAM {
        return best;
    }
    for sums in [Sums::Stay, Sums::Distribute] {
        let mut algebra = Algebra::build(program, diagonals);
        if algebra.shorten(sums).is_some() {
            let candidate = fuse(algebra.emit());
            if cost(&candidate) < cost(&best) {
                best = candidate;
            }
        }
    }
    best
}

fn cost(program: &Program) -> (usize, u64, u64) {
    let count = program.count(COUNTED_COLUMNS);
    (program.sparse_products(), count.flops, count.bytes)
}

/// What becomes of a sum that several nodes read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sums {
    /// It stays a panel.
    Stay,
    /// Every reader has it written out.
    Distribute,
}

/// A linear map that a node applies. The number of rows that it reads is part of it, so that inputs of equal letters can
/// be added up.
enum Letter {
    /// The panel that the program is given.
    Input,
    /// The sum itself.
    Panel,
    /// One sum below the other, of so many rows each.
    Stack { heights: Vec<usize> },
    /// Consecutive rows.
    Slice { first_row: usize, rows: usize, of: usize },
    /// All ones.
    Ones { rows: usize, columns: usize },
    /// A stored matrix, known by where it is stored.
    Sparse { role: SparseRole, name: String, matrix: Arc<Sparse> },
    /// A stored matrix, known by where it is stored.
    Dense { name: String, matrix: Arc<Dense>, mask: Option<Mask>, is_transposed: bool },
    /// A map of the user's own, known by where it is.
    Own { name: String, map: Arc<dyn LinearMap>, side: Side },
}

impl Letter {
    fn is_same(&self, other: &Letter) -> bool {
        use Letter::*;
        match (self, other) {
            (Input, Input) | (Panel, Panel) => true,
            (Stack { heights }, Stack { heights: others }) => heights == others,
            (Slice { first_row, rows, of }, Slice { first_row: other_first, rows: other_rows, of: other_of }) => {
                (first_row, rows, of) == (other_first, other_rows, other_of)
            }
            (Ones { rows, columns }, Ones { rows: other_rows, columns: other_columns }) => {
                (rows, columns) == (other_rows, other_columns)
            }
            (Sparse { role, matrix, .. }, Sparse { role: other_role, matrix: other, .. }) => {
                role == other_role && Arc::ptr_eq(matrix, other)
            }
            (
                Dense { matrix, mask, is_transposed, .. },
                Dense { matrix: other, mask: other_mask, is_transposed: other_transposed, .. },
            ) => Arc::ptr_eq(matrix, other) && mask == other_mask && is_transposed == other_transposed,
            (Own { map, side, .. }, Own { map: other, side: other_side, .. }) => {
                std::ptr::addr_eq(Arc::as_ptr(map), Arc::as_ptr(other)) && side == other_side
            }
            _ => false,
        }
    }
}

/// `coefficient · word · node`, where the word is a product of diagonals.
#[derive(Clone, Copy, PartialEq)]
struct Entry {
    node: usize,
    word: Word,
    coefficient: f64,
}

/// Sorted by node and word, each pair once, no coefficient zero.
type Sum = Vec<Entry>;

/// Adds `factor · entry` to a sum.
fn add_entry(sum: &mut Sum, entry: Entry, factor: f64) {
    let coefficient = factor * entry.coefficient;
    match sum.binary_search_by_key(&(entry.node, entry.word), |own| (own.node, own.word)) {
        Ok(place) => {
            sum[place].coefficient += coefficient;
            if sum[place].coefficient == 0.0 {
                sum.remove(place);
            }
        }
        Err(place) if coefficient != 0.0 => sum.insert(place, Entry { coefficient, ..entry }),
        Err(_) => {}
    }
}

/// The factor between two lists of coefficients, up to rounding.
fn ratio(of: impl Iterator<Item = f64> + Clone, to: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let ratio = of.clone().next()? / to.clone().next()?;
    let is_close = |(of, to): (f64, f64)| (of - ratio * to).abs() <= 4.0 * f64::EPSILON * of.abs();
    (ratio.is_normal() && of.zip(to).all(is_close)).then_some(ratio)
}

/// `letter · sum`; a stack has several sums.
struct Node {
    letter: usize,
    inputs: Vec<Sum>,
}

/// A program as nodes. Numbers of nodes are in the order in which the program made them, so whatever is ordered by them is
/// the same in every process; after a merge it need not be an order in which they can be made.
struct Algebra {
    input_rows: usize,
    letters: Vec<Letter>,
    nodes: Vec<Node>,
    /// Rows of every node.
    rows: Vec<usize>,
    words: Words,
    /// The panel that is the answer. It is never merged with another.
    root: usize,
}

impl Algebra {
    /// Sweeps until nothing changes. `None` when the sums become too long.
    fn shorten(&mut self, sums: Sums) -> Option<()> {
        for _ in 0..MOST_ROUNDS {
            let merged = self.sweep_right(sums)?;
            if self.sweep_left() + self.absorb() + merged == 0 {
                break;
            }
        }
        self.sweep_right(sums).map(|_| ())
    }

    /// The nodes that the answer needs, each after those that it reads.
    fn order(&self) -> Vec<usize> {
        self.order_by_depth(&vec![0; self.nodes.len()])
    }

    /// The same, of the terms of a sum the deepest first.
    fn order_by_depth(&self, depths: &[usize]) -> Vec<usize> {
        let mut order = Vec::new();
        let mut is_seen = vec![false; self.nodes.len()];
        let mut open = vec![(self.root, false)];
        while let Some((node, is_done)) = open.pop() {
            if is_done {
                order.push(node);
            } else if !std::mem::replace(&mut is_seen[node], true) {
                open.push((node, true));
                for sum in self.nodes[node].inputs.iter().rev() {
                    // The last to be opened is the first to be made.
                    let mut read: Vec<usize> = sum.iter().rev().map(|entry| entry.node).collect();
                    read.sort_by_key(|&node| depths[node]);
                    open.extend(read.into_iter().map(|node| (node, false)));
                }
            }
        }
        order
    }

    fn is_panel(&self, node: usize) -> bool {
        matches!(self.letters[self.nodes[node].letter], Letter::Panel)
    }

    fn is_input(&self, node: usize) -> bool {
        matches!(self.letters[self.nodes[node].letter], Letter::Input)
    }
}
