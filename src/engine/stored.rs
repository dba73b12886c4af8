//! Entries of stored matrices as panels, and what needs no program: forming, Gram matrices of what is stored.

use std::ops::Range;

use super::step::Context;
use super::tree::Combine;
use super::{EngineError, Session, Shard};
use crate::kernel::gram;
use crate::kernel::panel::{PanelMut, stride};
use crate::kernel::{Mask, Panel};
use crate::matrix::Dense;
use crate::plan::Source;

/// Consecutive rows of a stored matrix; masked ones are made in `scratch`.
pub(super) fn stored_rows<'a>(
    matrix: &'a Dense,
    mask: Option<Mask>,
    rows: Range<usize>,
    scratch: &'a mut Vec<f32>,
) -> &'a [f32] {
    let stored = matrix.row_range(rows.clone());
    let Some(mask) = mask else { return stored };
    scratch.clear();
    scratch.extend_from_slice(stored);
    for (row, entries) in rows.zip(scratch.chunks_exact_mut(matrix.columns().max(1))) {
        mask.apply(row as u64, entries);
    }
    scratch
}

/// Fills a panel with a tile of what is stored.
pub(super) fn load(source: &Source, rows: Range<usize>, mut out: PanelMut<'_>) {
    let stride = out.stride();
    match source {
        Source::Dense { matrix, mask } => load_dense(matrix, *mask, rows, out),
        Source::Sparse(matrix) => {
            out.data_mut().fill(0.0);
            matrix.for_each_in_tile(matrix.tiling().tile_of(rows.start), |row, column, value| {
                out.data_mut()[(row - rows.start) * stride + column] += value;
            });
        }
        Source::Identity => {
            out.data_mut().fill(0.0);
            for (place, row) in rows.enumerate() {
                out.row_mut(place)[row] = 1.0;
            }
        }
    }
}

fn load_dense(matrix: &Dense, mask: Option<Mask>, rows: Range<usize>, mut out: PanelMut<'_>) {
    let (cols, stride) = (out.cols(), out.stride());
    for (place, row) in rows.enumerate() {
        let entries = &mut out.data_mut()[place * stride..(place + 1) * stride];
        entries[..cols].copy_from_slice(matrix.row(row));
        entries[cols..].fill(0.0);
        if let Some(mask) = mask {
            mask.apply(row as u64, &mut entries[..cols]);
        }
    }
}

impl Context {
    /// Panels of the same rows, side by side.
    pub(super) fn beside(&self, rows: usize, parts: &[&Shard]) -> Result<Shard, EngineError> {
        let cols = parts.iter().map(|part| part.cols()).sum();
        self.shard_by_tiles(rows, cols, |rows, mut out| {
            let stride = stride(cols);
            let mut first = 0;
            for part in parts {
                let panel = part.panel_of(rows.clone());
                for place in 0..rows.len() {
                    out.data_mut()[place * stride + first..][..part.cols()].copy_from_slice(panel.row(place));
                }
                first += part.cols();
            }
            (0..rows.len()).for_each(|place| out.data_mut()[place * stride + cols..][..stride - cols].fill(0.0));
            Ok(())
        })
    }
}

impl Session<'_> {
    /// Runs a program that makes the entries of a matrix, by its position.
    ///
    /// # Panics
    /// If there is no such program.
    pub fn form(&mut self, program: usize) -> Result<Shard, EngineError> {
        let nothing = self.context().shard(0, 0, |_, _| Ok(()))?;
        self.run_program(program, nothing)
    }

    /// Panels of the same rows, side by side. Every worker does its own rows.
    ///
    /// # Panics
    /// If there is no panel, or they differ in their total rows.
    pub fn beside(&mut self, parts: &[&Shard]) -> Result<Shard, EngineError> {
        let rows = parts.first().expect("a panel").total_rows();
        assert!(parts.iter().all(|part| part.total_rows() == rows), "all panels must have the same rows");
        self.context().beside(rows, parts)
    }

    /// `xᵀ·y`, row after row.
    ///
    /// # Panics
    /// If the panels have different numbers of rows.
    pub fn cross_gram(&mut self, x: &Shard, y: &Shard) -> Result<Vec<f64>, EngineError> {
        assert_eq!(x.total_rows(), y.total_rows(), "both panels must have the same rows");
        let mut scratch = gram::Scratch::default();
        let length = x.cols() * y.cols();
        let partial = self.context().partial(x.total_rows(), Combine::Sum, length, y.cols(), |rows, sums| {
            gram::cross_gram(x.panel_of(rows.clone()), y.panel_of(rows), sums, &mut scratch);
        });
        self.reduce(partial, "a product of panels")
    }

    /// The Gram matrix of a stored matrix, row after row; it is not copied, and a mask is drawn tile by tile.
    pub fn gram_of(&mut self, matrix: &Dense, mask: Option<Mask>) -> Result<Vec<f64>, EngineError> {
        let cols = matrix.columns();
        let (mut panel, mut scratch) = (Vec::new(), gram::Scratch::default());
        let partial = self.context().partial(matrix.rows(), Combine::Sum, cols * cols, cols, |rows, sums| {
            panel.resize(rows.len() * stride(cols), 0.0);
            load_dense(matrix, mask, rows.clone(), PanelMut::new(rows.len(), cols, &mut panel));
            gram::gram(Panel::new(rows.len(), cols, &panel), sums, &mut scratch);
        });
        self.reduce(partial, "a Gram matrix")
    }
}
