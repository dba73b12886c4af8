//! Dense products: a panel times a small matrix, a dense tile times a panel.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::product::Product;
use super::{LANES, Panel, PanelMut, Simd, stride};

/// Columns of the result in a block.
const BLOCK: usize = 2 * LANES;
/// Rows of the panel that stay in the L1 cache for all columns.
const CHUNK: usize = 96;
/// Rows summed in f32 before they are added in f64.
const SUM_ROWS: usize = 512;

/// Scratch space of the products; keep one and use it again.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    small: Small,
    sums: Vec<f32>,
}

/// A small matrix, packed for products with many panels.
#[derive(Clone, Debug, Default)]
pub struct Small {
    depth: usize,
    cols: usize,
    /// Blocks of columns, each row-major and padded with zeros.
    packed: Vec<f32>,
    /// Number of leading rows of each block that are not all zero.
    depths: Vec<usize>,
}

impl Small {
    /// Packs a row-major matrix of `depth × cols`.
    ///
    /// # Panics
    /// If `small` has another size.
    pub fn new(small: &[f32], depth: usize, cols: usize) -> Self {
        let mut packed = Self::default();
        packed.pack(small, depth, cols);
        packed
    }

    fn pack(&mut self, small: &[f32], depth: usize, cols: usize) {
        assert_eq!(small.len(), depth * cols, "a small matrix of {depth} × {cols}");
        (self.depth, self.cols) = (depth, cols);
        let blocks = cols.div_ceil(BLOCK);
        self.packed.clear();
        self.packed.resize(blocks * depth * BLOCK, 0.0);
        self.depths.clear();
        for block in 0..blocks {
            let columns = block * BLOCK..cols.min((block + 1) * BLOCK);
            let mut limit = 0;
            for k in 0..depth {
                let row = &small[k * cols..][columns.clone()];
                self.packed[(block * depth + k) * BLOCK..][..row.len()].copy_from_slice(row);
                if row.iter().any(|&x| x != 0.0) {
                    limit = k + 1;
                }
            }
            self.depths.push(limit);
        }
    }
}

/// `out = A · small`, where `small` is `a.cols × out.cols`, row-major. Trailing zeros of its
/// columns are skipped, so an upper triangular one takes half the time.
///
/// # Panics
/// If the shapes do not fit each other.
pub fn multiply_small(a: Panel, small: &[f32], out: PanelMut, scratch: &mut Scratch) {
    multiply_small_with(Simd::best(), a, small, out, scratch);
}

/// [`multiply_small`] with the given instructions.
pub fn multiply_small_with(simd: Simd, a: Panel, small: &[f32], out: PanelMut, scratch: &mut Scratch) {
    scratch.small.pack(small, a.cols(), out.cols());
    multiply_packed_with(simd, a, &scratch.small, out, Onto::Nothing);
}

/// Whether a product overwrites or adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onto {
    /// The result is overwritten.
    Nothing,
    /// The product is added to the result.
    Result,
}

/// [`multiply_small`] with a packed matrix; with [`Onto::Result`], `out += A · small`.
///
/// # Panics
/// If the shapes do not fit each other.
pub fn multiply_packed(a: Panel, small: &Small, out: PanelMut, onto: Onto) {
    multiply_packed_with(Simd::best(), a, small, out, onto);
}

/// [`multiply_packed`] with the given instructions.
pub fn multiply_packed_with(simd: Simd, a: Panel, small: &Small, mut out: PanelMut, onto: Onto) {
    let depth = a.cols();
    assert_eq!(a.rows(), out.rows(), "rows of a product");
    assert_eq!((small.depth, small.cols), (depth, out.cols()), "a small matrix of {depth} × {}", out.cols());
    let (from, to) = (a.stride(), out.stride());
    for first in (0..a.rows()).step_by(CHUNK) {
        let rows = CHUNK.min(a.rows() - first);
        let a = &a.data()[first * from..(first + rows) * from];
        let out = &mut out.data_mut()[first * to..(first + rows) * to];
        for (block, &limit) in small.depths.iter().enumerate() {
            let column = block * BLOCK;
            let product = Product::<f32, false> {
                left: a,
                left_step: from,
                right: &small.packed[block * depth * BLOCK..],
                right_step: BLOCK,
                rows,
                columns: BLOCK.min(to - column),
                first_column: column,
                depth: limit,
            };
            product.write(simd, out, to, onto == Onto::Result);
        }
    }
}

