//! The vectors of a graph before it changed, as those of the graph after.

use std::sync::Arc;

use crate::graph::{Graph, Sparse};
use crate::kernel::random;
use crate::matrix::Dense;
use crate::model::embedding::{Embedding, Normalize, Options};
use crate::svd::Start;

/// Columns that look for what is new, one for so many triplets.
const TRIPLETS_A_COLUMN: usize = 8;
/// The least and the most of them.
const COLUMNS: (usize, usize) = (4, 8);
/// Times that the rows of new nodes are made of those of their neighbours, which may be new themselves.
const SWEEPS: usize = 2;
/// Rows that tell how vectors follow from those of neighbours, in all.
const SAMPLE: usize = 1 << 14;

/// How the row of a node follows from those of its neighbours j: `d_i^-own · Σ w_ij · d_j^-other · row_j`.
struct Spread<'a> {
    matrix: &'a Sparse,
    /// `d^-own` of every node.
    own: Vec<f32>,
    /// `d^-other` of every node.
    other: Vec<f32>,
}

/// Vectors to start from: those found before, and some columns that are random in the rows that were touched, for directions that a
/// change has brought lie there. Rows of new nodes are zero; those of left vectors are filled from neighbours, unless right ones alone are
/// started from.
pub(super) fn from(
    found: &Embedding,
    graph: &Graph,
    options: &Options,
    touched: &[u32],
    from_right_alone: bool,
) -> Option<Start> {
    let columns = (found.rank / TRIPLETS_A_COLUMN).clamp(COLUMNS.0, COLUMNS.1);
    let columns = columns.min(touched.len()).min(graph.nodes().saturating_sub(found.rank));
    let width = found.rank + columns;
    let with_random = |mut data: Vec<f32>| {
        for &row in touched {
            let entries = &mut data[row as usize * width..][found.rank..width];
            for (column, entry) in entries.iter_mut().enumerate() {
                *entry = random::normal(options.svd.seed, random::stream::TOUCHED, u64::from(row), column as u32);
            }
        }
        Dense::new(graph.nodes(), width, data).map(Arc::new).ok()
    };
    let right = with_random(widened(&found.right, found, graph.nodes(), columns))?;
    let mut left = widened(&found.left, found, graph.nodes(), columns);
    if !from_right_alone {
        Spread::of(graph, options.normalize).fill(&mut left, width, found.nodes, found.rank);
    }
    Some(Start { left: with_random(left)?, right })
}

/// Singular vectors of an embedding with rows for `nodes` nodes and so many more columns, all zero.
fn widened(data: &[f32], found: &Embedding, nodes: usize, columns: usize) -> Vec<f32> {
    let width = found.rank + columns;
    let roots: Vec<f32> = found.singular_values.iter().map(|value| value.sqrt().recip()).collect();
    let mut wide = vec![0.0; nodes * width];
    for (to, row) in wide.chunks_exact_mut(width).zip(data.chunks_exact(found.rank)) {
        to.iter_mut().zip(row).zip(&roots).for_each(|((to, entry), root)| *to = entry * root);
    }
    wide
}

impl<'a> Spread<'a> {
    fn of(graph: &'a Graph, normalize: Normalize) -> Self {
        let (own, other): (f32, f32) = match normalize {
            Normalize::Row => (1.0, 0.0),
            Normalize::Symmetric => (0.5, 0.5),
        };
        let power = |power: f32| graph.degrees.iter().map(|degree| degree.max(1.0).powf(-power)).collect();
        Self { matrix: &graph.adjacency, own: power(own), other: power(other) }
    }

    /// Makes rows from `known` on of those of their neighbours. How large they are in each column the rows that are known tell.
    fn fill(&self, data: &mut [f32], width: usize, known: usize, columns: usize) {
        let tiling = self.matrix.tiling();
        if known >= tiling.rows() || known == 0 {
            return;
        }
        let step = tiling.count().div_ceil(SAMPLE.div_ceil(tiling.tile_rows()).max(1)).max(1);
        let (mut products, mut squares) = (vec![0.0; columns], vec![0.0; columns]);
        for tile in (0..=tiling.tile_of(known - 1)).step_by(step) {
            for (row, sums) in self.sums(data, width, columns, tile, 0).into_iter().filter(|(row, _)| *row < known) {
                for (column, (&sum, &entry)) in sums.iter().zip(&data[row * width..]).enumerate() {
                    products[column] += f64::from(sum * entry);
                    squares[column] += f64::from(sum * sum);
                }
            }
        }
        let ratio = |(product, square): (f64, f64)| if square > 0.0 { product / square } else { 0.0 };
        let scales: Vec<f32> = products.into_iter().zip(squares).map(ratio).map(|ratio| ratio as f32).collect();
        for _ in 0..SWEEPS {
            for tile in tiling.tile_of(known)..tiling.count() {
                for (row, sums) in self.sums(data, width, columns, tile, known) {
                    let entries = &mut data[row * width..][..columns];
                    for ((entry, sum), scale) in entries.iter_mut().zip(sums).zip(&scales) {
                        *entry = sum * scale;
                    }
                }
            }
        }
    }

    /// What neighbours say of the rows of a tile from `first` on that have any.
    fn sums(&self, data: &[f32], width: usize, columns: usize, tile: usize, first: usize) -> Vec<(usize, Vec<f32>)> {
        let rows = self.matrix.tiling().range(tile);
        let mut sums: Vec<Option<Vec<f32>>> = vec![None; rows.len()];
        self.matrix.for_each_in_tile(tile, |row, neighbour, weight| {
            if row >= first {
                let sums = sums[row - rows.start].get_or_insert_with(|| vec![0.0; columns]);
                let factor = self.own[row] * self.other[neighbour] * weight;
                let entries = &data[neighbour * width..][..columns];
                sums.iter_mut().zip(entries).for_each(|(sum, &entry)| *sum += factor * entry);
            }
        });
        rows.zip(sums).filter_map(|(row, sums)| Some((row, sums?))).collect()
    }
}
