//! How features and labels travel along the edges of a graph.
//!
//! `Â = (D+I)^-½ (A+I) (D+I)^-½` averages a node with its neighbours. Without its diagonal it is
//! `Z = Â − (D+I)⁻¹ = (D+I)^-½ A (D+I)^-½`, which tells a node of its neighbours alone: with labels as input, row i of
//! `Z·Y` does not know label i. Two steps can come back to where they began, `diag(Â·Z)`, and that is taken out too.

use std::sync::Arc;

use super::transition::DegreeError;
use crate::graph::{Graph, Sparse};
use crate::matrix::{Entries, Matrix, MatrixError};

/// Why a graph cannot be propagated over.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PropagationError {
    /// Steps could not come back the way they went.
    #[error("edges have a direction: take each of them both ways")]
    Directed,
    /// A node would tell itself its own label.
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
    /// The weights of a node's edges add up to too much.
    #[error(transparent)]
    Degree(#[from] DegreeError),
}

/// The edges of an undirected graph without self-loops, and how they are weighed.
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

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.scale.length()
    }

    /// A.
    pub fn adjacency(&self) -> &Arc<Sparse> {
        &self.adjacency
    }

    /// The diagonal of `(D+I)^-½`: the entry of Â from i to j is the weight of that edge times both of theirs.
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

    /// The diagonal of `Â·Z`: how much of what a node says comes back to it in two steps.
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
