//! The sizes of a run, and when it stops.

use serde::{Deserialize, Serialize};

use super::keep::Keep;
use super::options::Options;
use super::tuning::{
    BASIS_LIMIT, BASIS_LIMIT_SMALL, BLOCK_WIDTH, DEFAULT_DEPTH, EXPECTED_RANK, LEAST_BLOCKS, NARROW_WIDTH,
    RANK_PER_COLUMN,
};

/// Checks after which triplets that look like rounding are taken for that.
const UNCHANGED: usize = 3;

/// The sizes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Columns of a block.
    pub(super) width: usize,
    /// The most columns of a basis; beyond, it is restarted.
    pub(super) basis: usize,
    /// The most columns to multiply by.
    pub(super) columns: usize,
}

impl Sizes {
    /// The sizes for a matrix with a short side of `side`.
    pub(super) fn new(options: &Options, side: usize, block_columns: usize) -> Self {
        // A rule is likely to choose a rank far below the most.
        let rank = if options.keep == Keep::All { options.rank } else { options.rank.min(EXPECTED_RANK) };
        let width = match rank {
            0..=NARROW_WIDTH => NARROW_WIDTH,
            rank => rank.div_ceil(RANK_PER_COLUMN).next_multiple_of(BLOCK_WIDTH),
        };
        let width = width.min(side);
        let (small, rows) = BASIS_LIMIT_SMALL;
        let limit = BASIS_LIMIT.0 * options.rank + BASIS_LIMIT.1 + if side <= rows { small } else { 0 };
        let wanted = options.basis.unwrap_or(limit.max(depth(options.rank, width)));
        let first = options.start.as_ref().map_or(width, |start| start.columns().max(width));
        // U can span the range of M and directions that rounding adds.
        let basis = wanted.max(options.rank + LEAST_BLOCKS * first).min(2 * side + width);
        let steps = options.iterations.saturating_add(1);
        let columns = block_columns.max(width).saturating_mul(steps).saturating_mul(2);
        Self { width, basis, columns }
    }

    /// Columns that a restart of a basis of `columns` keeps: half of them, or the wanted ones and a
    /// quarter of the others.
    pub(super) fn restart(columns: usize, rank: usize) -> usize {
        (columns / 2).max(rank.min(columns) + columns.saturating_sub(rank) / 4)
    }
}

/// Columns of a basis without a tolerance.
pub(super) fn depth(rank: usize, width: usize) -> usize {
    (DEFAULT_DEPTH.0 * rank + DEFAULT_DEPTH.1).next_multiple_of(width)
}

/// The position of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Position {
    /// Columns of T.
    pub(super) dimension: usize,
    /// Columns multiplied when the next step is done.
    pub(super) columns_after_step: f64,
    /// Columns of F that are multiplied next.
    pub(super) next: usize,
    /// Whether V spans the short side, and nothing is left to multiply.
    pub(super) is_whole: bool,
}

/// What follows from a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Continue,
    /// The triplets are good enough.
    Converged,
    /// The work limit is reached before they are.
    Exhausted,
}

/// Decides whether a run goes on.
#[derive(Debug, Clone)]
pub(super) struct StoppingRule {
    tolerance: Option<f64>,
    keep: Keep,
    rank: usize,
    sizes: Sizes,
    /// Columns of the start block, if one was given.
    started: Option<usize>,
}

impl StoppingRule {
    pub(super) fn new(options: &Options, sizes: Sizes) -> Self {
        let Options { tolerance, keep, rank, .. } = *options;
        let started = options.start.as_ref().map(|start| start.columns());
        Self { tolerance, keep, rank, sizes, started }
    }

    /// Whether residuals or a rule for the rank decide, and not the size of the basis alone.
    pub(super) fn needs_checks(&self) -> bool {
        self.tolerance.is_some() || self.keep != Keep::All
    }

    /// Whether no further step follows, whatever the residuals are, unless a search finds a missing
    /// triplet.
    pub(super) fn is_final(&self, at: Position, limit: f64) -> bool {
        let is_deep = !self.needs_checks() && at.dimension >= self.enough(self.rank);
        at.is_whole || is_deep || at.columns_after_step > limit
    }

    /// Whether a basis is too large to take the next block.
    pub(super) fn is_full(&self, at: Position) -> bool {
        at.dimension + at.next.max(1) > self.sizes.basis
    }

    /// Whether `wanted` triplets with this worst residual are an answer.
    pub(super) fn decide(&self, at: Position, is_final: bool, wanted: usize, residual: f64) -> Decision {
        let is_deep = at.dimension >= self.enough(wanted);
        // An invariant subspace has no residuals, but may miss triplets.
        let is_conclusive = is_deep || at.next > 0 || is_final;
        let has_converged = match self.tolerance {
            Some(tolerance) => residual <= tolerance && is_conclusive,
            None => is_deep,
        };
        match (has_converged || at.is_whole, is_final) {
            (true, _) => Decision::Converged,
            (false, true) => Decision::Exhausted,
            (false, false) => Decision::Continue,
        }
    }

    /// The fewest columns of a basis that are worth a check.
    pub(super) fn least(&self) -> usize {
        let least = match (self.started, self.keep) {
            (None, Keep::All) => depth(self.rank, self.sizes.width) * 3 / 4,
            (None, _) => 2 * self.sizes.width,
            (Some(_), _) => self.rank,
        };
        least.min(self.sizes.basis)
    }

    /// Columns of a basis that are enough for `wanted` triplets without a tolerance. A start block of
    /// approximate vectors is enough itself.
    pub(super) fn enough(&self, wanted: usize) -> usize {
        let is_started = self.started.is_some_and(|columns| columns >= wanted);
        let enough = if is_started { wanted } else { depth(wanted, self.sizes.width) };
        enough.min(self.sizes.basis)
    }
}

/// How many triplets count. A small triplet that is still to converge looks like a rounding error
/// of σ₁: only where several checks in a row find the same number of triplets that do not look so
/// are the others left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct RoundingPlateau {
    /// Triplets that the last check found to be more than rounding.
    real: usize,
    /// Checks before it that found as many.
    unchanged: usize,
}

impl RoundingPlateau {
    /// The number of triplets, of `all`, whose residuals count after a check that found `real` of them
    /// to be more than rounding.
    pub(super) fn count(&mut self, real: usize, all: usize) -> usize {
        self.unchanged = if real == self.real { self.unchanged + 1 } else { 0 };
        self.real = real;
        if self.unchanged >= UNCHANGED { real } else { all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches triplets that are taken for rounding as soon as they look so.
    #[test]
    fn triplets_that_look_like_rounding_count_for_three_checks() {
        let mut plateau = RoundingPlateau::default();
        let counts = [7, 8, 8, 8, 8, 9].map(|real| plateau.count(real, 10));
        assert_eq!(counts, [10, 10, 10, 10, 8, 10]);
    }
}
