//! The product with AVX-512: a row of sixteen columns is one register and one load.
//!
//! It is used for sorted rows of sixteen columns only: measured against AVX2 the others are no faster.

use super::length_sorted::SortedJob;
use super::registers::Avx512;
use super::vector;

/// All rows of a matrix with sorted rows.
///
/// # Safety
/// AVX-512 must be there, rows of the panels be sixteen entries apart, and the shapes of the job and
/// of `y` fit each other.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn sorted_rows<const VALUES: bool, const RIGHT: bool>(job: &SortedJob, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe { vector::sorted_rows::<Avx512, VALUES, RIGHT>(job, y) }
}
