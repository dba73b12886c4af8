//! The adjacency matrix of an edge list.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::build::Pairs;
use super::{Duplicates, EdgeList, GraphError, Sparse, TileError, parallel};

/// How edges from a node to itself are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelfLoops {
    /// They are entries of the diagonal.
    #[default]
    Keep,
    /// They are left out.
    Drop,
}

/// How an edge list becomes a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Import {
    /// How repeated edges are combined.
    pub duplicates: Duplicates,
    /// How edges from a node to itself are treated.
    pub self_loops: SelfLoops,
}

/// Statistics of an edge list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportReport {
    /// Edges listed.
    pub listed: usize,
    /// Distinct edges of the matrix: undirected ones count once, however often and in whichever
    /// direction they are listed.
    #[serde(default)]
    pub edges: usize,
    /// Edges listed again, whatever became of them; dropped self-loops do not count.
    pub duplicates: usize,
    /// Edges listed from a node to itself.
    pub self_loops: usize,
    /// Nodes that no edge of the matrix touches.
    pub isolated: usize,
}

impl ImportReport {
    /// The report with the number of distinct edges, which follows from the other counts.
    pub(crate) fn with_edges(self, import: Import) -> Self {
        let dropped = if import.self_loops == SelfLoops::Drop { self.self_loops } else { 0 };
        Self { edges: self.listed.saturating_sub(self.duplicates + dropped), ..self }
    }
}

/// Example degrees of an outline, with an isolated node.
const EXAMPLES: [f32; 5] = [3.0, 0.0, 1.0, 7.0, 2.0];

/// A graph: its adjacency matrix and the degree of each node.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Row `i`, column `j`: the weight of the edge from `i` to `j`. Symmetric when the list was
    /// undirected.
    pub adjacency: Arc<Sparse>,
    /// The sum of each row: for each node, the weight of its outgoing edges.
    pub degrees: Vec<f32>,
    /// Statistics of the edge list.
    pub report: ImportReport,
    /// The sum of each column, where it is known already.
    pub(crate) arriving: Option<Vec<f32>>,
}

impl Graph {
    /// Builds the matrix of an edge list.
    ///
    /// ```
    /// use isvd_dist::graph::{EdgeList, Graph, Import};
    /// let edges = vec![(0, 1), (1, 0), (2, 2)];
    /// let list = EdgeList { nodes: 4, edges, weights: None, directed: false };
    /// let graph = Graph::from_edges(&list, Import::default())?;
    /// assert_eq!(graph.degrees, [2.0, 2.0, 1.0, 0.0]);
    /// let report = graph.report;
    /// assert_eq!((report.duplicates, report.self_loops, report.isolated), (1, 1, 1));
    /// # Ok::<(), isvd_dist::graph::GraphError>(())
    /// ```
    pub fn from_edges(list: &EdgeList, import: Import) -> Result<Graph, GraphError> {
        let without_loops = import.self_loops == SelfLoops::Drop;
        let pairs = Pairs {
            entries: (&list.edges).into(),
            values: list.weights.as_ref().map(Into::into),
            mirrored: !list.directed,
            without_loops,
        };
        let (adjacency, built) = Sparse::from_pairs(list.nodes, list.nodes, pairs, import.duplicates)?;
        let off_diagonal = if list.directed { built.merged_off_diagonal } else { built.merged_off_diagonal / 2 };
        let report = ImportReport {
            listed: list.edges.len(),
            edges: 0,
            duplicates: off_diagonal + built.merged_on_diagonal,
            self_loops: self_loops(list),
            isolated: isolated(&adjacency, &built.row_counts),
        };
        let report = report.with_edges(import);
        let degrees = if adjacency.is_weighted() {
            adjacency.row_sums().into_iter().map(|sum| sum as f32).collect()
        } else {
            built.row_counts.iter().map(|&count| count as f32).collect()
        };
        Ok(Graph { adjacency: Arc::new(adjacency), degrees, report, arriving: None })
    }

    /// Bytes that it takes about to build the matrix of a list with [`Graph::from_edges`], and to
    /// choose an [`Order`](super::Order) before: lists of nodes, a copy of the entries, and the
    /// tiles.
    pub fn bytes_to_build(list: &EdgeList) -> u64 {
        /// Measured for lists of few edges and many nodes.
        const NODE: u64 = 64;
        let (nodes, edges) = (list.nodes as u64, list.edges.len() as u64);
        let copy = if nodes > 1 << 20 { 8 } else { 4 };
        let entry = copy + 4 + if list.weights.is_some() { 8 } else { 0 };
        let entries = if list.directed { edges } else { edges.saturating_mul(2) };
        nodes.saturating_mul(NODE).saturating_add(entries.saturating_mul(entry))
    }

