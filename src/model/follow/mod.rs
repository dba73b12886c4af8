//! A graph that changes, and its embedding, kept up to date.
//!
//! A [`Follower`] applies batches of operations to a graph, whose shards are patched and not
//! rebuilt, and embeds it again from the vectors before. Beside every embedding it keeps a
//! [`Rotation`], by which its vectors become comparable with those before: they then differ where
//! the graph changed.

mod align;
mod start;

use std::collections::BTreeSet;

pub use align::Rotation;
use align::{Aligned, distances};

use super::embedding::{Embedding, ModelError, Options, embed};
use super::transition::DegreeError;
use crate::engine::{Cluster, EdgeCollection, EdgeCollectionSize, Monitor};
use crate::graph::Graph;
use crate::graph::evolve::{Changes, Effect, Operation, Patched, judge};
use crate::svd::{Keep, Progress};

/// The largest share of changed edges for which a start from the vectors found before is taken. On
/// ogbn-arxiv it takes 0.2 to 0.5 of the time of a random start at 9 %, and 0.7 to 2.8 at 25 % and
/// more to residuals of 0.05 (`benches/follow.rs`).
const WARM_SHARE: f64 = 0.1;

/// A graph that changes, and its embedding.
///
/// ```
/// use isvd_dist::dataset::EdgeList;
/// use isvd_dist::engine::{Cluster, Monitor};
/// use isvd_dist::graph::{Graph, Import, evolve::Operation};
/// use isvd_dist::model::{embedding::{Normalize, Options, Walks}, follow::Follower};
/// let ring = EdgeList { nodes: 20, edges: (0..20).map(|i| (i, (i + 1) % 20)).collect(), ..EdgeList::default() };
/// let graph = Graph::from_edges(&ring, Import::default())?;
/// let svd = isvd_dist::svd::Options { tolerance: Some(0.01), ..isvd_dist::svd::Options::of_rank(4) };
/// let (walks, normalize) = (Walks::Window(3), Normalize::Row);
/// let options = Options { walks, negative: 0.02, normalize, degree_weighted: false, self_loops: false, svd };
/// let mut follower = Follower::new(graph, false, options, Cluster::threads(2))?;
/// follower.embed(Monitor::default())?;
/// // An edge across the ring, and a new node.
/// let applied = follower.apply(21, &[((0, 10), Operation::Add(1.0)), ((20, 3), Operation::Add(1.0))])?;
/// assert_eq!(applied.patched.rows, [0, 3, 10, 20]);
/// assert_eq!(follower.embed(Monitor::default())?.nodes, 21);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Follower {
    graph: Graph,
    ledger: EdgeCollection,
    is_directed: bool,
    options: Options,
    cluster: Cluster,
    /// The last embedding, and its rotation onto the one before.
    last: Option<(Embedding, Rotation)>,
    /// Whether embeddings are compared with those before.
    is_comparing: bool,
    /// The distance of every row of the last embedding from the one before, and the number of rows
    /// of that.
    distances: Vec<f32>,
    known: usize,
    /// Rows that changed since the last embedding.
    touched: BTreeSet<u32>,
    /// Edges that changed since the last embedding.
    changed: usize,
}

/// What a batch did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    /// Edges and nodes that are others now.
    pub changes: Changes,
    /// Rows of the matrix that are.
    pub patched: Patched,
    /// How each operation met its edge.
    pub effects: Vec<Effect>,
    /// Nodes of the graph before.
    pub nodes_before: usize,
    /// Rows that had not changed since the last embedding before.
    newly_touched: Vec<u32>,
}

impl Follower {
    /// Takes a graph; nothing is embedded yet.
    pub fn new(graph: Graph, is_directed: bool, options: Options, cluster: Cluster) -> Result<Self, ModelError> {
        let ledger = EdgeCollection::new(&graph.adjacency, is_directed, cluster.workers)?;
        Ok(Self {
            graph,
            ledger,
            is_directed,
            options,
            cluster,
            last: None,
            is_comparing: true,
            distances: Vec::new(),
            known: 0,
            touched: BTreeSet::new(),
            changed: 0,
        })
    }

    /// Does not compare embeddings with those before: [`Follower::moved`] is empty, and no time is
    /// spent on rotations.
    pub fn without_comparison(self) -> Self {
        Self { is_comparing: false, ..self }
    }

    /// Continues from an embedding of the current graph; without a rotation its vectors are the
    /// first to compare with.
    pub fn resume(mut self, embedding: Embedding, rotation: Option<Rotation>) -> Self {
        let rotation = rotation.unwrap_or_else(|| Rotation::identity(embedding.rank));
        self.last = Some((embedding, rotation));
        self.touched.clear();
        self.changed = 0;
        self
    }

    /// Puts the operations of a batch, in their order, into the graph, which has `nodes` nodes from
    /// now on. All of them or none.
    pub fn apply(&mut self, nodes: usize, operations: &[((u32, u32), Operation)]) -> Result<Applied, ModelError> {
        let named: Vec<((u32, u32), Operation)> =
            operations.iter().map(|(edge, operation)| (self.ledger.edge(*edge), *operation)).collect();
        self.graph.check(nodes, named.iter().map(|(edge, _)| *edge))?;
        let nodes_before = self.graph.nodes();
        let changes = self.ledger.apply(named.iter().map(|(edge, operation)| (*edge, operation.weight())))?;
        let patched = self.graph.patch(nodes, &changes, self.is_directed)?;
        let effects = judge(&named, &changes.edges);
        self.changed += changes.edges.len();
        let rows = changes.edges.iter().flat_map(|change| [change.from, change.to]);
        let newly_touched = rows.filter(|row| self.touched.insert(*row)).collect();
        Ok(Applied { changes, patched, effects, nodes_before, newly_touched })
    }

