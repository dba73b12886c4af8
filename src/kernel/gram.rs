//! `AᵀA` and `AᵀB` in f64.
//!
//! Products of f32 numbers are exact in f64, so a Gram matrix of f32 panels squares the condition number without losing what
//! f32 held. Rows are converted a few at a time into column groups of four that fit the first cache, and 4 × 12 sums are kept
//! in registers. Only one triangle is computed, so it costs about as much as a full product in f32.

#[cfg(target_arch = "x86_64")]
mod avx2;

use super::{Panel, Simd};

/// Rows converted at a time.
const CHUNK: usize = 128;
/// Columns in a group.
const GROUP: usize = 4;

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
///
/// # Panics
/// If `out` has another size.
pub fn gram_with(simd: Simd, a: Panel, out: &mut [f64], scratch: &mut Scratch) {
    let cols = a.cols();
    assert_eq!(out.len(), cols * cols, "a Gram matrix of {cols} columns");
    let groups = cols.div_ceil(GROUP);
    let Scratch { left, sums, .. } = scratch;
    reset(sums, groups * groups * GROUP * GROUP);
    left.resize(groups * GROUP * CHUNK, 0.0);
    for first in (0..a.rows()).step_by(CHUNK) {
        let rows = CHUNK.min(a.rows() - first);
        convert(a, first, rows, groups, left);
        for i in 0..groups {
            multiply_group(simd, left, left, i, i..groups, groups, rows, sums);
        }
    }
    for i in 0..cols {
        for j in i..cols {
            let sum = sums[place(i, j, groups)];
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
///
/// # Panics
/// If the panels have different numbers of rows or `out` has another size.
pub fn cross_gram_with(simd: Simd, a: Panel, b: Panel, out: &mut [f64], scratch: &mut Scratch) {
    assert_eq!(a.rows(), b.rows(), "panels of a cross Gram matrix have the same rows");
    assert_eq!(out.len(), a.cols() * b.cols(), "a cross Gram matrix of {} × {} columns", a.cols(), b.cols());
    let (a_groups, b_groups) = (a.cols().div_ceil(GROUP), b.cols().div_ceil(GROUP));
    let Scratch { left, right, sums } = scratch;
    reset(sums, a_groups * b_groups * GROUP * GROUP);
    left.resize(a_groups * GROUP * CHUNK, 0.0);
    right.resize(b_groups * GROUP * CHUNK, 0.0);
    for first in (0..a.rows()).step_by(CHUNK) {
        let rows = CHUNK.min(a.rows() - first);
        convert(a, first, rows, a_groups, left);
        convert(b, first, rows, b_groups, right);
        for i in 0..a_groups {
            multiply_group(simd, left, right, i, 0..b_groups, b_groups, rows, sums);
        }
    }
    for i in 0..a.cols() {
        for j in 0..b.cols() {
            out[i * b.cols() + j] = sums[place(i, j, b_groups)];
        }
    }
}

/// Where the sum of columns `i` and `j` is kept: 4 × 4 blocks, row-major inside.
fn place(i: usize, j: usize, right_groups: usize) -> usize {
    ((i / GROUP) * right_groups + j / GROUP) * GROUP * GROUP + (i % GROUP) * GROUP + j % GROUP
}

fn reset(values: &mut Vec<f64>, len: usize) {
    values.clear();
    values.resize(len, 0.0);
}

/// Rows `first..first + rows` in f64, group after group of four columns, each row-major.
fn convert(a: Panel, first: usize, rows: usize, groups: usize, out: &mut [f64]) {
    let stride = a.stride();
    for row in 0..rows {
        let entries = &a.data()[(first + row) * stride..][..groups * GROUP];
        for (group, four) in entries.chunks_exact(GROUP).enumerate() {
            let to = &mut out[(group * CHUNK + row) * GROUP..][..GROUP];
            to.iter_mut().zip(four).for_each(|(t, &f)| *t = f64::from(f));
        }
    }
}

/// Adds the products of column group `i` of `left` with the groups `js` of `right` to the sums.
#[allow(clippy::too_many_arguments)]
fn multiply_group(
    simd: Simd,
    left: &[f64],
    right: &[f64],
    i: usize,
    js: std::ops::Range<usize>,
    right_groups: usize,
    rows: usize,
    sums: &mut [f64],
) {
    let a = &left[i * CHUNK * GROUP..][..rows * GROUP];
    let block = GROUP * GROUP;
    let sums = &mut sums[(i * right_groups + js.start) * block..(i * right_groups + js.end) * block];
    let right = &right[js.start * CHUNK * GROUP..js.end * CHUNK * GROUP];
    #[cfg(target_arch = "x86_64")]
    if simd.is_fast() {
        // SAFETY: `simd` proves that AVX2 and FMA are there; `a` holds `rows` rows, and `right` and `sums` as many groups.
        unsafe { avx2::multiply_group(a, right, rows, sums) };
        return;
    }
    let _ = simd;
    for (b, sums) in right.chunks_exact(CHUNK * GROUP).zip(sums.chunks_exact_mut(block)) {
        let mut block = [[0.0f64; GROUP]; GROUP];
        block.as_flattened_mut().copy_from_slice(sums);
        for (x, y) in a.chunks_exact(GROUP).zip(b.chunks_exact(GROUP)) {
            for p in 0..GROUP {
                for q in 0..GROUP {
                    block[p][q] += x[p] * y[q];
                }
            }
        }
        sums.copy_from_slice(block.as_flattened());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::panel::tests::panel_of;
    use crate::kernel::random;
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
            for simd in [Simd::best(), Simd::portable()] {
                let mut out = vec![f64::NAN; p * p];
                gram_with(simd, a, &mut out, &mut scratch);
                prop_assert!(close(&out, &obvious(a, a), rows));
                let mut out = vec![f64::NAN; p * q];
                cross_gram_with(simd, a, b, &mut out, &mut scratch);
                prop_assert!(close(&out, &obvious(a, b), rows));
            }
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
