//! How much memory a program takes in each process.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Machine, joined_bytes};
use crate::plan::count::panel_bytes;
use crate::plan::program::{Action, Program, Source};

/// Sums of tiles that a worker holds at once.
const SUMS_OF_WORKER: u64 = 3;
/// What it takes to run a worker.
const WORKER_BYTES: u64 = 1 << 20;

/// Bytes that one process holds, when rows are shared out evenly.
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
    /// All of it.
    pub fn total(&self) -> u64 {
        self.leaves + self.panels + self.gathered
    }
}

/// Bytes of the stored matrices and of the diagonals of programs, each counted once.
pub fn bytes_of_leaves(programs: &[Arc<Program>]) -> (u64, u64) {
    let mut seen = HashSet::new();
    let (mut matrices, mut diagonals) = (0, 0);
    for step in programs.iter().flat_map(|program| program.steps()) {
        let matrix = match &step.action {
            Action::Sparse { matrix, .. } => Some((Arc::as_ptr(matrix).addr(), matrix.bytes() as u64)),
            Action::Stored { source: Source::Sparse(matrix), .. } => {
                Some((Arc::as_ptr(matrix).addr(), matrix.bytes() as u64))
            }
            Action::Dense { matrix, .. }
            | Action::Project { matrix, .. }
            | Action::Stored { source: Source::Dense { matrix, .. }, .. } => {
                Some((Arc::as_ptr(matrix).addr(), matrix.bytes()))
            }
            Action::Own { map, .. } => Some((Arc::as_ptr(map).addr(), map.bytes())),
            _ => None,
        };
        matrices += matrix.filter(|(address, _)| seen.insert(*address)).map_or(0, |(_, bytes)| bytes);
        for diagonal in step.action.diagonals() {
            if seen.insert(diagonal.values.as_ptr().addr()) {
                diagonals += (diagonal.values.length() * size_of::<f32>()) as u64;
            }
        }
    }
    (matrices, diagonals)
}

impl Program {
    /// Bytes of the panels that one product holds at its peak in each process, its input and its answer included.
    pub fn product_memory(&self, columns: usize, machine: &Machine) -> Memory {
        let processes = machine.processes as u64;
        let widths = self.widths(columns);
        let own = panel_bytes(self.input_rows(), columns) + self.peak(&widths, |_| true).1;
        let of_workers = machine.workers as u64 * WORKER_BYTES;
        // Sums of tiles on their way up the tree, and what comes down.
        let sums = self.steps().iter().zip(&widths[1..]).filter(|(step, _)| step.action.is_reduced());
        let sums = sums.map(|(step, width)| (step.rows * width * size_of::<f64>()) as u64).max().unwrap_or(0);
        let sums = sums * (SUMS_OF_WORKER * machine.workers as u64 + 1);
        // What every worker puts together for itself.
        let together = self.steps().iter().zip(&widths[1..]).map(|(step, &width)| match &step.action {
            Action::Sparse { matrix, .. } => joined_bytes(matrix, width, machine),
            Action::Dense { input, .. } | Action::Own { input, .. } if machine.workers > 1 => {
                panel_bytes(self.rows(*input), width)
            }
            _ => 0,
        });
        let together = machine.workers as u64 * together.max().unwrap_or(0);
        let gathered = self.steps().iter().flat_map(|step| step.action.gathered());
        let largest = gathered.map(|value| panel_bytes(self.rows(value), widths[value.0])).max().unwrap_or(0);
        Memory {
            leaves: 0,
            panels: own / processes + sums + together + of_workers,
            gathered: largest - largest / processes,
        }
    }
}
