//! Network embedding (NE): two vectors for every node, from the SVD of one matrix over the graph.
//!
//! `M = Σ_{q=1..C} c_q T^q − λ (J − A)`: the first term holds the distribution of random walks of
//! up to C steps, with weights `c_q = (C − q + 1) / Σ_j j`; the second term separates non-edges.
//! With `U S Vᵀ ≈ M`, the embeddings are `L = U√S` and `R = V√S`, and `L_i · R_j` is the score of
//! an edge from i to j.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::{Cluster, EngineError, Monitor, Sharded, run_on};
use crate::graph::{Graph, GraphError};
use crate::matrix::walk::{relative_approximation, window_coefficients};
use crate::matrix::{Dense, Matrix, MatrixError};
use crate::model::transition::{DegreeError, Degrees, StepError};
use crate::svd::{self, Certificate, Progress, Surrogate, SvdError};

/// The largest error of a surrogate matrix of shorter walks, as a part of the tolerance: an order
/// of magnitude below what the tolerance itself allows, so that the surrogate hardly adds to a
/// residual.
const SURROGATE_ERROR: f64 = 0.1;
/// The largest error of a surrogate for any tolerance.
const MOST_SURROGATE_ERROR: f64 = 0.02;
/// The fewest steps that a surrogate must save.
const LEAST_SAVED: usize = 2;

/// The matrix of an embedding, and its decomposition.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The weights of walks by length.
    pub walks: Walks,
    /// λ, the weight of the non-edges.
    pub negative: f64,
    /// The normalisation of T.
    pub normalize: Normalize,
    /// Multiply walks by the degree of their last node: √degree with a symmetric T, degree with a
    /// row-normalised T.
    pub degree_weighted: bool,
    /// Add a self-loop to every node before T is computed.
    pub self_loops: bool,
    /// Options of the solver.
    pub svd: svd::Options,
}

/// The weights of walks by length.
#[derive(Debug, Clone, PartialEq)]
pub enum Walks {
    /// Walks of up to C steps with weights `c_q = (C − q + 1) / Σ_j j`.
    Window(usize),
    /// The weights `c_1, c_2, …`.
    Weights(Vec<f64>),
}

impl Walks {
    /// The coefficients of T⁰, T¹, …, of which the first is zero.
    pub(super) fn coefficients(&self) -> Vec<f64> {
        match self {
            Walks::Weights(weights) => std::iter::once(0.0).chain(weights.iter().copied()).collect(),
            Walks::Window(window) => window_coefficients(*window),
        }
    }
}

/// The normalisation of T.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Normalize {
    /// `D⁻¹·A`
    #[default]
    Row,
    /// `D^-½·A·D^-½`
    Symmetric,
}

/// The vectors of every node, and their certificate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    /// Rows of `left`, and of `right` where the matrix is square.
    pub nodes: usize,
    /// Columns of `left` and of `right`.
    pub rank: usize,
    /// `L = U√S`; every process has its own rows.
    pub left: Sharded,
    /// `R = V√S`, likewise.
    pub right: Sharded,
    /// Singular values in descending order.
    pub singular_values: Vec<f32>,
    /// The certificate of the singular triplets.
    pub certificate: Certificate,
    /// Columns multiplied by M or its transpose; surrogates count by their share of the work.
    pub operator_columns: usize,
    /// Iterations of the solver.
    pub iterations: usize,
    /// The energy of the triplets as a share of all, if the rank was chosen by energy.
    pub energy: Option<f64>,
}

