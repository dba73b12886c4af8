//! A graph that changes, and its embedding, kept up to date.
//!
//! A [`Follower`] puts batches of operations into a graph, whose shards are patched and not rebuilt, and embeds it again from
//! the vectors found before. The next embedding is turned onto the one before it ([`align`]): scores do not depend on
//! that, and whoever uses the vectors sees them move where the graph has changed.

mod align;
mod start;

use std::collections::BTreeSet;

pub use align::{align, distances};

use super::embedding::{Embedding, ModelError, Options, embed};
use super::transition::DegreeError;
use crate::engine::{Cluster, EdgeCollection, EdgeCollectionSize, Monitor};
use crate::graph::Graph;
use crate::graph::evolve::{Changes, Effect, Operation, Patched, judge};
use crate::svd::{Keep, Progress};

/// The largest share of changed edges for which a start from the vectors found before is taken. On
/// ogbn-arxiv it takes 0.2 to 0.5 of the time of a random start at 9 %, and 0.7 to 2.8 at 25 % and more
/// to residuals of 0.05 (`benches/follow.rs`).
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
    /// The last, turned onto the one before if that is wanted: what a user sees, and what the next one starts from.
    shown: Option<Embedding>,
    is_turned: bool,
    /// How far the last embedding moved every row, and how many of them were there before.
    distances: Vec<f32>,
    known: usize,
    /// Rows that have changed since the last embedding.
    touched: BTreeSet<u32>,
    /// Edges that have.
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
        let (shown, is_turned, distances, known, touched) = (None, true, Vec::new(), 0, BTreeSet::new());
        let changed = 0;
        Ok(Self { graph, ledger, is_directed, options, cluster, shown, is_turned, distances, known, touched, changed })
    }

    /// Leaves embeddings as they are found, for whoever uses no vectors of two of them together; nothing is told of how far they move.
    pub fn unturned(self) -> Self {
        Self { is_turned: false, ..self }
    }

    /// Goes on from an embedding of the graph as it is.
    pub fn resume(mut self, embedding: Embedding) -> Self {
        self.shown = Some(embedding);
        self.touched.clear();
        self.changed = 0;
        self
    }

    /// Puts the operations of a batch, in their order, into the graph, which has `nodes` nodes from now on. All of them or
    /// none.
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

    /// Why the graph cannot be embedded after a batch, if its degrees show that; `name` says what a node is called.
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

    /// Embeds the graph as it is now: from the vectors found before, where there are some, and turned onto them if that is wanted. After an
    /// error the embedding before is still there.
    pub fn embed(&mut self, watch: Monitor<Progress>) -> Result<&Embedding, ModelError> {
        let embedding = self.find(watch)?;
        let (shown, moved) = match self.shown.as_ref().filter(|_| self.is_turned) {
            None => (embedding, Vec::new()),
            Some(before) => {
                let shown = align(embedding, before, self.cluster.workers);
                let moved = distances(&shown, before, self.cluster.workers);
                (shown, moved)
            }
        };
        self.known = self.shown.as_ref().map_or(0, |before| before.nodes);
        self.distances = moved;
        self.touched.clear();
        self.changed = 0;
        Ok(self.shown.insert(shown))
    }

    /// The triplets of the graph as it is now.
    fn find(&self, watch: Monitor<Progress>) -> Result<Embedding, ModelError> {
        let mut options = self.options.clone();
        let is_small = self.changed as f64 <= WARM_SHARE * self.ledger.size().edges as f64;
        if let Some(found) = self.shown.as_ref().filter(|found| found.rank > 0 && is_small) {
            if options.svd.keep != Keep::All {
                (options.svd.rank, options.svd.keep) = (found.rank, Keep::All);
            }
            // What is new is found by rounds only.
            let touched: Vec<u32> = self.touched.iter().copied().filter(|_| options.svd.iterations > 0).collect();
            options.svd.start = start::from(found, &self.graph, &options, &touched, self.cluster.workers);
        }
        let embedding = embed(&self.graph, &options, self.cluster, watch)?;
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

    /// The last embedding.
    pub fn embedding(&self) -> Option<&Embedding> {
        self.shown.as_ref()
    }

    /// The same, to keep.
    pub fn into_embedding(self) -> Option<Embedding> {
        self.shown
    }

    /// The rows that the last embedding moved by more than this, and how far: as a part of the mean length of a row. Rows that
    /// were not there before have come all the way, and are always among them.
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
