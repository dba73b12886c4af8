//! Random graphs of any size with skewed degrees: R-MAT (Chakrabarti, Zhan and Faloutsos, 2004).
//!
//! Each edge is drawn by choosing a quarter of the adjacency matrix, then a quarter of that
//! quarter, down to one entry. Edge `n` is a function of the seed and `n`, so the result does not
//! depend on the threads. An edge may be drawn twice: the import counts it once
//! ([`Duplicates::Once`](crate::graph::Duplicates), the default of a config for these graphs),
//! because it sorts the entries anyway.

use std::collections::TryReserveError;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use super::{Dataset, EdgeList, Ids};
use crate::kernel;
use crate::kernel::random::{bits, stream, words};

/// The names of these graphs; `N` is the scale.
pub const NAMES: &str = "rmat-N";
/// Valid scales.
pub const SCALES: RangeInclusive<u32> = 6..=26;
/// Valid numbers of edges for each node.
pub const DEGREES: RangeInclusive<u32> = 1..=1024;
/// Edges for each node, unless the name states another number.
pub const DEFAULT_DEGREE: u32 = 32;

const PREFIX: &str = "rmat-";
/// Probabilities of the first quarter, of the first two, and of the first three: 0.57, 0.19, 0.19
/// and the rest, 0.05.
const QUARTERS: [f64; 3] = [0.57, 0.76, 0.95];
/// Levels that a block of random words decides, sixteen bits each.
const LEVELS: u32 = 8;
/// Blocks of random words that an attempt at an edge may take.
const BLOCKS: u32 = SCALES.end().div_ceil(LEVELS);
/// Edges that a thread takes at a time.
const CHUNK: usize = 1 << 16;
/// Edges drawn together, so that the compiler can vectorise. Divides the number of edges of every
/// graph.
const SIDE_BY_SIDE: usize = 8;

/// An R-MAT graph of 2^scale nodes and degree · 2^scale edges, with a = 0.57 and b = c = 0.19.
/// Edges have no direction, join two nodes, and may be listed more than once.
///
/// ```
/// use isvd_dist::dataset::Rmat;
/// let rmat = Rmat::named("rmat-8x16").ok_or("no such graph")?;
/// assert_eq!((rmat.nodes(), rmat.edges()), (256, 16 * 256));
/// assert_eq!(rmat.draw(1)?.edges.len(), rmat.edges());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rmat {
    scale: u32,
    degree: u32,
}

/// A graph whose edges do not fit into memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {} edges of `{graph}` need {} MB, which cannot be allocated: choose a smaller scale", graph.edges(),
    graph.bytes() / 1_000_000)]
pub struct GraphTooLarge {
    /// The graph.
    pub graph: Rmat,
    /// The error of the system.
    pub source: TryReserveError,
}

impl Rmat {
    /// The graph of a scale and a degree; `None` beyond [`SCALES`] and [`DEGREES`].
    pub fn new(scale: u32, degree: u32) -> Option<Self> {
        (SCALES.contains(&scale) && DEGREES.contains(&degree)).then_some(Self { scale, degree })
    }

    /// The graph called `rmat-SCALE` or `rmat-SCALExDEGREE`.
    pub fn named(name: &str) -> Option<Self> {
        let size = name.strip_prefix(PREFIX)?;
        match size.split_once('x') {
            Some((scale, degree)) => Self::new(number(scale)?, number(degree)?),
            None => Self::new(number(size)?, DEFAULT_DEGREE),
        }
    }

    /// How many nodes it has.
    pub fn nodes(self) -> usize {
        1 << self.scale
    }

    /// How many edges are drawn.
    pub fn edges(self) -> usize {
        self.degree as usize * self.nodes()
    }

    fn bytes(self) -> usize {
        self.edges() * size_of::<(u32, u32)>()
    }

    /// Draws the edges.
    pub fn draw(self, seed: u64) -> Result<EdgeList, GraphTooLarge> {
        self.draw_with(seed, kernel::cores())
    }