/// Why a graph could not be embedded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There are no nodes.
    #[error("the graph has no nodes: there is nothing to embed")]
    EmptyGraph,
    /// A window without steps has no walks.
    #[error("there are no walks to weigh: give a window of at least 1, or at least one walk weight")]
    NoWalks,
    /// The matrix cannot be stated.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The decomposition failed.
    #[error(transparent)]
    Svd(#[from] SvdError),
    /// A change of the graph makes no sense.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The edges could not be kept.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A residual is not a finite number, so nothing that was computed can be trusted.
    #[error("the residual of singular triplet {triplet} is {residual}: the computation broke down")]
    BrokenDown {
        /// Which triplet, from 0.
        triplet: usize,
        /// Its residual.
        residual: f64,
    },
    /// The degree of a node overflows.
    #[error(transparent)]
    Degree(#[from] DegreeError),
    /// All singular values are zero as 32-bit numbers, and the matrix is not.
    #[error(
        "the largest singular value is {largest:e}, and vectors and values are saved as 32-bit numbers, which begin at 1.4e-45: multiply the matrix by a larger number"
    )]
    TooSmall {
        /// The largest one.
        largest: f64,
    },
    /// A singular value cannot be saved as a 32-bit number.
    #[error(
        "the largest singular value is {largest:e}, and vectors and values are saved as 32-bit numbers, up to 3.4e38: multiply the matrix by a smaller number"
    )]
    TooLarge {
        /// The largest one.
        largest: f64,
    },
}

impl From<StepError> for ModelError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Degree(error) => error.into(),
            StepError::Matrix(error) => error.into(),
        }
    }
}

impl ModelError {
    /// Whether the weights of the graph are the cause: with others it can be embedded.
    pub fn is_of_numbers(&self) -> bool {
        matches!(
            self,
            Self::Matrix(MatrixError::NotFinite { .. } | MatrixError::CoefficientNotFinite { .. })
                | Self::Svd(SvdError::Engine(EngineError::NotFinite { .. }))
                | Self::BrokenDown { .. }
                | Self::Degree(_)
                | Self::TooLarge { .. }
                | Self::TooSmall { .. }
        )
    }
}

