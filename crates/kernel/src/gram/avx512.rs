//! The sums of a Gram matrix with AVX-512.

use std::arch::x86_64::*;
use std::ops::Range;

use super::single::Place;
use super::{Chunk, pitch};

/// f64 numbers in a register.
const EIGHT: usize = 8;

/// Adds the products of `columns` of `left` with eight or, with `pair`, sixteen columns of `right`
/// from `j` on to their sums.
///
/// # Safety
/// AVX-512 must be there; both chunks have equally many rows, `columns` (at most six) lie inside of
/// `left`, the others inside of `right`, and `sums` has a row as wide as `right` for each column of
/// `left`.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn multiply(
    left: Chunk,
    right: Chunk,
    columns: Range<usize>,
    (j, pair): (usize, bool),
    sums: &mut [f64],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let a = left.data.as_ptr().add(columns.start);
        let b = right.data.as_ptr().add(j);
        let sums = sums.as_mut_ptr().add(columns.start * right.width + j);
        match (columns.len(), pair) {
            (6, true) => block::<6, 2>(left, right, a, b, sums),
            (5, true) => block::<5, 2>(left, right, a, b, sums),
            (4, true) => block::<4, 2>(left, right, a, b, sums),
            (3, true) => block::<3, 2>(left, right, a, b, sums),
            (2, true) => block::<2, 2>(left, right, a, b, sums),
            (1, true) => block::<1, 2>(left, right, a, b, sums),
            (6, false) => block::<6, 1>(left, right, a, b, sums),
            (5, false) => block::<5, 1>(left, right, a, b, sums),
            (4, false) => block::<4, 1>(left, right, a, b, sums),
            (3, false) => block::<3, 1>(left, right, a, b, sums),
            (2, false) => block::<2, 1>(left, right, a, b, sums),
            (1, false) => block::<1, 1>(left, right, a, b, sums),
            _ => {}
        }
    }
}

/// # Safety
/// As for [`multiply`], with pointers to the first row of the columns and to their sums.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn block<const M: usize, const N: usize>(
    left: Chunk,
    right: Chunk,
    mut a: *const f64,
    mut b: *const f64,
    sums: *mut f64,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut kept = [[_mm512_setzero_pd(); N]; M];
        for (p, line) in kept.iter_mut().enumerate() {
            for (q, sum) in line.iter_mut().enumerate() {
                *sum = _mm512_loadu_pd(sums.add(p * right.width + q * EIGHT));
            }
        }
        for _ in 0..left.rows {
            let mut loaded = [_mm512_setzero_pd(); N];
            for (q, l) in loaded.iter_mut().enumerate() {
                *l = _mm512_loadu_pd(b.add(q * EIGHT));
            }
            for (p, line) in kept.iter_mut().enumerate() {
                let x = _mm512_set1_pd(*a.add(p));
                for (sum, l) in line.iter_mut().zip(loaded) {
                    *sum = _mm512_fmadd_pd(x, l, *sum);
                }
            }
            a = a.wrapping_add(pitch(left.width));
            b = b.wrapping_add(pitch(right.width));
        }
        for (p, line) in kept.into_iter().enumerate() {
            for (q, sum) in line.into_iter().enumerate() {
                _mm512_storeu_pd(sums.add(p * right.width + q * EIGHT), sum);
            }
        }
    }
}

/// Adds the products of `count` columns of `left` with sixteen of `right`, summed in f32, to their
/// sums.
///
/// # Safety
/// AVX-512 must be there; `left` and `right` hold the rows of the place, and `count` (at most
/// twelve) columns from `place.i` on and sixteen from `place.j` on lie inside of them and of the
/// sums.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn multiply_single(left: &[f32], right: &[f32], place: &Place, count: usize, sums: &mut [f64]) {
    // SAFETY: the caller's promise.
    unsafe {
        let a = left.as_ptr().add(place.i);
        let b = right.as_ptr().add(place.j);
        let sums = sums.as_mut_ptr().add(place.i * place.width + place.j);
        match count {
            12 => single::<12>(a, b, place, sums),
            11 => single::<11>(a, b, place, sums),
            10 => single::<10>(a, b, place, sums),
            9 => single::<9>(a, b, place, sums),
            8 => single::<8>(a, b, place, sums),
            7 => single::<7>(a, b, place, sums),
            6 => single::<6>(a, b, place, sums),
            5 => single::<5>(a, b, place, sums),
            4 => single::<4>(a, b, place, sums),
            3 => single::<3>(a, b, place, sums),
            2 => single::<2>(a, b, place, sums),
            _ => single::<1>(a, b, place, sums),
        }
    }
}

/// # Safety
/// As for [`multiply_single`], with pointers to the first row of the columns and to their sums.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn single<const M: usize>(mut a: *const f32, mut b: *const f32, place: &Place, sums: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut kept = [_mm512_setzero_ps(); M];
        for _ in 0..place.rows {
            let loaded = _mm512_loadu_ps(b);
            for (p, sum) in kept.iter_mut().enumerate() {
                *sum = _mm512_fmadd_ps(_mm512_set1_ps(*a.add(p)), loaded, *sum);
            }
            a = a.wrapping_add(place.from);
            b = b.wrapping_add(place.width);
        }
        for (p, &kept) in kept.iter().enumerate() {
            let low = _mm512_cvtps_pd(_mm512_castps512_ps256(kept));
            // The third and fourth quarters come first.
            let turned = _mm512_shuffle_f32x4::<0b1110>(kept, kept);
            let high = _mm512_cvtps_pd(_mm512_castps512_ps256(turned));
            for (half, kept) in [low, high].into_iter().enumerate() {
                let to = sums.add(p * place.width + half * EIGHT);
                _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), kept));
            }
        }
    }
}
