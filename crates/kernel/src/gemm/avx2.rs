//! A panel times a small matrix with AVX2 and FMA.

use std::arch::x86_64::*;

use super::{BLOCK, Onto, Place};
use crate::LANES;

/// Rows of the panel whose sums are kept in registers at a time.
const ROWS: usize = 6;

/// One block of columns of the product, for all rows of `a`.
///
/// # Safety
/// AVX2 and FMA must be there. `a` and `out` hold equally many whole rows; `packed` has at most
/// `place.from` rows of [`BLOCK`]; `place.column + place.width ≤ place.to`, and the width is one or
/// two lane groups.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn multiply_block(a: &[f32], packed: &[f32], out: &mut [f32], place: &Place) {
    debug_assert!(place.width == LANES || place.width == BLOCK);
    let rows = out.len() / place.to;
    let mut row = 0;
    while row < rows {
        let count = ROWS.min(rows - row);
        // SAFETY: rows `row..row + count` are inside of `a` and `out`.
        unsafe {
            let a = a.as_ptr().add(row * place.from);
            let out = out.as_mut_ptr().add(row * place.to + place.column);
            for next in 0..count {
                // The same rows of the next chunk; a prefetch may point anywhere.
                _mm_prefetch::<_MM_HINT_T0>(a.wrapping_add((rows + next) * place.from + place.column).cast());
                _mm_prefetch::<_MM_HINT_ET0>(out.wrapping_add((rows + next) * place.to).cast());
            }
            match (count, place.width == BLOCK) {
                (6, true) => sums::<6, 2>(a, packed, out, place),
                (6, false) => sums::<6, 1>(a, packed, out, place),
                (5, true) => sums::<5, 2>(a, packed, out, place),
                (5, false) => sums::<5, 1>(a, packed, out, place),
                (4, true) => sums::<4, 2>(a, packed, out, place),
                (4, false) => sums::<4, 1>(a, packed, out, place),
                (3, true) => sums::<3, 2>(a, packed, out, place),
                (3, false) => sums::<3, 1>(a, packed, out, place),
                (2, true) => sums::<2, 2>(a, packed, out, place),
                (2, false) => sums::<2, 1>(a, packed, out, place),
                (_, true) => sums::<1, 2>(a, packed, out, place),
                (_, false) => sums::<1, 1>(a, packed, out, place),
            }
        }
        row += count;
    }
}

/// # Safety
/// `a` starts `M` rows, `out` as many, from the first column of the block.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn sums<const M: usize, const N: usize>(a: *const f32, packed: &[f32], out: *mut f32, place: &Place) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[_mm256_setzero_ps(); N]; M];
        if place.onto == Onto::Result {
            for (p, line) in sums.iter_mut().enumerate() {
                for (q, sum) in line.iter_mut().enumerate() {
                    *sum = _mm256_loadu_ps(out.add(p * place.to + q * LANES));
                }
            }
        }
        for k in 0..packed.len() / BLOCK {
            let row = packed.as_ptr().add(k * BLOCK);
            let mut loaded = [_mm256_setzero_ps(); N];
            for (q, l) in loaded.iter_mut().enumerate() {
                *l = _mm256_loadu_ps(row.add(q * LANES));
            }
            for (p, line) in sums.iter_mut().enumerate() {
                let x = _mm256_broadcast_ss(&*a.add(p * place.from + k));
                for (sum, l) in line.iter_mut().zip(loaded) {
                    *sum = _mm256_fmadd_ps(x, l, *sum);
                }
            }
        }
        for (p, line) in sums.iter().enumerate() {
            for (q, &sum) in line.iter().enumerate() {
                _mm256_storeu_ps(out.add(p * place.to + q * LANES), sum);
            }
        }
    }
}
