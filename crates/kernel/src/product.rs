//! Dense products that keep a block of sums in registers: the inner loop of [`gemm`](super::gemm)
//! and [`gram`](super::gram).
//!
//! A sum adds its terms in their order, whatever the size of the block, so the bits of a result do
//! not depend on the instruction set beyond the rounding of a multiply-add.

use super::registers::{Portable, Registers};
use super::simd::prefetch;
use super::{LANES, Simd};

/// A product of `rows × depth` with `depth × columns` entries.
pub(crate) struct Product<'a, T, const TRANSPOSED: bool> {
    /// The left factor: entry (i, k) is at `i · left_step + k`, or at `k · left_step + i` if
    /// `TRANSPOSED`. (Known steps of one keep addresses out of the inner loop: with two steps at run
    /// time a product takes 1.4 times as long.)
    pub(crate) left: &'a [T],
    pub(crate) left_step: usize,
    /// The right factor: row k starts at `k · right_step`.
    pub(crate) right: &'a [T],
    pub(crate) right_step: usize,
    /// Rows of the result.
    pub(crate) rows: usize,
    /// Columns of the right factor, a multiple of [`LANES`].
    pub(crate) columns: usize,
    /// The column of the result that belongs to the first of them.
    pub(crate) first_column: usize,
    /// Terms of a sum.
    pub(crate) depth: usize,
}

impl<T: Element, const TRANSPOSED: bool> Product<'_, T, TRANSPOSED> {
    /// Writes the product, or adds it to what `out` holds; rows of `out` are `step` entries apart.
    ///
    /// # Panics
    /// If a factor or `out` is too short.
    pub(crate) fn write(&self, simd: Simd, out: &mut [T], step: usize, is_added: bool) {
        assert!(fits(self.rows, step, self.first_column + self.columns, out.len()), "rows of a product");
        self.run(simd, Stored { out: out.as_mut_ptr(), step, rows: self.rows, is_added });
    }

    fn run<O: Output<T>>(&self, simd: Simd, out: O) {
        let (left_rows, left_columns) = if TRANSPOSED { (self.depth, self.rows) } else { (self.rows, self.depth) };
        assert!(self.columns.is_multiple_of(LANES), "whole lane groups");
        assert!(fits(self.depth, self.right_step, self.columns, self.right.len()), "rows of the right factor");
        assert!(fits(left_rows, self.left_step, left_columns, self.left.len()), "rows of the left factor");
        let mut column = 0;
        while column < self.columns {
            let is_pair = column + 2 * LANES <= self.columns;
            // SAFETY: `simd` proves that the instructions are there. The factors were checked above,
            // `out` by the caller, and the block of columns lies inside of the product.
            column += unsafe { T::block_of_columns(simd, is_pair, self, column, out) };
        }
    }
}

impl<const TRANSPOSED: bool> Product<'_, f32, TRANSPOSED> {
    /// Adds the product to f64 sums; their rows are `step` entries apart.
    ///
    /// # Panics
    /// If a factor or `sums` is too short.
    pub(crate) fn add_to(&self, simd: Simd, sums: &mut [f64], step: usize) {
        assert!(fits(self.rows, step, self.first_column + self.columns, sums.len()), "rows of a product");
        self.run(simd, Widened { sums: sums.as_mut_ptr(), step });
    }
}

/// Whether `rows` rows of `columns` entries, `step` apart, fit in `len` entries.
fn fits(rows: usize, step: usize, columns: usize, len: usize) -> bool {
    rows == 0 || (rows - 1) * step + columns <= len
}

/// Where the sums of a block of columns start and end up.
///
/// # Safety
/// The row and the columns must be those of a result.
pub(crate) trait Output<T>: Copy {
    unsafe fn start<R: Registers<Entry = T>>(self, row: usize, column: usize) -> R;
    unsafe fn finish<R: Registers<Entry = T>>(self, row: usize, column: usize, sum: R);
}