    /// A graph of which only the size is known; its degrees are a few examples.
    pub fn outline(nodes: usize, edges: usize, directed: bool) -> Result<Graph, GraphError> {
        let nonzeros = if directed { edges } else { edges.saturating_mul(2) };
        let adjacency = Arc::new(Sparse::outline(nodes, nodes, nonzeros, !directed)?);
        let report = ImportReport { listed: edges, edges, ..ImportReport::default() };
        Ok(Graph { adjacency, degrees: EXAMPLES.to_vec(), report, arriving: None })
    }

    /// The sum of each column: for each node, the weight of the edges that come to it.
    pub fn arriving_degrees(&self) -> Vec<f32> {
        if let Some(arriving) = &self.arriving {
            return arriving.clone();
        }
        match self.adjacency.is_outline() {
            true => self.degrees.iter().rev().copied().collect(),
            false => self.adjacency.column_sums().into_iter().map(|sum| sum as f32).collect(),
        }
    }

    /// Nodes of the graph.
    pub fn nodes(&self) -> usize {
        self.adjacency.rows()
    }

    /// Reads and verifies every tile; see [`Sparse::ready`].
    pub fn ready(&self) -> Result<(), TileError> {
        let transposed = self.adjacency.transposed_if_made();
        for matrix in std::iter::once(&self.adjacency).chain(transposed) {
            matrix.ready(0..matrix.tiling().count())?;
        }
        Ok(())
    }
}

fn self_loops(list: &EdgeList) -> usize {
    let edges = &list.edges;
    let counts = parallel::parts(edges.len(), parallel::threads(edges.len()), |part| {
        edges[part].iter().filter(|(from, to)| from == to).count()
    });
    counts.into_iter().sum()
}

/// Nodes that no edge touches: their rows and columns are empty.
fn isolated(adjacency: &Sparse, rows: &[u32]) -> usize {
    let empty = rows.iter().filter(|&&count| count == 0).count();
    if empty == 0 || adjacency.is_symmetric() {
        return empty;
    }
    rows.iter().zip(adjacency.column_counts()).filter(|&counts| counts == (&0, 0)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(edges: &[(u32, u32)], weights: Option<&[f32]>, directed: bool) -> EdgeList {
        EdgeList { nodes: 5, edges: edges.to_vec(), weights: weights.map(<[f32]>::to_vec), directed }
    }

    fn dense(graph: &Graph) -> Vec<(usize, usize, f32)> {
        let mut entries = vec![];
        graph.adjacency.for_each(|row, col, value| entries.push((row, col, value)));
        entries
    }

    const EDGES: [(u32, u32); 6] = [(0, 1), (1, 0), (2, 2), (0, 1), (2, 2), (1, 3)];
    const WEIGHTS: [f32; 6] = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

    #[test]
    fn undirected_lists_give_symmetric_matrices() {
        let graph = Graph::from_edges(&list(&EDGES, Some(&WEIGHTS), false), Import::default()).unwrap();
        assert!(graph.adjacency.is_symmetric());
        assert_eq!(dense(&graph), [(0, 1, 10.0), (1, 0, 10.0), (1, 3, 7.0), (2, 2, 10.0), (3, 1, 7.0)]);
        assert_eq!(graph.degrees, [10.0, 17.0, 10.0, 7.0, 0.0]);
        assert_eq!(graph.report, ImportReport { listed: 6, edges: 3, duplicates: 3, self_loops: 2, isolated: 1 });
    }

    #[test]
    fn the_first_listed_counts_once() {
        let import = Import { duplicates: Duplicates::Once, self_loops: SelfLoops::Drop };
        let graph = Graph::from_edges(&list(&EDGES, Some(&WEIGHTS), false), import).unwrap();
        assert_eq!(dense(&graph), [(0, 1, 2.0), (1, 0, 2.0), (1, 3, 7.0), (3, 1, 7.0)]);
        assert_eq!(graph.report, ImportReport { listed: 6, edges: 2, duplicates: 2, self_loops: 2, isolated: 2 });
        let graph = Graph::from_edges(&list(&EDGES, None, false), import).unwrap();
        assert!(!graph.adjacency.is_weighted());
    }

    #[test]
    fn directed_lists_keep_their_direction() {
        let graph = Graph::from_edges(&list(&EDGES, None, true), Import::default()).unwrap();
        assert!(!graph.adjacency.is_symmetric());
        assert_eq!(dense(&graph), [(0, 1, 2.0), (1, 0, 1.0), (1, 3, 1.0), (2, 2, 2.0)]);
        assert_eq!((graph.report.duplicates, graph.report.edges), (2, 4));
    }

    #[test]
    fn edges_outside_are_refused() {
        let error = Graph::from_edges(&list(&[(0, 1), (5, 0)], None, false), Import::default()).unwrap_err();
        assert!(matches!(error, GraphError::OutOfRange { entry: 1, row: 5, .. }));
    }
}
