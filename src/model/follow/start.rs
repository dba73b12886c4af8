//! Start vectors for a changed graph from the vectors before.

use std::ops::Range;
use std::sync::Arc;

use crate::graph::parallel::singly;
use crate::graph::{Graph, Sparse};
use crate::kernel::buffer::advise_huge_pages;
use crate::kernel::random;
use crate::matrix::Dense;
use crate::model::embedding::{Embedding, Normalize, Options};
use crate::model::transition::divisor;

/// Triplets for each random column of a start block.
const TRIPLETS_A_COLUMN: usize = 8;
/// The fewest and the most random columns.
const COLUMNS: (usize, usize) = (4, 8);
/// Sweeps over the rows of new nodes; neighbours of a new node may be new themselves.
const SWEEPS: usize = 2;
/// Rows from which the scale of a column is estimated.
const SAMPLE: usize = 1 << 14;
/// Columns of new rows that are computed at a time.
const AT_A_TIME: usize = 16;

/// A start block: the right vectors before, and columns that are random in changed rows and zero
/// elsewhere, since new directions lie in those rows. Rows of new nodes are computed from their
/// neighbours. The block does not depend on the number of threads.
pub(super) fn from(
    found: &Embedding,
    graph: &Graph,
    options: &Options,
    touched: &[u32],
    threads: usize,
) -> Option<Arc<Dense>> {
    let columns = (found.rank / TRIPLETS_A_COLUMN).clamp(COLUMNS.0, COLUMNS.1);
    let columns = columns.min(touched.len()).min(graph.nodes().saturating_sub(found.rank));
    let width = found.rank + columns;
    let spread = Spread::of(graph, options, found);
    let groups: Vec<Range<usize>> =
        (0..found.rank).step_by(AT_A_TIME).map(|first| first..found.rank.min(first + AT_A_TIME)).collect();
    let new = singly(groups.len(), threads, || (), |(), group| spread.new_rows(groups[group].clone()));

    let roots: Vec<f32> = found.singular_values.iter().map(|value| value.sqrt().recip()).collect();
    let mut wide = Vec::with_capacity(graph.nodes() * width);
    advise_huge_pages(&wide);
    for row in found.right.data().chunks_exact(found.rank).take(graph.nodes()) {
        wide.extend(row.iter().zip(&roots).map(|(entry, root)| entry * root));
        wide.resize(wide.len() + columns, 0.0);
    }
    for row in 0..graph.nodes().saturating_sub(found.nodes) {
        for (group, rows) in groups.iter().zip(&new) {
            let entries = &rows[row * group.len()..][..group.len()];
            wide.extend(entries.iter().zip(&roots[group.clone()]).map(|(entry, root)| entry * root));
        }
        wide.resize(wide.len() + columns, 0.0);
    }
    for &row in touched {
        for (column, entry) in wide[row as usize * width..][found.rank..width].iter_mut().enumerate() {
            *entry = random::normal(options.svd.seed, random::stream::TOUCHED, u64::from(row), column as u32);
        }
    }
    Dense::new(graph.nodes(), width, wide).map(Arc::new).ok()
}

/// Extends vectors to new nodes: row i is `d_i^own · Σ_j w_ij · d_j^other · row_j` over its
/// neighbours j.
struct Spread<'a> {
    matrix: &'a Sparse,
    /// `d^own` of every node.
    own: Vec<f32>,
    /// `d^other` of every node.
    other: Vec<f32>,
    found: &'a Embedding,
}

impl<'a> Spread<'a> {
    /// A right vector v is about σ⁻¹·Tᵀ·v, or σ⁻¹·W·Tᵀ·W⁻¹·v if walks are weighted by degrees.
    fn of(graph: &'a Graph, options: &Options, found: &'a Embedding) -> Self {
        let powers = |power: f32| graph.degrees.iter().map(|&degree| divisor(degree).powf(power)).collect();
        let (own, other) = match (options.normalize, options.degree_weighted) {
            (Normalize::Row, false) => (0.0, -1.0),
            (Normalize::Row, true) => (1.0, -2.0),
            (Normalize::Symmetric, false) => (-0.5, -0.5),
            (Normalize::Symmetric, true) => (0.0, -1.0),
        };
        let (own, other) = (powers(own), powers(other));
        Self { matrix: &graph.adjacency, own, other, found }
    }

    /// Some columns of the rows of new nodes, from their neighbours. The scale of each column is
    /// fitted to rows that are known, by least squares.
    fn new_rows(&self, columns: Range<usize>) -> Vec<f32> {
        let (tiling, known, width) = (self.matrix.tiling(), self.found.nodes, columns.len());
        let mut new = vec![0.0; tiling.rows().saturating_sub(known) * width];
        if new.is_empty() || known == 0 {
            return new;
        }
        let mut sums = Vec::new();
        let step = tiling.count().div_ceil(SAMPLE.div_ceil(tiling.tile_rows()).max(1)).max(1);
        let (mut products, mut squares) = (vec![0.0; width], vec![0.0; width]);
        for tile in (0..=tiling.tile_of(known - 1)).step_by(step) {
            self.add_up(tile, 0, &columns, &new, &mut sums);
            for (row, sums) in tiling.range(tile).zip(sums.chunks_exact(width)).take_while(|(row, _)| *row < known) {
                for (column, (&sum, &entry)) in sums.iter().zip(&self.known_row(row)[columns.clone()]).enumerate() {
                    products[column] += f64::from(sum * entry);
                    squares[column] += f64::from(sum * sum);
                }
            }
        }
        let ratio = |(product, square): (f64, f64)| if square > 0.0 { (product / square) as f32 } else { 0.0 };
        let scales: Vec<f32> = products.into_iter().zip(squares).map(ratio).collect();
        for _ in 0..SWEEPS {
            for tile in tiling.tile_of(known)..tiling.count() {
                self.add_up(tile, known, &columns, &new, &mut sums);
                let rows = tiling.range(tile).zip(sums.chunks_exact(width)).filter(|(row, _)| *row >= known);
                for (row, sums) in rows {
                    let entries = &mut new[(row - known) * width..][..width];
                    entries.iter_mut().zip(sums).zip(&scales).for_each(|((entry, sum), scale)| *entry = sum * scale);
                }
            }
        }
        new
    }

    /// The sums over neighbours for the rows of a tile from `first` on.
    fn add_up(&self, tile: usize, first: usize, columns: &Range<usize>, new: &[f32], sums: &mut Vec<f32>) {
        let (rows, known, width) = (self.matrix.tiling().range(tile), self.found.nodes, columns.len());
        sums.clear();
        sums.resize(rows.len() * width, 0.0);
        self.matrix.for_each_in_tile(tile, |row, neighbour, weight| {
            if row >= first {
                let factor = self.own[row] * self.other[neighbour] * weight;
                let entries = match neighbour.checked_sub(known) {
                    None => &self.known_row(neighbour)[columns.clone()],
                    Some(place) => &new[place * width..][..width],
                };
                let sums = &mut sums[(row - rows.start) * width..][..width];
                sums.iter_mut().zip(entries).for_each(|(sum, &entry)| *sum += factor * entry);
            }
        });
    }

    fn known_row(&self, row: usize) -> &[f32] {
        &self.found.right.data()[row * self.found.rank..][..self.found.rank]
    }
}
