//! The memory that a program takes in each process.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Machine, joined_bytes};
use crate::plan::count::panel_bytes;
use crate::plan::program::{Action, Leaf, Program};

/// Partial sums over tiles that a worker holds at once.
const SUMS_OF_WORKER: u64 = 3;
/// Memory overhead of a worker.
const WORKER_BYTES: u64 = 1 << 20;

/// Bytes that one process holds if rows are distributed evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Its rows of the stored matrices, and the diagonals.
    pub leaves: u64,
    /// Its rows of panels.
    pub panels: u64,
    /// Rows of other processes that it multiplies with.
    pub gathered: u64,
}

impl Memory {
    /// The sum of all fields.
    pub fn total(&self) -> u64 {
        self.leaves + self.panels + self.gathered
    }
}

/// Bytes of the stored matrices, and of the diagonals, of programs; each is counted once.
pub fn bytes_of_leaves(programs: &[Arc<Program>]) -> (u64, u64) {
    let mut seen = HashSet::new();
    let (mut matrices, mut diagonals) = (0, 0);
    for step in programs.iter().flat_map(|program| program.steps()) {
        let leaf = step.action.leaf().map(|(_, leaf)| leaf).filter(|leaf| seen.insert(leaf.address()));
        matrices += leaf.map_or(0, Leaf::bytes);
        for diagonal in step.action.diagonals() {
            if seen.insert(diagonal.values.as_ptr().addr()) {
                diagonals += (diagonal.values.length() * size_of::<f32>()) as u64;
            }
        }
    }
    (matrices, diagonals)
}

impl Program {
    /// Peak bytes of the panels of one product in each process, with its input and its output.
    pub fn product_memory(&self, columns: usize, machine: &Machine) -> Memory {
        let processes = machine.processes as u64;
        let widths = self.widths(columns);
        let own = panel_bytes(self.input_rows(), columns) + self.peak(&widths, |_| true).1;
        let of_workers = machine.workers as u64 * WORKER_BYTES;
        // Partial sums on their way up the tree, and the root.
        let sums = self.steps().iter().zip(&widths[1..]).filter(|(step, _)| step.action.is_reduced());
        let sums = sums.map(|(step, width)| (step.rows * width * size_of::<f64>()) as u64).max().unwrap_or(0);
        let sums = sums * (SUMS_OF_WORKER * machine.workers as u64 + 1);
        // Panels that every worker joins into a copy of its own.
        let joined = self.steps().iter().zip(&widths[1..]).map(|(step, &width)| match &step.action {
            Action::Sparse { matrix, .. } => joined_bytes(matrix, width, machine),
            Action::Dense { input, .. } | Action::Map { input, .. } if machine.workers > 1 => {
                panel_bytes(self.rows(*input), width)
            }
            Action::Dense { .. }
            | Action::Map { .. }
            | Action::Project { .. }
            | Action::ColumnSums { .. }
            | Action::Spread { .. }
            | Action::RankOne { .. }
            | Action::Combine { .. }
            | Action::Arrange { .. }
            | Action::Stored { .. }
            | Action::HStack { .. } => 0,
        });
        let joined = machine.workers as u64 * joined.max().unwrap_or(0);
        let gathered = self.steps().iter().flat_map(|step| step.action.gathered());
        let largest = gathered.map(|value| panel_bytes(self.rows(value), widths[value.0])).max().unwrap_or(0);
        Memory {
            leaves: 0,
            panels: own / processes + sums + joined + of_workers,
            gathered: largest - largest / processes,
        }
    }
}