#[derive(Clone, Copy)]
struct Stored<T> {
    out: *mut T,
    step: usize,
    rows: usize,
    is_added: bool,
}

impl<T: Copy> Output<T> for Stored<T> {
    #[inline(always)]
    unsafe fn start<R: Registers<Entry = T>>(self, row: usize, column: usize) -> R {
        // Most products are followed by one of the rows below.
        prefetch::<true, T>(self.out.wrapping_add((row + self.rows) * self.step + column));
        // SAFETY: the caller's promise.
        unsafe { if self.is_added { R::load(self.out.add(row * self.step + column)) } else { R::zero() } }
    }

    #[inline(always)]
    unsafe fn finish<R: Registers<Entry = T>>(self, row: usize, column: usize, sum: R) {
        // SAFETY: the caller's promise.
        unsafe { sum.store(self.out.add(row * self.step + column)) };
    }
}

#[derive(Clone, Copy)]
struct Widened {
    sums: *mut f64,
    step: usize,
}

impl Output<f32> for Widened {
    #[inline(always)]
    unsafe fn start<R: Registers<Entry = f32>>(self, _: usize, _: usize) -> R {
        // SAFETY: the caller's promise.
        unsafe { R::zero() }
    }

    #[inline(always)]
    unsafe fn finish<R: Registers<Entry = f32>>(self, row: usize, column: usize, sum: R) {
        let mut entries = [0.0; 2 * LANES];
        // SAFETY: no registers of f32 hold more than two lane groups here; the rest is the caller's
        // promise.
        unsafe {
            sum.store(entries.as_mut_ptr());
            let to = self.sums.add(row * self.step + column);
            for (place, &entry) in entries[..R::COLUMNS].iter().enumerate() {
                *to.add(place) += f64::from(entry);
            }
        }
    }
}

/// A type of entries, with the registers that hold one or two lane groups of them.
pub(crate) trait Element: Copy {
    /// Computes the first one or, with `is_pair`, two lane groups of columns from `column` on.
    /// Returns how many columns those were.
    ///
    /// # Safety
    /// The instructions must be there, and rows and columns lie inside of the factors and of `out`.
    unsafe fn block_of_columns<O: Output<Self>, const TRANSPOSED: bool>(
        simd: Simd,
        is_pair: bool,
        product: &Product<Self, TRANSPOSED>,
        column: usize,
        out: O,
    ) -> usize;
}

impl Element for f32 {
    unsafe fn block_of_columns<O: Output<f32>, const TRANSPOSED: bool>(
        simd: Simd,
        is_pair: bool,
        product: &Product<f32, TRANSPOSED>,
        column: usize,
        out: O,
    ) -> usize {
        #[cfg(target_arch = "x86_64")]
        if simd.is_fast() {
            use super::registers::{Avx2, Avx512};
            // SAFETY: the caller's promise.
            return unsafe {
                match (is_pair, simd.is_wide()) {
                    (true, true) => with_avx512::<Avx512<1>, O, TRANSPOSED>(product, column, out),
                    (true, false) => with_avx2::<Avx2<2>, O, TRANSPOSED>(product, column, out),
                    (false, _) => with_avx2::<Avx2<1>, O, TRANSPOSED>(product, column, out),
                }
            };
        }
        let _ = (simd, is_pair);
        // SAFETY: the caller's promise.
        unsafe { all_rows::<Portable<f32, 1>, O, TRANSPOSED>(product, column, out) }
    }
}