    fn draw_with(self, seed: u64, threads: usize) -> Result<EdgeList, GraphTooLarge> {
        let mut edges = Vec::new();
        edges.try_reserve_exact(self.edges()).map_err(|source| GraphTooLarge { graph: self, source })?;
        edges.resize(self.edges(), (0, 0));
        let shuffle = Shuffle::new(seed, self.scale);
        let chunks = Mutex::new(edges.chunks_mut(CHUNK).enumerate());
        let next = || chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some((number, chunk)) = next() {
                let first = (number * CHUNK) as u64;
                for (group, first) in chunk.chunks_exact_mut(SIDE_BY_SIDE).zip((first..).step_by(SIDE_BY_SIDE)) {
                    let places = places(seed, first, self.scale);
                    for (edge, (from, to)) in group.iter_mut().zip(places) {
                        *edge = (shuffle.apply(from), shuffle.apply(to));
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        Ok(EdgeList { nodes: self.nodes(), edges, weights: None, directed: false })
    }

    /// A dataset of the graph alone: nothing is held out, and ids are rows.
    pub(super) fn load(self, seed: u64) -> Result<Dataset, GraphTooLarge> {
        let (graph, ids) = (self.draw(seed)?, Ids::counted(0, self.nodes()));
        Ok(Dataset { name: self.to_string(), graph: graph.into(), ids, ..Dataset::default() })
    }
}

impl fmt::Display for Rmat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.scale)?;
        if self.degree != DEFAULT_DEGREE {
            write!(f, "x{}", self.degree)?;
        }
        Ok(())
    }
}

/// A number without a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The matrix entries of the edges from `first` on. An edge on the diagonal is drawn again.
#[inline]
fn places(seed: u64, first: u64, scale: u32) -> [(u32, u32); SIDE_BY_SIDE] {
    let (rows, cols) = descend::<SIDE_BY_SIDE>(seed, first, 0, scale);
    std::array::from_fn(|lane| {
        let (mut row, mut col) = (rows[lane], cols[lane]);
        let mut attempt = 0;
        while row == col {
            attempt += 1;
            ([row], [col]) = descend(seed, first + lane as u64, attempt, scale);
        }
        (row, col)
    })
}

/// Descends to one entry for each of the edges from `first` on, one quarter for each level.
#[inline(always)]
fn descend<const N: usize>(seed: u64, first: u64, attempt: u32, scale: u32) -> ([u32; N], [u32; N]) {
    const LIMITS: [u32; 3] =
        [(QUARTERS[0] * 65536.0) as u32, (QUARTERS[1] * 65536.0) as u32, (QUARTERS[2] * 65536.0) as u32];
    let (mut rows, mut cols) = ([0; N], [0; N]);
    let blocks = scale.div_ceil(LEVELS);
    for block in 0..blocks {
        let mut drawn = [[0; N]; 4];
        for lane in 0..N {
            let words = words(seed, stream::EDGES, first + lane as u64, attempt * BLOCKS + block);
            drawn.iter_mut().zip(words).for_each(|(drawn, word)| drawn[lane] = word);
        }
        for words in drawn {
            for shift in [0, 16] {
                for lane in 0..N {
                    let draw = words[lane] >> shift & 0xffff;
                    let [first, second, third] = LIMITS.map(|limit| u32::from(draw >= limit));
                    rows[lane] = rows[lane] << 1 | second;
                    cols[lane] = cols[lane] << 1 | (first ^ second ^ third);
                }
            }
        }
    }
    // The last block may have decided more levels than the scale has.
    let more = blocks * LEVELS - scale;
    (rows.map(|row| row >> more), cols.map(|col| col >> more))
}

/// A pseudo-random permutation of the nodes, so that hubs are not the first rows. Each round
/// multiplies by an odd number, adds another, and xors the upper half of the bits onto the lower;
/// each step is a bijection.
struct Shuffle {
    mask: u32,
    fold: u32,
    rounds: [(u32, u32); 4],
}

impl Shuffle {
    fn new(seed: u64, scale: u32) -> Self {
        // No edge uses this block of random numbers.
        let round = |round| bits(seed, stream::EDGES, round, u32::MAX);
        let rounds = [0, 1, 2, 3].map(round).map(|bits| (bits as u32 | 1, (bits >> 32) as u32));
        Self { mask: (1 << scale) - 1, fold: scale.div_ceil(2), rounds }
    }