/// `out = X · G`; `x` is `out.rows × g.rows`, row-major without padding.
///
/// # Panics
/// If the shapes do not fit each other.
pub fn dense_multiply(x: &[f32], g: Panel, mut out: PanelMut) {
    let (rows, depth, cols) = (out.rows(), g.rows(), out.cols());
    assert_eq!(g.cols(), cols, "columns of a product");
    assert_eq!(x.len(), rows * depth, "a dense tile of {rows} × {depth}");
    if depth == 0 {
        out.data_mut().fill(0.0);
    }
    if rows == 0 || depth == 0 || cols == 0 {
        return;
    }
    let width = stride(cols);
    let x = MatRef::from_row_major_slice(x, rows, depth);
    let g = MatRef::from_row_major_slice(g.data(), depth, width);
    let out = MatMut::from_row_major_slice_mut(out.data_mut(), rows, width);
    matmul(out, Accum::Replace, x, g, 1.0, Par::Seq);
}

/// `out = Xᵀ · G` in f64; `x` is `g.rows × depth`, row-major without padding, and `out` is
/// `depth × g.cols`. At most 512 rows are summed in f32 before they are added in f64.
///
/// # Panics
/// If the shapes do not fit each other.
pub fn dense_transpose_multiply(x: &[f32], depth: usize, g: Panel, out: &mut [f64], scratch: &mut Scratch) {
    let (rows, cols, width) = (g.rows(), g.cols(), g.stride());
    assert_eq!(x.len(), rows * depth, "a dense tile of {rows} × {depth}");
    assert_eq!(out.len(), depth * cols, "a product of {depth} × {cols}");
    out.fill(0.0);
    if out.is_empty() {
        return;
    }
    let part = &mut scratch.sums;
    part.clear();
    part.resize(depth * width, 0.0);
    for first in (0..rows).step_by(SUM_ROWS) {
        let count = SUM_ROWS.min(rows - first);
        let x = MatRef::from_row_major_slice(&x[first * depth..(first + count) * depth], count, depth);
        let g = MatRef::from_row_major_slice(&g.data()[first * width..(first + count) * width], count, width);
        let product = MatMut::from_row_major_slice_mut(part, depth, width);
        matmul(product, Accum::Replace, x.transpose(), g, 1.0, Par::Seq);
        for (o, p) in out.chunks_exact_mut(cols).zip(part.chunks_exact(width)) {
            o.iter_mut().zip(p).for_each(|(o, &p)| *o += f64::from(p));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::tests::panel_of;
    use crate::random::normal;
    use proptest::prelude::*;

    fn drawn(stream: u32, rows: usize, cols: usize) -> Vec<f32> {
        (0..rows * cols).map(|i| normal(9, stream, (i / cols) as u64, (i % cols) as u32)).collect()
    }

    fn panel(stream: u32, rows: usize, cols: usize) -> Vec<f32> {
        panel_of(rows, cols, |i, j| normal(9, stream, i as u64, j as u32))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn small_products_match(rows in 0usize..250, depth in 1usize..=130, cols in 1usize..=130, triangular: bool) {
            let a = panel(1, rows, depth);
            let mut small = drawn(2, depth, cols);
            if triangular {
                (0..depth * cols).filter(|i| i / cols > i % cols).for_each(|i| small[i] = 0.0);
            }
            let a = Panel::new(rows, depth, &a);
            let mut scratch = Scratch::default();
            for simd in [Simd::best(), Simd::best().without_wide(), Simd::portable()] {
                let mut out = vec![f32::NAN; rows * stride(cols)];
                multiply_small_with(simd, a, &small, PanelMut::new(rows, cols, &mut out), &mut scratch);
                for i in 0..rows {
                    for (j, &got) in out[i * stride(cols)..(i + 1) * stride(cols)].iter().enumerate() {
                        let sum: f64 = if j >= cols { 0.0 } else {
                            (0..depth).map(|k| f64::from(a.row(i)[k]) * f64::from(small[k * cols + j])).sum()
                        };
                        prop_assert!((sum - f64::from(got)).abs() < 3e-6 * (depth as f64 + 4.0), "{i} {j} {sum} {got}");
                    }
                }
            }
        }

        #[test]
        fn a_product_is_added_to_another(rows in 0usize..250, depth in 1usize..=40, cols in 1usize..=40) {
            let (a, b) = (panel(1, rows, depth), panel(2, rows, cols));
            let (a, small) = (Panel::new(rows, depth, &a), Small::new(&drawn(3, depth, cols), depth, cols));
            for simd in [Simd::best(), Simd::best().without_wide(), Simd::portable()] {
                let (mut alone, mut added) = (vec![f32::NAN; b.len()], b.clone());
                multiply_packed_with(simd, a, &small, PanelMut::new(rows, cols, &mut alone), Onto::Nothing);
                multiply_packed_with(simd, a, &small, PanelMut::new(rows, cols, &mut added), Onto::Result);
                for ((added, alone), before) in added.iter().zip(&alone).zip(&b) {
                    prop_assert!((added - alone - before).abs() < 1e-4);
                }
            }
        }

        #[test]
        fn dense_products_match(rows in 0usize..60, depth in 0usize..70, cols in 1usize..=70) {
            let x = drawn(3, rows, depth);
            let g = panel(4, depth, cols);
            let g = Panel::new(depth, cols, &g);
            let mut out = panel(5, rows, cols);
            dense_multiply(&x, g, PanelMut::new(rows, cols, &mut out));
            for i in 0..rows {
                for j in 0..stride(cols) {
                    let sum: f64 = if j >= cols { 0.0 } else {
                        (0..depth).map(|k| f64::from(x[i * depth + k]) * f64::from(g.row(k)[j])).sum()
                    };
                    prop_assert!((sum - f64::from(out[i * stride(cols) + j])).abs() < 1e-4);
                }
            }
        }

        #[test]
        fn transposed_dense_products_match(rows in 0usize..1100, depth in 0usize..20, cols in 1usize..=20) {
            let x = drawn(6, rows, depth);
            let g = panel(7, rows, cols);
            let g = Panel::new(rows, cols, &g);
            let mut out = vec![0.25; depth * cols];
            dense_transpose_multiply(&x, depth, g, &mut out, &mut Scratch::default());
            for k in 0..depth {
                for j in 0..cols {
                    let sum: f64 = (0..rows).map(|i| f64::from(x[i * depth + k]) * f64::from(g.row(i)[j])).sum();
                    prop_assert!((sum - out[k * cols + j]).abs() < 1e-3);
                }
            }
        }
    }

    #[test]
    fn avx512_has_the_bits_of_avx2() {
        for (rows, depth, cols) in [(77, 45, 51), (12, 16, 16), (13, 3, 8), (200, 17, 24)] {
            let (a, b, small) = (panel(1, rows, depth), panel(2, rows, cols), drawn(3, depth, cols));
            let (a, small) = (Panel::new(rows, depth, &a), Small::new(&small, depth, cols));
            for onto in [Onto::Nothing, Onto::Result] {
                let [wide, narrow] = [Simd::best(), Simd::best().without_wide()].map(|simd| {
                    let mut out = b.clone();
                    multiply_packed_with(simd, a, &small, PanelMut::new(rows, cols, &mut out), onto);
                    out
                });
                assert_eq!(wide, narrow);
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_where_the_slices_start() {
        let (rows, depth, cols) = (77, 45, 51);
        let (x, g) = (drawn(1, rows, depth), panel(2, depth, cols));
        let mut answers = vec![];
        for shift in 0..5 {
            let moved = |v: &[f32]| [vec![0.0; shift], v.to_vec()].concat();
            let (x, g) = (moved(&x), moved(&g));
            let mut out = vec![0.0; shift + rows * stride(cols)];
            let panel = Panel::new(depth, cols, &g[shift..]);
            dense_multiply(&x[shift..], panel, PanelMut::new(rows, cols, &mut out[shift..]));
            let mut transposed = vec![0.0; depth * cols];
            let (tile, narrow) = (&x[shift..shift + depth * depth], Panel::new(depth, cols, &g[shift..]));
            dense_transpose_multiply(tile, depth, narrow, &mut transposed, &mut Scratch::default());
            answers.push((out[shift..].to_vec(), transposed));
        }
        assert!(answers.windows(2).all(|w| w[0] == w[1]));
    }
}
