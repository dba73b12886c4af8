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
/// Entries of a panel that a nearby cache holds: its rows need not be fetched ahead, and asking for them takes a quarter of the
/// time of a product with few columns.
const NEAR: usize = 192 << 10;

/// Runs a job for a block of `groups` lane groups.
///
/// # Safety
/// AVX2 and FMA must be there, and the shapes of the job and of `y` must fit each other.
pub(super) unsafe fn run(job: &Job, groups: usize, y: &mut [f32]) {
    let (values, right) = (job.cell.values().is_some(), job.factors.right.is_some());
    let is_near = job.x.len() <= NEAR;
    let is_full = job.cell.rows().len() == job.cell.height() && job.stride == groups * LANES;
    // SAFETY: the caller's promise.
    unsafe {
        if is_near && is_full && !values && !right && overwrites(job) {
            match groups {
                1 => return full_rows::<1>(job, y),
                2 => return full_rows::<2>(job, y),
                4 => return full_rows::<4>(job, y),
                _ => {}
            }
        }
        match is_near {
            true => specialise!(groups, values, right, near_rows(job, y)),
            false => specialise!(groups, values, right, far_rows(job, y)),
        }
    }
}

fn overwrites(job: &Job) -> bool {
    !matches!(job.start, Start::Accumulate)
}

/// The rows of a cell whose rows all have entries, all of them one, for all columns of a panel in a nearby cache. With few
/// entries a row, what else there is to do for it takes longer than they do, so nothing is left to be decided row by row.
///
/// # Safety
/// As for [`run`]; the cell lists all its rows, and a row of the panels has as many entries as the groups.
#[target_feature(enable = "avx2,fma")]
unsafe fn full_rows<const GROUPS: usize>(job: &Job, y: &mut [f32]) {
    let added = match job.start {
        Start::Add { beta, diagonal, panel } => Some((beta, diagonal, panel.data())),
        _ => None,
    };
    // SAFETY: the caller's promise.
    unsafe {
        match (job.factors.left, added) {
            (None, None) => full::<GROUPS, false, false, false>(job, &[], (0.0, &[], &[]), y),
            (Some(left), None) => full::<GROUPS, true, false, false>(job, left, (0.0, &[], &[]), y),
            (None, Some((beta, None, panel))) => {
                full::<GROUPS, false, true, false>(job, &[], (beta, &[], panel), y);
            }
            (Some(left), Some((beta, None, panel))) => {
                full::<GROUPS, true, true, false>(job, left, (beta, &[], panel), y);
            }
            (None, Some((beta, Some(diagonal), panel))) => {
                full::<GROUPS, false, true, true>(job, &[], (beta, diagonal, panel), y);
            }
            (Some(left), Some((beta, Some(diagonal), panel))) => {
                full::<GROUPS, true, true, true>(job, left, (beta, diagonal, panel), y);
            }
        }
    }
}

/// # Safety
/// As for [`full_rows`]; `left`, the diagonal and the panel that is added are there where they are said to be.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn full<const GROUPS: usize, const LEFT: bool, const ADD: bool, const DIAGONAL: bool>(
    job: &Job,
    left: &[f32],
    (beta, diagonal, panel): (f32, &[f32], &[f32]),
    y: &mut [f32],
) {
    let stride = GROUPS * LANES;
    let (x, alpha) = (job.x.as_ptr(), job.factors.alpha);
    let (mut column, mut out, mut added) = (job.cell.columns().as_ptr(), y.as_mut_ptr(), panel.as_ptr());
    for (row, &count) in job.cell.counts().iter().enumerate() {
        // SAFETY: a tile's counts add up to its entries and its offsets are below the number of rows of `x`; there are as many
        // counts as rows of `y`, of the added panel and of the factors.
        unsafe {
            let mut sum = [_mm256_setzero_ps(); GROUPS];
            let end = column.add(usize::from(count));
            while column < end {
                let picked = x.add(usize::from(*column) * stride);
                for (group, s) in sum.iter_mut().enumerate() {
                    *s = _mm256_add_ps(*s, _mm256_loadu_ps(picked.add(group * LANES)));
                }
                column = column.add(1);
            }
            // In the order of `finish`, so that the bits are the same.
            let scale = _mm256_set1_ps(alpha * if LEFT { *left.get_unchecked(row) } else { 1.0 });
            let factor = _mm256_set1_ps(beta * if DIAGONAL { *diagonal.get_unchecked(row) } else { 1.0 });
            for (group, s) in sum.iter().enumerate() {
                let start = match ADD {
                    true => _mm256_mul_ps(factor, _mm256_loadu_ps(added.add(group * LANES))),
                    false => _mm256_setzero_ps(),
                };
                _mm256_storeu_ps(out.add(group * LANES), _mm256_fmadd_ps(scale, *s, start));
            }
            out = out.wrapping_add(stride);
            added = added.wrapping_add(stride);
        }
    }
}

/// # Safety
/// As for [`run`].
#[target_feature(enable = "avx2,fma")]
unsafe fn near_rows<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(job: &Job, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe { rows::<GROUPS, VALUES, RIGHT, false>(job, y) }
}

/// # Safety
/// As for [`run`].
#[target_feature(enable = "avx2,fma")]
unsafe fn far_rows<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(job: &Job, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe { rows::<GROUPS, VALUES, RIGHT, true>(job, y) }
}

/// # Safety
/// As for [`run`].
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn rows<const GROUPS: usize, const VALUES: bool, const RIGHT: bool, const FETCH: bool>(
    job: &Job,
    y: &mut [f32],
) {
    let cell = job.cell;
    let overwrite = overwrites(job);
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
                if FETCH {
                    let ahead = usize::from(*columns.get_unchecked((at + AHEAD).min(last)));
                    let fetched = job.x.as_ptr().add(ahead * job.stride + job.first);
                    for line in 0..(GROUPS * LANES).div_ceil(LINE) {
                        _mm_prefetch::<_MM_HINT_T0>(fetched.add(line * LINE).cast());
                    }
                    if straddles {
                        _mm_prefetch::<_MM_HINT_T0>(fetched.add(GROUPS * LANES - 1).cast());
                    }
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