impl Element for f64 {
    unsafe fn block_of_columns<O: Output<f64>, const TRANSPOSED: bool>(
        simd: Simd,
        is_pair: bool,
        product: &Product<f64, TRANSPOSED>,
        column: usize,
        out: O,
    ) -> usize {
        #[cfg(target_arch = "x86_64")]
        if simd.is_fast() {
            use super::registers::{Avx2Double, Avx512Double};
            // SAFETY: the caller's promise.
            return unsafe {
                match (is_pair, simd.is_wide()) {
                    (true, true) => with_avx512::<Avx512Double<2>, O, TRANSPOSED>(product, column, out),
                    (false, true) => with_avx512::<Avx512Double<1>, O, TRANSPOSED>(product, column, out),
                    (_, false) => with_avx2::<Avx2Double<2>, O, TRANSPOSED>(product, column, out),
                }
            };
        }
        let _ = (simd, is_pair);
        // SAFETY: the caller's promise.
        unsafe { all_rows::<Portable<f64, 1>, O, TRANSPOSED>(product, column, out) }
    }
}

/// # Safety
/// As for [`Element::block_of_columns`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn with_avx2<R: Registers, O: Output<R::Entry>, const TRANSPOSED: bool>(
    product: &Product<R::Entry, TRANSPOSED>,
    column: usize,
    out: O,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { all_rows::<R, O, TRANSPOSED>(product, column, out) }
}

/// # Safety
/// As for [`Element::block_of_columns`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn with_avx512<R: Registers, O: Output<R::Entry>, const TRANSPOSED: bool>(
    product: &Product<R::Entry, TRANSPOSED>,
    column: usize,
    out: O,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { all_rows::<R, O, TRANSPOSED>(product, column, out) }
}

/// All rows of a block of columns, as many at a time as registers hold; returns its columns.
///
/// # Safety
/// As for [`Element::block_of_columns`].
#[inline(always)]
unsafe fn all_rows<R: Registers, O: Output<R::Entry>, const TRANSPOSED: bool>(
    product: &Product<R::Entry, TRANSPOSED>,
    column: usize,
    out: O,
) -> usize {
    let mut row = 0;
    while row < product.rows {
        // SAFETY: the caller's promise; as many rows are left.
        row += unsafe {
            match R::ROWS.min(product.rows - row) {
                12.. => block::<R, O, TRANSPOSED, 12>(product, row, column, out),
                6.. => block::<R, O, TRANSPOSED, 6>(product, row, column, out),
                4.. => block::<R, O, TRANSPOSED, 4>(product, row, column, out),
                2.. => block::<R, O, TRANSPOSED, 2>(product, row, column, out),
                _ => block::<R, O, TRANSPOSED, 1>(product, row, column, out),
            }
        };
    }
    R::COLUMNS
}

/// `ROWS` rows of a block of columns; returns their number.
///
/// # Safety
/// As for [`Element::block_of_columns`].
#[inline(always)]
unsafe fn block<R: Registers, O: Output<R::Entry>, const TRANSPOSED: bool, const ROWS: usize>(
    product: &Product<R::Entry, TRANSPOSED>,
    row: usize,
    column: usize,
    out: O,
) -> usize {
    let to_column = product.first_column + column;
    let (across, along) = if TRANSPOSED { (1, product.left_step) } else { (product.left_step, 1) };
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [R::zero(); ROWS];
        for (place, sum) in sums.iter_mut().enumerate() {
            *sum = out.start(row + place, to_column);
            if !TRANSPOSED {
                let below = row + place + product.rows;
                prefetch::<false, _>(product.left.as_ptr().wrapping_add(below * across + to_column));
            }
        }
        // Beyond the last term they point nowhere, and are not read.
        let mut left = product.left.as_ptr().wrapping_add(row * across);
        let mut right = product.right.as_ptr().wrapping_add(column);
        for _ in 0..product.depth {
            let loaded = R::load(right);
            for (place, sum) in sums.iter_mut().enumerate() {
                *sum = loaded.times_plus(*left.add(place * across), *sum);
            }
            left = left.wrapping_add(along);
            right = right.wrapping_add(product.right_step);
        }
        for (place, sum) in sums.into_iter().enumerate() {
            out.finish(row + place, to_column, sum);
        }
    }
    ROWS
}
