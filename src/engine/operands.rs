//! Sparse factors prepared for products, by worker.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::graph::Sparse;
use crate::kernel::spmm::{LengthSortedRows, RowPermutation};
use crate::matrix::Entries;
use crate::plan::{Action, Diagonal, Program};

/// Copies of a worker's tiles with their rows sorted by length, made when first asked for.
#[derive(Default)]
pub(super) struct Operands {
    known: Vec<Known>,
}

struct Known {
    matrix: Arc<Sparse>,
    tiles: Range<usize>,
    sorted: Option<Rc<LengthSortedRows>>,
    /// Once somebody asked for it.
    permuted: Option<Option<Rc<PermutedMatrix>>>,
}

impl Operands {
    /// The rows of some tiles sorted by length, where that pays.
    pub(super) fn sorted(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>) -> Option<Rc<LengthSortedRows>> {
        self.known(matrix, tiles).sorted.clone()
    }

    /// PAPᵀ of a matrix with these tiles, where rows sorted by length pay.
    pub(super) fn permuted(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>) -> Option<Rc<PermutedMatrix>> {
        let Known { sorted, permuted, .. } = self.known(matrix, tiles);
        let permute = || {
            let (permutation, rows) = sorted.as_ref()?.permuted()?;
            Some(Rc::new(PermutedMatrix { original: matrix.clone(), rows, permutation }))
        };
        permuted.get_or_insert_with(permute).clone()
    }

    fn known(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>) -> &mut Known {
        let is_it = |known: &Known| Arc::ptr_eq(&known.matrix, matrix) && known.tiles == *tiles;
        let place = self.known.iter().position(is_it).unwrap_or_else(|| {
            let has_one_strip = matrix.strips() == 1 && !matrix.is_outline();
            let cells = tiles.clone().map(|tile| matrix.cell(tile, 0));
            let sorted = has_one_strip.then(|| LengthSortedRows::new(cells)).flatten().map(Rc::new);
            self.known.push(Known { matrix: matrix.clone(), tiles: tiles.clone(), sorted, permuted: None });
            self.known.len() - 1
        });
        &mut self.known[place]
    }
}

/// PAPᵀ, where P sorts the rows of a square matrix A by length.
pub(super) struct PermutedMatrix {
    original: Arc<Sparse>,
    pub(super) rows: LengthSortedRows,
    pub(super) permutation: RowPermutation,
}

impl PermutedMatrix {
    /// A program for panels whose rows are permuted by P. `None` if it multiplies by another
    /// matrix, or has a step that depends on the order of the rows.
    pub(super) fn program(&self, program: &Program) -> Option<Program> {
        let commutes = program.steps().iter().all(|step| match &step.action {
            Action::Sparse { matrix, .. } => Arc::ptr_eq(matrix, &self.original),
            Action::Combine { .. } | Action::RankOne { .. } | Action::ColumnSums { .. } => true,
            _ => false,
        });
        let rows = self.permutation.rows();
        let has_all_rows = program.input_rows() == rows
            && program.steps().iter().all(|step| step.rows == rows || step.action.is_reduced());
        let permuted = |Diagonal { name, values }: &Diagonal| {
            let values = Entries::outline(values.length(), self.permutation.permute(values));
            Diagonal { name: name.clone(), values }
        };
        (commutes && has_all_rows).then(|| program.with_diagonals(permuted))
    }
}
