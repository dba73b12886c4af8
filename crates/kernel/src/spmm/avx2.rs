//! The product with AVX2 and FMA.

use super::ladder::Rungs;
use super::registers::Avx2;
use super::{Job, specialise, vector};

/// Runs a job for a block of `groups` lane groups.
///
/// # Safety
/// AVX2 and FMA must be there, and the shapes of the job and of `y` must fit each other.
pub(super) unsafe fn run(job: &Job, groups: usize, y: &mut [f32]) {
    let (values, right) = (job.cell.values().is_some(), job.factors.right.is_some());
    // SAFETY: the caller's promise.
    unsafe {
        match job.is_near() {
            true => specialise!(groups, values, right, near(job, y)),
            false => specialise!(groups, values, right, far(job, y)),
        }
    }
}

/// # Safety
/// As for [`run`].
#[target_feature(enable = "avx2,fma")]
unsafe fn near<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(job: &Job, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe { vector::rows::<Avx2<GROUPS>, VALUES, RIGHT, false>(job, y) }
}

/// # Safety
/// As for [`run`].
#[target_feature(enable = "avx2,fma")]
unsafe fn far<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(job: &Job, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe { vector::rows::<Avx2<GROUPS>, VALUES, RIGHT, true>(job, y) }
}

/// All rows of a ladder.
///
/// # Safety
/// AVX2 and FMA must be there, the rows of the panels be so many lane groups apart, and the shapes of the job and of `y` fit each
/// other.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn climb<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(job: &Rungs, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe { vector::climb::<Avx2<GROUPS>, VALUES, RIGHT>(job, y) }
}
