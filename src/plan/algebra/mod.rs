//! Merges products of the same matrix.
//!
//! M is a polynomial in letters that do not commute: stored matrices, the matrix of ones, slices
//! and stacks of rows. A program is a list of nodes `letter · (Σ c · diagonal · earlier node)`, and
//! two sweeps shorten it:
//!
//! - *Right sweep.* Nodes of one letter with proportional inputs are merged: `A·x + A·2x = 3·A·x`.
//! - *Left sweep.* Nodes of one letter whose results are read in proportion are merged, and their
//!   inputs are added: `A·x + A·B·y = A·(x + B·y)`. Horner's rule is a special case.
//!
//! Both sweeps only remove products. Of all plans found, the one with the fewest sparse products is
//! kept; ties are broken by flops, then by bytes.
//!
//! A sum that several nodes read can be a panel of its own, or be expanded in each of its readers.
//! Either can allow more merges than the other, so both are tried.

mod build;
mod emit;
mod left;
mod monomials;
mod panels;
mod right;

use std::sync::Arc;

use super::compile::DiagonalProduct;
use super::fuse::fuse;
use super::program::{Program, Side, SparseRole};
use crate::graph::Sparse;
use crate::kernel::Mask;
use crate::matrix::{Dense, LinearMap};
use monomials::{Monomial, Monomials};

/// Longer programs are left as they are, so that planning takes bounded time.
const LARGEST_PROGRAM: usize = 4096;
/// Terms of all sums above which a plan is abandoned.
const LARGEST_PLAN: usize = 20_000;
/// Most rounds of sweeps. Few programs still become shorter after the third.
const MOST_ROUNDS: usize = 64;
/// Columns of the panel for which costs are compared.
const COUNTED_COLUMNS: usize = 64;

/// The cheapest equivalent program found.
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

/// How a sum is treated that several nodes read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sums {
    /// It is a panel.
    Stay,
    /// It is expanded in every reader.
    Distribute,
}

/// A linear map that a node applies. Equal letters read panels with equal numbers of rows, so that
/// their inputs can be added.
enum Letter {
    /// The input of the program.
    Input,
    /// The identity: the node is its sum.
    Panel,
    /// Several sums, one below the other, with these numbers of rows.
    Stack { heights: Vec<usize> },
    /// Consecutive rows.
    Slice { first_row: usize, rows: usize, of: usize },
    /// All ones.
    Ones { rows: usize, columns: usize },
    /// A stored sparse matrix, compared by address.
    Sparse { role: SparseRole, name: String, matrix: Arc<Sparse> },
    /// A stored dense matrix, compared by address.
    Dense { name: String, matrix: Arc<Dense>, mask: Option<Mask>, is_transposed: bool },
    /// A linear map defined by the user, compared by address.
    Map { name: String, map: Arc<dyn LinearMap>, side: Side },
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
            (Map { map, side, .. }, Map { map: other, side: other_side, .. }) => {
                std::ptr::addr_eq(Arc::as_ptr(map), Arc::as_ptr(other)) && side == other_side
            }
            _ => false,
        }
    }
}

/// `coefficient · monomial · node`.
#[derive(Clone, Copy, PartialEq)]
struct Entry {
    node: usize,
    monomial: Monomial,
    coefficient: f64,
}

/// Sorted by node and monomial. Each pair occurs once, and no coefficient is zero.
type Sum = Vec<Entry>;

/// Adds `factor · entry` to a sum.
fn add_entry(sum: &mut Sum, entry: Entry, factor: f64) {
    let coefficient = factor * entry.coefficient;
    match sum.binary_search_by_key(&(entry.node, entry.monomial), |own| (own.node, own.monomial)) {
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

/// `letter · sum`. A stack has several sums.
struct Node {
    letter: usize,
    inputs: Vec<Sum>,
}

/// A program as nodes. The numbers of nodes follow the order of the steps, so every process orders
/// them alike. After a merge a node may read nodes with higher numbers.
struct Algebra {
    input_rows: usize,
    letters: Vec<Letter>,
    nodes: Vec<Node>,
    /// Rows of every node.
    rows: Vec<usize>,
    monomials: Monomials,
    /// The node of the output. It is never merged.
    root: usize,
}

impl Algebra {
    /// Sweeps until nothing changes. `None` if the sums become too long.
    fn shorten(&mut self, sums: Sums) -> Option<()> {
        for _ in 0..MOST_ROUNDS {
            let merged = self.sweep_right(sums)?;
            if self.sweep_left() + self.absorb() + merged == 0 {
                break;
            }
        }
        self.sweep_right(sums).map(|_| ())
    }

    /// The nodes that the output depends on, each after the nodes that it reads.
    fn order(&self) -> Vec<usize> {
        self.order_by_depth(&vec![0; self.nodes.len()])
    }

    /// The order of [`Algebra::order`] in which the deepest term of a sum comes first.
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
                    // The stack reverses the order.
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
