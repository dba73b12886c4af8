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
    let (values, right) = (job.cell.values().is_some(), job.factors.right.is_some());
    // SAFETY: the caller's promise.
    unsafe {
        match job.is_near() {
            true => specialise!(groups, values, right, near(job, y)),
            false => specialise!(groups, values, right, far(job, y)),
        }
    }
}

/// Calls `$body::<lane groups, values, right>` for run-time numbers.
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
