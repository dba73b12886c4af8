//! A panel times a small matrix with AVX-512: a block of columns is one register.

use std::arch::x86_64::*;

use super::{BLOCK, Onto, Place};

/// Rows of the panel whose sums are kept in registers at a time.
const ROWS: usize = 12;

/// One block of columns of the product, for all rows of `a`.
///
/// # Safety
/// AVX-512 must be there. `a` and `out` hold equally many whole rows; `packed` has at most
/// `place.from` rows of [`BLOCK`]; `place.column + place.width ≤ place.to`, and the width is
/// [`BLOCK`] or a half of it.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn multiply_block(a: &[f32], packed: &[f32], out: &mut [f32], place: &Place) {
    debug_assert!(place.width == BLOCK / 2 || place.width == BLOCK);
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
            match count {
                12 => sums::<12>(a, packed, out, place),
                11 => sums::<11>(a, packed, out, place),
                10 => sums::<10>(a, packed, out, place),
                9 => sums::<9>(a, packed, out, place),
                8 => sums::<8>(a, packed, out, place),
                7 => sums::<7>(a, packed, out, place),
                6 => sums::<6>(a, packed, out, place),
                5 => sums::<5>(a, packed, out, place),
                4 => sums::<4>(a, packed, out, place),
                3 => sums::<3>(a, packed, out, place),
                2 => sums::<2>(a, packed, out, place),
                _ => sums::<1>(a, packed, out, place),
            }
        }
        row += count;
    }
}

/// # Safety
/// `a` starts `M` rows, `out` as many, from the first column of the block.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn sums<const M: usize>(a: *const f32, packed: &[f32], out: *mut f32, place: &Place) {
    let mask: __mmask16 = if place.width == BLOCK { 0xffff } else { 0x00ff };
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [_mm512_setzero_ps(); M];
        if place.onto == Onto::Result {
            for (p, sum) in sums.iter_mut().enumerate() {
                *sum = _mm512_maskz_loadu_ps(mask, out.add(p * place.to));
            }
        }
        for k in 0..packed.len() / BLOCK {
            let row = _mm512_loadu_ps(packed.as_ptr().add(k * BLOCK));
            for (p, sum) in sums.iter_mut().enumerate() {
                *sum = _mm512_fmadd_ps(_mm512_set1_ps(*a.add(p * place.from + k)), row, *sum);
            }
        }
        for (p, sum) in sums.into_iter().enumerate() {
            _mm512_mask_storeu_ps(out.add(p * place.to), mask, sum);
        }
    }
}
