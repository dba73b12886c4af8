//! Where a walk goes next: the matrices of one step.

use crate::graph::Graph;
use crate::matrix::{Matrix, MatrixError};

/// The degrees of a graph, for dividing by: those below one count as one, so that isolated nodes have a row of zeros in
/// the matrices of a step.
#[derive(Debug, Clone)]
pub struct Degrees {
    /// Of the edges that leave a node.
    pub leaving: Vec<f32>,
    /// Of those that come to it, if edges have a direction; else they are the same.
    arriving: Option<Vec<f32>>,
}

impl Degrees {
    /// The degrees of a graph, each more by `stay`, the weight of an edge from every node to itself.
    pub fn new(graph: &Graph, stay: f32) -> Self {
        let at_least_one = |degree: f32| (degree + stay).max(1.0);
        let arriving = || graph.adjacency.column_sums().into_iter().map(|sum| at_least_one(sum as f32)).collect();
        Self {
            leaving: graph.degrees.iter().map(|&degree| at_least_one(degree)).collect(),
            arriving: (!graph.adjacency.is_symmetric()).then(arriving),
        }
    }

    /// Of the edges that come to a node.
    pub fn arriving(&self) -> &[f32] {
        self.arriving.as_deref().unwrap_or(&self.leaving)
    }

    /// `D⁻¹·A`: every next step is as likely as its weight says.
    pub fn row_normalized(&self, edges: &Matrix) -> Result<Matrix, MatrixError> {
        of("D⁻¹", &self.leaving, f32::recip)?.try_multiply(edges)
    }

    /// `D^-½·A·D^-½`, or `D^-½·A·E^-½` with the degrees E of edges that arrive.
    pub fn symmetric(&self, edges: &Matrix) -> Result<Matrix, MatrixError> {
        let root: fn(f32) -> f32 = |degree| degree.sqrt().recip();
        let before = of("D^-½", &self.leaving, root)?;
        let after = match &self.arriving {
            None => before.clone(),
            Some(arriving) => of("E^-½", arriving, root)?,
        };
        before.try_multiply(edges)?.try_multiply(&after)
    }

    /// The degrees of where walks end, on a diagonal.
    pub fn of_ends(&self) -> Result<Matrix, MatrixError> {
        of("D", self.arriving(), |degree| degree)
    }

    /// Their square roots, on a diagonal.
    pub fn roots_of_ends(&self) -> Result<Matrix, MatrixError> {
        of("D^½", self.arriving(), f32::sqrt)
    }
}

fn of(name: &str, degrees: &[f32], function: fn(f32) -> f32) -> Result<Matrix, MatrixError> {
    Matrix::diagonal(name, degrees.iter().map(|&degree| function(degree)).collect())
}