    /// Takes the batch that was applied last back: the graph is what it was before, bit for bit.
    pub fn undo(&mut self, applied: &Applied) -> Result<(), ModelError> {
        let edges = applied.changes.edges.iter();
        let changes = self.ledger.apply(edges.map(|change| ((change.from, change.to), change.before)))?;
        self.graph.patch(self.graph.nodes(), &changes, self.is_directed)?;
        self.graph.shrink(applied.nodes_before)?;
        self.changed -= applied.changes.edges.len();
        for row in &applied.newly_touched {
            self.touched.remove(row);
        }
        Ok(())
    }

    /// Why the graph cannot be embedded after a batch, if its degrees show that; `name` says what a
    /// node is called.
    pub fn check(&self, applied: &Applied, name: impl Fn(u32) -> String) -> Result<(), ModelError> {
        let degree = |row: u32| self.graph.degrees[row as usize];
        match applied.patched.rows.iter().find(|row| !degree(**row).is_finite()) {
            Some(&row) => {
                let sum = self.graph.adjacency.row_sums()[row as usize];
                Err(DegreeError { row: row as usize, name: Some(name(row)), sum }.into())
            }
            None => Ok(()),
        }
    }

    /// Whether the graph can be embedded as it is now: does what [`Self::embed`] does, and keeps
    /// nothing of it.
    pub fn try_embed(&self, watch: Monitor<Progress>) -> Result<(), ModelError> {
        self.find(watch).map(|_| ())
    }

    /// Embeds the current graph, starting from the vectors before if there are any and few edges
    /// changed. After an error the embedding before is still there.
    pub fn embed(&mut self, watch: Monitor<Progress>) -> Result<&Embedding, ModelError> {
        let (embedding, threads) = (self.find(watch)?, self.cluster.workers);
        let before = self.last.as_ref().filter(|_| self.is_comparing);
        let before = before.map(|(embedding, rotation)| Aligned { embedding, rotation });
        let (rotation, distances) = match before {
            None => (Rotation::identity(embedding.rank), Vec::new()),
            Some(before) => {
                let rotation = Rotation::onto(&embedding, before, threads);
                let distances = distances(Aligned { embedding: &embedding, rotation: &rotation }, before, threads);
                (rotation, distances)
            }
        };
        self.known = self.last.as_ref().map_or(0, |(before, _)| before.nodes);
        self.distances = distances;
        self.touched.clear();
        self.changed = 0;
        Ok(&self.last.insert((embedding, rotation)).0)
    }

    /// The triplets of the graph as it is now.
    fn find(&self, watch: Monitor<Progress>) -> Result<Embedding, ModelError> {
        let mut options = self.options.clone();
        let is_small = self.changed as f64 <= WARM_SHARE * self.ledger.size().edges as f64;
        if let Some(found) = self.embedding().filter(|found| found.rank > 0 && is_small) {
            if options.svd.keep != Keep::All {
                (options.svd.rank, options.svd.keep) = (found.rank, Keep::All);
            }
            // What is new is found by rounds only.
            let touched: Vec<u32> = self.touched.iter().copied().filter(|_| options.svd.iterations > 0).collect();
            options.svd.start = start::from(found, &self.graph, &options, &touched, self.cluster.workers);
        }
        let embedding = embed(&self.graph, &options, self.cluster, watch)?.gathered(self.cluster)?;
        match embedding.certificate.relative_residuals.iter().position(|residual| !residual.is_finite()) {
            Some(triplet) => {
                Err(ModelError::BrokenDown { triplet, residual: embedding.certificate.relative_residuals[triplet] })
            }
            None => Ok(embedding),
        }
    }

    /// The graph as it is now.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The last embedding, U√S and V√S, to which its certificate applies.
    pub fn embedding(&self) -> Option<&Embedding> {
        self.last.as_ref().map(|(embedding, _)| embedding)
    }

    /// The rotation that makes the last embedding comparable with those before.
    pub fn rotation(&self) -> Option<&Rotation> {
        self.last.as_ref().map(|(_, rotation)| rotation)
    }

    /// The last embedding, by value.
    pub fn into_embedding(self) -> Option<Embedding> {
        self.last.map(|(embedding, _)| embedding)
    }

    /// The left and the right vector of a row, rotated; empty if there is no such row.
    pub fn aligned_row(&self, row: u32) -> [Vec<f32>; 2] {
        let aligned = self.last.as_ref().map(|(embedding, rotation)| Aligned { embedding, rotation });
        aligned.map(|aligned| aligned.rows(row as usize..row as usize + 1)).unwrap_or_default()
    }

    /// The rows of the last embedding whose distance from the one before, after rotation, is larger
    /// than `more_than` times the mean length of a row, and these distances. New rows are always
    /// among them.
    pub fn moved(&self, more_than: f32) -> Vec<(u32, f32)> {
        let rows = self.distances.iter().enumerate();
        rows.filter(|(row, distance)| **distance > more_than || *row >= self.known)
            .map(|(row, distance)| (row as u32, *distance))
            .collect()
    }

    /// How much is kept of the edges.
    pub fn ledger(&self) -> EdgeCollectionSize {
        self.ledger.size()
    }
}

#[cfg(test)]
mod tests;
