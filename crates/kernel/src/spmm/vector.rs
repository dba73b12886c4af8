//! The product in vector registers, whatever they are.
//!
//! What is here is inlined into functions that enable the instructions: [`avx2`](super::avx2) and
//! [`avx512`](super::avx512).

use std::arch::x86_64::*;

use super::by_tile::Job;
use super::length_sorted::SortedJob;
use super::registers::Registers;
use super::{Start, Term};

/// Entries ahead of the current one whose rows of the panel are prefetched.
const AHEAD: usize = 16;
/// Listed rows ahead of the current one whose rows of the result are prefetched.
const ROWS_AHEAD: usize = 4;
/// Long rows that are summed side by side.
const TOGETHER: usize = 4;
/// Entries in a cache line.
const LINE: usize = 16;

/// The rows of a cell, for a block of columns.
///
/// # Safety
/// The instructions of the registers must be there, the shapes of the job and of `y` must fit each
/// other, and the block must be as wide as the registers.
#[inline(always)]
pub(super) unsafe fn rows<R: Registers, const VALUES: bool, const RIGHT: bool, const FETCH: bool>(
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
                // SAFETY: a prefetch may point anywhere.
                unsafe { _mm_prefetch::<_MM_HINT_ET0>(fetched.wrapping_add(line * LINE).cast()) };
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
                        _mm_prefetch::<_MM_HINT_T0>(fetched.add(line * LINE).cast());
                    }
                    if straddles {
                        _mm_prefetch::<_MM_HINT_T0>(fetched.add(R::COLUMNS - 1).cast());
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
unsafe fn finish<R: Registers>(job: &Job, row: usize, sum: Option<R>, y: &mut [f32]) {
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

/// All rows of a matrix with sorted rows, for all columns of the panel.
///
/// # Safety
/// The instructions of the registers must be there, the registers be as wide as rows of the panels
/// are apart, and the shapes of matrix, panels and factors fit each other.
#[inline(always)]
pub(super) unsafe fn sorted_rows<R: Registers, const VALUES: bool, const RIGHT: bool>(job: &SortedJob, y: &mut [f32]) {
    let (beta, diagonal, panel) = match job.start {
        Start::Add(Term { coefficient, diagonal, panel }) => (coefficient, diagonal.unwrap_or(&[]), panel.data()),
        _ => (0.0, &[][..], &[][..]),
    };
    let left = job.factors.left.unwrap_or(&[]);
    let epilogue = Epilogue { alpha: job.factors.alpha, left, beta, diagonal, panel, out: y.as_mut_ptr() };
    // SAFETY: the caller's promise; the added panel is there where the parameter says so.
    unsafe {
        match panel.is_empty() {
            true => buckets::<R, VALUES, RIGHT, false>(job, &epilogue),
            false => buckets::<R, VALUES, RIGHT, true>(job, &epilogue),
        }
    }
}

/// # Safety
/// As for [`sorted_rows`]; the added panel is there if `ADD`.
#[inline(always)]
unsafe fn buckets<R: Registers, const VALUES: bool, const RIGHT: bool, const ADD: bool>(
    job: &SortedJob,
    epilogue: &Epilogue,
) {
    let picks = Picks { x: job.x.as_ptr(), right: job.factors.right.unwrap_or(&[]) };
    let mut row = job.order.as_ptr();
    let mut entry = Entry { column: job.columns.as_ptr(), value: job.values.as_ptr() };
    // SAFETY of all that follows: rows of the buckets and long rows are those of the order, each a
    // row of `y`, of the added panel and of the factors; their lengths add up to the columns, which
    // are rows of `x` and indices of the right factors; there is a value for each where there are
    // values.
    for &(count, rows) in job.buckets {
        for _ in 0..rows {
            // SAFETY: as above.
            unsafe {
                let sum = picks.sum::<R, VALUES, RIGHT>(&mut entry, count);
                epilogue.write::<R, ADD>(row, count, sum);
                row = row.add(1);
            }
        }
    }
    let mut groups = job.long.chunks_exact(TOGETHER);
    for counts in groups.by_ref() {
        // SAFETY: as above.
        unsafe {
            let mut starts = [entry; TOGETHER];
            for (place, &count) in counts.iter().enumerate() {
                starts[place] = entry;
                entry = entry.after::<VALUES>(count.into());
            }
            let mut sums = [R::zero(); TOGETHER];
            // Lengths ascend, so all four rows have as many entries as the first.
            for number in 0..usize::from(counts[0]) {
                for (sum, start) in sums.iter_mut().zip(starts) {
                    *sum = picks.plus::<R, VALUES, RIGHT>(*sum, start.after::<VALUES>(number));
                }
            }
            for ((sum, start), &count) in sums.iter_mut().zip(starts).zip(counts) {
                for number in counts[0]..count {
                    *sum = picks.plus::<R, VALUES, RIGHT>(*sum, start.after::<VALUES>(number.into()));
                }
                epilogue.write::<R, ADD>(row, count, *sum);
                row = row.add(1);
            }
        }
    }
    for &count in groups.remainder() {
        // SAFETY: as above.
        unsafe {
            let sum = picks.sum::<R, VALUES, RIGHT>(&mut entry, count);
            epilogue.write::<R, ADD>(row, count, sum);
            row = row.add(1);
        }
    }
}

/// `out = alpha · left · sum + beta · diagonal · panel`. Slices that a product lacks are empty.
struct Epilogue<'a> {
    alpha: f32,
    left: &'a [f32],
    beta: f32,
    diagonal: &'a [f32],
    panel: &'a [f32],
    out: *mut f32,
}

impl Epilogue<'_> {
    /// Writes a row of `count` entries, with the operations of `finish` in its order. (A closure
    /// would be compiled without the instructions.)
    ///
    /// # Safety
    /// The row must be one of the result, of slices that are not empty, and of the panel if `ADD`.
    #[inline(always)]
    unsafe fn write<R: Registers, const ADD: bool>(&self, row: *const u16, count: u16, sum: R) {
        // SAFETY: the caller's promise.
        unsafe {
            let at = usize::from(*row);
            let scale = self.alpha * if self.left.is_empty() { 1.0 } else { *self.left.get_unchecked(at) };
            let factor = self.beta * if self.diagonal.is_empty() { 1.0 } else { *self.diagonal.get_unchecked(at) };
            let start = if ADD { R::load(self.panel.as_ptr().add(at * R::COLUMNS)).times(factor) } else { R::zero() };
            let made = if count > 0 { sum.times_plus(scale, start) } else { start };
            made.store(self.out.add(at * R::COLUMNS));
        }
    }
}

