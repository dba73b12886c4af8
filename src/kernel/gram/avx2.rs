//! The sums of a Gram matrix with AVX2 and FMA.

use std::arch::x86_64::*;
use std::ops::Range;

use super::{Chunk, RIGHT, pitch};

/// f64 numbers in a register.
const FOUR: usize = 4;

/// Rows of `width` entries in f64.
///
/// # Safety
/// AVX2 and FMA must be there.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn convert(from: &[f32], width: usize, out: &mut [f64]) {
    super::convert_rows(from, width, out);
}

/// Adds the products of `columns` of `left` with eight columns of `right` from `j` on to their sums.
///
/// # Safety
/// AVX2 and FMA must be there; both chunks have equally many rows, `columns` (at most six) lie inside of `left`,
/// `j..j + 8` inside of `right`, and `sums` has a row as wide as `right` for each column of `left`.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn multiply(left: Chunk, right: Chunk, columns: Range<usize>, j: usize, sums: &mut [f64]) {
    // SAFETY: the caller's promise.
    unsafe {
        let a = left.data.as_ptr().add(columns.start);
        let b = right.data.as_ptr().add(j);
        let sums = sums.as_mut_ptr().add(columns.start * right.width + j);
        match columns.len() {
            6 => block::<6>(left, right, a, b, sums),
            5 => block::<5>(left, right, a, b, sums),
            4 => block::<4>(left, right, a, b, sums),
            3 => block::<3>(left, right, a, b, sums),
            2 => block::<2>(left, right, a, b, sums),
            1 => block::<1>(left, right, a, b, sums),
            _ => {}
        }
    }
}

/// # Safety
/// As for [`multiply`], with pointers to the first row of the columns and to their sums.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn block<const M: usize>(left: Chunk, right: Chunk, mut a: *const f64, mut b: *const f64, sums: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut kept = [[_mm256_setzero_pd(); RIGHT / FOUR]; M];
        for (p, line) in kept.iter_mut().enumerate() {
            *line = [0, 1].map(|q| _mm256_loadu_pd(sums.add(p * right.width + q * FOUR)));
        }
        for _ in 0..left.rows {
            let loaded = [_mm256_loadu_pd(b), _mm256_loadu_pd(b.add(FOUR))];
            for (p, line) in kept.iter_mut().enumerate() {
                let x = _mm256_broadcast_sd(&*a.add(p));
                line[0] = _mm256_fmadd_pd(x, loaded[0], line[0]);
                line[1] = _mm256_fmadd_pd(x, loaded[1], line[1]);
            }
            a = a.wrapping_add(pitch(left.width));
            b = b.wrapping_add(pitch(right.width));
        }
        for (p, line) in kept.iter().enumerate() {
            _mm256_storeu_pd(sums.add(p * right.width), line[0]);
            _mm256_storeu_pd(sums.add(p * right.width + FOUR), line[1]);
        }
    }
}
