//! The flops and bytes of a program, from shapes and non-zeros.

use super::program::{Action, Leaf, Program, Source, SparseRole, Step, Value};
use crate::kernel::panel;

/// The cost of a step or a program, for a panel of some number of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// Additions and multiplications.
    pub flops: u64,
    /// Bytes read and written, each operand once.
    pub bytes: u64,
    /// The largest number of panels in memory at once, without the input and the output.
    pub temporaries: usize,
    /// The most bytes of these panels at once.
    pub temporary_bytes: u64,
}

/// Bytes of a panel as it is stored.
pub(crate) fn panel_bytes(rows: usize, columns: usize) -> u64 {
    (rows * panel::stride(columns) * size_of::<f32>()) as u64
}

impl Source {
    /// Columns of the matrix, given its rows.
    pub(crate) fn columns(&self, rows: usize) -> usize {
        match self {
            Source::Dense { matrix, .. } => matrix.columns(),
            Source::Sparse(matrix) => matrix.cols(),
            Source::Identity => rows,
        }
    }
}

impl Program {
    /// The cost of the program on a panel of `columns` columns.
    pub fn count(&self, columns: usize) -> Count {
        let widths = self.widths(columns);
        let mut total = Count::default();
        for (position, step) in self.steps.iter().enumerate() {
            let count = self.count_step(step, widths[position + 1], &widths);
            total.flops += count.flops;
            total.bytes += count.bytes;
        }
        (total.temporaries, total.temporary_bytes) = self.peak(&widths, |value| value != self.output);
        total
    }

    /// The number of products with a stored sparse matrix, without gathers and scatters.
    pub fn sparse_products(&self) -> usize {
        let is_product = |step: &&Step| matches!(step.action, Action::Sparse { role: SparseRole::Multiply, .. });
        self.steps.iter().filter(is_product).count()
    }

    /// The columns of every value, given those of the input.
    pub(super) fn widths(&self, columns: usize) -> Vec<usize> {
        let mut widths = vec![columns];
        for step in &self.steps {
            let width = match &step.action {
                Action::Stored { source, .. } => source.columns(step.rows),
                Action::HStack { values } => values.iter().map(|value| widths[value.0]).sum(),
                action => action.inputs().first().map_or(columns, |value| widths[value.0]),
            };
            widths.push(width);
        }
        widths
    }

    /// The cost of one step: its flops, and the bytes of its operands and its result.
    pub(super) fn count_step(&self, step: &Step, width: usize, widths: &[usize]) -> Count {
        let (rows, columns) = (step.rows as u64, width as u64);
        let product_flops = match &step.action {
            Action::Sparse { matrix, .. } => 2 * matrix.nonzeros() as u64 * columns,
            Action::Dense { matrix, .. } | Action::Project { matrix, .. } => {
                2 * matrix.bytes() / size_of::<f32>() as u64 * columns
            }
            Action::Map { map, .. } => map.flops() * columns,
            Action::ColumnSums { input } => self.rows(*input) as u64 * columns,
            Action::Combine { terms, .. } => 2 * terms.len() as u64 * rows * columns,
            Action::Spread { .. }
            | Action::RankOne { .. }
            | Action::Arrange { .. }
            | Action::Stored { .. }
            | Action::HStack { .. } => 0,
        };
        let matrix_bytes = step.action.leaf().map_or(0, |(_, leaf): (_, Leaf<'_>)| leaf.bytes());
        let epilogue_flops = step.action.epilogue().map_or(0, |epilogue| {
            let is_scaled = epilogue.alpha != 1.0 || epilogue.left.is_some();
            (u64::from(is_scaled) + 2 * u64::from(epilogue.add.is_some())) * rows * columns
        });
        let read: u64 = match &step.action {
            Action::Arrange { pieces } => pieces.iter().map(|piece| panel_bytes(piece.rows, width)).sum(),
            action => action.inputs().iter().map(|&value| panel_bytes(self.rows(value), widths[value.0])).sum(),
        };
        Count {
            flops: product_flops + epilogue_flops,
            bytes: matrix_bytes + read + panel_bytes(step.rows, width),
            ..Count::default()
        }
    }

    /// The most panels that are in memory at once, and the most bytes, of the values that `counts`
    /// selects.
    pub(super) fn peak(&self, widths: &[usize], counts: impl Fn(Value) -> bool) -> (usize, u64) {
        let mut last_reader = vec![0; self.steps.len() + 1];
        for (position, step) in self.steps.iter().enumerate() {
            step.action.inputs().iter().for_each(|value| last_reader[value.0] = position);
        }
        let (mut peak, mut peak_bytes) = (0, 0);
        for position in 0..self.steps.len() {
            let alive = (1..=position + 1).filter(|&value| {
                let is_needed = value == position + 1 || last_reader[value] >= position || Value(value) == self.output;
                counts(Value(value)) && is_needed
            });
            let bytes: Vec<u64> = alive.map(|value| panel_bytes(self.rows(Value(value)), widths[value])).collect();
            peak = peak.max(bytes.len());
            peak_bytes = peak_bytes.max(bytes.iter().sum());
        }
        (peak, peak_bytes)
    }
}
