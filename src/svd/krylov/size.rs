//! How wide blocks are, how many of them there are, and when there are too many.

use super::super::keep::Keep;
use super::super::options::Options;

/// Columns of a block. Narrow blocks reach deeper with as many columns, and a row of sixteen is a cache line; but a product
/// with a few columns takes nearly as long as one with twice as many, so for many triplets blocks are wider.
const WIDTH: usize = 16;
/// The most triplets for a column.
const TRIPLETS: usize = 4;
/// Triplets to expect where a rule picks them.
const LIKELY: usize = 128;
/// Columns of a block for a few triplets.
const NARROW_WIDTH: usize = 8;
/// Columns that a basis has without a tolerance: so many for each triplet, and so many more.
const DEPTH: (usize, usize) = (2, 56);
/// The most columns that are kept: so many for each triplet, and so many more. On a large matrix it takes no more products to go on from the
/// best of them than to keep them all, and hardly more time.
const KEPT: (usize, usize) = (4, 48);
/// How many more of a small matrix, of which a basis takes little memory, and up to how many rows it is small.
const KEPT_OF_SMALL: usize = 64;
const SMALL: usize = 1 << 15;
/// Blocks beyond the rank that a basis can hold at least: one to go on with, one to gain by.
const LEAST_BLOCKS: usize = 2;

/// The sizes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Columns of a block.
    pub(super) width: usize,
    /// The most columns of a basis before it is reduced to the best of them.
    pub(super) kept: usize,
    /// The most columns to multiply by.
    pub(super) columns: usize,
}

impl Sizes {
    /// The sizes for a matrix with a short side of `side`.
    pub(super) fn new(options: &Options, side: usize, block_columns: usize) -> Self {
        // Where a rule picks the rank it is likely to be far below the most.
        let likely = if options.keep == Keep::All { options.rank } else { options.rank.min(LIKELY) };
        let width = match likely {
            0..=NARROW_WIDTH => NARROW_WIDTH,
            rank => rank.div_ceil(TRIPLETS).next_multiple_of(WIDTH),
        };
        let width = width.min(side);
        let more = if side <= SMALL { KEPT_OF_SMALL } else { 0 };
        let wanted = options.basis.unwrap_or((KEPT.0 * options.rank + KEPT.1 + more).max(depth(options.rank, width)));
        let started = options.start.as_ref().map_or(width, |_| options.rank.max(width));
        let least = options.rank + LEAST_BLOCKS * started;
        // U can span the range of M and a block that rounding adds.
        let kept = wanted.max(least).min(side + width);
        let columns = 2 * block_columns.max(width).saturating_mul(options.iterations.saturating_add(1));
        Self { width, kept, columns }
    }

    /// How many of `columns` columns to start again with: half of them, which are found without the others, or the wanted ones and some
    /// more.
    pub(super) fn restart(columns: usize, rank: usize) -> usize {
        (columns / 2).max(rank.min(columns) + columns.saturating_sub(rank) / 4)
    }
}

/// Columns of a basis that find so many triplets well enough to be used, on matrices of graphs.
pub(super) fn depth(rank: usize, width: usize) -> usize {
    (DEPTH.0 * rank + DEPTH.1).next_multiple_of(width)
}

/// What a run asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::svd) struct Demand {
    /// Columns of a block.
    pub(in crate::svd) width: usize,
    /// Blocks of each basis, if all are needed.
    pub(in crate::svd) steps: usize,
    /// Columns of each basis at the most.
    pub(in crate::svd) basis: usize,
}

/// What a run on a matrix with a short side of `side` asks for.
pub(in crate::svd) fn demand(options: &Options, side: usize, block_columns: usize) -> Demand {
    let Sizes { width, kept, columns } = Sizes::new(options, side, block_columns);
    let allowed = columns / 2;
    // A tolerance, or a rule for the rank, may take all that is allowed.
    let multiplied = match options.tolerance.is_none() && options.keep == Keep::All {
        true => depth(options.rank, width).min(allowed),
        false => allowed,
    };
    Demand { width, steps: multiplied.div_ceil(width.max(1)), basis: multiplied.min(kept).min(side) + width }
}
