//! What a decomposition will ask for, before it starts.

use super::factorization::Kind;
use super::keep::Keep;
use super::options::{Method, Options, SvdError};
use super::prepared::Prepared;
use super::stopping::{Sizes, depth};
use super::wide::columns_at_a_time;
use crate::kernel::Tiling;
use crate::plan::cost::{Machine, Memory, bytes_of_leaves};
use crate::plan::count::panel_bytes;
use crate::plan::forming::Work;

/// Copies of a Gram matrix in which its eigenvectors are found.
const GRAMS_TO_SOLVE: u64 = 8;
/// Copies of the small matrix of the bases in which it is decomposed.
const SMALL_MATRICES: u64 = 5;
/// Allocations below this may stay with the process when they are freed.
const KEPT_BY_ALLOCATOR: u64 = 32 << 20;

/// What a Krylov method asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KrylovDemand {
    /// Columns of a block.
    width: usize,
    /// Blocks of each basis, if all are needed.
    steps: usize,
    /// Columns of each basis at the most.
    basis: usize,
}

impl KrylovDemand {
    /// For a matrix with a short side of `side`.
    fn new(options: &Options, side: usize, block_columns: usize) -> Self {
        let Sizes { width, basis, columns } = Sizes::new(options, side, block_columns);
        let allowed = columns / 2;
        // A tolerance, or a rule for the rank, may take all that is allowed.
        let multiplied = match options.tolerance.is_none() && options.keep == Keep::All {
            true => depth(options.rank, width).min(allowed),
            false => allowed,
        };
        let basis = multiplied.min(basis).min(side) + width;
        Self { width, steps: multiplied.div_ceil(width.max(1)), basis }
    }
}

impl Prepared {
    /// Whether the iteration keeps every block: all methods but subspace iteration grow a Krylov basis,
    /// where they iterate.
    fn keeps_blocks(&self) -> bool {
        self.options.method != Method::Subspace
    }

    /// How often it will multiply, if it takes all the iterations it may.
    pub fn work(&self) -> Work {
        match self.keeps_blocks() {
            true => {
                let KrylovDemand { width, steps, .. } = self.krylov_demand(&self.options, self.block);
                match self.kind() {
                    Kind::GolubKahan => Work { block: width, plain: steps + 1, transposed: steps },
                    Kind::Normal => Work { block: width, plain: steps, transposed: steps + 1 },
                }
            }
            false => {
                let turns = self.options.iterations + 1;
                Work { block: self.block, plain: turns, transposed: turns }
            }
        }
    }

