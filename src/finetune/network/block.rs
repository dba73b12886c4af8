//! Dense rows that are filled again and again.

use std::ops::Range;

use crate::kernel::{Panel, PanelMut, stride};

/// A panel that owns its rows and keeps its memory when it changes its shape.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    rows: usize,
    columns: usize,
    data: Vec<f32>,
}

impl Block {
    /// Takes another shape, all zero.
    pub(super) fn clear(&mut self, rows: usize, columns: usize) {
        self.data.clear();
        self.resize(rows, columns);
    }

    /// Takes another shape; the entries, padding included, are for the caller to fill in.
    pub(super) fn resize(&mut self, rows: usize, columns: usize) {
        (self.rows, self.columns) = (rows, columns);
        self.data.resize(rows * stride(columns), 0.0);
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// All entries, padding included.
    pub(super) fn data(&self) -> &[f32] {
        &self.data
    }

    pub(super) fn panel(&self) -> Panel<'_> {
        Panel::new(self.rows, self.columns, &self.data)
    }

    pub(super) fn panel_mut(&mut self) -> PanelMut<'_> {
        PanelMut::new(self.rows, self.columns, &mut self.data)
    }

    pub(super) fn row(&self, row: usize) -> &[f32] {
        &self.data[self.range(row)]
    }

    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f32] {
        let range = self.range(row);
        &mut self.data[range]
    }

    fn range(&self, row: usize) -> Range<usize> {
        let start = row * stride(self.columns);
        start..start + self.columns
    }
}

/// `to += factor · from`.
#[inline]
pub(super) fn add(factor: f32, from: &[f32], to: &mut [f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}
