//! The product with AVX2 and FMA.

use std::arch::x86_64::*;

use super::{Job, Start, specialise};
use crate::kernel::LANES;

/// How many entries ahead the rows of the panel are fetched.
const AHEAD: usize = 16;
/// How many listed rows ahead the rows of the result are fetched.
const ROWS_AHEAD: usize = 4;
/// Entries in a cache line.
const LINE: usize = 16;

/// Runs a job for a block of `groups` lane groups.
///
/// # Safety
/// AVX2 and FMA must be there, and the shapes of the job and of `y` must fit each other.
pub(super) unsafe fn run(job: &Job, groups: usize, y: &mut [f32]) {
    let (values, right) = (job.cell.values().is_some(), job.factors.right.is_some());
    // SAFETY: the caller's promise.
    unsafe { specialise!(groups, values, right, rows(job, y)) }
}

/// # Safety
/// As for [`run`].
#[target_feature(enable = "avx2,fma")]
unsafe fn rows<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(job: &Job, y: &mut [f32]) {
    let cell = job.cell;
    let overwrite = !matches!(job.start, Start::Accumulate);
    // Rows that do not start at cache lines end in one more of them.
    let straddles = !job.stride.is_multiple_of(LINE) || !job.first.is_multiple_of(LINE);
    let columns = cell.columns();
    let last = columns.len().saturating_sub(1);
    let values = cell.values().unwrap_or(&[]);
    let right = job.factors.right.unwrap_or(&[]);
    let (mut next, mut at) = (0, 0);
    for (listed, (&row, &count)) in cell.rows().iter().zip(cell.counts()).enumerate() {
        let row = usize::from(row);
        if let Some(&soon) = cell.rows().get(listed + ROWS_AHEAD) {
            let fetched = y.as_ptr().wrapping_add(usize::from(soon) * job.stride + job.first);
            for line in 0..(GROUPS * LANES).div_ceil(LINE) {
                _mm_prefetch::<_MM_HINT_ET0>(fetched.wrapping_add(line * LINE).cast());
            }
        }
        if overwrite {
            while next < row {
                // SAFETY: `next < row`, a row of the tile.
                unsafe { finish::<GROUPS>(job, next, None, y) };
                next += 1;
            }
            next = row + 1;
        }
        let mut sum = [_mm256_setzero_ps(); GROUPS];
        let end = at + usize::from(count);
        while at < end {
            // SAFETY: a tile's counts add up to its entries and its offsets are below the width of the strip, which is the
            // number of rows of `x` and the length of `right`; there is a value for each entry.
            unsafe {
                let ahead = usize::from(*columns.get_unchecked((at + AHEAD).min(last)));
                let fetched = job.x.as_ptr().add(ahead * job.stride + job.first);
                for line in 0..(GROUPS * LANES).div_ceil(LINE) {
                    _mm_prefetch::<_MM_HINT_T0>(fetched.add(line * LINE).cast());
                }
                if straddles {
                    _mm_prefetch::<_MM_HINT_T0>(fetched.add(GROUPS * LANES - 1).cast());
                }
                let column = usize::from(*columns.get_unchecked(at));
                let picked = job.x.as_ptr().add(column * job.stride + job.first);
                if VALUES || RIGHT {
                    let value = if VALUES { *values.get_unchecked(at) } else { 1.0 };
                    let factor = if RIGHT { value * *right.get_unchecked(column) } else { value };
                    let factor = _mm256_set1_ps(factor);
                    for (group, s) in sum.iter_mut().enumerate() {
                        *s = _mm256_fmadd_ps(factor, _mm256_loadu_ps(picked.add(group * LANES)), *s);
                    }
                } else {
                    for (group, s) in sum.iter_mut().enumerate() {
                        *s = _mm256_add_ps(*s, _mm256_loadu_ps(picked.add(group * LANES)));
                    }
                }
            }
            at += 1;
        }
        // SAFETY: `row` is a row of the tile.
        unsafe { finish::<GROUPS>(job, row, Some(sum), y) };
    }
    if overwrite {
        while next < cell.height() {
            // SAFETY: `next` is a row of the tile.
            unsafe { finish::<GROUPS>(job, next, None, y) };
            next += 1;
        }
    }
}

/// Writes one row of the result: its start, and the scaled sum if there is one.
///
/// # Safety
/// As for [`run`]; `row` must be a row of the tile.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn finish<const GROUPS: usize>(job: &Job, row: usize, sum: Option<[__m256; GROUPS]>, y: &mut [f32]) {
    // SAFETY: a row of the tile is a row of `y`, of the added panel, and an index of the factors.
    unsafe {
        let at = row * job.stride + job.first;
        let out = y.as_mut_ptr().add(at);
        let mut row_values = [_mm256_setzero_ps(); GROUPS];
        match job.start {
            Start::Accumulate => {
                for (group, v) in row_values.iter_mut().enumerate() {
                    *v = _mm256_loadu_ps(out.add(group * LANES));
                }
            }
            Start::Zero => {}
            Start::Add { beta, diagonal, panel } => {
                let factor = _mm256_set1_ps(beta * diagonal.map_or(1.0, |d| *d.get_unchecked(row)));
                let added = panel.data().as_ptr().add(at);
                for (group, v) in row_values.iter_mut().enumerate() {
                    *v = _mm256_mul_ps(factor, _mm256_loadu_ps(added.add(group * LANES)));
                }
            }
        }
        if let Some(sum) = sum {
            let scale = job.factors.alpha * job.factors.left.map_or(1.0, |d| *d.get_unchecked(row));
            let scale = _mm256_set1_ps(scale);
            for (v, s) in row_values.iter_mut().zip(sum) {
                *v = _mm256_fmadd_ps(scale, s, *v);
            }
        }
        for (group, v) in row_values.into_iter().enumerate() {
            _mm256_storeu_ps(out.add(group * LANES), v);
        }
    }
}
