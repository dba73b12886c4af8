//! The sums of a Gram matrix with AVX2 and FMA.

use std::arch::x86_64::*;
use std::ops::Range;

use super::single::Place;
use super::{Chunk, RIGHT, pitch};
use crate::LANES;

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

/// Adds the products of `columns` of `left` with eight columns of `right` from `j` on to their
/// sums.
///
/// # Safety
/// AVX2 and FMA must be there; both chunks have equally many rows, `columns` (at most six) lie
/// inside of `left`, `j..j + 8` inside of `right`, and `sums` has a row as wide as `right` for each
/// column of `left`.
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

/// Adds the products of `count` columns of `left` with one or two lane groups of `right`, summed in
/// f32, to their sums.
///
/// # Safety
/// AVX2 and FMA must be there; `left` and `right` hold the rows of the place, and `count` (at most
/// six) columns from `place.i` on and `groups` lane groups from `place.j` on lie inside of them and
/// of the sums.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn multiply_single(
    left: &[f32],
    right: &[f32],
    place: &Place,
    (count, groups): (usize, usize),
    sums: &mut [f64],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let a = left.as_ptr().add(place.i);
        let b = right.as_ptr().add(place.j);
        let sums = sums.as_mut_ptr().add(place.i * place.width + place.j);
        match (count, groups) {
            (6, 2) => single::<6, 2>(a, b, place, sums),
            (5, 2) => single::<5, 2>(a, b, place, sums),
            (4, 2) => single::<4, 2>(a, b, place, sums),
            (3, 2) => single::<3, 2>(a, b, place, sums),
            (2, 2) => single::<2, 2>(a, b, place, sums),
            (1, 2) => single::<1, 2>(a, b, place, sums),
            (6, _) => single::<6, 1>(a, b, place, sums),
            (5, _) => single::<5, 1>(a, b, place, sums),
            (4, _) => single::<4, 1>(a, b, place, sums),
            (3, _) => single::<3, 1>(a, b, place, sums),
            (2, _) => single::<2, 1>(a, b, place, sums),
            _ => single::<1, 1>(a, b, place, sums),
        }
    }
}

/// # Safety
/// As for [`multiply_single`], with pointers to the first row of the columns and to their sums.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn single<const M: usize, const N: usize>(mut a: *const f32, mut b: *const f32, place: &Place, sums: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut kept = [[_mm256_setzero_ps(); N]; M];
        for _ in 0..place.rows {
            let mut loaded = [_mm256_setzero_ps(); N];
            for (q, l) in loaded.iter_mut().enumerate() {
                *l = _mm256_loadu_ps(b.add(q * LANES));
            }
            for (p, line) in kept.iter_mut().enumerate() {
                let x = _mm256_broadcast_ss(&*a.add(p));
                for (sum, l) in line.iter_mut().zip(loaded) {
                    *sum = _mm256_fmadd_ps(x, l, *sum);
                }
            }
            a = a.wrapping_add(place.from);
            b = b.wrapping_add(place.width);
        }
        for (p, line) in kept.iter().enumerate() {
            for (q, &kept) in line.iter().enumerate() {
                let to = sums.add(p * place.width + q * LANES);
                let halves = [_mm256_castps256_ps128(kept), _mm256_extractf128_ps::<1>(kept)];
                for (half, kept) in halves.into_iter().enumerate() {
                    let to = to.add(half * FOUR);
                    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), _mm256_cvtps_pd(kept)));
                }
            }
        }
    }
}
