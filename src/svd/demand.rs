//! What a decomposition will ask for, before it starts.

use super::factorization::Kind;
use super::keep::Keep;
use super::operator::{ColumnCount, columns_at_a_time};
use super::options::{Method, Options, SvdError};
use super::prepared::Prepared;
use super::stopping::{Sizes, depth};

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

impl Prepared {
    /// Whether the iteration keeps every block: all methods but subspace iteration grow a Krylov basis,
    /// where they iterate.
    fn keeps_blocks(&self) -> bool {
        self.options.method != Method::Subspace
    }

    /// Columns of a block, and columns that a Krylov method multiplies at the most.
    fn krylov_columns(&self, options: &Options, block_columns: usize) -> (usize, usize) {
        let Sizes { width, columns, .. } = Sizes::new(options, self.shape.smaller_side(), block_columns);
        let allowed = columns / 2;
        // A tolerance, or a rule for the rank, may take all that is allowed.
        let is_limited = options.tolerance.is_none() && options.keep == Keep::All;
        (width, if is_limited { depth(options.rank, width).min(allowed) } else { allowed })
    }

    /// Columns of each basis at the most.
    fn basis_columns(&self, options: &Options, block_columns: usize) -> usize {
        let side = self.shape.smaller_side();
        let (width, multiplied) = self.krylov_columns(options, block_columns);
        multiplied.min(Sizes::new(options, side, block_columns).basis).min(side) + width
    }

    /// How often it will multiply, if it takes all the iterations it may.
    pub fn work(&self) -> Work {
        let turns = self.options.iterations + 1;
        if !self.keeps_blocks() {
            return Work { block: self.block, plain: turns, transposed: turns };
        }
        let (width, multiplied) = self.krylov_columns(&self.options, self.block);
        let steps = multiplied.div_ceil(width.max(1));
        match self.kind {
            Kind::GolubKahan => Work { block: width, plain: steps + 1, transposed: steps },
            Kind::Normal => Work { block: width, plain: steps, transposed: steps + 1 },
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
        let [forward, backward] = self.operator(&ColumnCount::default()).programs();
        // A product of `block` columns, while `held` bytes of panels wait.
        let product = |program: usize, block: usize, held: u64| {
            let product = self.programs()[program].product_memory(block, machine);
            Memory { panels: product.panels + held / processes, ..product }
        };
        // The vectors in shards, and a copy of them in one piece.
        let rank = options.rank;
        let vectors = 2 * both(rank) / processes;
        let (products, answer) = if self.keeps_blocks() {
            let (width, basis) = (self.krylov_columns(options, columns).0, self.basis_columns(options, columns));
            let of_kind = |columns: usize| match self.kind {
                Kind::GolubKahan => both(columns),
                Kind::Normal => panel_bytes(low, columns),
            };
            // A search for missing triplets keeps the wanted ones, and grows a basis of its own.
            let side = if self.kind == Kind::GolubKahan { high } else { low };
            let searched = if options.start.is_none() { options.completeness.search_columns(side) } else { 0 };
            let searching = of_kind(rank) + panel_bytes(side, searched);
            // Every worker decomposes the small matrix that the bases leave.
            let small = SMALL_MATRICES * (basis * basis * size_of::<f64>() * machine.workers) as u64 * processes;
            let held = (of_kind(basis) + small).max(searching);
            // The vectors of one side are made of those of the other, and measured by them.
            let measured = |program: usize, from: usize, to: usize| {
                let at_a_time = columns_at_a_time(from, rank);
                product(program, at_a_time, panel_bytes(from, rank - at_a_time) + panel_bytes(to, rank))
            };
            let growing = [product(forward, width, held), product(backward, width, held)];
            let measuring = [measured(forward, low, high), measured(backward, high, low)];
            ([growing, measuring].concat(), of_kind(basis) / processes + vectors)
        } else {
            // The basis that a block came from is still needed when it is multiplied.
            let held = panel_bytes(high, columns);
            (vec![product(forward, columns, held), product(backward, columns, 0)], both(columns) / processes + vectors)
        };
        let product = products.into_iter().max_by_key(Memory::total).unwrap_or_default();
        // Small panels are given back to the allocator, and not by that to the system.
        let shard = panel_bytes(high, columns) / processes / machine.workers as u64;
        let panels = match shard < KEPT_BY_ALLOCATOR && !self.keeps_blocks() {
            true => product.panels + answer,
            false => product.panels.max(answer),
        };
        Memory { leaves, panels, gathered: product.gathered }
    }

    /// The same within so many bytes: with a smaller basis, where that may be, or not at all. Says what
    /// would fit.
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
            let basis = self.basis_columns(&self.options, self.block);
            if let Some(basis) = largest_up_to(basis, |basis| needed(&with_basis(basis)) <= limit) {
                tracing::info!(basis, limit, "a smaller basis, for want of memory");
                (self.options.basis, self.is_reduced) = (Some(basis), true);
                return Ok(self);
            }
        }
        let fits = largest_up_to(rank - 1, |rank| needed(&Options { rank, ..self.options.clone() }) <= limit);
        Err(SvdError::NoRoom { shape: self.shape, rank, needed: of_all, limit, fits })
    }

    /// Whether a basis may be reduced on the way: where the residuals tell when to stop, and not the
    /// size of the basis.
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
