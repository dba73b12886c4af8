//! The product with AVX2 and FMA.

use super::by_tile::Job;
use super::length_sorted::SortedJob;
use super::registers::Avx2;
use super::vector;

/// Runs a job for a block of `groups` lane groups.
///
/// # Safety
/// AVX2 and FMA must be there, and the shapes of the job and of `y` must fit each other.
pub(super) unsafe fn run(job: &Job, groups: usize, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe {
        match groups {
            1 => block::<1>(job, y),
            2 => block::<2>(job, y),
            3 => block::<3>(job, y),
            4 => block::<4>(job, y),
            5 => block::<5>(job, y),
            6 => block::<6>(job, y),
            7 => block::<7>(job, y),
            8 => block::<8>(job, y),
            _ => unreachable!("a block has one to eight lane groups"),
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn block<const GROUPS: usize>(job: &Job, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe {
        match (job.cell.values().is_some(), job.factors.right.is_some(), job.is_near()) {
            (false, false, true) => rows::<GROUPS, false, false, false>(job, y),
            (false, false, false) => rows::<GROUPS, false, false, true>(job, y),
            (false, true, true) => rows::<GROUPS, false, true, false>(job, y),
            (false, true, false) => rows::<GROUPS, false, true, true>(job, y),
            (true, false, true) => rows::<GROUPS, true, false, false>(job, y),
            (true, false, false) => rows::<GROUPS, true, false, true>(job, y),
            (true, true, true) => rows::<GROUPS, true, true, false>(job, y),
            (true, true, false) => rows::<GROUPS, true, true, true>(job, y),
        }
    }
}

/// # Safety
/// As for [`run`].
#[target_feature(enable = "avx2,fma")]
unsafe fn rows<const GROUPS: usize, const VALUES: bool, const RIGHT: bool, const FETCH: bool>(
    job: &Job,
    y: &mut [f32],
) {
    // SAFETY: the caller's promise.
    unsafe { vector::rows::<Avx2<GROUPS>, VALUES, RIGHT, FETCH>(job, y) }
}

/// All rows of a matrix with sorted rows.
///
/// # Safety
/// AVX2 and FMA must be there, rows of the panels be `GROUPS` lane groups apart, and the shapes of
/// the job and of `y` fit each other.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn sorted_rows<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(
    job: &SortedJob,
    y: &mut [f32],
) {
    // SAFETY: the caller's promise.
    unsafe { vector::sorted_rows::<Avx2<GROUPS>, VALUES, RIGHT>(job, y) }
}
