//! The assignment of tiles to workers.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::program::{Action, Program};
use crate::graph::Tiling;

/// Work of a row relative to a non-zero. A product is followed by a Gram matrix without a barrier
/// between them, so both are balanced together: at 64 columns a row of the Gram matrix takes about
/// 140 ns and a non-zero 9 ns. The remainder is for the triangular solve of the row.
const ROW_WEIGHT: usize = 18;

/// The tiles of panels with a given number of rows, assigned to workers in consecutive runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    tiling: Tiling,
    /// The first tile of each worker, and the number of tiles last.
    starts: Vec<usize>,
}

impl Layout {
    /// Assigns tiles so that all workers have about the same weight. A worker may have none.
    pub fn balanced(rows: usize, workers: usize, weight: impl Fn(usize) -> usize) -> Self {
        let tiling = Tiling::new(rows);
        let total: usize = (0..tiling.count()).map(&weight).sum();
        let mut starts = Vec::with_capacity(workers + 1);
        let mut before = 0;
        for tile in 0..tiling.count() {
            // A tile belongs to the worker whose share of the weight contains the tile's middle.
            let middle = before + weight(tile) / 2;
            while starts.len() < workers && starts.len() * total <= middle * workers {
                starts.push(tile);
            }
            before += weight(tile);
        }
        starts.resize(workers + 1, tiling.count());
        Self { tiling, starts }
    }

    /// The division of the rows into tiles.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// The number of workers.
    pub fn workers(&self) -> usize {
        self.starts.len() - 1
    }

    /// The tiles of a worker.
    pub fn tiles(&self, worker: usize) -> Range<usize> {
        self.tiles_of(worker..worker + 1)
    }

    /// The tiles of consecutive workers.
    pub fn tiles_of(&self, workers: Range<usize>) -> Range<usize> {
        self.starts[workers.start]..self.starts[workers.end]
    }

    /// The rows of a worker.
    pub fn rows(&self, worker: usize) -> Range<usize> {
        self.rows_of(worker..worker + 1)
    }

    /// The rows of consecutive workers.
    pub fn rows_of(&self, workers: Range<usize>) -> Range<usize> {
        self.tiling.rows_of(self.tiles_of(workers))
    }
}

/// The layouts of all panels of some programs, by number of rows.
#[derive(Debug, Clone)]
pub struct Layouts {
    workers: usize,
    of: HashMap<usize, Arc<Layout>>,
}

impl Layouts {
    /// Balances the rows of every sparse product by the non-zeros of its matrix.
    pub fn new<'a>(programs: impl IntoIterator<Item = &'a Program>, workers: usize) -> Self {
        let mut weights: HashMap<usize, Vec<usize>> = HashMap::new();
        for step in programs.into_iter().flat_map(|program| program.steps()) {
            let Action::Sparse { matrix, .. } = &step.action else { continue };
            let tiles = matrix.tiling().count();
            let of_tiles = weights.entry(matrix.rows()).or_insert_with(|| vec![0; tiles]);
            for (tile, weight) in of_tiles.iter_mut().enumerate() {
                *weight += matrix.tile_nonzeros(tile) + ROW_WEIGHT * matrix.tiling().range(tile).len();
            }
        }
        let balance = |(rows, weights): (usize, Vec<usize>)| {
            (rows, Arc::new(Layout::balanced(rows, workers, |tile| weights[tile])))
        };
        Self { workers, of: weights.into_iter().map(balance).collect() }
    }

    /// The layout of panels with `rows` rows; balanced by rows if no sparse product has them.
    pub fn get(&self, rows: usize) -> Arc<Layout> {
        let even = || {
            let tiling = Tiling::new(rows);
            Arc::new(Layout::balanced(rows, self.workers, |tile| tiling.range(tile).len()))
        };
        self.of.get(&rows).cloned().unwrap_or_else(even)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every tile has one owner, owners come in order, and none exceeds its share by more than
        /// a tile.
        #[test]
        fn tiles_are_assigned_once_and_evenly(rows in 0usize..20_000, workers in 1usize..10, skew in 0usize..50) {
            let weight = |tile: usize| 100 + skew * tile;
            let layout = Layout::balanced(rows, workers, weight);
            let tiles = layout.tiling().count();
            let mut next = 0;
            for worker in 0..workers {
                let run = layout.tiles(worker);
                prop_assert_eq!(run.start, next);
                next = run.end;
                let largest = (0..tiles).map(weight).max().unwrap_or(0);
                let fair = (0..tiles).map(weight).sum::<usize>() / workers;
                prop_assert!(run.map(weight).sum::<usize>() <= fair + largest + 1);
            }
            prop_assert_eq!(next, tiles);
            prop_assert_eq!(layout.rows(workers - 1).end, rows);
            prop_assert_eq!(layout.rows(0).start, 0);
        }
    }
}
