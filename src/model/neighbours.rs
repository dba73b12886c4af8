//! Exact nearest neighbours of nodes, by comparison with all rows.
//!
//! Tiles of rows are multiplied by a block of queries in single precision, with vectors scaled so
//! that no product exceeds one. Rows that a bound on the rounding does not rule out are compared
//! again in double precision. So the result is that of comparing all rows in double precision, for
//! any number of threads; ties are in the order of the rows.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::vectors::{Side, UnlikeSides, Vectors};
use crate::graph::parallel::singly;
use crate::kernel::gemm::{Onto, Small, multiply_packed};
use crate::kernel::{Buffer, LANES, Panel, PanelMut, stride};

/// Queries of a block.
const QUERIES: usize = 128;
/// Rows of a tile: its products with a block of queries stay in the L2 cache.
const TILE: usize = 384;
/// Candidates are compared in double precision when there are this many more than twice the
/// neighbours asked for.
const WAITING: usize = 32;

/// The similarity of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The cosine of the angle between their vectors; 0 if one of them is zero.
    Cosine(Side),
    /// The score of an edge between them.
    Score {
        /// Whether the edge leads from the query.
        is_directed: bool,
    },
}

/// A neighbour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Its row.
    pub row: u32,
    /// The similarity, rounded after the neighbours were sorted.
    pub score: f32,
}

/// An index of vectors for neighbour queries.
///
/// ```
/// use isvd_dist::matrix::Dense;
/// use isvd_dist::model::neighbours::{By, Neighbours};
/// use isvd_dist::model::vectors::{Side, Vectors};
/// use std::sync::Arc;
/// let left = Dense::new(3, 2, vec![1.0, 0.0, 0.0, 2.0, 3.0, 1.0])?;
/// let vectors = Arc::new(Vectors { right: left.clone(), left });
/// let neighbours = Neighbours::new(vectors, By::Cosine(Side::Left))?;
/// let nearest = neighbours.of(&[0, 1], 1, 2);
/// assert_eq!((nearest[0][0].row, nearest[1][0].row), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Neighbours {
    vectors: Arc<Vectors>,
    by: By,
    rows: usize,
    depth: usize,
    /// The rows, scaled to length at most one, as a panel.
    panel: Arc<Buffer>,
    /// The length of each row.
    norms: Vec<f64>,
    /// The largest length: the divisor of all rows for scores.
    largest: f64,
}

impl Neighbours {
    /// Scales the vectors.
    pub fn new(vectors: Arc<Vectors>, by: By) -> Result<Self, UnlikeSides> {
        let side = match by {
            By::Cosine(side) => side,
            By::Score { .. } => Side::Both,
        };
        let rows = vectors.rows(side)?;
        // A panel of no columns is none.
        let depth = vectors.columns(by.compared()).max(1);
        let norm = |row| vectors.row(by.compared(), row).map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let norms: Vec<f64> = (0..rows).map(norm).collect();
        let largest = norms.iter().copied().fold(0.0, f64::max);
        let mut panel = Buffer::zeroed(rows * stride(depth));
        for (row, to) in panel.chunks_exact_mut(stride(depth)).enumerate() {
            let length = if matches!(by, By::Cosine(_)) { norms[row] } else { largest };
            write_scaled(by.order(&vectors, row), length, to);
        }
        Ok(Self { vectors, by, rows, depth, panel: Arc::new(panel), norms, largest })
    }

    /// The `top` nearest neighbours of each row, the nearest first; a row is not its own neighbour.
    pub fn of(&self, rows: &[u32], top: usize, threads: usize) -> Vec<Vec<Neighbour>> {
        let blocks: Vec<&[u32]> = rows.chunks(QUERIES).collect();
        let tiles = self.rows.div_ceil(TILE);
        // With few queries, threads take ranges of rows.
        let parts = if blocks.len() >= 2 * threads { 1 } else { threads.min(tiles).max(1) };
        let part = |n: usize| tiles * n / parts * TILE..self.rows.min(tiles * (n + 1) / parts * TILE);
        let work = |scratch: &mut Buffer, n: usize| self.best(blocks[n / parts], part(n % parts), top, scratch);
        let found = singly(blocks.len() * parts, threads, || Buffer::zeroed(0), work);
        found.chunks(parts).flat_map(|parts| merge(parts, top)).collect()
    }

