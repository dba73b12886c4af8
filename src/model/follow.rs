//! Embeddings of a graph that changes.

use crate::engine::{Cluster, EngineError, Ledger, LedgerSize, Watch};
use crate::graph::Graph;
use crate::graph::evolve::{Changes, Effect, Operation, Patched, judge};
use crate::model::embedding::{self, Embedding, ModelError, embed};
use crate::svd::{Progress, SvdError};

/// A graph that changes, and its embedding, kept up to date.
pub struct Follower {
    graph: Graph,
    is_directed: bool,
    options: embedding::Options,
    cluster: Cluster,
    ledger: Ledger,
    before: Option<Embedding>,
    embedding: Option<Embedding>,
}

/// What a batch did.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// Edges and nodes that are others.
    pub changes: Changes,
    /// What that did to the matrix.
    pub patched: Patched,
    /// How every operation met its edge.
    pub effects: Vec<Effect>,
}

fn of_engine(error: EngineError) -> ModelError {
    ModelError::Svd(SvdError::Engine(error))
}

impl Follower {
    /// Takes a graph; nothing is embedded yet.
    pub fn new(
        graph: Graph,
        is_directed: bool,
        options: embedding::Options,
        cluster: Cluster,
    ) -> Result<Self, ModelError> {
        let ledger = Ledger::new(&graph.adjacency, is_directed, cluster.workers).map_err(of_engine)?;
        Ok(Self { graph, is_directed, options, cluster, ledger, before: None, embedding: None })
    }

    /// Goes on from an embedding of the graph as it is (of an earlier run).
    pub fn resume(self, embedding: Embedding) -> Self {
        Self { embedding: Some(embedding), ..self }
    }

    /// Puts the operations of a batch, in their order, into the graph, which has `nodes` nodes from now on. All or nothing.
    pub fn apply(&mut self, nodes: usize, operations: &[((u32, u32), Operation)]) -> Result<Applied, ModelError> {
        let named: Vec<_> = operations.iter().map(|&(edge, operation)| (self.ledger.edge(edge), operation)).collect();
        let edges = named.iter().map(|&(edge, operation)| (edge, operation.weight()));
        let changes = self.ledger.apply(edges).map_err(of_engine)?;
        let effects = judge(&named, &changes.edges);
        let patched = self
            .graph
            .patch(nodes, &changes, self.is_directed)
            .map_err(|error| of_engine(EngineError::Stopped { worker: 0, message: error.to_string() }))?;
        Ok(Applied { changes, patched, effects })
    }

    /// Embeds the graph as it is now, from the vectors found before where there are some, aligned to them.
    pub fn embed(&mut self, watch: Watch<Progress>) -> Result<&Embedding, ModelError> {
        let embedding = embed(&self.graph, &self.options, self.cluster, watch)?;
        self.before = self.embedding.take();
        Ok(self.embedding.insert(embedding))
    }

    /// The graph as it is now.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The last embedding.
    pub fn embedding(&self) -> Option<&Embedding> {
        self.embedding.as_ref()
    }

    /// The rows that the last embedding moved by more than this, relative to the mean length of a row.
    pub fn moved(&self, more_than: f32) -> Vec<(u32, f32)> {
        let (Some(after), Some(before)) = (&self.embedding, &self.before) else { return Vec::new() };
        let mean = (0..after.nodes).map(|row| length(after, row)).sum::<f32>() / after.nodes.max(1) as f32;
        let distance = |row: usize| match row < before.nodes && before.rank == after.rank {
            false => length(after, row) / mean,
            true => {
                let at = row * after.rank..(row + 1) * after.rank;
                let apart = |one: &[f32], other: &[f32]| {
                    one[at.clone()]
                        .iter()
                        .zip(&other[at.clone()])
                        .map(|(one, other)| (one - other).powi(2))
                        .sum::<f32>()
                };
                (apart(&after.left, &before.left) + apart(&after.right, &before.right)).sqrt() / mean
            }
        };
        let moved = |row: usize| (row as u32, distance(row));
        (0..after.nodes).map(moved).filter(|(row, by)| *by > more_than || *row as usize >= before.nodes).collect()
    }

    /// How much is kept of the edges.
    pub fn ledger(&self) -> LedgerSize {
        self.ledger.size()
    }
}

fn length(embedding: &Embedding, row: usize) -> f32 {
    let at = row * embedding.rank..(row + 1) * embedding.rank;
    let squares = |side: &[f32]| side[at.clone()].iter().map(|entry| entry * entry).sum::<f32>();
    (squares(&embedding.left) + squares(&embedding.right)).sqrt()
}