    /// How the triplets are found, in words.
    pub fn method(&self) -> &'static str {
        match self.keeps_blocks() {
            _ if self.is_gram() => "the Gram matrix of the short side",
            true => "block Krylov iteration",
            false => "subspace iteration",
        }
    }

    /// Bytes that each process holds at the peak: the matrix, and the panels.
    pub fn memory(&self, machine: &Machine) -> Memory {
        self.memory_of(&self.options, self.block, machine)
    }

    fn memory_of(&self, options: &Options, columns: usize, machine: &Machine) -> Memory {
        let processes = machine.processes as u64;
        let (matrices, diagonals) = bytes_of_leaves(&self.programs());
        let leaves = matrices / processes + diagonals;
        let (high, low) = (self.shape.rows.max(self.shape.columns), self.shape.smaller_side());
        let both = |columns: usize| panel_bytes(high, columns) + panel_bytes(low, columns);
        if self.is_gram() {
            let programs = self.programs();
            let formed = programs[2..].iter().map(|program| program.product_memory(0, machine).panels);
            let gram = (low * low * size_of::<f64>()) as u64;
            let depth = u64::from(Tiling::new(high).count().next_power_of_two().ilog2()) + 1;
            let grams = gram * (depth * machine.workers as u64 + GRAMS_TO_SOLVE);
            return Memory { leaves, panels: formed.max().unwrap_or(0) + grams, gathered: 0 };
        }
        let operator = self.operator();
        let product = |side: usize, block: usize, held: u64| {
            let product = self.programs()[side].product_memory(block, machine);
            Memory { panels: product.panels + held / processes, ..product }
        };
        // The vectors in shards, and a copy of them in one piece.
        let vectors = 2 * both(options.rank) / processes;
        let (products, answer, block) = match self.keeps_blocks() {
            true => {
                // Bases are kept to the end.
                let KrylovDemand { width, basis, .. } = self.krylov_demand(options, columns);
                let bases = match self.kind() {
                    Kind::GolubKahan => both(basis),
                    Kind::Normal => panel_bytes(low, basis),
                };
                // Every worker decomposes the small matrix that they leave.
                let small = SMALL_MATRICES * (basis * basis * size_of::<f64>() * machine.workers) as u64;
                let growing = [operator.forward(), operator.backward()].map(|side| product(side, width, bases));
                let growing = growing.map(|product| Memory { panels: product.panels + small, ..product });
                // The vectors of one side are made of those of the other, and measured by them.
                let measured = |side: usize, from: usize, to: usize| {
                    let at_a_time = columns_at_a_time(from, options.rank);
                    product(
                        side,
                        at_a_time,
                        panel_bytes(from, options.rank - at_a_time) + panel_bytes(to, options.rank),
                    )
                };
                let measuring = [measured(operator.forward(), low, high), measured(operator.backward(), high, low)];
                ([growing, measuring].concat(), bases / processes + vectors, width)
            }
            false => {
                // The basis that a block came from is still needed when it is multiplied.
                let held = panel_bytes(high, columns);
                let products = [product(operator.forward(), columns, held), product(operator.backward(), columns, 0)];
                (products.to_vec(), both(columns) / processes + vectors, columns)
            }
        };
        let product = products.into_iter().max_by_key(Memory::total).unwrap_or_default();
        // Small panels are given back to the allocator, and not by that to the system.
        let shard = panel_bytes(high, block) / processes / machine.workers as u64;
        let panels = match shard < KEPT_BY_ALLOCATOR && !self.keeps_blocks() {
            true => product.panels + answer,
            false => product.panels.max(answer),
        };
        Memory { leaves, panels, gathered: product.gathered }
    }

    fn krylov_demand(&self, options: &Options, columns: usize) -> KrylovDemand {
        KrylovDemand::new(options, self.shape.smaller_side(), columns)
    }

    /// The same within so many bytes: with a smaller basis, where that may be, or not at all. Says what would fit.
    pub(super) fn within(mut self, limit: u64, may_reduce: bool) -> Result<Self, SvdError> {
        let needed = |options: &Options| {
            let columns = self.block - self.options.rank + options.rank;
            self.memory_of(options, columns, &Machine::REFERENCE).total()
        };
        let (of_all, rank) = (needed(&self.options), self.options.rank);
        if of_all <= limit {
            return Ok(self);
        }
        let with_basis = |basis: usize| Options { basis: Some(basis), ..self.options.clone() };
        if may_reduce && self.may_restart() {
            let KrylovDemand { basis, .. } = self.krylov_demand(&self.options, self.block);
            if let Some(basis) = largest_up_to(basis, |basis| needed(&with_basis(basis)) <= limit) {
                tracing::info!(basis, limit, "a smaller basis, for want of memory");
                (self.options.basis, self.is_reduced) = (Some(basis), true);
                return Ok(self);
            }
        }
        let fits = largest_up_to(rank - 1, |rank| needed(&Options { rank, ..self.options.clone() }) <= limit);
        Err(SvdError::NoRoom { shape: self.shape, rank, needed: of_all, limit, fits })
    }

    /// Whether a basis may be reduced on the way: where the residuals tell when to stop, and not the size of the basis.
    fn may_restart(&self) -> bool {
        let Options { tolerance, keep, basis, start, .. } = &self.options;
        let needs_checks = tolerance.is_some() || *keep != Keep::All;
        self.keeps_blocks() && needs_checks && basis.is_none() && start.is_none() && !self.is_gram()
    }
}

/// The largest number from 1 on that will do, if any; all below it do, too.
fn largest_up_to(most: usize, will_do: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut does, mut does_not) = (0, most + 1);
    while does + 1 < does_not {
        let middle = does + (does_not - does) / 2;
        if will_do(middle) { does = middle } else { does_not = middle }
    }
    Some(does).filter(|&number| number > 0)
}