    /// The nearest of some rows for each query.
    fn best(&self, queries: &[u32], rows: Range<usize>, top: usize, scratch: &mut Buffer) -> Vec<Vec<Compared>> {
        let mut searches: Vec<Search> = queries.iter().map(|&row| self.search(row, top)).collect();
        let count = queries.len();
        let mut small = vec![0.0; self.depth * count];
        let mut query = vec![0.0; self.depth];
        for (place, search) in searches.iter().enumerate() {
            write_scaled(self.vectors.row(self.by.asked(), search.query as usize), search.norm, &mut query);
            query.iter().enumerate().for_each(|(k, &entry)| small[k * count + place] = entry);
        }
        let small = Small::new(&small, self.depth, count);
        let (from, to) = (stride(self.depth), stride(count));
        let mut bounds = vec![f32::INFINITY; to];
        bounds.iter_mut().zip(&searches).for_each(|(bound, search)| *bound = search.bound);
        for first in rows.clone().step_by(TILE) {
            let height = TILE.min(rows.end - first);
            scratch.resize(height * to);
            let tile = Panel::new(height, self.depth, &self.panel[first * from..(first + height) * from]);
            multiply_packed(tile, &small, PanelMut::new(height, count, scratch), Onto::Nothing);
            for (row, products) in (first..).zip(scratch.chunks_exact(to)) {
                for (block, (products, found)) in
                    products.chunks_exact(LANES).zip(bounds.chunks_exact_mut(LANES)).enumerate()
                {
                    // Written so that NaN counts as near.
                    #[allow(clippy::neg_cmp_op_on_partial_ord)]
                    let is_near = |(product, bound): (&f32, &f32)| !(product < bound);
                    if products.iter().zip(found.iter()).fold(false, |any, pair| any | is_near(pair)) {
                        for (place, (product, bound)) in products.iter().zip(found).enumerate() {
                            if is_near((product, bound))
                                && let Some(search) = searches.get_mut(block * LANES + place)
                            {
                                search.add(self, row as u32);
                                *bound = search.bound;
                            }
                        }
                    }
                }
            }
        }
        searches.into_iter().map(|search| search.finish(self)).collect()
    }

    fn search(&self, query: u32, top: usize) -> Search {
        let norm = self.vectors.row(self.by.asked(), query as usize).map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt();
        let scale = match self.by {
            By::Cosine(_) => 1.0,
            By::Score { is_directed: true } => norm * self.largest,
            By::Score { is_directed: false } => norm * self.largest / 2.0,
        };
        let capacity = 2 * top.min(self.rows) + WAITING;
        let bound = if top == 0 { f32::INFINITY } else { f32::NEG_INFINITY };
        Search { query, top, norm, scale, bound, best: Vec::new(), waiting: Vec::with_capacity(capacity), capacity }
    }

    /// The similarity of two rows in double precision.
    fn compare(&self, query: u32, norm: f64, row: u32) -> f64 {
        let score = match self.by {
            By::Score { is_directed } => self.vectors.exact_score(query, row, is_directed),
            By::Cosine(side) => {
                let (one, other) = (self.vectors.row(side, query as usize), self.vectors.row(side, row as usize));
                let product: f64 = one.zip(other).map(|(a, b)| f64::from(a) * f64::from(b)).sum();
                let lengths = norm * self.norms[row as usize];
                if lengths > 0.0 { product / lengths } else { 0.0 }
            }
        };
        // Turns −0 into 0.
        score + 0.0
    }

