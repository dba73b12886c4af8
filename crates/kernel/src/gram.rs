//! Gram matrices `AᵀA` and `AᵀB` in f64, and `AᵀB` in f32.
//!
//! Products of f32 numbers are exact in f64, so a Gram matrix squares the condition number without
//! losing what f32 held. Rows are converted a few at a time, to stay in the L1 cache. Only one
//! triangle is computed, so it costs about as much as a full product in f32.

use super::product::Product;
use super::simd::faster;
use super::{LANES, Panel, Simd, stride};

/// Rows whose products are summed at a time.
const CHUNK: usize = 64;
/// Rows of a Gram matrix of which only the columns from the diagonal on are computed, at a time.
const BAND: usize = 6;

/// Scratch space of [`gram`] and [`cross_gram`]; keep one and use it again.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    left: Vec<f64>,
    right: Vec<f64>,
    sums: Vec<f64>,
}

/// `out = AᵀA`, `cols × cols` row-major, both triangles.
///
/// # Panics
/// If `out` has another size.
pub fn gram(a: Panel, out: &mut [f64], scratch: &mut Scratch) {
    gram_with(Simd::best(), a, out, scratch);
}

/// [`gram`] with the given instructions.
pub fn gram_with(simd: Simd, a: Panel, out: &mut [f64], scratch: &mut Scratch) {
    let cols = a.cols();
    assert_eq!(out.len(), cols * cols, "a Gram matrix of {cols} columns");
    let width = stride(cols);
    let Scratch { left, sums, .. } = scratch;
    reset(sums, cols * width);
    left.resize(CHUNK * pitch(width), 0.0);
    for first in (0..a.rows()).step_by(CHUNK) {
        let rows = CHUNK.min(a.rows() - first);
        convert(a, first, rows, left);
        for i in (0..cols).step_by(BAND) {
            let from = i / LANES * LANES;
            let product = Product::<f64, true> {
                left: &left[i..],
                left_step: pitch(width),
                right: &left[from..],
                right_step: pitch(width),
                rows: BAND.min(cols - i),
                columns: width - from,
                first_column: from,
                depth: rows,
            };
            product.write(simd, &mut sums[i * width..], width, true);
        }
    }
    for i in 0..cols {
        for j in i..cols {
            let sum = sums[i * width + j];
            (out[i * cols + j], out[j * cols + i]) = (sum, sum);
        }
    }
}

/// `out = AᵀB`, `a.cols × b.cols` row-major.
///
/// # Panics
/// If the panels have different numbers of rows or `out` has another size.
pub fn cross_gram(a: Panel, b: Panel, out: &mut [f64], scratch: &mut Scratch) {
    cross_gram_with(Simd::best(), a, b, out, scratch);
}

/// [`cross_gram`] with the given instructions.
pub fn cross_gram_with(simd: Simd, a: Panel, b: Panel, out: &mut [f64], scratch: &mut Scratch) {
    assert_cross_shape(a, b, out);
    let width = b.stride();
    let Scratch { left, right, sums } = scratch;
    reset(sums, a.cols() * width);
    left.resize(CHUNK * pitch(a.stride()), 0.0);
    right.resize(CHUNK * pitch(width), 0.0);
    for first in (0..a.rows()).step_by(CHUNK) {
        let rows = CHUNK.min(a.rows() - first);
        convert(a, first, rows, left);
        convert(b, first, rows, right);
        let product = Product::<f64, true> {
            left,
            left_step: pitch(a.stride()),
            right,
            right_step: pitch(width),
            rows: a.cols(),
            columns: width,
            first_column: 0,
            depth: rows,
        };
        product.write(simd, sums, width, true);
    }
    copy_without_padding(sums, b.cols(), out);
}

/// `out = AᵀB`, `a.cols × b.cols` row-major: the products of at most 64 rows are summed in f32,
/// those sums in f64. It takes less than half the time of [`cross_gram`], and its rounding is that
/// of f32 panels.
///
/// # Panics
/// If the panels have different numbers of rows or `out` has another size.
pub fn cross_gram_in_single(a: Panel, b: Panel, out: &mut [f64], scratch: &mut Scratch) {
    cross_gram_in_single_with(Simd::best(), a, b, out, scratch);
}

/// [`cross_gram_in_single`] with the given instructions.
pub fn cross_gram_in_single_with(simd: Simd, a: Panel, b: Panel, out: &mut [f64], scratch: &mut Scratch) {
    assert_cross_shape(a, b, out);
    let (from, width) = (a.stride(), b.stride());
    reset(&mut scratch.sums, a.cols() * width);
    for first in (0..a.rows()).step_by(CHUNK) {
        let product = Product::<f32, true> {
            left: &a.data()[first * from..],
            left_step: from,
            right: &b.data()[first * width..],
            right_step: width,
            rows: a.cols(),
            columns: width,
            first_column: 0,
            depth: CHUNK.min(a.rows() - first),
        };
        product.add_to(simd, &mut scratch.sums, width);
    }
    copy_without_padding(&scratch.sums, b.cols(), out);
}

