//! Sparse matrices in the format of the kernels, by worker.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::graph::Sparse;
use crate::kernel::spmm::{LengthSortedRows, RowPermutation};
use crate::matrix::Entries;
use crate::plan::{Action, Diagonal, Program};

/// Copies of a worker's tiles with their rows sorted by length, built when first needed.
#[derive(Default)]
pub(super) struct Operands {
    cached: Vec<Cached>,
}

struct Cached {
    matrix: Arc<Sparse>,
    tiles: Range<usize>,
    sorted: Option<Rc<LengthSortedRows>>,
    /// `None` before it is first needed.
    permuted: Option<Option<Rc<PermutedMatrix>>>,
}

impl Operands {
    /// The rows of some tiles sorted by length, if products are faster in that format.
    pub(super) fn sorted(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>) -> Option<Rc<LengthSortedRows>> {
        self.cached(matrix, tiles).sorted.clone()
    }

    /// PAPᵀ of a matrix with these tiles, if products are faster in sorted rows.
    pub(super) fn permuted(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>) -> Option<Rc<PermutedMatrix>> {
        let Cached { sorted, permuted, .. } = self.cached(matrix, tiles);
        let permute = || {
            let (permutation, rows) = sorted.as_ref()?.permuted()?;
            Some(Rc::new(PermutedMatrix { original: matrix.clone(), rows, permutation }))
        };
        permuted.get_or_insert_with(permute).clone()
    }

    fn cached(&mut self, matrix: &Arc<Sparse>, tiles: &Range<usize>) -> &mut Cached {
        let is_same = |cached: &Cached| Arc::ptr_eq(&cached.matrix, matrix) && cached.tiles == *tiles;
        let position = self.cached.iter().position(is_same).unwrap_or_else(|| {
            let has_one_strip = matrix.strips() == 1 && !matrix.is_outline();
            let cells = tiles.clone().map(|tile| matrix.cell(tile, 0));
            let sorted = has_one_strip.then(|| LengthSortedRows::new(cells)).flatten().map(Rc::new);
            self.cached.push(Cached { matrix: matrix.clone(), tiles: tiles.clone(), sorted, permuted: None });
            self.cached.len() - 1
        });
        &mut self.cached[position]
    }
}

/// PAPᵀ, where P sorts the rows of a square matrix A by length.
pub(super) struct PermutedMatrix {
    original: Arc<Sparse>,
    pub(super) rows: LengthSortedRows,
    pub(super) permutation: RowPermutation,
}

impl PermutedMatrix {
    /// The program for panels whose rows are permuted by P. `None` if it multiplies by another
    /// matrix, or has a step that depends on the order of the rows.
    pub(super) fn program(&self, program: &Program) -> Option<Program> {
        let commutes = program.steps().iter().all(|step| match &step.action {
            Action::Sparse { matrix, .. } => Arc::ptr_eq(matrix, &self.original),
            Action::Combine { .. } | Action::RankOne { .. } | Action::ColumnSums { .. } => true,
            Action::Dense { .. }
            | Action::Map { .. }
            | Action::Project { .. }
            | Action::Spread { .. }
            | Action::Arrange { .. }
            | Action::Stored { .. }
            | Action::HStack { .. } => false,
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
