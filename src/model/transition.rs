//! Where a walk goes next: the matrices of one step.

use crate::graph::Graph;
use crate::matrix::{Entries, Matrix, MatrixError};

/// The degrees of a graph, for dividing by: a degree of zero counts as one, so that a node without
/// edges has a row of zeros in the matrices of a step.
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
        let divisors = |degrees: Vec<f32>| degrees.into_iter().map(|degree| divisor(degree + stay)).collect();
        let entries = |degrees: Vec<f32>| Entries::outline(graph.nodes(), divisors(degrees));
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

/// What to divide by for a degree: one where it is zero.
pub(super) fn divisor(degree: f32) -> f32 {
    if degree == 0.0 { 1.0 } else { degree }
}

fn of(name: &str, degrees: &Entries, function: fn(f32) -> f32) -> Result<Matrix, MatrixError> {
    Matrix::diagonal_of(name, degrees.map(function))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::EdgeList;
    use crate::engine::{Cluster, form};
    use crate::graph::Import;

    const EDGES: [(u32, u32); 6] = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (4, 4)];

    fn graph(weights: &[f32], directed: bool) -> Graph {
        let list = EdgeList { nodes: 6, edges: EDGES.to_vec(), weights: Some(weights.to_vec()), directed };
        Graph::from_edges(&list, Import::default()).unwrap()
    }

    fn steps(graph: &Graph) -> [Vec<f32>; 2] {
        let edges = Matrix::sparse("A", graph.adjacency.clone());
        let degrees = Degrees::new(graph, 0.0);
        let formed = |matrix: Matrix| form(&matrix, Cluster::threads(2)).unwrap().data().to_vec();
        [formed(degrees.row_normalized(&edges).unwrap()), formed(degrees.symmetric(&edges).unwrap())]
    }

    /// Catches degrees that are bounded from below: T and S do not depend on the unit of the
    /// weights.
    #[test]
    fn a_step_is_divided_by_the_degree_however_small() {
        for directed in [false, true] {
            let weights: Vec<f32> = (1..=6u8).map(f32::from).collect();
            let whole = steps(&graph(&weights, directed));
            for unit in [0.01f32, 1e-6, 1e-30] {
                let small = steps(&graph(&weights.iter().map(|weight| weight * unit).collect::<Vec<_>>(), directed));
                for (whole, small) in whole.iter().flatten().zip(small.iter().flatten()) {
                    assert!((whole - small).abs() < 1e-6, "{unit}: {small} instead of {whole}");
                }
            }
            // Rows of T sum to one, and the row of a node without edges to zero.
            let sums: Vec<f32> = whole[0].chunks(6).map(|row| row.iter().sum()).collect();
            assert!(sums[..5].iter().all(|sum| (sum - 1.0).abs() < 1e-6) && sums[5] == 0.0, "{sums:?}");
        }
    }
}
