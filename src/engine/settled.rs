//! Panels with their rows in the order of a ladder.
//!
//! A [`Ladder`] goes over the rows of a matrix in an order of its own. Panels that have their rows in that order are read and
//! written from the first row to the last, where rows would be picked one by one, half a cache line each at eight columns: a
//! product takes a sixth to a quarter less time. So columns that a worker takes through a whole program are put into that order before, and
//! back afterwards. What is summed over rows is summed in the order that they had, so that the bits stay.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use crate::graph::Sparse;
use crate::kernel::panel::{copy_row, stride};
use crate::kernel::spmm::Ladder;
use crate::matrix::Entries;
use crate::plan::{Action, Diagonal, Program};

/// The order of a ladder.
pub(super) struct Settled {
    matrix: Arc<Sparse>,
    ladder: Rc<Ladder>,
    /// The place of every row.
    places: Vec<u16>,
}

impl Settled {
    /// The order of the ladder of a matrix; `None` if that is not square.
    pub(super) fn new(matrix: &Arc<Sparse>, ladder: &Ladder) -> Option<Self> {
        let settled = ladder.settled()?;
        let mut places = vec![0; ladder.order().len()];
        ladder.order().iter().zip(0..).for_each(|(&row, place)| places[usize::from(row)] = place);
        Some(Self { matrix: matrix.clone(), ladder: Rc::new(settled), places })
    }

    /// The ladder for panels in this order.
    pub(super) fn ladder(&self) -> &Rc<Ladder> {
        &self.ladder
    }

    /// A program for panels in this order; `None` if it multiplies by another matrix, or does what the order of rows matters to.
    pub(super) fn program(&self, program: &Program) -> Option<Program> {
        let is_fit = program.steps().iter().all(|step| match &step.action {
            Action::Sparse { matrix, .. } => Arc::ptr_eq(matrix, &self.matrix),
            Action::Combine { .. } | Action::RankOne { .. } | Action::ColumnSums { .. } => true,
            _ => false,
        });
        let rows = self.places.len();
        let are_of_all = program.input_rows() == rows
            && program.steps().iter().all(|step| step.rows == rows || step.action.is_reduced());
        (is_fit && are_of_all).then(|| program.with_diagonals(|diagonal| self.diagonal(diagonal)))
    }

    fn diagonal(&self, Diagonal { name, values }: &Diagonal) -> Diagonal {
        let mut settled = vec![0.0; self.places.len()];
        self.places.iter().zip(values.iter()).for_each(|(&place, &value)| settled[usize::from(place)] = value);
        Diagonal { name: name.clone(), values: Entries::outline(values.length(), settled) }
    }

    /// Puts the rows of a panel of so many columns into this order.
    pub(super) fn settle<'a>(&self, cols: usize, rows: impl Iterator<Item = &'a [f32]>, out: &mut [f32]) {
        let stride = stride(cols);
        for (&place, row) in self.places.iter().zip(rows) {
            copy_row(&mut out[usize::from(place) * stride..][..stride], row);
        }
    }

    /// The places of some rows.
    pub(super) fn places(&self, rows: Range<usize>) -> &[u16] {
        &self.places[rows]
    }

    /// A panel in this order, in the order that it had.
    pub(super) fn unsettle(&self, cols: usize, settled: &[f32], out: &mut [f32]) {
        let stride = stride(cols);
        for (&place, to) in self.places.iter().zip(out.chunks_exact_mut(stride.max(1))) {
            copy_row(to, &settled[usize::from(place) * stride..][..stride]);
        }
    }
}
