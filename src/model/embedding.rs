//! Network embedding (NE): two vectors for every node, from the SVD of one matrix over the graph.
//!
//! `M = Σ_{q=1..C} c_q T^q − λ (J − A)`: the first term says where a random walk of up to C steps from a node ends, with
//! `c_q = (C − q + 1) / Σ_j j`; the second pushes non-edges apart. With `U S Vᵀ ≈ M`, the embeddings are `L = U√S` and
//! `R = V√S`, and `L_i · R_j` says how likely an edge from i to j is.

use std::sync::Arc;

use crate::dataset::EdgeList;
use crate::engine::Cluster;
use crate::graph::{Graph, GraphError, Import};
use crate::matrix::{Matrix, MatrixError};
use crate::svd::{self, Progress, SvdError};

/// The matrix to embed with, and how to decompose it.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// C, the longest walk that counts.
    pub window: usize,
    /// λ, the weight of the non-edges.
    pub negative: f64,
    /// How a walk weighs its next steps.
    pub normalize: Normalize,
    /// Multiply the walks by the degrees of where they end: √degree beside a symmetric T, degree beside a row-normalised.
    pub degree_weighted: bool,
    /// How to decompose.
    pub svd: svd::Options,
}

/// What T is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Normalize {
    /// `D⁻¹·A`
    #[default]
    Row,
    /// `D^-½·A·D^-½`
    Symmetric,
}

/// Two vectors for every node, and how far to trust them.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    /// Rows of `left` and of `right`.
    pub nodes: usize,
    /// Columns of `left` and of `right`.
    pub rank: usize,
    /// `L = U√S`, row after row.
    pub left: Vec<f32>,
    /// `R = V√S`, row after row.
    pub right: Vec<f32>,
    /// From the largest down.
    pub singular_values: Vec<f32>,
    /// ‖Mv − σu‖/σ of every triplet.
    pub relative_residuals: Vec<f64>,
    /// How many columns were multiplied by M or its transpose.
    pub operator_columns: usize,
    /// How many iterations were made.
    pub iterations: usize,
}

/// Why there is no embedding.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There are no nodes.
    #[error("the graph has no nodes: there is nothing to embed")]
    EmptyGraph,
    /// A window without steps has no walks.
    #[error("a window of 0 has no walks: give at least 1")]
    NoWindow,
    /// The edges make no graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The matrix cannot be stated.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The decomposition failed.
    #[error(transparent)]
    Svd(#[from] SvdError),
}

/// Embeds the nodes of a graph.
pub fn embed(
    edges: &EdgeList,
    options: &Options,
    cluster: Cluster,
    progress: Arc<Progress>,
) -> Result<Embedding, ModelError> {
    if edges.nodes == 0 {
        return Err(ModelError::EmptyGraph);
    }
    let graph = Graph::from_edges(edges, Import::default())?;
    let matrix = matrix(&graph, options)?;
    let svd = svd::decompose_watched(&matrix, &options.svd, cluster, progress)?;
    let roots: Vec<f32> = svd.singular_values.iter().map(|value| value.sqrt() as f32).collect();
    let scale = |vectors: crate::matrix::Dense| {
        let mut data = vectors.into_data();
        for row in data.chunks_exact_mut(roots.len().max(1)) {
            row.iter_mut().zip(&roots).for_each(|(entry, root)| *entry *= root);
        }
        data
    };
    Ok(Embedding {
        nodes: edges.nodes,
        rank: svd.singular_values.len(),
        left: scale(svd.left),
        right: scale(svd.right),
        singular_values: svd.singular_values.iter().map(|&value| value as f32).collect(),
        relative_residuals: svd.certificate.relative_residuals,
        operator_columns: svd.operator_columns,
        iterations: svd.iterations,
    })
}

/// The matrix of the embedding. Degrees below one count as one, so that isolated nodes have a row of zeros in T.
pub fn matrix(graph: &Graph, options: &Options) -> Result<Matrix, ModelError> {
    if options.window == 0 {
        return Err(ModelError::NoWindow);
    }
    let adjacency = Matrix::sparse("A", graph.adjacency.clone());
    let nodes = adjacency.shape().rows;
    let of_degree = |name: &str, of: fn(f32) -> f32| {
        Matrix::diagonal(name, graph.degrees.iter().map(|degree| of(degree.max(1.0))).collect())
    };
    let (transition, weight) = match options.normalize {
        Normalize::Row => {
            let inverse = of_degree("D⁻¹", f32::recip)?;
            (inverse.try_multiply(&adjacency)?, of_degree("D", |degree| degree)?)
        }
        Normalize::Symmetric => {
            let root = of_degree("D^-½", |degree| degree.sqrt().recip())?;
            (root.try_multiply(&adjacency)?.try_multiply(&root)?, of_degree("D^½", f32::sqrt)?)
        }
    };
    let mut walks = transition.try_polynomial(&walk_weights(options.window))?;
    if options.degree_weighted {
        walks = walks.try_multiply(&weight)?;
    }
    let non_edges = Matrix::ones(nodes, nodes).try_subtract(&adjacency)?;
    Ok(walks.try_subtract(&non_edges.try_scale(options.negative)?)?)
}

/// The coefficients of T⁰, T¹, … T^C: none for staying, then falling evenly; they sum to one.
fn walk_weights(window: usize) -> Vec<f64> {
    let total = (window * (window + 1) / 2) as f64;
    std::iter::once(0.0).chain((1..=window).map(|step| (window - step + 1) as f64 / total)).collect()
}

impl Embedding {
    /// How likely each pair is an edge of an undirected graph: `½ (L_i·R_j + L_j·R_i)`.
    pub fn score_undirected(&self, pairs: &[(u32, u32)]) -> Vec<f32> {
        let rank = self.rank;
        let row = |node: u32| node as usize * rank..(node as usize + 1) * rank;
        let dot = |i: u32, j: u32| -> f64 {
            let (left, right) = (&self.left[row(i)], &self.right[row(j)]);
            left.iter().zip(right).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
        };
        let score = |&(i, j): &(u32, u32)| ((dot(i, j) + dot(j, i)) / 2.0) as f32;
        pairs.iter().map(score).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_weights_fall_evenly_and_sum_to_one() {
        assert_eq!(walk_weights(3), [0.0, 0.5, 2.0 / 6.0, 1.0 / 6.0]);
        assert!((walk_weights(10).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_matrix_reads_like_the_paper() {
        let edges = EdgeList { nodes: 3, edges: vec![(0, 1), (1, 2)], ..EdgeList::default() };
        let graph = Graph::from_edges(&edges, Import::default()).unwrap();
        let options = Options {
            window: 2,
            negative: 0.02,
            normalize: Normalize::Symmetric,
            degree_weighted: true,
            svd: svd::Options::of_rank(1),
        };
        let text = matrix(&graph, &options).unwrap().to_string();
        let t = "D^-½·A·D^-½";
        assert_eq!(text, format!("(0.6666666666666666·{t} + 0.3333333333333333·({t})²)·D^½ − 0.02·(J − A)"));
    }
}
