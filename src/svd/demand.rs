//! What a decomposition will ask for, before it starts.

use super::options::SvdError;
use super::prepared::Prepared;
use crate::graph::Tiling;
use crate::plan::cost::{Machine, Memory, bytes_of_leaves};
use crate::plan::count::panel_bytes;
use crate::plan::forming::Work;

/// Copies of a Gram matrix in which its eigenvectors are found.
const GRAMS_TO_SOLVE: u64 = 8;
/// Allocations below this may stay with the process when they are freed.
const KEPT_BY_ALLOCATOR: u64 = 32 << 20;

impl Prepared {
    /// How often it will multiply, if it takes all the iterations it may.
    pub fn work(&self) -> Work {
        let turns = self.options.iterations + 1;
        Work { block: self.block, plain: turns, transposed: turns }
    }

    /// Bytes that each process holds at the peak: the matrix, and the panels.
    pub fn memory(&self, machine: &Machine) -> Memory {
        self.memory_of(self.block, self.options.rank, machine)
    }

    fn memory_of(&self, block: usize, rank: usize, machine: &Machine) -> Memory {
        let processes = machine.processes as u64;
        let (matrices, diagonals) = bytes_of_leaves(&self.programs());
        let leaves = matrices / processes + diagonals;
        let (high, low) = (self.shape.rows.max(self.shape.columns), self.shape.smaller_side());
        let answer = self.answer(high, low, block, rank) / processes;
        if self.is_gram() {
            let programs = self.programs();
            let formed = programs[2..].iter().map(|program| program.product_memory(0, machine).panels);
            let gram = (low * low * size_of::<f64>()) as u64;
            let depth = Tiling::new(high).count().next_power_of_two().ilog2() as u64 + 1;
            let grams = gram * (depth * machine.workers as u64 + GRAMS_TO_SOLVE);
            return Memory { leaves, panels: formed.max().unwrap_or(0) + grams, gathered: 0 };
        }
        // A product while the basis that it came from is still needed, then the answer in shards and in one piece.
        let tall = self.tall();
        let product = |side: usize, held: u64| {
            let product = self.programs()[side].product_memory(block, machine);
            Memory { panels: product.panels + held / processes, ..product }
        };
        let products = [product(tall.plain, panel_bytes(high, block)), product(tall.transposed, 0)];
        let product = products.into_iter().max_by_key(Memory::total).unwrap_or_default();
        // Small panels are given back to the allocator, and not by that to the system.
        let shard = panel_bytes(high, block) / processes / machine.workers as u64;
        let panels = match shard < KEPT_BY_ALLOCATOR {
            true => product.panels + answer,
            false => product.panels.max(answer),
        };
        Memory { leaves, panels, gathered: product.gathered }
    }

    /// Bases of both sides, the vectors made of them, and a copy of those.
    fn answer(&self, high: usize, low: usize, block: usize, rank: usize) -> u64 {
        let both = |columns: usize| panel_bytes(high, columns) + panel_bytes(low, columns);
        both(block) + 2 * both(rank)
    }

    /// Refuses what does not fit into so many bytes, and says what does.
    pub(super) fn fit_into(&self, limit: u64) -> Result<(), SvdError> {
        let needed = |rank: usize| {
            let block = self.block - self.options.rank + rank;
            self.memory_of(block, rank, &Machine::REFERENCE).total()
        };
        let rank = self.options.rank;
        if needed(rank) <= limit {
            return Ok(());
        }
        // The largest that fits, if any.
        let (mut fits, mut too_much) = (0, rank);
        while fits + 1 < too_much {
            let middle = fits + (too_much - fits) / 2;
            if needed(middle) <= limit { fits = middle } else { too_much = middle }
        }
        Err(SvdError::NoRoom {
            shape: self.shape,
            rank,
            needed: needed(rank),
            limit,
            fits: Some(fits).filter(|&rank| rank > 0),
        })
    }
}
