//! Who owns which tiles.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::program::{Action, Program};
use super::runs::Runs;
use crate::graph::Tiling;

/// Work of a row relative to a non-zero. A product is followed by a Gram matrix without a barrier
/// between them, so both are balanced together: at 64 columns a row of the Gram matrix takes about
/// 140 ns and a non-zero 9 ns. The remainder is for the triangular solve of the row.
const ROW_WEIGHT: usize = 18;
/// The accepted imbalance: rows, or non-zeros, of the largest process relative to the mean.
const LARGEST_SHARE: f64 = 1.1;

/// Rows and non-zeros of a tile. Processes are balanced by both: rows take memory, non-zeros time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TileWeight {
    /// Rows.
    pub rows: usize,
    /// Non-zeros of the sparse factors with these rows: the mean over all products.
    pub nonzeros: usize,
}

impl TileWeight {
    fn work(self) -> usize {
        self.nonzeros + ROW_WEIGHT * self.rows
    }

    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.nonzeros += other.nonzeros;
    }
}

/// The tiles of panels with a given number of rows, assigned to processes and their workers.
///
/// 1. The tiles are divided into zones of consecutive tiles. Every process owns one run of
///    consecutive tiles in each zone. There are as few zones as balance both the rows and the
///    non-zeros of all processes: one where rows are alike, more where the rows of largest degree
///    come first.
/// 2. The workers of a process divide its tiles into consecutive runs of equal work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    tiling: Tiling,
    /// The tiles of each worker.
    tiles: Vec<Runs>,
    /// The rows of each worker.
    rows: Vec<Runs>,
}

impl Layout {
    /// Assigns tiles of these weights. A worker may have none.
    pub fn balanced(tiling: Tiling, processes: usize, workers: usize, weights: &[TileWeight]) -> Self {
        let of_processes = divided_by_zones(processes, weights);
        let of_workers = of_processes.iter().flat_map(|tiles| divided(tiles, workers, weights));
        let tiles: Vec<Runs> = of_workers.collect();
        let rows = tiles.iter().map(|tiles| rows_of(tiling, tiles)).collect();
        Self { tiling, tiles, rows }
    }

    /// The division of the rows into tiles.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// The number of workers of all processes.
    pub fn workers(&self) -> usize {
        self.tiles.len()
    }

    /// The tiles of a worker.
    pub fn tiles(&self, worker: usize) -> &Runs {
        &self.tiles[worker]
    }

    /// The tiles of consecutive workers of a process.
    pub fn tiles_of(&self, workers: Range<usize>) -> Runs {
        self.tiles[workers].iter().flat_map(|tiles| tiles.ranges()).cloned().collect()
    }

    /// The rows of a worker.
    pub fn rows(&self, worker: usize) -> &Runs {
        &self.rows[worker]
    }

    /// The rows of consecutive workers of a process.
    pub fn rows_of(&self, workers: Range<usize>) -> Runs {
        rows_of(self.tiling, &self.tiles_of(workers))
    }
}

fn rows_of(tiling: Tiling, tiles: &Runs) -> Runs {
    tiles.ranges().iter().map(|tiles| tiling.rows_of(tiles.clone())).collect()
}

/// Divides the tiles of a process into one consecutive part for each worker, by their work.
fn divided(tiles: &Runs, workers: usize, weights: &[TileWeight]) -> Vec<Runs> {
    let total: usize = tiles.iter().map(|tile| weights[tile].work()).sum();
    let mut divided = vec![Vec::new(); workers];
    let (mut before, mut worker) = (0, 0);
    for tile in tiles.iter() {
        // A tile belongs to the worker whose share of the work contains the tile's middle.
        let middle = before + weights[tile].work() / 2;
        while worker + 1 < workers && (worker + 1) * total <= middle * workers {
            worker += 1;
        }
        divided[worker].push(tile..tile + 1);
        before += weights[tile].work();
    }
    divided.into_iter().map(|tiles| tiles.into_iter().collect()).collect()
}