    /// A bound on the rounding of a product of unit vectors in single precision.
    fn rounding(&self) -> f64 {
        (self.depth as f64 + 8.0) * f64::from(f32::EPSILON)
    }
}

impl By {
    /// The vector of a query.
    fn asked(self) -> Side {
        match self {
            Self::Cosine(side) => side,
            Self::Score { is_directed: true } => Side::Left,
            Self::Score { is_directed: false } => Side::Both,
        }
    }

    /// The vectors that a query is compared with.
    fn compared(self) -> Side {
        match self {
            Self::Cosine(side) => side,
            Self::Score { is_directed: true } => Side::Right,
            Self::Score { is_directed: false } => Side::Both,
        }
    }

    /// The vector of a row in the order in which it is multiplied with a query: of undirected
    /// scores the right vector first.
    fn order(self, vectors: &Vectors, row: usize) -> impl Iterator<Item = f32> + '_ {
        let [first, second] = match self {
            Self::Score { is_directed: false } => [Side::Right, Side::Left].map(Some),
            _ => [Some(self.compared()), None],
        };
        first.into_iter().chain(second).flat_map(move |side| vectors.row(side, row))
    }
}

/// Writes a vector divided by a length; zeros if that is zero.
fn write_scaled(vector: impl Iterator<Item = f32>, length: f64, to: &mut [f32]) {
    let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
    to.iter_mut().zip(vector).for_each(|(to, entry)| *to = (f64::from(entry) * factor) as f32);
}

/// The nearest rows of a query so far.
struct Search {
    query: u32,
    top: usize,
    norm: f64,
    /// The score of two rows, divided by this, is the product of their scaled vectors.
    scale: f64,
    /// Rows with a smaller product are not among the nearest.
    bound: f32,
    /// Compared rows, sorted.
    best: Vec<Compared>,
    waiting: Vec<u32>,
    capacity: usize,
}

impl Search {
    fn add(&mut self, all: &Neighbours, row: u32) {
        if row != self.query {
            self.waiting.push(row);
        }
        if self.waiting.len() >= self.capacity {
            self.settle(all);
        }
    }

    /// Compares the waiting rows in double precision, and keeps the nearest.
    fn settle(&mut self, all: &Neighbours) {
        let (query, norm) = (self.query, self.norm);
        let compared = |row| Compared { row, score: all.compare(query, norm, row) };
        self.best.extend(self.waiting.drain(..).map(compared));
        self.best.sort_unstable_by(nearest_first);
        self.best.truncate(self.top);
        if let Some(last) = self.best.last().filter(|_| self.best.len() == self.top) {
            // Rows come in ascending order, so a tie with the last does not replace it.
            let product = if self.scale > 0.0 { last.score / self.scale } else { 0.0 };
            self.bound = (product - all.rounding()) as f32;
            if self.scale == 0.0 || self.norm == 0.0 {
                // All scores are zero.
                self.bound = f32::INFINITY;
            }
        }
    }

    fn finish(mut self, all: &Neighbours) -> Vec<Compared> {
        self.settle(all);
        self.best
    }
}

/// A row and its similarity in double precision.
#[derive(Debug, Clone, Copy)]
struct Compared {
    row: u32,
    score: f64,
}

fn nearest_first(one: &Compared, other: &Compared) -> Ordering {
    other.score.total_cmp(&one.score).then(one.row.cmp(&other.row))
}

/// The nearest among the results of different ranges of rows.
fn merge(parts: &[Vec<Vec<Compared>>], top: usize) -> Vec<Vec<Neighbour>> {
    let of_query = |query: usize| {
        let mut all: Vec<Compared> = parts.iter().flat_map(|part| part[query].iter().copied()).collect();
        all.sort_unstable_by(nearest_first);
        all.truncate(top);
        all.into_iter().map(|Compared { row, score }| Neighbour { row, score: score as f32 }).collect()
    };
    (0..parts.first().map_or(0, Vec::len)).map(of_query).collect()
}

#[cfg(test)]
mod tests;