fn assert_cross_shape(a: Panel, b: Panel, out: &[f64]) {
    assert_eq!(a.rows(), b.rows(), "panels of a cross Gram matrix have the same rows");
    assert_eq!(out.len(), a.cols() * b.cols(), "a cross Gram matrix of {} × {} columns", a.cols(), b.cols());
}

fn copy_without_padding(sums: &[f64], cols: usize, out: &mut [f64]) {
    for (to, from) in out.chunks_exact_mut(cols.max(1)).zip(sums.chunks_exact(stride(cols).max(1))) {
        to.copy_from_slice(&from[..cols]);
    }
}

fn reset(values: &mut Vec<f64>, len: usize) {
    values.clear();
    values.resize(len, 0.0);
}

/// Stride of converted rows: an odd number of cache lines, so that a column spreads over the cache
/// sets.
const fn pitch(width: usize) -> usize {
    ((width / LANES) | 1) * LANES
}

/// Writes `count` rows from `first` on in f64, padding included, [`pitch`] apart.
fn convert(a: Panel, first: usize, count: usize, out: &mut [f64]) {
    let width = a.stride();
    let rows = &a.data()[first * width..(first + count) * width];
    convert_rows(rows, width, out);

    fn convert_rows(rows: &[f32], width: usize, out: &mut [f64]) {
        faster!(plainly(rows: &[f32], width: usize, out: &mut [f64]));
    }

    #[inline(always)]
    fn plainly(rows: &[f32], width: usize, out: &mut [f64]) {
        for (row, out) in rows.chunks_exact(width.max(1)).zip(out.chunks_exact_mut(pitch(width))) {
            out.iter_mut().zip(row).for_each(|(to, &from)| *to = f64::from(from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::tests::panel_of;
    use crate::random;
    use proptest::prelude::*;

    fn random_panel(stream: u32, rows: usize, cols: usize) -> Vec<f32> {
        panel_of(rows, cols, |i, j| random::normal(7, stream, i as u64, j as u32))
    }

    fn obvious(a: Panel, b: Panel) -> Vec<f64> {
        let mut out = vec![0.0; a.cols() * b.cols()];
        for r in 0..a.rows() {
            for i in 0..a.cols() {
                for j in 0..b.cols() {
                    out[i * b.cols() + j] += f64::from(a.row(r)[i]) * f64::from(b.row(r)[j]);
                }
            }
        }
        out
    }

    fn close(x: &[f64], y: &[f64], rows: usize) -> bool {
        let limit = 1e-13 * (rows as f64 + 1.0);
        x.iter().zip(y).all(|(a, b)| (a - b).abs() <= limit)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn gram_matrices_match_the_obvious_sums(rows in 0usize..300, p in 1usize..=70, q in 1usize..=70) {
            let (a, b) = (random_panel(1, rows, p), random_panel(2, rows, q));
            let (a, b) = (Panel::new(rows, p, &a), Panel::new(rows, q, &b));
            let mut scratch = Scratch::default();
            for simd in [Simd::best(), Simd::best().without_wide(), Simd::portable()] {
                let mut out = vec![f64::NAN; p * p];
                gram_with(simd, a, &mut out, &mut scratch);
                prop_assert!(close(&out, &obvious(a, a), rows));
                let mut out = vec![f64::NAN; p * q];
                cross_gram_with(simd, a, b, &mut out, &mut scratch);
                prop_assert!(close(&out, &obvious(a, b), rows));
                let mut out = vec![f64::NAN; p * q];
                cross_gram_in_single_with(simd, a, b, &mut out, &mut scratch);
                let limit = 2e-5 * (rows as f64 + 1.0).sqrt();
                prop_assert!(out.iter().zip(obvious(a, b)).all(|(sum, exact)| (sum - exact).abs() <= limit));
            }
        }
    }

    #[test]
    fn avx512_has_the_bits_of_avx2() {
        for (rows, p, q) in [(300, 51, 40), (64, 16, 16), (65, 13, 8), (7, 1, 24)] {
            let (a, b) = (random_panel(1, rows, p), random_panel(2, rows, q));
            let (a, b) = (Panel::new(rows, p, &a), Panel::new(rows, q, &b));
            let [wide, narrow] = [Simd::best(), Simd::best().without_wide()].map(|simd| {
                let mut scratch = Scratch::default();
                let mut out = [vec![0.0; p * p], vec![0.0; p * q], vec![0.0; p * q]];
                gram_with(simd, a, &mut out[0], &mut scratch);
                cross_gram_with(simd, a, b, &mut out[1], &mut scratch);
                cross_gram_in_single_with(simd, a, b, &mut out[2], &mut scratch);
                out
            });
            assert_eq!(wide, narrow);
        }
    }

    #[test]
    fn what_f32_holds_is_not_lost() {
        let data = panel_of(1000, 2, |_, j| if j == 0 { 1.0 } else { 1.0 + f32::EPSILON });
        let mut out = [0.0; 4];
        gram(Panel::new(1000, 2, &data), &mut out, &mut Scratch::default());
        let e = f64::from(f32::EPSILON);
        let determinant = out[0] * out[3] - out[1] * out[2];
        assert_eq!((out[0], out[1]), (1000.0, 1000.0 * (1.0 + e)));
        assert!(determinant.abs() < 1e-6);
    }
}