/// Embeds the nodes of a graph.
pub fn embed(
    graph: &Graph,
    options: &Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Embedding, ModelError> {
    if graph.nodes() == 0 {
        return Err(ModelError::EmptyGraph);
    }
    let (matrix, surrogate) = matrix_and_surrogate(graph, options)?;
    embed_with(&matrix, surrogate.as_ref(), &options.svd, cluster, watch)
}

/// Embeds by a given matrix: one vector for each row and one for each column.
pub fn embed_matrix(
    matrix: &Matrix,
    options: &svd::Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Embedding, ModelError> {
    embed_with(matrix, None, options, cluster, watch)
}

/// Embeds by a matrix, with the help of a surrogate.
fn embed_with(
    matrix: &Matrix,
    surrogate: Option<&Surrogate>,
    options: &svd::Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Embedding, ModelError> {
    let svd = svd::decompose_sharded(matrix, surrogate, options, cluster, watch)?;
    if let Some(&largest) = svd.singular_values.first().filter(|largest| **largest > f64::from(f32::MAX)) {
        return Err(ModelError::TooLarge { largest });
    }
    if let Some(&largest) = svd.singular_values.first().filter(|largest| **largest as f32 == 0.0) {
        return Err(ModelError::TooSmall { largest });
    }
    let roots: Vec<f32> = svd.singular_values.iter().map(|value| value.sqrt() as f32).collect();
    let scale = |mut vectors: Sharded| {
        for row in vectors.data_mut().chunks_exact_mut(roots.len().max(1)) {
            row.iter_mut().zip(&roots).for_each(|(entry, root)| *entry *= root);
        }
        vectors
    };
    Ok(Embedding {
        nodes: matrix.shape().rows,
        rank: svd.singular_values.len(),
        left: scale(svd.left),
        right: scale(svd.right),
        singular_values: svd.singular_values.iter().map(|&value| value as f32).collect(),
        certificate: svd.certificate,
        operator_columns: svd.operator_columns,
        iterations: svd.iterations,
        energy: svd.energy,
    })
}

/// The matrix of the embedding, with the T of [`Degrees`].
pub fn matrix(graph: &Graph, options: &Options) -> Result<Matrix, ModelError> {
    Parts::new(graph, options)?.matrix(&options.walks.coefficients())
}

/// The matrix of the embedding, and a surrogate of shorter walks, if there is one whose error is a
/// small part of the tolerance. There is none for a graph with directions or weights: the
/// eigenvalues of its steps need not be real, or may be larger than one.
pub fn matrix_and_surrogate(graph: &Graph, options: &Options) -> Result<(Matrix, Option<Surrogate>), ModelError> {
    let parts = Parts::new(graph, options)?;
    Ok((parts.matrix(&options.walks.coefficients())?, parts.surrogate(graph, options)?))
}

/// The parts of the matrix.
struct Parts {
    transition: Matrix,
    /// The factor of the walks.
    weight: Option<Matrix>,
    /// `λ (J − A)`
    non_edges: Matrix,
}

impl Parts {
    fn new(graph: &Graph, options: &Options) -> Result<Self, ModelError> {
        let edges = Matrix::sparse("A", graph.adjacency.clone());
        let nodes = edges.shape().rows;
        let (steps, stay) = match options.self_loops {
            false => (edges.clone(), 0.0),
            true => (edges.try_add(&Matrix::identity(nodes))?, 1.0),
        };
        let degrees = Degrees::new(graph, stay);
        let transition = match options.normalize {
            Normalize::Row => degrees.row_normalized(&steps)?,
            Normalize::Symmetric => degrees.symmetric(&steps)?,
        };
        let weight = match (options.degree_weighted, options.normalize) {
            (false, _) => None,
            (true, Normalize::Row) => Some(degrees.of_ends()?),
            (true, Normalize::Symmetric) => Some(degrees.roots_of_ends()?),
        };
        let non_edges = Matrix::ones(nodes, nodes).try_subtract(&edges)?.try_scale(options.negative)?;
        Ok(Self { transition, weight, non_edges })
    }

    /// The surrogate by shorter walks, if there is one.
    fn surrogate(&self, graph: &Graph, options: &Options) -> Result<Option<Surrogate>, ModelError> {
        let walks = options.walks.coefficients();
        // The eigenvalues of a step are real and at most one.
        let is_tame = graph.adjacency.is_symmetric() && !graph.adjacency.is_weighted();
        let Some(tolerance) = options.svd.tolerance.filter(|_| is_tame) else { return Ok(None) };
        match relative_approximation(&walks, MOST_SURROGATE_ERROR.min(tolerance * SURROGATE_ERROR)) {
            Some((shorter, error)) if shorter.len() + LEAST_SAVED <= walks.len() => {
                Ok(Some(Surrogate { matrix: self.matrix(&shorter)?, error }))
            }
            _ => Ok(None),
        }
    }

    /// The matrix with these coefficients of T⁰, T¹, …
    fn matrix(&self, coefficients: &[f64]) -> Result<Matrix, ModelError> {
        if coefficients.len() < 2 {
            return Err(ModelError::NoWalks);
        }
        let mut walks = self.transition.try_polynomial(coefficients)?;
        if let Some(weight) = &self.weight {
            walks = walks.try_multiply(weight)?;
        }
        Ok(walks.try_subtract(&self.non_edges)?)
    }
}

/// The terms of the product of two vectors.
pub(super) fn products<'a>(left: &'a [f32], right: &'a [f32]) -> impl Iterator<Item = f32> + Clone + 'a {
    left.iter().zip(right).map(|(left, right)| left * right)
}

/// The score of a pair: that of one way, or on an undirected graph the mean of both.
pub(super) fn pair_score(i: u32, j: u32, is_directed: bool, one_way: impl Fn(u32, u32) -> f64) -> f32 {
    match is_directed {
        true => one_way(i, j) as f32,
        false => ((one_way(i, j) + one_way(j, i)) / 2.0) as f32,
    }
}

impl Embedding {
    /// The embedding with all rows on every process.
    pub fn gathered(self, cluster: Cluster) -> Result<Self, EngineError> {
        let (left, right) = (self.left.gathered(cluster)?.into(), self.right.gathered(cluster)?.into());
        Ok(Self { left, right, ..self })
    }

    /// The embedding whose row i is row `rows[i]` of both sides of this one.
    pub fn permuted(self, rows: &Arc<[u32]>, cluster: Cluster) -> Result<Self, EngineError> {
        let (left, right) = (self.left.permuted(rows, cluster)?, self.right.permuted(rows, cluster)?);
        Ok(Self { left, right, ..self })
    }

    /// Rows of `right`.
    pub fn right_rows(&self) -> usize {
        self.right.rows()
    }

    /// `L_i · R_j`, term by term.
    ///
    /// # Panics
    /// If another process has one of the rows.
    pub fn products(&self, i: u32, j: u32) -> impl Iterator<Item = f32> + Clone + '_ {
        let row = |panel: &'_ Sharded, node: u32| panel.position(node as usize);
        let (left, right) = (row(&self.left, i), row(&self.right, j));
        products(&self.left.data()[left], &self.right.data()[right])
    }

    /// The scores of pairs: `Σ_k weights_k · L_ik · R_jk`, or on an undirected graph the mean of
    /// both directions. Missing weights are zero.
    ///
    /// # Panics
    /// If another process has one of the rows: see [`Self::score_on`].
    pub fn score(&self, pairs: &[(u32, u32)], is_directed: bool, weights: &[f64]) -> Vec<f32> {
        let one_way = |i, j| -> f64 {
            self.products(i, j).zip(weights).map(|(product, weight)| f64::from(product) * weight).sum()
        };
        pairs.iter().map(|&(i, j)| pair_score(i, j, is_directed, one_way)).collect()
    }

    /// Scores pairs as [`Self::score`] does, where every process has its own rows.
    pub fn score_on(
        &self,
        cluster: Cluster,
        pairs: &[(u32, u32)],
        is_directed: bool,
        weights: &[f64],
    ) -> Result<Vec<f32>, EngineError> {
        match self.left.is_whole() && self.right.is_whole() {
            true => Ok(self.score(pairs, is_directed, weights)),
            false => score_sharded(self, pairs, is_directed, weights, cluster),
        }
    }

    /// The weights that leave scores as they are.
    pub fn plain_weights(&self) -> Vec<f64> {
        vec![1.0; self.rank]
    }

    /// The weights that raise every singular value to a power.
    pub fn power_weights(&self, power: f64) -> Vec<f64> {
        self.singular_values.iter().map(|&value| f64::from(value).powf(power - 1.0)).collect()
    }

    /// The embedding whose plain scores are this one's with these weights.
    pub fn weighted(mut self, weights: &[f64]) -> Self {
        for side in [&mut self.left, &mut self.right] {
            for row in side.data_mut().chunks_exact_mut(self.rank.max(1)) {
                row.iter_mut().zip(weights).for_each(|(entry, weight)| *entry *= weight.sqrt() as f32);
            }
        }
        self
    }

    /// The right singular vectors, to start another decomposition from.
    pub fn start(&self) -> Option<Arc<Dense>> {
        let roots: Vec<f32> = self.singular_values.iter().map(|value| value.sqrt()).collect();
        let rows = self.right.data().chunks_exact(self.rank.max(1));
        let data = rows.flat_map(|row| row.iter().zip(&roots).map(|(entry, root)| entry / root)).collect();
        Dense::new(self.right_rows(), self.rank, data).map(Arc::new).ok()
    }
}

/// Pairs that a worker scores at a time: it holds four vectors of each.
const PAIRS_AT_ONCE: usize = 1 << 14;

/// Scores pairs whose vectors other processes have. Every worker scores a part of the pairs.
fn score_sharded(
    embedding: &Embedding,
    pairs: &[(u32, u32)],
    is_directed: bool,
    weights: &[f64],
    cluster: Cluster,
) -> Result<Vec<f32>, EngineError> {
    let (left, right, rank) = (embedding.left.clone(), embedding.right.clone(), embedding.rank.max(1));
    let (pairs, weights): (Arc<[(u32, u32)]>, Vec<f64>) = (pairs.into(), weights.to_vec());
    run_on(cluster, &[&embedding.left, &embedding.right], move |session| {
        let (left, right) = (session.shard_of(&left)?, session.shard_of(&right)?);
        let one_way = |left: &[f32], right: &[f32]| -> f64 {
            products(left, right).zip(&weights).map(|(product, weight)| f64::from(product) * weight).sum()
        };
        session.compute_shared(pairs.len(), PAIRS_AT_ONCE, |session, items| {
            let (from, to): (Vec<u32>, Vec<u32>) = items.iter().map(|&item| pairs[item]).unzip();
            let (l, r) = (session.fetch_rows(&left, &from)?, session.fetch_rows(&right, &to)?);
            let rows = l.chunks_exact(rank).zip(r.chunks_exact(rank));
            let there: Vec<f64> = rows.map(|(left, right)| one_way(left, right)).collect();
            if is_directed {
                return Ok(there.into_iter().map(|score| score as f32).collect());
            }
            let (l, r) = (session.fetch_rows(&left, &to)?, session.fetch_rows(&right, &from)?);
            let rows = l.chunks_exact(rank).zip(r.chunks_exact(rank));
            let both = rows.zip(there).map(|((left, right), there)| (there + one_way(left, right)) / 2.0);
            Ok(both.map(|score| score as f32).collect())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::EdgeList;
    use crate::graph::Import;

    fn text(directed: bool, options: &Options) -> String {
        let edges = EdgeList { nodes: 3, edges: vec![(0, 1), (1, 2)], directed, ..EdgeList::default() };
        matrix(&Graph::from_edges(&edges, Import::default()).unwrap(), options).unwrap().to_string()
    }

    fn options(walks: Walks, normalize: Normalize) -> Options {
        let svd = svd::Options::of_rank(1);
        Options { walks, negative: 0.02, normalize, degree_weighted: false, self_loops: false, svd }
    }

    #[test]
    fn walk_weights_fall_evenly_and_sum_to_one() {
        assert_eq!(Walks::Window(3).coefficients(), [0.0, 0.5, 2.0 / 6.0, 1.0 / 6.0]);
        assert!((Walks::Window(10).coefficients().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(Walks::Weights(vec![3.0, -1.0]).coefficients(), [0.0, 3.0, -1.0]);
    }

    #[test]
    fn the_matrix_reads_like_the_paper() {
        let walks = Walks::Weights(vec![0.75, 0.25]);
        let symmetric = Options { degree_weighted: true, ..options(walks.clone(), Normalize::Symmetric) };
        let t = "D^-½·A·D^-½";
        assert_eq!(text(false, &symmetric), format!("(0.75·{t} + 0.25·({t})²)·D^½ − 0.02·(J − A)"));
        let row = Options { self_loops: true, ..options(walks, Normalize::Row) };
        let t = "D⁻¹·(A + I)";
        assert_eq!(text(false, &row), format!("0.75·{t} + 0.25·({t})² − 0.02·(J − A)"));
        let directed = options(Walks::Window(1), Normalize::Symmetric);
        assert_eq!(text(true, &directed), "D^-½·A·E^-½ − 0.02·(J − A)");
    }

    #[test]
    fn no_walks_are_an_error() {
        let edges = EdgeList { nodes: 2, edges: vec![(0, 1)], ..EdgeList::default() };
        let graph = Graph::from_edges(&edges, Import::default()).unwrap();
        let error = matrix(&graph, &options(Walks::Weights(vec![]), Normalize::Row)).unwrap_err();
        assert!(matches!(error, ModelError::NoWalks));
    }

    #[test]
    fn scores_of_both_directions_are_averaged_only_where_there_is_no_direction() {
        let embedding = Embedding {
            nodes: 2,
            rank: 2,
            left: Sharded::whole(2, 2, vec![1.0, 2.0, 3.0, 4.0]),
            right: Sharded::whole(2, 2, vec![5.0, 6.0, 7.0, 8.0]),
            singular_values: vec![4.0, 2.0],
            certificate: Certificate::default(),
            operator_columns: 0,
            iterations: 0,
            energy: None,
        };
        let plain = embedding.plain_weights();
        assert_eq!(embedding.score(&[(0, 1)], true, &plain), [23.0]);
        assert_eq!(embedding.score(&[(0, 1), (1, 0)], false, &plain), [31.0, 31.0]);
        assert_eq!(embedding.score(&[(0, 1)], true, &[1.0]), [7.0], "the first term alone");
        assert_eq!(embedding.power_weights(2.0), [4.0, 2.0]);
        assert_eq!(embedding.start().unwrap().row(1)[0], 3.5);
    }
}
