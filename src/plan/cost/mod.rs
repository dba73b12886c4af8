//! What a program takes: time, memory and traffic, estimated from shapes and non-zeros.
//!
//! Flops alone do not tell: a dense product does several times as many of them in a second as a sparse one, and adding panels
//! up is bound by memory. So every step is estimated in seconds, from the [`Rates`] of the machine. What crosses the network is
//! counted from the entries of the matrices, where they are known.

mod memory;
mod rates;

pub use memory::{Memory, bytes_of_leaves};
pub use rates::{Picking, Rates};

use std::collections::BTreeMap;

use super::count::{Count, panel_bytes};
use super::layout::Layouts;
use super::needs::Readers;
use super::program::{Action, Program, SparseRole, Step, Value};
use crate::graph::{STRIP_COLUMNS, Sparse, Tiling};
use crate::kernel::panel::stride;

/// What a worker has of a panel stays in a nearby cache up to so many bytes.
const NEAR_BYTES: f64 = (1u64 << 20) as f64;
/// A strip of no more than so many rows is picked from a nearby cache.
pub const NEAR_ROWS: f64 = 4096.0;
/// Columns that a product takes at a time.
const BLOCK: usize = 64;
/// Seconds to start on a row of a cell.
const RUN: f64 = 8e-9;
/// What another pass over rows in the cache takes, in what the first takes.
const PASS: f64 = 0.15;
/// How often sums of tiles are gone over: made, filled, added up.
const SUM_PASSES: f64 = 7.0;
/// Seconds of a step that has next to nothing to do.
const CALL: f64 = 5e-6;

/// Who is to do the work: so many processes of so many workers each, all as fast as the rates say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Workers of a process.
    pub workers: usize,
    /// Processes, each on a machine of its own.
    pub processes: usize,
    /// How fast they are.
    pub rates: Rates,
}

impl Machine {
    /// One worker at the reference rates: what plans are chosen by.
    pub const REFERENCE: Machine = Machine { workers: 1, processes: 1, rates: Rates::REFERENCE };

    fn everybody(&self) -> f64 {
        (self.workers * self.processes) as f64
    }
}

/// What a step or a program is estimated to take.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Seconds that every worker computes.
    pub seconds: f64,
    /// Seconds that pass before the step can start: blocks cross the network, and workers take turns.
    pub before: f64,
    /// Flops and bytes, all workers together.
    pub count: Count,
    /// Bytes that cross the network, all processes together.
    pub network_bytes: u64,
}

impl Program {
    /// What each step is estimated to take on a panel of so many columns.
    pub fn estimate_steps(&self, columns: usize, machine: &Machine) -> Vec<Estimate> {
        let widths = self.widths(columns);
        let mut sent = self.rows_sent(machine);
        let estimate = |(position, step): (usize, &Step)| {
            let count = self.count_step(step, widths[position + 1], &widths);
            // A panel is gathered once, however many steps read it.
            let gathered = step.action.gathered().into_iter();
            let gathered = gathered.filter_map(|value| Some((value, sent.remove(&value)?)));
            let panels: u64 = gathered.map(|(value, rows)| panel_bytes(rows, widths[value.0])).sum();
            let sums = match step.action.is_reduced() {
                true => 2 * (step.rows * widths[position + 1] * size_of::<f64>()) as u64,
                false => 0,
            };
            let network_bytes = panels + (machine.processes as u64 - 1) * sums;
            // Every process sends its share to all others, and receives theirs, at the same time.
            let on_the_way = network_bytes as f64 / machine.processes as f64 / machine.rates.network;
            Estimate {
                seconds: CALL + self.work(step, position, &widths, &count, machine) / machine.everybody(),
                before: machine.rates.turn + on_the_way,
                count,
                network_bytes,
            }
        };
        self.steps.iter().enumerate().map(estimate).collect()
    }

    /// Of every value that is gathered, how many rows cross the network.
    fn rows_sent(&self, machine: &Machine) -> BTreeMap<Value, usize> {
        let processes = machine.processes;
        if processes == 1 {
            return BTreeMap::new();
        }
        let is_outline = |step: &Step| matches!(&step.action, Action::Sparse { matrix, .. } if matrix.is_outline());
        // Of an outline nobody knows which rows it picks.
        let knows = !self.steps.iter().any(is_outline);
        let layouts = Layouts::new(knows.then_some(self), machine.workers * processes);
        let mut counted: Vec<(Readers, usize)> = Vec::new();
        let count = |(value, readers): (Value, Option<Readers>)| {
            let Some(readers) = readers.filter(|_| knows) else { return (value, (processes - 1) * self.rows(value)) };
            let known = counted.iter().find(|(other, _)| *other == readers).map(|(_, rows)| *rows);
            let rows = known.unwrap_or_else(|| readers.rows_sent(&layouts, processes));
            counted.push((readers, rows));
            (value, rows)
        };
        self.readers().into_iter().map(count).collect()
    }

