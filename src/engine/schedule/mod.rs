//! Schedules of a program: by rows and by columns.
//!
//! By rows, a program is a dataflow with one operator a step. A worker has its rows of every panel,
//! and all-gathers and all-reduces connect the steps. By columns, a worker computes all steps of
//! some columns of the input without waiting for the others. Both schedules are backends of the
//! same `Interpreter`, and give the same bits.

mod by_columns;
mod by_rows;
mod interpreter;

use std::rc::Rc;

pub(super) use by_columns::{ColumnSchedule, columns_flow, run_columns};
pub(super) use by_rows::program_flow;

/// How workers share a product.
pub(super) enum Schedule {
    /// Each worker computes its rows of every step.
    ByRows,
    /// Each worker computes some columns of all steps of these programs.
    ByColumns(Vec<Rc<ColumnSchedule>>),
}

impl Schedule {
    /// The schedule for several programs in sequence, on a panel of `cols` columns: by columns if
    /// all of them allow it and are small.
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
