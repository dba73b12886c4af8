//! One cell of a sparse matrix times a panel: where the time goes.
//!
//! The entries of a row pick rows of the panel at random, so the product waits for memory unless three things are done.
//! Strips keep the picked rows in a cache. A block of at most [`BLOCK`] columns is summed in registers, so that a row of the
//! result is touched once a strip. And rows that will be picked soon are prefetched.
//!
//! Diagonal matrices on both sides, a scalar and an added panel are part of the same pass. Columns of the panel never mix and
//! the entries of a row are added in their order, so the blocks and instructions chosen do not show in the result, except
//! that AVX2 and AVX-512 round once where plain code rounds twice.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod ladder;
mod portable;
#[cfg(target_arch = "x86_64")]
mod registers;
#[cfg(target_arch = "x86_64")]
mod vector;

pub use ladder::Ladder;

use std::ops::Range;

use super::{Cell, LANES, Panel, PanelMut, Simd};

/// Widest block of columns that is summed in registers.
pub const BLOCK: usize = 64;
/// Entries of a panel that a nearby cache holds: its rows need not be fetched ahead, and asking for them takes a quarter of the
/// time of a product with few columns.
const NEAR: usize = 192 << 10;

/// The factors of a product: `alpha · diag(left) · A · diag(right)`.
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a> {
    /// A factor for everything.
    pub alpha: f32,
    /// A factor for each row of the tile.
    pub left: Option<&'a [f32]>,
    /// A factor for each column of the strip.
    pub right: Option<&'a [f32]>,
}

/// What the product is added to.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a> {
    /// What the result already holds: an earlier strip's product.
    Accumulate,
    /// Nothing: the result is overwritten.
    Zero,
    /// `beta · diag(diagonal) · panel`: the result is overwritten.
    Add {
        /// A factor for everything.
        beta: f32,
        /// A factor for each row of the tile.
        diagonal: Option<&'a [f32]>,
        /// The tile's rows of a panel as wide as the result.
        panel: Panel<'a>,
    },
}

/// The blocks of at most [`BLOCK`] columns that a panel of `cols` columns is handled in, padding included: as few as possible,
/// and of nearly the same width.
pub fn blocks(cols: usize) -> impl Iterator<Item = Range<usize>> {
    let groups = cols.div_ceil(LANES);
    let count = (groups * LANES).div_ceil(BLOCK);
    let end = move |block: usize| (block * groups).div_ceil(count.max(1)) * LANES;
    (0..count).map(move |block| end(block)..end(block + 1))
}

/// `y = start + alpha · diag(left) · cell · diag(right) · x`, where `x` is the strip's rows and `y` the tile's.
///
/// # Panics
/// If the shapes do not fit each other.
pub fn multiply(cell: Cell, x: Panel, factors: &Factors, start: Start, mut y: PanelMut) {
    for columns in blocks(x.cols()) {
        multiply_columns(Simd::best(), cell, x, factors, start, y.reborrow(), columns);
    }
}

/// [`multiply`] for one block of columns: multiples of [`LANES`], at most [`BLOCK`] of them.
///
/// # Panics
/// If the shapes do not fit each other.
pub fn multiply_columns(
    simd: Simd,
    cell: Cell,
    x: Panel,
    factors: &Factors,
    start: Start,
    mut y: PanelMut,
    columns: Range<usize>,
) {
    let stride = x.stride();
    assert_eq!((x.rows(), y.rows(), y.stride()), (cell.width(), cell.height(), stride), "shapes of a product");
    assert!(factors.left.is_none_or(|d| d.len() == cell.height()), "one left factor a row");
    assert!(factors.right.is_none_or(|d| d.len() == cell.width()), "one right factor a column");
    if let Start::Add { diagonal, panel, .. } = start {
        assert_eq!((panel.rows(), panel.stride()), (cell.height(), stride), "shape of the added panel");
        assert!(diagonal.is_none_or(|d| d.len() == cell.height()), "one factor a row of the added panel");
    }
    assert!(columns.start <= columns.end && columns.end <= stride, "columns inside of the panel");
    assert!(columns.start.is_multiple_of(LANES) && columns.len().is_multiple_of(LANES) && columns.len() <= BLOCK);
    if columns.is_empty() || cell.height() == 0 {
        return;
    }
    let job = Job { cell, x: x.data(), factors, start, stride, first: columns.start };
    #[cfg(target_arch = "x86_64")]
    if simd.is_fast() {
        let groups = columns.len() / LANES;
        // SAFETY: `simd` proves that the instructions are there; the shapes were checked above, a tile's offsets when it was
        // built.
        unsafe {
            match simd.is_wide() && groups > 1 {
                true => avx512::run(&job, groups, y.data_mut()),
                false => avx2::run(&job, groups, y.data_mut()),
            }
        }
        return;
    }
    let _ = simd;
    portable::run(&job, columns.len() / LANES, y.data_mut());
}

/// A checked call for one block of columns.
struct Job<'a> {
    cell: Cell<'a>,
    x: &'a [f32],
    factors: &'a Factors<'a>,
    start: Start<'a>,
    stride: usize,
    /// First column of the block.
    first: usize,
}

#[cfg(target_arch = "x86_64")]
impl Job<'_> {
    /// Whether the panel is in a nearby cache.
    fn is_near(&self) -> bool {
        self.x.len() <= NEAR
    }

    /// Whether what the result held does not matter.
    fn overwrites(&self) -> bool {
        !matches!(self.start, Start::Accumulate)
    }
}

/// Runs `$body::<lane groups, values, right>` for run-time numbers.
macro_rules! specialise {
    ($groups:expr, $values:expr, $right:expr, $body:ident ( $($argument:expr),* )) => {
        specialise!(@groups $groups, $values, $right, $body($($argument),*), 1 2 3 4 5 6 7 8)
    };
    (@groups $groups:expr, $values:expr, $right:expr, $body:ident $arguments:tt, $($n:literal)*) => {
        match ($groups, $values, $right) {
            $(
                ($n, false, false) => specialise!(@call $body, $n, false, false, $arguments),
                ($n, true, false) => specialise!(@call $body, $n, true, false, $arguments),
                ($n, false, true) => specialise!(@call $body, $n, false, true, $arguments),
                ($n, true, true) => specialise!(@call $body, $n, true, true, $arguments),
            )*
            _ => unreachable!("a block has at most eight lane groups"),
        }
    };
    (@call $body:ident, $n:literal, $values:literal, $right:literal, ($($argument:expr),*)) => {
        $body::<$n, $values, $right>($($argument),*)
    };
}
use specialise;

#[cfg(test)]
mod tests;