/// Assigns tiles to processes: halves the zones until rows and non-zeros are balanced.
fn divided_by_zones(processes: usize, weights: &[TileWeight]) -> Vec<Runs> {
    let mut zone = weights.len().next_power_of_two();
    let mut best = in_zones(processes, weights, zone);
    let mut imbalance = largest_share(&best, weights);
    while imbalance > LARGEST_SHARE && zone > processes {
        zone /= 2;
        let divided = in_zones(processes, weights, zone);
        let largest = largest_share(&divided, weights);
        if largest < imbalance {
            (best, imbalance) = (divided, largest);
        }
    }
    best
}

/// Assigns tiles to processes in zones of `zone` tiles, by the mean of their share of all rows and
/// of all non-zeros. The rounding to whole tiles in one zone is compensated in the next.
fn in_zones(processes: usize, weights: &[TileWeight], zone: usize) -> Vec<Runs> {
    let mut all = TileWeight::default();
    weights.iter().for_each(|weight| all.add(weight));
    let share = |weight: &TileWeight| {
        weight.rows as f64 / all.rows.max(1) as f64 + weight.nonzeros as f64 / all.nonzeros.max(1) as f64
    };
    let mut divided = vec![Vec::new(); processes];
    // Cumulative shares: of each process with all before it, and of all zones so far.
    let (mut given, mut until) = (vec![0.0; processes], 0.0);
    for (number, members) in weights.chunks(zone.max(1)).enumerate() {
        until += members.iter().map(share).sum::<f64>();
        let ends = given.iter().zip(1..).map(|(given, first)| until * f64::from(first) / processes as f64 - given);
        let ends: Vec<f64> = ends.collect();
        let mut before = 0.0;
        for (tile, weight) in (number * zone..).zip(members) {
            let middle = before + share(weight) / 2.0;
            let process = ends.iter().position(|end| middle < *end).unwrap_or(processes - 1);
            divided[process].push(tile..tile + 1);
            given[process..].iter_mut().for_each(|given| *given += share(weight));
            before += share(weight);
        }
    }
    divided.into_iter().map(|tiles| tiles.into_iter().collect()).collect()
}

/// Rows, or non-zeros, of the largest process relative to the mean, whichever is more.
fn largest_share(divided: &[Runs], weights: &[TileWeight]) -> f64 {
    let sums = divided.iter().map(|tiles| {
        let mut sum = TileWeight::default();
        tiles.iter().for_each(|tile| sum.add(&weights[tile]));
        sum
    });
    let sums: Vec<TileWeight> = sums.collect();
    let share = |of: fn(&TileWeight) -> usize| {
        let total = sums.iter().map(of).sum::<usize>().max(1) as f64;
        sums.iter().map(of).max().unwrap_or(0) as f64 * sums.len() as f64 / total
    };
    share(|sum| sum.rows).max(share(|sum| sum.nonzeros))
}

/// The layouts of all panels of some programs, by number of rows.
#[derive(Debug, Clone)]
pub struct Layouts {
    processes: usize,
    workers: usize,
    of: HashMap<usize, Arc<Layout>>,
}

impl Layouts {
    /// Balances the rows of every sparse product over processes with `workers` workers each.
    pub fn new<'a>(programs: impl IntoIterator<Item = &'a Program>, processes: usize, workers: usize) -> Self {
        let mut weights: HashMap<usize, (usize, Vec<TileWeight>)> = HashMap::new();
        for step in programs.into_iter().flat_map(|program| program.steps()) {
            let Action::Sparse { matrix, .. } = &step.action else { continue };
            let (products, of_tiles) = weights.entry(matrix.rows()).or_insert_with(|| (0, heights(matrix.tiling())));
            *products += 1;
            for (tile, weight) in of_tiles.iter_mut().enumerate() {
                weight.nonzeros += matrix.tile_nonzeros(tile);
            }
        }
        let balance = |(rows, (products, mut weights)): (usize, (usize, Vec<TileWeight>))| {
            weights.iter_mut().for_each(|weight| weight.nonzeros /= products);
            (rows, Arc::new(Layout::balanced(Tiling::new(rows), processes, workers, &weights)))
        };
        Self { processes, workers, of: weights.into_iter().map(balance).collect() }
    }

    /// Adds a layout that is known already.
    pub fn add(&mut self, layout: Arc<Layout>) {
        self.of.insert(layout.tiling().rows(), layout);
    }

    /// The layout of panels with `rows` rows.
    pub fn get(&self, rows: usize) -> Arc<Layout> {
        let even = || {
            let tiling = Tiling::new(rows);
            Arc::new(Layout::balanced(tiling, self.processes, self.workers, &heights(tiling)))
        };
        self.of.get(&rows).cloned().unwrap_or_else(even)
    }
}

