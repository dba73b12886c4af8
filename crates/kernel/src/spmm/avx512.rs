//! The product with AVX-512: a row of sixteen columns is one register and one load.

use super::by_tile::Job;
use super::length_sorted::SortedJob;
use super::registers::Avx512;
use super::vector;

/// Runs a job for a block of `groups` lane groups, at least two.
///
/// # Safety
/// AVX-512 must be there, and the shapes of the job and of `y` must fit each other.
pub(super) unsafe fn run(job: &Job, groups: usize, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe {
        match groups {
            2 => pick::<1, false>(job, y),
            3 => pick::<2, true>(job, y),
            4 => pick::<2, false>(job, y),
            5 => pick::<3, true>(job, y),
            6 => pick::<3, false>(job, y),
            7 => pick::<4, true>(job, y),
            8 => pick::<4, false>(job, y),
            _ => unreachable!("a block has two to eight lane groups"),
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn pick<const PAIRS: usize, const HALF: bool>(job: &Job, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe {
        match (job.cell.values().is_some(), job.factors.right.is_some(), job.is_near()) {
            (false, false, true) => rows::<PAIRS, HALF, false, false, false>(job, y),
            (false, false, false) => rows::<PAIRS, HALF, false, false, true>(job, y),
            (false, true, true) => rows::<PAIRS, HALF, false, true, false>(job, y),
            (false, true, false) => rows::<PAIRS, HALF, false, true, true>(job, y),
            (true, false, true) => rows::<PAIRS, HALF, true, false, false>(job, y),
            (true, false, false) => rows::<PAIRS, HALF, true, false, true>(job, y),
            (true, true, true) => rows::<PAIRS, HALF, true, true, false>(job, y),
            (true, true, false) => rows::<PAIRS, HALF, true, true, true>(job, y),
        }
    }
}

/// # Safety
/// As for [`run`].
#[target_feature(enable = "avx512f")]
unsafe fn rows<const PAIRS: usize, const HALF: bool, const VALUES: bool, const RIGHT: bool, const FETCH: bool>(
    job: &Job,
    y: &mut [f32],
) {
    // SAFETY: the caller's promise.
    unsafe { vector::rows::<Avx512<PAIRS, HALF>, VALUES, RIGHT, FETCH>(job, y) }
}

/// All rows of a matrix with sorted rows.
///
/// # Safety
/// AVX-512 must be there, rows of the panels be `PAIRS` pairs of lane groups apart, and the shapes
/// of the job and of `y` fit each other.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn sorted_rows<const PAIRS: usize, const VALUES: bool, const RIGHT: bool>(
    job: &SortedJob,
    y: &mut [f32],
) {
    // SAFETY: the caller's promise.
    unsafe { vector::sorted_rows::<Avx512<PAIRS, false>, VALUES, RIGHT>(job, y) }
}
