//! Propagation of features and labels along the edges of a graph.
//!
//! `Â = (D+I)^-½ (A+I) (D+I)^-½` averages over a node and its neighbours. Without its diagonal it
//! is `Z = Â − (D+I)⁻¹ = (D+I)^-½ A (D+I)^-½`, which averages over the neighbours alone, so that
//! row i of `Z·Y` does not depend on label i. After two steps a label returns to its node with
//! weight `diag(Â·Z)`, which is subtracted.

use std::sync::Arc;

use super::transition::DegreeError;
use crate::graph::{Graph, Sparse};
use crate::matrix::{Entries, Matrix, MatrixError};

/// Why a graph cannot be propagated over.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PropagationError {
    /// The graph is directed.
    #[error("edges have a direction: take each of them both ways")]
    Directed,
    /// The graph has a self-loop, by which a label would reach its own node.
    #[error("node {node} has an edge to itself: drop such edges, every node is averaged with itself anyway")]
    SelfLoop {
        /// Which node.
        node: usize,
    },
    /// `(D+I)^-½` is no real number.
    #[error("the weights of node {node} sum to -1 or less, so (D+I)^-½ is not a real number: use weights of 0 or more")]
    NegativeDegree {
        /// Which node.
        node: usize,
    },
    /// The degree of a node overflows.
    #[error(transparent)]
    Degree(#[from] DegreeError),
}

/// The normalised adjacency of an undirected graph without self-loops.
#[derive(Debug, Clone)]
pub struct Propagation {
    adjacency: Arc<Sparse>,
    /// `(degree + 1)^-½` of every node.
    scale: Entries,
}

impl Propagation {
    /// The propagation over a graph.
    pub fn new(graph: &Graph) -> Result<Self, PropagationError> {
        if !graph.adjacency.is_symmetric() {
            return Err(PropagationError::Directed);
        }
        let mut own = None;
        graph.adjacency.for_each(|row, column, _| own = own.or((row == column).then_some(row)));
        if let Some(node) = own {
            return Err(PropagationError::SelfLoop { node });
        }
        if let Some(node) = graph.degrees.iter().position(|&degree| degree <= -1.0) {
            return Err(PropagationError::NegativeDegree { node });
        }
        if let Some(error) = DegreeError::find(&graph.degrees, || graph.adjacency.row_sums()) {
            return Err(error.into());
        }
        let scale = graph.degrees.iter().map(|degree| (degree + 1.0).sqrt().recip()).collect();
        Ok(Self { adjacency: graph.adjacency.clone(), scale: Entries::outline(graph.nodes(), scale) })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.scale.length()
    }

    /// A.
    pub fn adjacency(&self) -> &Arc<Sparse> {
        &self.adjacency
    }

    /// The diagonal of `(D+I)^-½`: entry (i, j) of Â is the weight of the edge times entries i and
    /// j.
    pub fn scale(&self) -> &Entries {
        &self.scale
    }

    /// Â.
    pub fn average(&self) -> Result<Matrix, MatrixError> {
        let edges = Matrix::sparse("A", self.adjacency.clone()).try_add(&Matrix::identity(self.nodes()))?;
        self.scaled(&edges)
    }

    /// Z: Â without its diagonal.
    pub fn neighbours(&self) -> Result<Matrix, MatrixError> {
        self.scaled(&Matrix::sparse("A", self.adjacency.clone()))
    }

    /// The diagonal of `Â·Z`: the weight with which an input returns to its node in two steps.
    pub fn returns(&self) -> Entries {
        if self.adjacency.is_outline() {
            return self.scale.map(|scale| scale * scale);
        }
        let mut sums = vec![0.0f64; self.nodes()];
        self.adjacency.for_each(|row, column, weight| {
            let entry = f64::from(weight) * f64::from(self.scale[row]) * f64::from(self.scale[column]);
            sums[row] += entry * entry;
        });
        sums.into_iter().map(|sum| sum as f32).collect::<Vec<_>>().into()
    }

    fn scaled(&self, edges: &Matrix) -> Result<Matrix, MatrixError> {
        let scale = Matrix::diagonal_of("S", self.scale.clone())?;
        scale.try_multiply(edges)?.try_multiply(&scale)
    }
}
