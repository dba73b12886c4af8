//! Where a walk goes next: the matrices of one step.

use crate::graph::Graph;
use crate::matrix::{Entries, Matrix, MatrixError};

/// The degrees of a graph, for dividing by: those below one count as one, so that isolated nodes have a row of zeros in
/// the matrices of a step.
#[derive(Debug, Clone)]
pub struct Degrees {
    /// Of the edges that leave a node.
    pub leaving: Entries,
    /// Of those that come to it, if edges have a direction; else they are the same.
    arriving: Option<Entries>,
}

impl Degrees {
    /// The degrees of a graph, each more by `stay`, the weight of an edge from every node to itself.
    pub fn new(graph: &Graph, stay: f32) -> Self {
        let at_least_one = |degree: f32| (degree + stay).max(1.0);
        let entries =
            |degrees: Vec<f32>| Entries::outline(graph.nodes(), degrees.into_iter().map(at_least_one).collect());
        Self {
            leaving: entries(graph.degrees.clone()),
            arriving: (!graph.adjacency.is_symmetric()).then(|| entries(graph.arriving_degrees())),
        }
    }

    /// Of the edges that come to a node.
    pub fn arriving(&self) -> &Entries {
        self.arriving.as_ref().unwrap_or(&self.leaving)
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

fn of(name: &str, degrees: &Entries, function: fn(f32) -> f32) -> Result<Matrix, MatrixError> {
    Matrix::diagonal_of(name, degrees.map(function))
}