    /// What the whole program is estimated to take.
    pub fn estimate(&self, columns: usize, machine: &Machine) -> Estimate {
        let mut total = Estimate { count: self.count(columns), ..Estimate::default() };
        for step in self.estimate_steps(columns, machine) {
            total.seconds += step.seconds;
            total.before += step.before;
            total.network_bytes += step.network_bytes;
        }
        total
    }

    /// Seconds of work, if one worker did all of it at the pace that each of them has.
    fn work(&self, step: &Step, position: usize, widths: &[usize], count: &Count, machine: &Machine) -> f64 {
        let rates = &machine.rates;
        let width = widths[position + 1];
        let moving = |bytes: u64| {
            let is_near = bytes as f64 / machine.everybody() <= NEAR_BYTES;
            bytes as f64 / if is_near { rates.near } else { rates.far }
        };
        // What every worker moves for itself.
        let alone = |bytes: u64| bytes as f64 / if bytes as f64 <= NEAR_BYTES { rates.near } else { rates.far };
        match &step.action {
            Action::Sparse { role: SparseRole::Multiply, matrix, .. } => {
                let blocks = width.div_ceil(BLOCK);
                let picked = matrix.nonzeros() as f64 * picking_seconds(matrix, width, rates);
                let runs = matrix.runs();
                // A row of the result goes by for every strip that has entries in it; the first time is among the bytes of
                // the step.
                let again = 2 * panel_bytes(runs.saturating_sub(step.rows), width);
                // Panels that stay in a cache are part of what a run takes.
                let panels = count.bytes - matrix.bytes() as u64;
                let is_near = panels as f64 / machine.everybody() <= NEAR_BYTES;
                let streamed = if is_near { 0.0 } else { panels as f64 / rates.far };
                let joined = 2.0 * alone(joined_bytes(matrix, width, machine)) * machine.everybody();
                picked + joined + RUN * (runs * blocks) as f64 + streamed + again as f64 / rates.far
            }
            Action::Dense { matrix, input, .. } => {
                // Everybody reads all of the panel, and first puts the parts of it together.
                let panel = alone(panel_bytes(self.rows(*input), width));
                let passes = if machine.workers > 1 { 2.0 } else { 1.0 };
                let own = (count.flops as f64 / rates.dense).max(matrix.bytes() as f64 / rates.far);
                own + passes * panel * machine.everybody()
            }
            Action::Own { input, .. } => {
                let panel = alone(panel_bytes(self.rows(*input), width));
                let passes = if machine.workers > 1 { 2.0 } else { 1.0 };
                (count.flops as f64 / rates.dense).max(moving(count.bytes)) + passes * panel * machine.everybody()
            }
            Action::Project { matrix, .. } => {
                // Every tile has sums of its own, of 64 bits, which are then added up.
                let tiles = Tiling::new(matrix.rows()).count();
                let sums = (tiles * matrix.columns() * width * size_of::<f64>()) as f64;
                let own = (count.flops as f64 / rates.dense).max(matrix.bytes() as f64 / rates.far);
                own + SUM_PASSES * sums / rates.far
            }
            Action::ColumnSums { .. } => 2.0 * moving(count.bytes),
            // A row is written, and then finished.
            Action::RankOne { .. } | Action::Spread { .. } => 2.0 * moving(count.bytes),
            // Every term is a pass, though its rows are still in the cache.
            Action::Combine { terms, .. } => moving(count.bytes) * (1.0 + PASS * terms.len() as f64),
            _ => moving(count.bytes),
        }
    }
}

impl Action {
    /// The values of which a step reads rows of others.
    pub fn gathered(&self) -> Vec<Value> {
        match self {
            Action::Sparse { input, .. } | Action::Dense { input, .. } | Action::Own { input, .. } => vec![*input],
            Action::Arrange { pieces } => pieces.iter().map(|piece| piece.value).collect(),
            _ => Vec::new(),
        }
    }
}

/// Bytes that every worker copies to have the rows of each strip in one piece: strips that rows of several workers fall
/// into, of which there are no more than workers.
pub(super) fn joined_bytes(matrix: &Sparse, width: usize, machine: &Machine) -> u64 {
    let others = (machine.workers * machine.processes - 1).min(matrix.strips());
    others as u64 * panel_bytes(matrix.strip_range(0).len(), width)
}

/// Seconds of a non-zero, from how far away the rows are that it picks.
fn picking_seconds(matrix: &Sparse, width: usize, rates: &Rates) -> f64 {
    let rows = matrix.strip_range(0).len() as f64;
    let distance = (rows / NEAR_ROWS).max(1.0).ln() / (STRIP_COLUMNS as f64 / NEAR_ROWS).ln();
    let of_block = |columns| {
        let [near, far] = [&rates.sparse_near, &rates.sparse_far].map(|picking| picking.seconds(columns));
        near * (far / near).powf(distance.min(1.0))
    };
    let (whole, rest) = (stride(width) / BLOCK, stride(width) % BLOCK);
    whole as f64 * of_block(BLOCK) + if rest > 0 { of_block(rest) } else { 0.0 }
}
