//! The cost model: time, memory and network traffic of programs, from shapes and non-zeros.
//!
//! Costs are compared in seconds, not in flops: a dense product runs several times as many flops a
//! second as a sparse one, and sums of panels are bound by memory. Seconds follow from the
//! [`Rates`] of a [`Machine`]. Network [`Traffic`] is counted from the entries of the matrices, or
//! bounded from their shapes.

mod memory;
mod rates;

pub use memory::{Memory, bytes_of_leaves};
pub use rates::{Picking, Rates};

use std::collections::BTreeMap;

use super::count::{Count, panel_bytes};
use super::layout::Layouts;
use super::needs::Readers;
use super::program::{Action, Leaf, Program, SparseRole, Step, Value};
use crate::graph::{STRIP_COLUMNS, Sparse, Tiling};
use crate::kernel::panel::stride;

/// Largest share of a panel, in bytes, that stays in a worker's cache.
const NEAR_BYTES: f64 = (1u64 << 20) as f64;
/// Most rows of a strip that stay in a worker's cache.
pub const NEAR_ROWS: f64 = 4096.0;
/// Columns of a panel that a product computes at a time.
const BLOCK: usize = 64;
/// Seconds to start a row of a cell.
const RUN: f64 = 8e-9;
/// Time of another pass over rows in the cache, relative to the first.
const PASS: f64 = 0.15;
/// Passes over the partial sums of tiles: allocation, accumulation, reduction.
const SUM_PASSES: f64 = 7.0;
/// Overhead of a step in seconds.
const CALL: f64 = 5e-6;

/// The workers and processes of a run, and how fast they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Workers of a process.
    pub workers: usize,
    /// Processes, each on a machine of its own.
    pub processes: usize,
    /// The rates of each worker.
    pub rates: Rates,
}

impl Machine {
    /// One worker at the reference rates. Plans are chosen for this machine.
    pub const REFERENCE: Machine = Machine { workers: 1, processes: 1, rates: Rates::REFERENCE };

    fn all_workers(&self) -> f64 {
        (self.workers * self.processes) as f64
    }
}

/// How the rows that cross the network are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Traffic {
    /// Counted from the entries of the matrices, where they are known. Every tile is read.
    #[default]
    Counted,
    /// At most all rows of each gathered panel. No tile is read, so that a process of several can
    /// estimate a program without the tiles of the others.
    Bounded,
}

/// The estimated cost of a step or a program.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Seconds of computation on every worker.
    pub seconds: f64,
    /// Seconds before a step starts: of dataflow scheduling and of the network.
    pub before: f64,
    /// Flops and bytes, over all workers.
    pub count: Count,
    /// Bytes that cross the network, over all processes.
    pub network_bytes: u64,
}

impl Program {
    /// The estimated cost of each step on a panel of `columns` columns.
    pub fn estimate_steps(&self, columns: usize, machine: &Machine, traffic: Traffic) -> Vec<Estimate> {
        let widths = self.widths(columns);
        let mut sent = self.rows_sent(machine, traffic);
        let estimate = |(position, step): (usize, &Step)| {
            let count = self.count_step(step, widths[position + 1], &widths);
            // A panel is gathered once, for the first step that reads it.
            let gathered = step.action.gathered().into_iter();
            let gathered = gathered.filter_map(|value| Some((value, sent.remove(&value)?)));
            let panels: u64 = gathered.map(|(value, rows)| panel_bytes(rows, widths[value.0])).sum();
            let sums = match step.action.is_reduced() {
                true => 2 * (step.rows * widths[position + 1] * size_of::<f64>()) as u64,
                false => 0,
            };
            let network_bytes = panels + (machine.processes as u64 - 1) * sums;
            // All processes send and receive their shares at the same time.
            let network_seconds = network_bytes as f64 / machine.processes as f64 / machine.rates.network;
            Estimate {
                seconds: CALL + self.work(step, position, &widths, &count, machine) / machine.all_workers(),
                before: machine.rates.step_overhead + network_seconds,
                count,
                network_bytes,
            }
        };
        self.steps.iter().enumerate().map(estimate).collect()
    }

    /// The rows that cross the network, for each value that is gathered.
    fn rows_sent(&self, machine: &Machine, traffic: Traffic) -> BTreeMap<Value, usize> {
        let processes = machine.processes;
        if processes == 1 {
            return BTreeMap::new();
        }
        let is_outline =
            |step: &Step| matches!(step.action.leaf(), Some((_, leaf @ Leaf::Sparse(_))) if leaf.is_outline());
        // The entries of an outline are not known, and so all rows are counted.
        let are_known = traffic == Traffic::Counted && !self.steps.iter().any(is_outline);
        let layouts = Layouts::new(are_known.then_some(self), processes, machine.workers);
        let mut counted: Vec<(Readers, usize)> = Vec::new();
        let count = |(value, readers): (Value, Option<Readers>)| {
            let Some(readers) = readers.filter(|_| are_known) else {
                return (value, (processes - 1) * self.rows(value));
            };
            let known = counted.iter().find(|(other, _)| *other == readers).map(|(_, rows)| *rows);
            let rows = known.unwrap_or_else(|| readers.rows_sent(&layouts, processes));
            counted.push((readers, rows));
            (value, rows)
        };
        self.readers().into_iter().map(count).collect()
    }