    #[inline]
    fn apply(&self, node: u32) -> u32 {
        self.rounds.iter().fold(node, |node, &(factor, shift)| {
            let node = node.wrapping_mul(factor).wrapping_add(shift) & self.mask;
            node ^ node >> self.fold
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Duplicates, Graph, Import};

    fn rmat(name: &str) -> Rmat {
        Rmat::named(name).unwrap()
    }

    #[test]
    fn any_number_of_threads_draws_the_same() {
        let graph = rmat("rmat-13x27");
        assert!(graph.edges() > 3 * CHUNK && !graph.edges().is_multiple_of(CHUNK));
        let alone = graph.draw_with(1, 1).unwrap();
        for threads in [2, 3, 5] {
            assert_eq!(graph.draw_with(1, threads).unwrap(), alone);
        }
        assert_eq!(graph.draw(1).unwrap(), alone);
        assert_ne!(graph.draw(2).unwrap(), alone);
    }

    #[test]
    fn the_graph_is_simple_and_skewed() {
        for name in ["rmat-6", "rmat-12", "rmat-12x4"] {
            let graph = rmat(name);
            let list = graph.draw(3).unwrap();
            assert_eq!((list.nodes, list.edges.len()), (graph.nodes(), graph.edges()));
            let once = Import { duplicates: Duplicates::Once, ..Import::default() };
            let imported = Graph::from_edges(&list, once).unwrap();
            assert!(imported.adjacency.is_symmetric() && !imported.adjacency.is_weighted());
            assert_eq!(imported.report.self_loops, 0);
            let (found, listed) = (imported.adjacency.nonzeros() / 2, imported.report.listed);
            assert_eq!(found, listed - imported.report.duplicates);
        }
        let imported = Graph::from_edges(&rmat("rmat-12").draw(3).unwrap(), Import::default()).unwrap();
        let mean = imported.degrees.iter().sum::<f32>() / 4096.0;
        let largest = imported.degrees.iter().copied().fold(0.0, f32::max);
        assert!(mean == 64.0 && largest > 10.0 * mean, "{largest}");
        assert!(imported.report.isolated > 0);
    }

    /// Against the probabilities themselves, level by level.
    #[test]
    fn quarters_are_as_likely_as_they_should_be() {
        let (scale, count) = (9, 100_000);
        let mut found = [[0.0; 4]; 9];
        for number in 0..count {
            let ([row], [col]) = descend(1, number, 0, scale);
            for (level, quarters) in found.iter_mut().enumerate() {
                let bit = |number: u32| (number >> (8 - level) & 1) as usize;
                quarters[2 * bit(row) + bit(col)] += 1.0 / count as f64;
            }
        }
        for quarters in found {
            for (found, expected) in quarters.into_iter().zip([0.57, 0.19, 0.19, 0.05]) {
                assert!((found - expected).abs() < 0.006, "{quarters:?}");
            }
        }
    }

    #[test]
    fn a_shuffle_reaches_every_node_once_and_moves_the_hubs() {
        for scale in [6, 7, 12, 17] {
            let shuffle = Shuffle::new(5, scale);
            let mut numbers: Vec<u32> = (0..1 << scale).map(|node| shuffle.apply(node)).collect();
            let first: u64 = numbers[..16].iter().copied().map(u64::from).sum();
            assert!(first > 3 << scale, "the first nodes, hubs, are all at the front");
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..1 << scale));
        }
    }

    #[test]
    fn names() {
        for (name, scale, degree) in
            [("rmat-6", 6, 32), ("rmat-26", 26, 32), ("rmat-18x16", 18, 16), ("rmat-8x1", 8, 1)]
        {
            let graph = rmat(name);
            assert_eq!(Some(graph), Rmat::new(scale, degree));
            assert_eq!(graph.to_string(), name);
        }
        assert_eq!(rmat("rmat-9x32").to_string(), "rmat-9");
        for name in ["rmat-5", "rmat-27", "rmat-", "rmat", "rmat-8x", "rmat-8x0", "rmat-8x1025", "rmat-+8", "rmat-8x-1"]
            .into_iter()
            .chain(["rmat-x8", "RMAT-8", "rmat-8.5", "rmat-8x2x2", "rmat-99999999999999999999"])
        {
            assert_eq!(Rmat::named(name), None, "{name}");
        }
    }
}
