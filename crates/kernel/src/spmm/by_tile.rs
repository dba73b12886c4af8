//! One cell (a strip of a tile) times a block of columns.

use std::ops::Range;

use super::{Cell, Factors, Panel, PanelMut, Simd, Start, Term, assert_shapes};
use crate::LANES;
use crate::registers::{Portable, Registers};
use crate::simd::prefetch;

/// Widest block of columns that is summed in registers.
pub const BLOCK: usize = 64;
/// Entries ahead of the current one whose rows of the panel are prefetched.
const AHEAD: usize = 16;
/// Listed rows ahead of the current one whose rows of the result are prefetched.
const ROWS_AHEAD: usize = 4;
/// Entries in a cache line.
const LINE: usize = 16;

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
    let y = y.data_mut();
    match columns.len() / LANES {
        1 => job.run::<1>(simd, y),
        2 => job.run::<2>(simd, y),
        3 => job.run::<3>(simd, y),
        4 => job.run::<4>(simd, y),
        5 => job.run::<5>(simd, y),
        6 => job.run::<6>(simd, y),
        7 => job.run::<7>(simd, y),
        8 => job.run::<8>(simd, y),
        _ => unreachable!("a block has one to eight lane groups"),
    }
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

impl Job<'_> {
    /// Runs the job for `GROUPS` lane groups.
    fn run<const GROUPS: usize>(&self, simd: Simd, y: &mut [f32]) {
        match (self.cell.values().is_some(), self.factors.right.is_some()) {
            (false, false) => self.run_with::<GROUPS, false, false>(simd, y),
            (false, true) => self.run_with::<GROUPS, false, true>(simd, y),
            (true, false) => self.run_with::<GROUPS, true, false>(simd, y),
            (true, true) => self.run_with::<GROUPS, true, true>(simd, y),
        }
    }

    fn run_with<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(&self, simd: Simd, y: &mut [f32]) {
        // SAFETY: `simd` proves that the instructions are there; the shapes were checked by
        // `multiply_cell`, and a tile's offsets when it was built.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if simd.is_fast() {
                return match self.x.len() <= super::NEAR {
                    true => with_avx2::<GROUPS, VALUES, RIGHT, false>(self, y),
                    false => with_avx2::<GROUPS, VALUES, RIGHT, true>(self, y),
                };
            }
            let _ = simd;
            rows::<Portable<f32, GROUPS>, VALUES, RIGHT, false>(self, y);
        }
    }

    /// Whether the result is overwritten, its rows without entries included.
    fn overwrites(&self) -> bool {
        !matches!(self.start, Start::Accumulate)
    }
}

/// # Safety
/// As for [`rows`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn with_avx2<const GROUPS: usize, const VALUES: bool, const RIGHT: bool, const FETCH: bool>(
    job: &Job,
    y: &mut [f32],
) {
    // SAFETY: the caller's promise.
    unsafe { rows::<crate::registers::Avx2<GROUPS>, VALUES, RIGHT, FETCH>(job, y) }
}

/// The rows of a cell, for a block of columns.
///
/// # Safety
/// The instructions of the registers must be there, the shapes of the job and of `y` must fit each
/// other, and the block must be as wide as the registers.
#[inline(always)]
unsafe fn rows<R: Registers<Entry = f32>, const VALUES: bool, const RIGHT: bool, const FETCH: bool>(
    job: &Job,
    y: &mut [f32],
) {
    let cell = job.cell;
    let overwrite = job.overwrites();
    // Rows that do not start at cache lines end in one more of them.
    let straddles = !job.stride.is_multiple_of(LINE) || !job.first.is_multiple_of(LINE);
    let columns = cell.columns();
    let last = columns.len().saturating_sub(1);
    let values = cell.values().unwrap_or(&[]);
    let right = job.factors.right.unwrap_or(&[]);
    let (mut next, mut at) = (0, 0);
    for (listed, (&row, &count)) in cell.rows().iter().zip(cell.counts()).enumerate() {
        let row = usize::from(row);
        if FETCH && let Some(&soon) = cell.rows().get(listed + ROWS_AHEAD) {
            let fetched = y.as_ptr().wrapping_add(usize::from(soon) * job.stride + job.first);
            for line in 0..R::COLUMNS.div_ceil(LINE) {
                prefetch::<true, f32>(fetched.wrapping_add(line * LINE));
            }
        }
        if overwrite {
            while next < row {
                // SAFETY: `next < row`, a row of the tile.
                unsafe { finish::<R>(job, next, None, y) };
                next += 1;
            }
            next = row + 1;
        }
        let end = at + usize::from(count);
        // SAFETY: a tile's counts add up to its entries and its offsets are below the width of the
        // strip, which is the number of rows of `x` and the length of `right`; there is a value for
        // each entry. `row` is a row of the tile.
        unsafe {
            let mut sum = R::zero();
            while at < end {
                if FETCH {
                    let ahead = usize::from(*columns.get_unchecked((at + AHEAD).min(last)));
                    let fetched = job.x.as_ptr().add(ahead * job.stride + job.first);
                    for line in 0..R::COLUMNS.div_ceil(LINE) {
                        prefetch::<false, f32>(fetched.add(line * LINE));
                    }
                    if straddles {
                        prefetch::<false, f32>(fetched.add(R::COLUMNS - 1));
                    }
                }
                let column = usize::from(*columns.get_unchecked(at));
                let picked = R::load(job.x.as_ptr().add(column * job.stride + job.first));
                sum = if VALUES || RIGHT {
                    let value = if VALUES { *values.get_unchecked(at) } else { 1.0 };
                    let factor = if RIGHT { value * *right.get_unchecked(column) } else { value };
                    picked.times_plus(factor, sum)
                } else {
                    sum.plus(picked)
                };
                at += 1;
            }
            finish(job, row, Some(sum), y);
        }
    }
    if overwrite {
        while next < cell.height() {
            // SAFETY: `next` is a row of the tile.
            unsafe { finish::<R>(job, next, None, y) };
            next += 1;
        }
    }
}

/// Writes one row of the result: its start, and the scaled sum if there is one.
///
/// # Safety
/// As for [`rows`]; `row` must be a row of the tile.
#[inline(always)]
unsafe fn finish<R: Registers<Entry = f32>>(job: &Job, row: usize, sum: Option<R>, y: &mut [f32]) {
    // SAFETY: a row of the tile is a row of `y`, of the added panel, and an index of the factors.
    unsafe {
        let at = row * job.stride + job.first;
        let out = y.as_mut_ptr().add(at);
        let start = match job.start {
            Start::Accumulate => R::load(out),
            Start::Zero => R::zero(),
            Start::Add(Term { coefficient, diagonal, panel }) => {
                let factor = coefficient * diagonal.map_or(1.0, |d| *d.get_unchecked(row));
                R::load(panel.data().as_ptr().add(at)).times(factor)
            }
        };
        let row = match sum {
            None => start,
            Some(sum) => {
                let scale = job.factors.alpha * job.factors.left.map_or(1.0, |d| *d.get_unchecked(row));
                sum.times_plus(scale, start)
            }
        };
        row.store(out);
    }
}
