//! `AᵀB` with f32 sums over a few rows at a time.
//!
//! Only the sums are converted to f64, and a register holds twice as many f32: less than half the
//! time. The rounding of a few dozen rows is that of f32 panels.

use super::super::{LANES, Panel, Simd};
use super::{CHUNK, LEFT, Scratch, reset};

/// `out = AᵀB`, `a.cols × b.cols` row-major: the products of at most 64 rows are summed in f32,
/// those sums in f64.
///
/// # Panics
/// If the panels have different numbers of rows or `out` has another size.
pub fn cross_gram_in_single(a: Panel, b: Panel, out: &mut [f64], scratch: &mut Scratch) {
    cross_gram_in_single_with(Simd::best(), a, b, out, scratch);
}

/// [`cross_gram_in_single`] with the given instructions.
pub fn cross_gram_in_single_with(simd: Simd, a: Panel, b: Panel, out: &mut [f64], scratch: &mut Scratch) {
    assert_eq!(a.rows(), b.rows(), "panels of a cross Gram matrix have the same rows");
    assert_eq!(out.len(), a.cols() * b.cols(), "a cross Gram matrix of {} × {} columns", a.cols(), b.cols());
    let width = b.stride();
    if width == b.cols() {
        out.fill(0.0);
        add(simd, a, b, out);
        return;
    }
    reset(&mut scratch.sums, a.cols() * width);
    add(simd, a, b, &mut scratch.sums);
    for (to, from) in out.chunks_exact_mut(b.cols().max(1)).zip(scratch.sums.chunks_exact(width.max(1))) {
        to.copy_from_slice(&from[..b.cols()]);
    }
}

/// `sums += AᵀB`; `sums` has the stride of `b`.
fn add(simd: Simd, a: Panel, b: Panel, sums: &mut [f64]) {
    let (from, width) = (a.stride(), b.stride());
    for first in (0..a.rows()).step_by(CHUNK) {
        let rows = CHUNK.min(a.rows() - first);
        let left = &a.data()[first * from..(first + rows) * from];
        let right = &b.data()[first * width..(first + rows) * width];
        let most = most_left(simd);
        for i in (0..a.cols()).step_by(most) {
            let count = most.min(a.cols() - i);
            let mut j = 0;
            while j < width {
                let groups = if j + 2 * LANES <= width { 2 } else { 1 };
                let place = Place { rows, from, width, i, j };
                multiply_block(simd, left, right, &place, (count, groups), sums);
                j += groups * LANES;
            }
        }
    }
}

/// The place of a block of sums: number of rows, both strides, first columns.
pub(super) struct Place {
    pub(super) rows: usize,
    pub(super) from: usize,
    pub(super) width: usize,
    pub(super) i: usize,
    pub(super) j: usize,
}

/// Columns of the left factor in a register block. AVX-512 has twice as many registers of twice the
/// width.
fn most_left(simd: Simd) -> usize {
    if simd.is_wide() { 2 * LEFT } else { LEFT }
}

fn multiply_block(
    simd: Simd,
    left: &[f32],
    right: &[f32],
    place: &Place,
    (count, groups): (usize, usize),
    sums: &mut [f64],
) {
    let Place { rows, from, width, i, j } = *place;
    assert!(left.len() >= rows * from && right.len() >= rows * width && sums.len() >= (i + count) * width);
    assert!(
        count <= most_left(simd) && i + count <= from && (groups == 1 || groups == 2) && j + groups * LANES <= width
    );
    #[cfg(target_arch = "x86_64")]
    if simd.is_wide() && groups == 2 {
        // SAFETY: `simd` proves that AVX-512 is there; the rows and the block were checked above.
        unsafe { super::avx512::multiply_single(left, right, place, count, sums) };
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if simd.is_fast() {
        for first in (0..count).step_by(LEFT) {
            let (place, count) = (Place { i: i + first, ..*place }, LEFT.min(count - first));
            // SAFETY: `simd` proves that AVX2 and FMA are there; the rows and the block were
            // checked above.
            unsafe { super::avx2::multiply_single(left, right, &place, (count, groups), sums) };
        }
        return;
    }
    let _ = simd;
    for p in i..i + count {
        let mut kept = [0.0f32; 2 * LANES];
        for row in 0..rows {
            let x = left[row * from + p];
            let y = &right[row * width + j..][..groups * LANES];
            kept.iter_mut().zip(y).for_each(|(sum, y)| *sum += x * y);
        }
        let sums = &mut sums[p * width + j..][..groups * LANES];
        sums.iter_mut().zip(kept).for_each(|(sum, kept)| *sum += f64::from(kept));
    }
}