/// A position among the entries.
#[derive(Clone, Copy)]
struct Entry {
    column: *const u16,
    value: *const f32,
}

impl Entry {
    /// The position `count` entries later.
    ///
    /// # Safety
    /// It must be an entry, or the end.
    #[inline(always)]
    unsafe fn after<const VALUES: bool>(self, count: usize) -> Self {
        // SAFETY: the caller's promise; without values there is nothing to point at.
        unsafe {
            let value = if VALUES { self.value.add(count) } else { self.value };
            Entry { column: self.column.add(count), value }
        }
    }
}

/// The panel and the right factors whose rows the entries pick.
struct Picks<'a> {
    x: *const f32,
    right: &'a [f32],
}

impl Picks<'_> {
    /// The sum over the next `count` entries.
    ///
    /// # Safety
    /// As for [`plus`](Self::plus), for each of them.
    #[inline(always)]
    unsafe fn sum<R: Registers, const VALUES: bool, const RIGHT: bool>(&self, entry: &mut Entry, count: u16) -> R {
        // SAFETY: the caller's promise.
        unsafe {
            let mut sum = R::zero();
            for _ in 0..count {
                sum = self.plus::<R, VALUES, RIGHT>(sum, *entry);
                *entry = entry.after::<VALUES>(1);
            }
            sum
        }
    }

    /// `sum` plus one entry, with the operations of `rows`, so that the bits are the same.
    ///
    /// # Safety
    /// The entry must exist, and its column be a row of `x` and an index of the right factors.
    #[inline(always)]
    unsafe fn plus<R: Registers, const VALUES: bool, const RIGHT: bool>(&self, sum: R, entry: Entry) -> R {
        // SAFETY: the caller's promise.
        unsafe {
            let from = usize::from(*entry.column);
            let picked = R::load(self.x.add(from * R::COLUMNS));
            if VALUES || RIGHT {
                let of_entry = if VALUES { *entry.value } else { 1.0 };
                let factor = if RIGHT { of_entry * *self.right.get_unchecked(from) } else { of_entry };
                picked.times_plus(factor, sum)
            } else {
                sum.plus(picked)
            }
        }
    }
}
