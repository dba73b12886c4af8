//! A matrix of which some entries change.

use std::sync::{Arc, OnceLock};

use super::{MatrixEntries, STRIP_COLUMNS, Sparse, parallel};
use crate::graph::build::{Duplicates, build};
use crate::graph::slot::Slot;
use crate::graph::{GraphError, Tiling};
use crate::kernel::tile::{Edit, Parts};
use crate::kernel::{Array, Tile};

/// A change of one entry of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::graph) struct Change {
    pub row: u32,
    pub col: u32,
    /// Its value from now on; `None` if there is no entry any more.
    pub value: Option<f32>,
}

impl Change {
    fn transposed(self) -> Self {
        Self { row: self.col, col: self.row, ..self }
    }
}

impl Sparse {
    /// Grows to a shape that has all that there is, and changes entries, one change a place, in any
    /// order. The result equals a matrix that is built anew from all entries; only tiles with a
    /// change are written. `symmetric` says whether the changes are their own mirror images.
    pub(in crate::graph) fn patch(
        &mut self,
        (rows, cols): (usize, usize),
        mut changes: Vec<Change>,
        symmetric: bool,
    ) -> Result<(), GraphError> {
        if rows > u32::MAX as usize || cols > u32::MAX as usize {
            return Err(GraphError::TooLarge { rows, cols });
        }
        if let Some(transposed) = self.transposed.get_mut() {
            let mirrored = changes.iter().map(|change| change.transposed()).collect();
            Arc::make_mut(transposed).patch((cols, rows), mirrored, symmetric)?;
        }
        if self.symmetric && !symmetric && !changes.is_empty() {
            (self.symmetric, self.transposed) = (false, OnceLock::new());
        }
        self.grow(rows, cols)?;
        let tile_rows = self.tiling.tile_rows() as u32;
        let place =
            |change: &Change| (change.row / tile_rows, change.col / STRIP_COLUMNS as u32, change.row, change.col);
        changes.sort_unstable_by_key(place);
        let by_tile: Vec<(usize, &[Change])> = changes
            .chunk_by(|a, b| a.row / tile_rows == b.row / tile_rows)
            .map(|of_tile| ((of_tile[0].row / tile_rows) as usize, of_tile))
            .collect();
        self.patch_tiles(&by_tile, tile_rows);
        Ok(())
    }

    /// Changes tiles, by as many threads as they have entries for.
    fn patch_tiles(&mut self, by_tile: &[(usize, &[Change])], tile_rows: u32) {
        let touched = by_tile.iter().map(|(tile, _)| self.tiles[*tile].size().nonzeros).sum();
        let edit = |change: &Change| Edit {
            strip: change.col / STRIP_COLUMNS as u32,
            row: (change.row % tile_rows) as u16,
            column: (change.col % STRIP_COLUMNS as u32) as u16,
            value: change.value,
        };
        let mut rest = self.tiles.as_mut_slice();
        let (mut first, share) = (0, by_tile.len().div_ceil(parallel::threads(touched)).max(1));
        std::thread::scope(|scope| {
            for part in by_tile.chunks(share) {
                let end = part[part.len() - 1].0 + 1;
                let (tiles, others) = std::mem::take(&mut rest).split_at_mut(end - first);
                let start = std::mem::replace(&mut first, end);
                rest = others;
                let mut work = move || {
                    for (tile, changes) in part {
                        let edits: Vec<Edit> = changes.iter().map(edit).collect();
                        tiles[tile - start].change(|tile| tile.patch(&edits));
                    }
                };
                match end < by_tile[by_tile.len() - 1].0 + 1 {
                    true => drop(scope.spawn(work)),
                    false => work(),
                }
            }
        });
    }

    /// Adds rows and columns. Tiles are kept unless their height changes.
    fn grow(&mut self, rows: usize, cols: usize) -> Result<(), GraphError> {
        let tiling = Tiling::new(rows);
        if (tiling, cols) == (self.tiling, self.cols) {
            return Ok(());
        }
        if tiling.tile_rows() == self.tiling.tile_rows() {
            for (number, slot) in self.tiles.iter_mut().enumerate() {
                slot.change(|tile| tile.grow(tiling.range(number).len(), cols));
            }
            let known = self.tiles.len();
            self.tiles
                .extend((known..tiling.count()).map(|number| Slot::Here(empty(tiling.range(number).len(), cols))));
        } else {
            let built = build(MatrixEntries { matrix: self, is_transposed: false }, tiling, cols, Duplicates::Add)?;
            self.tiles = built.tiles.into_iter().map(Slot::from).collect();
        }
        (self.tiling, self.cols) = (tiling, cols);
        Ok(())
    }

    /// Forgets rows and columns at the end, which must have no entries. The tiles are built anew.
    pub(in crate::graph) fn shrink(&mut self, rows: usize, cols: usize) -> Result<(), GraphError> {
        let tiling = Tiling::new(rows);
        let built = build(MatrixEntries { matrix: self, is_transposed: false }, tiling, cols, Duplicates::Add)?;
        self.tiles = built.tiles.into_iter().map(Slot::from).collect();
        (self.tiling, self.cols, self.transposed) = (tiling, cols, OnceLock::new());
        Ok(())
    }

    /// The sums of some rows, in ascending order.
    pub(in crate::graph) fn sums_of_rows(&self, rows: &[u32]) -> Vec<f64> {
        let tile_of = |row: u32| self.tiling.tile_of(row as usize);
        let mut sums = Vec::with_capacity(rows.len());
        for of_tile in rows.chunk_by(|a, b| tile_of(*a) == tile_of(*b)) {
            let (tile, first) = (tile_of(of_tile[0]), sums.len());
            let start = self.tiling.range(tile).start;
            sums.resize(first + of_tile.len(), 0.0);
            for strip in 0..self.strips() {
                let cell = self.cell(tile, strip);
                let (mut wanted, mut at) = (0, 0);
                for (&row, &count) in cell.rows().iter().zip(cell.counts()) {
                    let (row, entries) = (start as u32 + u32::from(row), at..at + usize::from(count));
                    at = entries.end;
                    wanted += of_tile[wanted..].iter().take_while(|other| **other < row).count();
                    if of_tile.get(wanted) == Some(&row) {
                        let sum = &mut sums[first + wanted];
                        match cell.values() {
                            None => *sum += f64::from(count),
                            Some(values) => values[entries].iter().for_each(|&value| *sum += f64::from(value)),
                        }
                    }
                }
            }
        }
        sums
    }
}

fn empty(height: usize, cols: usize) -> Tile {
    let starts = Array::from(vec![[0; 2]; cols.div_ceil(STRIP_COLUMNS).max(1) + 1]);
    let parts = Parts { starts, ..Parts::default() };
    Tile::new(height, cols, STRIP_COLUMNS, parts).unwrap_or_else(|error| unreachable!("a tile of nothing: {error}"))
}
