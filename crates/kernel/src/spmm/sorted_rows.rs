//! The product of rows that are sorted by length, generic over the registers.

use super::length_sorted::SortedJob;
use super::{Start, Term};
use crate::registers::Registers;

/// Long rows that are summed side by side.
const TOGETHER: usize = 4;

/// All rows of a matrix with sorted rows, for all columns of the panel.
///
/// # Safety
/// The instructions of the registers must be there, the registers be as wide as rows of the panels
/// are apart, and the shapes of matrix, panels and factors fit each other.
#[inline(always)]
pub(super) unsafe fn sorted_rows<R: Registers<Entry = f32>, const VALUES: bool, const RIGHT: bool>(
    job: &SortedJob,
    y: &mut [f32],
) {
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
unsafe fn buckets<R: Registers<Entry = f32>, const VALUES: bool, const RIGHT: bool, const ADD: bool>(
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
    unsafe fn write<R: Registers<Entry = f32>, const ADD: bool>(&self, row: *const u16, count: u16, sum: R) {
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
    unsafe fn sum<R: Registers<Entry = f32>, const VALUES: bool, const RIGHT: bool>(
        &self,
        entry: &mut Entry,
        count: u16,
    ) -> R {
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
    unsafe fn plus<R: Registers<Entry = f32>, const VALUES: bool, const RIGHT: bool>(&self, sum: R, entry: Entry) -> R {
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
