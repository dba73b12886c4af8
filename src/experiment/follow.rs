//! Figures of the batches of a stream.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::metrics::{Decomposition, Scores};

/// One batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct BatchFigures {
    /// Its number, from 1; 0 is the graph that the stream begins with.
    pub batch: u64,
    /// Where it comes from.
    pub name: String,
    /// The latest time in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Updates that were applied.
    pub updates: usize,
    /// Edges that are there now and were not.
    pub edges_added: usize,
    /// Edges that are there no more.
    pub edges_removed: usize,
    /// Edges that have another weight.
    pub edges_reweighted: usize,
    /// Nodes that are new.
    pub new_nodes: usize,
    /// The ids of nodes that lost their last edge; they stay.
    pub isolated: Vec<String>,
    /// Rows of the matrix that changed.
    pub rows_touched: usize,
    /// Nodes of the graph now.
    pub nodes: usize,
    /// Edges of the graph now.
    pub edges: usize,
    /// Bytes of the differential state for each of them.
    pub ledger_bytes_per_edge: f64,
    /// How long it took to change the graph.
    pub patch_seconds: f64,
    /// The number of warnings by their kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// The embedding, if there is one after this batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedding: Option<EmbeddingFigures>,
}

/// An embedding of the graph after a batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmbeddingFigures {
    /// What was decomposed.
    #[serde(flatten)]
    pub decomposition: Decomposition,
    /// How long it took.
    pub seconds: f64,
    /// Rows that moved by more than ε, where changes are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_moved: Option<usize>,
    /// The figures for choosing settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<Scores>,
    /// The final figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<Scores>,
}

/// All batches together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FollowFigures {
    /// Batches that were applied.
    pub batches: u64,
    /// The batch that the saved embedding comes after; 0 is the graph that the stream begins with.
    pub embedded_batch: u64,
    /// The latest time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Updates that were applied.
    pub updates: usize,
    /// Edges that were added, removed, and given another weight, batch by batch.
    pub edges_added: usize,
    /// See `edges_added`.
    pub edges_removed: usize,
    /// See `edges_added`.
    pub edges_reweighted: usize,
    /// Nodes that came.
    pub new_nodes: usize,
    /// Nodes without edges now.
    pub isolated_nodes: usize,
    /// Bytes of the differential state for each edge.
    pub ledger_bytes_per_edge: f64,
    /// How often the graph was embedded in this run.
    pub embeddings: u64,
    /// Columns that were multiplied by in this run.
    pub operator_columns: usize,
    /// The number of warnings by their kind.
    pub counts: BTreeMap<String, u64>,
}

impl FollowFigures {
    /// Counts a batch.
    pub fn add(&mut self, batch: &BatchFigures) {
        self.batches = batch.batch;
        self.time = batch.time.clone().or(self.time.take());
        self.updates += batch.updates;
        self.edges_added += batch.edges_added;
        self.edges_removed += batch.edges_removed;
        self.edges_reweighted += batch.edges_reweighted;
        self.new_nodes += batch.new_nodes;
        self.ledger_bytes_per_edge = batch.ledger_bytes_per_edge;
        self.count(&batch.counts);
    }

    /// Adds counts of warnings.
    pub fn count(&mut self, counts: &BTreeMap<String, u64>) {
        counts.iter().for_each(|(what, count)| *self.counts.entry(what.clone()).or_default() += count);
    }
}