/// The rows of every tile.
fn heights(tiling: Tiling) -> Vec<TileWeight> {
    (0..tiling.count()).map(|tile| TileWeight { rows: tiling.range(tile).len(), nonzeros: 0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn weights(rows: usize, nonzeros: impl Fn(usize) -> usize) -> (Tiling, Vec<TileWeight>) {
        let tiling = Tiling::new(rows);
        let mut weights = heights(tiling);
        weights.iter_mut().enumerate().for_each(|(tile, weight)| weight.nonzeros = nonzeros(tile));
        (tiling, weights)
    }

    proptest! {
        /// Every tile has one owner, and no worker of a single process has much more work than a
        /// fair share.
        #[test]
        fn tiles_are_dealt_out_whole_and_fairly(
            rows in 0usize..20_000,
            processes in 1usize..5,
            workers in 1usize..4,
            skew in 0usize..50,
        ) {
            let (tiling, weights) = weights(rows, |tile| 100 + skew * tile);
            let layout = Layout::balanced(tiling, processes, workers, &weights);
            let mut owned: Vec<usize> = (0..processes * workers).flat_map(|worker| layout.tiles(worker).iter()).collect();
            owned.sort_unstable();
            prop_assert!(owned.into_iter().eq(0..tiling.count()));
            let rows: usize = (0..processes * workers).map(|worker| layout.rows(worker).len()).sum();
            prop_assert_eq!(rows, tiling.rows());
            let work = |tile: usize| weights[tile].work();
            let largest = (0..tiling.count()).map(work).max().unwrap_or(0);
            for process in 0..processes {
                let of_process = process * workers..(process + 1) * workers;
                let fair = layout.tiles_of(of_process.clone()).iter().map(work).sum::<usize>() / workers;
                for worker in of_process {
                    prop_assert!(layout.tiles(worker).iter().map(work).sum::<usize>() <= fair + largest + 1);
                }
            }
        }
    }

    /// Catches a layout by work alone: the first process would have few rows of most entries.
    #[test]
    fn processes_have_their_share_of_rows_and_of_nonzeros() {
        for rows in [1 << 18, 300_000, 1 << 20] {
            let halved = |tile: usize| 4_000_000 / (tile + 1);
            let twice = |tile: usize| halved(tile % (Tiling::new(rows).count() / 2));
            for nonzeros in [&halved as &dyn Fn(usize) -> usize, &twice, &|_| 1000] {
                let (tiling, weights) = weights(rows, nonzeros);
                for processes in [2, 4] {
                    let tiles = divided_by_zones(processes, &weights);
                    // No cut gets around a single tile that has more than a share.
                    let all: usize = weights.iter().map(|weight| weight.nonzeros).sum();
                    let heaviest = weights[0].nonzeros as f64 * processes as f64 / all as f64;
                    let share = largest_share(&tiles, &weights);
                    let most = 1.15_f64.max(1.0 + heaviest);
                    assert!(share <= most, "{share} of {} tiles for {processes}", tiling.count());
                }
            }
        }
    }

    /// A process alone keeps its rows together, and so do several where that is fair.
    #[test]
    fn fair_layouts_have_one_run_for_each_process() {
        let (_, skewed) = weights(1 << 20, |tile| 4_000_000 / (tile + 1));
        assert_eq!(divided_by_zones(1, &skewed)[0].ranges(), std::slice::from_ref(&(0..skewed.len())));
        let (_, even) = weights(1 << 20, |_| 5000);
        assert!(divided_by_zones(4, &even).iter().all(|tiles| tiles.ranges().len() == 1));
    }
}
