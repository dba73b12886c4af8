//! Who owns which tiles.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::program::{Action, Program};
use crate::graph::Tiling;

/// Work of a row beside its non-zeros, in non-zeros. A worker goes from a product straight to its part of the Gram
/// matrix, so both are balanced together: at 64 columns a row costs about 140 ns there and a non-zero 9 ns. The rest is
/// for the division by the factor, which is balanced by rows alone.
const ROW_WEIGHT: usize = 18;

/// The tiles of the panels with a given number of rows, dealt out to workers in consecutive runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    tiling: Tiling,
    /// The first tile of each worker, and the number of tiles last.
    starts: Vec<usize>,
}

impl Layout {
    /// Deals out tiles so that every worker gets about the same weight. A worker may get none.
    pub fn balanced(rows: usize, workers: usize, weight: impl Fn(usize) -> usize) -> Self {
        let tiling = Tiling::new(rows);
        let total: usize = (0..tiling.count()).map(&weight).sum();
        let mut starts = Vec::with_capacity(workers + 1);
        let mut before = 0;
        for tile in 0..tiling.count() {
            // A tile goes to the worker in whose share of the weight its middle lies.
            let middle = before + weight(tile) / 2;
            while starts.len() < workers && starts.len() * total <= middle * workers {
                starts.push(tile);
            }
            before += weight(tile);
        }
        starts.resize(workers + 1, tiling.count());
        Self { tiling, starts }
    }

    /// How the rows are cut.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// How many workers there are.
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

/// A layout for every number of rows: who owns which tiles of the panels of some programs.
#[derive(Debug, Clone)]
pub struct Layouts {
    workers: usize,
    of: HashMap<usize, Arc<Layout>>,
}

impl Layouts {
    /// Balances every dimension that the programs' products make, by the non-zeros of their matrices.
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

    /// The layout of panels with so many rows.
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
        /// Every tile has one owner, owners come in order, and nobody has much more than a fair share.
        #[test]
        fn tiles_are_dealt_out_whole_and_fairly(rows in 0usize..20_000, workers in 1usize..10, skew in 0usize..50) {
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
