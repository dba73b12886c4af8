//! One cell (a strip of a tile) times a block of columns.

use std::ops::Range;

use super::{Cell, Factors, Panel, PanelMut, Simd, Start, assert_shapes};
use crate::LANES;

/// Widest block of columns that is summed in registers.
pub const BLOCK: usize = 64;

/// Cuts a panel of `cols` columns, padding included, into as few blocks of at most [`BLOCK`]
/// columns as possible, of nearly the same width.
pub(super) fn blocks(cols: usize) -> impl Iterator<Item = Range<usize>> {
    let groups = cols.div_ceil(LANES);
    let count = (groups * LANES).div_ceil(BLOCK);
    let end = move |block: usize| (block * groups).div_ceil(count.max(1)) * LANES;
    (0..count).map(move |block| end(block)..end(block + 1))
}

/// `y = start + alpha · diag(left) · cell · diag(right) · x` for one block of columns: a multiple
/// of [`LANES`], at most [`BLOCK`]. `x` holds the rows of the strip and `y` those of the tile.
///
/// # Panics
/// If the shapes do not fit each other.
pub(super) fn multiply_cell(
    simd: Simd,
    cell: Cell,
    x: Panel,
    factors: &Factors,
    start: Start,
    mut y: PanelMut,
    columns: Range<usize>,
) {
    let stride = x.stride();
    assert_shapes((cell.height(), cell.width()), x, factors, start, &y);
    assert!(columns.start <= columns.end && columns.end <= stride, "columns inside of the panel");
    assert!(columns.start.is_multiple_of(LANES) && columns.len().is_multiple_of(LANES) && columns.len() <= BLOCK);
    if columns.is_empty() || cell.height() == 0 {
        return;
    }
    let job = Job { cell, x: x.data(), factors, start, stride, first: columns.start };
    #[cfg(target_arch = "x86_64")]
    if simd.is_fast() {
        // SAFETY: `simd` proves that the instructions are there; the shapes were checked above, and a
        // tile's offsets when it was built.
        unsafe { super::avx2::run(&job, columns.len() / LANES, y.data_mut()) };
        return;
    }
    let _ = simd;
    super::portable::run(&job, columns.len() / LANES, y.data_mut());
}

/// A checked call for one block of columns.
pub(super) struct Job<'a> {
    pub(super) cell: Cell<'a>,
    pub(super) x: &'a [f32],
    pub(super) factors: &'a Factors<'a>,
    pub(super) start: Start<'a>,
    pub(super) stride: usize,
    /// First column of the block.
    pub(super) first: usize,
}

impl Job<'_> {
    /// Whether the panel is in a near cache.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn is_near(&self) -> bool {
        self.x.len() <= super::NEAR
    }

    /// Whether the result is overwritten, its rows without entries included.
    pub(super) fn overwrites(&self) -> bool {
        !matches!(self.start, Start::Accumulate)
    }
}
