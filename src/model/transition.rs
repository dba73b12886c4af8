//! Transition matrices of random walks.

use crate::graph::Graph;
use crate::matrix::{Entries, Matrix, MatrixError};

/// The degree of a node overflows f32, so that its row divided by the degree would be zero.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "the weights of the edges of {} add up to {sum:.4e}, and degrees are 32-bit numbers, up to 3.4028e38: multiply all weights \
     by a smaller number",
    name.as_ref().map_or(format!("the node of row {row}"), |name| format!("node {name}"))
)]
pub struct DegreeError {
    /// The row of the node, from 0.
    pub row: usize,
    /// The id of the node, if it is known.
    pub name: Option<String>,
    /// The sum.
    pub sum: f64,
}

impl DegreeError {
    /// The first degree that is not finite; `sums` computes all degrees in f64.
    pub(super) fn find(degrees: &[f32], sums: impl FnOnce() -> Vec<f64>) -> Option<Self> {
        let row = degrees.iter().position(|degree| !degree.is_finite())?;
        Some(Self { row, name: None, sum: sums()[row] })
    }
}

/// Why a transition matrix cannot be stated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// A degree is too large to divide by.
    #[error(transparent)]
    Degree(#[from] DegreeError),
    /// The matrix cannot be stated.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

/// The degrees of a graph as divisors. A degree of zero counts as one, so that a node without edges
/// has a row of zeros in a transition matrix.
#[derive(Debug, Clone)]
pub struct Degrees {
    leaving: Result<Entries, DegreeError>,
    /// In-degrees; `None` if the graph is undirected.
    arriving: Option<Result<Entries, DegreeError>>,
}

impl Degrees {
    /// The degrees of a graph with a self-loop of weight `stay` at every node.
    pub fn new(graph: &Graph, stay: f32) -> Self {
        let entries = |degrees: &[f32], sums: &dyn Fn() -> Vec<f64>| match DegreeError::find(degrees, sums) {
            Some(error) => Err(error),
            None => {
                let divisors = degrees.iter().map(|degree| divisor(degree + stay)).collect();
                Ok(Entries::outline(graph.nodes(), divisors))
            }
        };
        let arriving = || entries(&graph.arriving_degrees(), &|| graph.adjacency.column_sums());
        Self {
            leaving: entries(&graph.degrees, &|| graph.adjacency.row_sums()),
            arriving: (!graph.adjacency.is_symmetric()).then(arriving),
        }
    }

    /// The out-degrees.
    pub fn leaving(&self) -> Result<&Entries, DegreeError> {
        self.leaving.as_ref().map_err(Clone::clone)
    }

    /// The in-degrees.
    pub fn arriving(&self) -> Result<&Entries, DegreeError> {
        self.arriving.as_ref().unwrap_or(&self.leaving).as_ref().map_err(Clone::clone)
    }

    /// `D⁻¹·A`: the probabilities of the next step.
    pub fn row_normalized(&self, edges: &Matrix) -> Result<Matrix, StepError> {
        Ok(of("D⁻¹", self.leaving()?, f32::recip)?.try_multiply(edges)?)
    }

    /// `D^-½·A·D^-½`, or `D^-½·A·E^-½` with the in-degrees E of a directed graph.
    pub fn symmetric(&self, edges: &Matrix) -> Result<Matrix, StepError> {
        let root: fn(f32) -> f32 = |degree| degree.sqrt().recip();
        let before = of("D^-½", self.leaving()?, root)?;
        let after = match &self.arriving {
            None => before.clone(),
            Some(_) => of("E^-½", self.arriving()?, root)?,
        };
        Ok(before.try_multiply(edges)?.try_multiply(&after)?)
    }

    /// The diagonal matrix of the degrees of the last nodes of walks.
    pub fn of_ends(&self) -> Result<Matrix, StepError> {
        Ok(of("D", self.arriving()?, |degree| degree)?)
    }

    /// The diagonal matrix of the square roots of these degrees.
    pub fn roots_of_ends(&self) -> Result<Matrix, StepError> {
        Ok(of("D^½", self.arriving()?, f32::sqrt)?)
    }
}

/// The divisor for a degree: one if it is zero.
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

    /// Catches a row that is divided by infinity, and a step refused for degrees that it does not
    /// divide by.
    #[test]
    fn a_degree_that_overflows_is_refused_where_it_is_divided_by() {
        let spokes = 59;
        let list = |directed| EdgeList {
            nodes: 1 + spokes,
            edges: (1..=spokes as u32).map(|node| (node, 0)).collect(),
            weights: Some(vec![1e37; spokes]),
            directed,
        };
        let expected =
            |error: &DegreeError| (error.row, &error.name) == (0, &None) && (error.sum / 5.9e38 - 1.0).abs() < 1e-6;
        for directed in [false, true] {
            let graph = Graph::from_edges(&list(directed), Import::default()).unwrap();
            let edges = Matrix::sparse("A", graph.adjacency.clone());
            let degrees = Degrees::new(&graph, 0.0);
            let refused =
                |step: Result<Matrix, StepError>| matches!(step, Err(StepError::Degree(error)) if expected(&error));
            assert!(
                refused(degrees.symmetric(&edges)) && refused(degrees.of_ends()) && refused(degrees.roots_of_ends())
            );
            // The edges of a hub that none leaves are divided by the degrees of the other nodes.
            assert_eq!(refused(degrees.row_normalized(&edges)), !directed);
            assert_eq!(degrees.row_normalized(&edges).is_ok(), directed);
        }
        let error =
            Degrees::new(&Graph::from_edges(&list(false), Import::default()).unwrap(), 0.0).leaving().unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("the weights of the edges of the node of row 0 add up to 5.9000e38, and "), "{said}");
        assert!(said.ends_with("up to 3.4028e38: multiply all weights by a smaller number"), "{said}");
    }
}
