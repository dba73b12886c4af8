//! Row-major dense panels, rows padded with zeros to whole SIMD lanes.

use std::ops::Range;

/// Entries in a SIMD lane group; rows of a panel start at multiples of it.
pub const LANES: usize = 8;

/// Entries from one row of a panel to the next: `cols` rounded up to a multiple of [`LANES`].
#[inline]
pub const fn stride(cols: usize) -> usize {
    cols.div_ceil(LANES) * LANES
}

/// A dense block, read only. Padding columns are zero.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    rows: usize,
    cols: usize,
    data: &'a [f32],
}

impl<'a> Panel<'a> {
    /// Views `data` as `rows` rows of [`stride`]`(cols)` entries.
    ///
    /// # Panics
    /// If `data` has another length.
    #[inline]
    pub fn new(rows: usize, cols: usize, data: &'a [f32]) -> Self {
        assert_eq!(data.len(), rows * stride(cols), "a {rows}×{cols} panel has {} entries", rows * stride(cols));
        Panel { rows, cols, data }
    }

    /// Rows of the panel.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the panel, padding not counted.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Entries from one row to the next.
    #[inline]
    pub fn stride(&self) -> usize {
        stride(self.cols)
    }

    /// All entries, padding included.
    #[inline]
    pub fn data(&self) -> &'a [f32] {
        self.data
    }

    /// The entries of row `i`, padding not included.
    #[inline]
    pub fn row(&self, i: usize) -> &'a [f32] {
        let stride = self.stride();
        &self.data[i * stride..i * stride + self.cols]
    }
}

/// A mutable dense block. Padding columns are zero, and writers keep them so.
#[derive(Debug)]
pub struct PanelMut<'a> {
    rows: usize,
    cols: usize,
    data: &'a mut [f32],
}

impl<'a> PanelMut<'a> {
    /// Views `data` as `rows` rows of [`stride`]`(cols)` entries.
    ///
    /// # Panics
    /// If `data` has another length.
    #[inline]
    pub fn new(rows: usize, cols: usize, data: &'a mut [f32]) -> Self {
        assert_eq!(data.len(), rows * stride(cols), "a {rows}×{cols} panel has {} entries", rows * stride(cols));
        PanelMut { rows, cols, data }
    }

    /// Rows of the panel.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the panel, padding not counted.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Entries from one row to the next.
    #[inline]
    pub fn stride(&self) -> usize {
        stride(self.cols)
    }

    /// All entries, padding included.
    #[inline]
    pub fn data(&self) -> &[f32] {
        self.data
    }

    /// All entries, padding included.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [f32] {
        self.data
    }

    /// The entries of row `i`, padding not included.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        let stride = self.stride();
        &mut self.data[i * stride..i * stride + self.cols]
    }

    /// Copies some columns of a panel with as many rows.
    ///
    /// # Panics
    /// If the shapes do not fit each other.
    pub fn copy_columns(&mut self, from: Panel, columns: Range<usize>) {
        assert_eq!((from.rows(), columns.len()), (self.rows, self.cols), "shapes of a copy");
        let (width, stride) = (self.cols, self.stride().max(1));
        for (place, to) in self.data.chunks_exact_mut(stride).enumerate() {
            to[..width].copy_from_slice(&from.row(place)[columns.clone()]);
            to[width..].fill(0.0);
        }
    }

    /// The same panel, to read.
    #[inline]
    pub fn as_ref(&self) -> Panel<'_> {
        Panel { rows: self.rows, cols: self.cols, data: self.data }
    }

    /// The same panel, reborrowed.
    #[inline]
    pub fn reborrow(&mut self) -> PanelMut<'_> {
        PanelMut { rows: self.rows, cols: self.cols, data: self.data }
    }
}

/// Copies a row in lane groups: short ones without a length check.
///
/// # Panics
/// If one is longer than the other.
#[inline]
pub fn copy_row(to: &mut [f32], from: &[f32]) {
    match (to.as_chunks_mut::<LANES>(), from.as_chunks::<LANES>()) {
        (([to], []), ([from], [])) => *to = *from,
        (([to, other], []), ([from, next], [])) => (*to, *other) = (*from, *next),
        _ => to.copy_from_slice(from),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Test data: a panel with the entries of `f`, zero padding.
    pub(crate) fn panel_of(rows: usize, cols: usize, f: impl Fn(usize, usize) -> f32) -> Vec<f32> {
        let s = stride(cols);
        let mut data = vec![0.0; rows * s];
        for i in 0..rows {
            for j in 0..cols {
                data[i * s + j] = f(i, j);
            }
        }
        data
    }

    #[test]
    fn rows_are_padded() {
        assert_eq!([0, 1, 8, 9, 64, 120].map(stride), [0, 8, 8, 16, 64, 120]);
        let data = panel_of(3, 5, |i, j| (10 * i + j) as f32);
        let panel = Panel::new(3, 5, &data);
        assert_eq!(panel.row(2), &[20.0, 21.0, 22.0, 23.0, 24.0]);
        assert_eq!(panel.stride(), 8);
    }

    #[test]
    #[should_panic(expected = "a 3×5 panel has 24 entries")]
    fn a_wrong_length_is_refused() {
        Panel::new(3, 5, &[0.0; 15]);
    }
}
