//! How a program runs: one interpreter, two schedules.
//!
//! By rows, a program becomes a dataflow with one operator a step; a worker has its rows of every
//! panel, and all-gathers and all-reduces stand between the steps. By columns, a worker takes some
//! columns of the input through all steps without waiting for others. Both schedules are backends
//! of the same [`Interpreter`], and give the same bits.

mod by_columns;
mod by_rows;
mod interpreter;

use std::rc::Rc;

pub(super) use by_columns::{ColumnSchedule, columns_flow, run_columns};
pub(super) use by_rows::program_flow;

/// Who computes what of a product.
pub(super) enum Schedule {
    /// Every worker its rows, step by step.
    ByRows,
    /// Every worker some columns, through all steps of these programs.
    ByColumns(Vec<Rc<ColumnSchedule>>),
}

impl Schedule {
    /// The schedule for programs one after the other, on a panel of `cols` columns: by columns
    /// where all of them can be, and are small.
    pub(super) fn choose<'a>(
        programs: impl Iterator<Item = Option<&'a Rc<ColumnSchedule>>>,
        cols: usize,
        workers: usize,
    ) -> Self {
        let by_columns: Option<Vec<_>> = programs.map(|columns| columns.cloned()).collect();
        match by_columns {
            Some(columns) if columns.iter().all(|columns| columns.pays(cols, workers)) => Self::ByColumns(columns),
            _ => Self::ByRows,
        }
    }
}
