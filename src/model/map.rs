//! A map of an embedding: a place in the plane for every node of a sample, near similar nodes.
//!
//! 1. Rows are centred and scaled to unit length, so that only directions count.
//! 2. Their first two principal components are the start of the layout.
//! 3. The exact nearest neighbours form a weighted graph, from which a layout is computed as in
//!    UMAP (McInnes, Healy and Melville, 2018). Two principal components alone keep about half as
//!    many neighbours, which a test shows.
//! 4. The communities of that graph (Louvain: Blondel and others, 2008) are the groups.
//!
//! Layout and communities are computed in a fixed order with counter-based random numbers, so a
//! seed gives one map on any number of threads.

mod groups;
mod layout;
mod neighbours;
mod points;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::kernel::random::{bits, stream};
use points::Points;

/// The default limit of points: more would cover each other.
pub const SAMPLE: usize = 4_000;
/// Nearest neighbours of a point in the graph.
pub const NEIGHBOURS: usize = 12;
/// Rounds of the layout.
pub const ROUNDS: usize = 200;

/// How a map is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The limit of points; of more rows a random sample is taken.
    pub sample: usize,
    /// Nearest neighbours of a point in the graph.
    pub neighbours: usize,
    /// Rounds of the layout.
    pub rounds: usize,
    /// The seed of the sample and of the layout.
    pub seed: u64,
}

impl Options {
    /// The usual map of at most `sample` points.
    pub fn new(sample: usize, seed: u64) -> Self {
        Self { sample, neighbours: NEIGHBOURS, rounds: ROUNDS, seed }
    }
}

/// The points of a map, in the order of their rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// The row of each point.
    pub rows: Vec<u32>,
    /// Where each point is: both coordinates lie in −1..=1.
    pub places: Vec<[f32; 2]>,
    /// The group of each point; groups are numbered from the largest down.
    pub groups: Vec<u32>,
    /// How many groups there are.
    pub group_count: usize,
}

/// Maps `rows` vectors of `rank` entries each, row after row. A vector with an entry that is no
/// number counts as zero.
///
/// ```
/// use isvd_dist::model::map::{Options, map};
/// // Two bundles of directions.
/// let bundle = |i: u32| [1.0, 0.01 * i as f32].into_iter().chain([0.01 * i as f32, 1.0]);
/// let found = map(&(0..50).flat_map(bundle).collect::<Vec<f32>>(), 2, 100, &Options::new(1000, 1));
/// assert_eq!(found.rows.len(), 100);
/// assert!((0..100).all(|point| found.groups[point] != found.groups[point ^ 1]));
/// ```
///
/// # Panics
/// If `vectors` has another length, or there are 2³² rows or more.
pub fn map(vectors: &[f32], rank: usize, rows: usize, options: &Options) -> Map {
    assert_eq!(vectors.len(), rows * rank, "{rows} vectors of {rank} entries");
    map_sample(Sample::new(vectors, rank, rows, options), rank, options)
}

/// Some of the rows to map, and their vectors one after the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    /// Row numbers, ascending.
    pub rows: Vec<u32>,
    /// The vectors of these rows.
    pub vectors: Vec<f32>,
}

impl Sample {
    /// A sample of `rows` vectors of `rank` entries each.
    pub fn new(vectors: &[f32], rank: usize, rows: usize, options: &Options) -> Self {
        let rows = sample(rows, options.sample, options.seed);
        let vectors = rows.iter().flat_map(|&row| &vectors[row as usize * rank..][..rank]).copied().collect();
        Self { rows, vectors }
    }
}

/// Maps a sample of rows, as [`map`] does.
pub fn map_sample(Sample { rows, vectors }: Sample, rank: usize, options: &Options) -> Map {
    let points = Points::new(rows.len(), &vectors, rank);
    let neighbours = neighbours::nearest(&points, options.neighbours);
    let edges = neighbours::edges(&neighbours);
    let places = layout::lay_out(points.principal_places(), &edges, options);
    let (groups, group_count) = groups::communities(&edges, rows.len());
    Map { rows, places, groups, group_count }
}

/// At most `limit` of the numbers below `rows`, each as likely as any other, ascending (Floyd's
/// algorithm).
///
/// # Panics
/// If there are 2³² rows or more.
pub fn sample(rows: usize, limit: usize, seed: u64) -> Vec<u32> {
    let count = u32::try_from(rows).expect("fewer than 2³² rows");
    if rows <= limit {
        return (0..count).collect();
    }
    let mut chosen = BTreeSet::new();
    for last in count - limit as u32..count {
        let word = u128::from(bits(seed, stream::MAP, u64::from(last), 0));
        let drawn = ((word * (u128::from(last) + 1)) >> 64) as u32;
        if !chosen.insert(drawn) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}