    /// The estimated cost of the program, with its traffic counted.
    pub fn estimate(&self, columns: usize, machine: &Machine) -> Estimate {
        self.total(columns, &self.estimate_steps(columns, machine, Traffic::Counted))
    }

    /// The estimated cost of the program, from that of its steps.
    pub fn total(&self, columns: usize, steps: &[Estimate]) -> Estimate {
        let mut total = Estimate { count: self.count(columns), ..Estimate::default() };
        for step in steps {
            total.seconds += step.seconds;
            total.before += step.before;
            total.network_bytes += step.network_bytes;
        }
        total
    }

    /// Seconds of work of a step, as the sum over all workers.
    fn work(&self, step: &Step, position: usize, widths: &[usize], count: &Count, machine: &Machine) -> f64 {
        let rates = &machine.rates;
        let width = widths[position + 1];
        let moving = |bytes: u64| {
            let is_near = bytes as f64 / machine.all_workers() <= NEAR_BYTES;
            bytes as f64 / if is_near { rates.near } else { rates.far }
        };
        // Bytes that every worker moves, not only its share.
        let own = |bytes: u64| bytes as f64 / if bytes as f64 <= NEAR_BYTES { rates.near } else { rates.far };
        // Bound by arithmetic or by memory.
        let dense = |memory: f64| (count.flops as f64 / rates.dense).max(memory);
        // Every worker reads all rows of the panel, and with others joins them first.
        let joined_panel = |input: Value| {
            let passes = if machine.workers > 1 { 2.0 } else { 1.0 };
            passes * own(panel_bytes(self.rows(input), width)) * machine.all_workers()
        };
        match &step.action {
            Action::Sparse { role: SparseRole::Multiply, matrix, .. } => {
                let blocks = width.div_ceil(BLOCK);
                let picked = matrix.nonzeros() as f64 * picking_seconds(matrix, width, rates);
                let runs = matrix.runs();
                // A row of the result is read and written for every strip that has entries in it.
                // The first time is part of the bytes of the step.
                let again = 2 * panel_bytes(runs.saturating_sub(step.rows), width);
                // The time of panels in a cache is part of `RUN`.
                let panels = count.bytes - matrix.bytes() as u64;
                let is_near = panels as f64 / machine.all_workers() <= NEAR_BYTES;
                let streamed = if is_near { 0.0 } else { panels as f64 / rates.far };
                let joined = 2.0 * own(joined_bytes(matrix, width, machine)) * machine.all_workers();
                picked + joined + RUN * (runs * blocks) as f64 + streamed + again as f64 / rates.far
            }
            Action::Dense { matrix, input, .. } => dense(matrix.bytes() as f64 / rates.far) + joined_panel(*input),
            Action::Map { input, .. } => dense(moving(count.bytes)) + joined_panel(*input),
            Action::Project { matrix, .. } => {
                // Every tile has sums of its own in 64 bits, which are then reduced.
                let tiles = Tiling::new(matrix.rows()).count();
                let sums = (tiles * matrix.columns() * width * size_of::<f64>()) as f64;
                dense(matrix.bytes() as f64 / rates.far) + SUM_PASSES * sums / rates.far
            }
            // A second pass: the reduction, or the epilogue.
            Action::ColumnSums { .. } | Action::RankOne { .. } | Action::Spread { .. } => 2.0 * moving(count.bytes),
            // Every term is another pass over rows in the cache.
            Action::Combine { terms, .. } => moving(count.bytes) * (1.0 + PASS * terms.len() as f64),
            Action::Sparse { role: SparseRole::Gather | SparseRole::Scatter, .. }
            | Action::Arrange { .. }
            | Action::Stored { .. }
            | Action::HStack { .. } => moving(count.bytes),
        }
    }
}

/// Bytes that every worker copies to join the rows of each strip. Only strips with rows of several
/// workers are joined: at most one for each of the other workers.
pub(super) fn joined_bytes(matrix: &Sparse, width: usize, machine: &Machine) -> u64 {
    let others = (machine.workers * machine.processes - 1).min(matrix.strips());
    others as u64 * panel_bytes(matrix.strip_range(0).len(), width)
}

/// Seconds of a non-zero, interpolated between strips that fit in a cache and the widest strips.
fn picking_seconds(matrix: &Sparse, width: usize, rates: &Rates) -> f64 {
    let rows = matrix.strip_range(0).len() as f64;
    let distance = (rows / NEAR_ROWS).max(1.0).ln() / (STRIP_COLUMNS as f64 / NEAR_ROWS).ln();
    let of_block = |columns| {
        let [near, far] = [&rates.sparse_near, &rates.sparse_far].map(|picking| picking.seconds(columns));
        near * (far / near).powf(distance.min(1.0))
    };
    let (blocks, rest) = (stride(width) / BLOCK, stride(width) % BLOCK);
    blocks as f64 * of_block(BLOCK) + if rest > 0 { of_block(rest) } else { 0.0 }
}
