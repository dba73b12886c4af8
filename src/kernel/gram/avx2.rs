//! The sums of a Gram matrix with AVX2 and FMA.

use std::arch::x86_64::*;

use super::{CHUNK, GROUP};

/// Adds the products of one column group with several to their 4 × 4 blocks of sums.
///
/// # Safety
/// AVX2 and FMA must be there. `a` holds `rows ≤ CHUNK` rows of a group, `right` some groups, `sums` a block for each.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn multiply_group(a: &[f64], right: &[f64], rows: usize, sums: &mut [f64]) {
    let groups = right.len() / (CHUNK * GROUP);
    debug_assert!(a.len() == rows * GROUP && rows <= CHUNK && sums.len() == groups * GROUP * GROUP);
    let mut j = 0;
    while j < groups {
        // SAFETY: groups `j..j + N` are inside of `right` and `sums`.
        unsafe {
            let b = right.as_ptr().add(j * CHUNK * GROUP);
            let s = sums.as_mut_ptr().add(j * GROUP * GROUP);
            match groups - j {
                1 => block::<1>(a.as_ptr(), b, rows, s),
                // Four left are two and two: a single group keeps too few sums to be fast.
                2 | 4 => block::<2>(a.as_ptr(), b, rows, s),
                _ => block::<3>(a.as_ptr(), b, rows, s),
            }
        }
        j += match groups - j {
            1 => 1,
            2 | 4 => 2,
            _ => 3,
        };
    }
}

/// # Safety
/// `a` is `rows` rows of one group, `b` starts `N` groups and `s` their blocks of sums.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn block<const N: usize>(a: *const f64, b: *const f64, rows: usize, s: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[_mm256_setzero_pd(); N]; GROUP];
        for (p, line) in sums.iter_mut().enumerate() {
            for (q, sum) in line.iter_mut().enumerate() {
                *sum = _mm256_loadu_pd(s.add((q * GROUP + p) * GROUP));
            }
        }
        for row in 0..rows {
            let mut loaded = [_mm256_setzero_pd(); N];
            for (q, l) in loaded.iter_mut().enumerate() {
                *l = _mm256_loadu_pd(b.add((q * CHUNK + row) * GROUP));
            }
            for (p, line) in sums.iter_mut().enumerate() {
                let x = _mm256_broadcast_sd(&*a.add(row * GROUP + p));
                for (sum, l) in line.iter_mut().zip(loaded) {
                    *sum = _mm256_fmadd_pd(x, l, *sum);
                }
            }
        }
        for (p, line) in sums.iter().enumerate() {
            for (q, &sum) in line.iter().enumerate() {
                _mm256_storeu_pd(s.add((q * GROUP + p) * GROUP), sum);
            }
        }
    }
}
