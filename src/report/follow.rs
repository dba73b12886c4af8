//! What became of the batches of a stream, for people and for programs.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::metrics::{Decomposition, Scores};
use super::table::quoted;
use crate::dataset::Ids;
use crate::model::embedding::Embedding;

/// Nodes that a line names before it only counts them.
const NAMED: usize = 3;

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
    /// What is out of the ordinary, by what it is.
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
    /// The batch after which the embedding beside this was found; 0 is the graph that the stream begins with.
    pub embedded_batch: u64,
    /// Whether the vectors beside this are turned onto those before them: U√S·Q and V√S·Q with an orthogonal Q.
    #[serde(default)]
    pub aligned: bool,
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
    /// What was out of the ordinary, by what it is.
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

    /// Counts what is out of the ordinary.
    pub fn count(&mut self, counts: &BTreeMap<String, u64>) {
        counts.iter().for_each(|(what, count)| *self.counts.entry(what.clone()).or_default() += count);
    }
}

impl BatchFigures {
    fn changes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (added, removed, reweighted) = (self.edges_added, self.edges_removed, self.edges_reweighted);
        write!(f, "  edges +{added} -{removed} ={reweighted}  {} new nodes", self.new_nodes)?;
        if !self.isolated.is_empty() {
            let more = if self.isolated.len() > NAMED { ", …" } else { "" };
            let named = self.isolated[..self.isolated.len().min(NAMED)].join(", ");
            write!(f, "  {} isolated ({named}{more})", self.isolated.len())?;
        }
        write!(f, "  {} rows touched", self.rows_touched)
    }
}

impl Display for BatchFigures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "batch {}", self.batch)?;
        if let Some(time) = &self.time {
            write!(f, "  {time}")?;
        }
        match self.batch {
            0 => write!(f, "  {} nodes  {} edges", self.nodes, self.edges)?,
            _ => self.changes(f)?,
        }
        match &self.embedding {
            None => write!(f, "  patch {:.3} s", self.patch_seconds)?,
            Some(embedding) => {
                let found = &embedding.decomposition;
                write!(f, "  {} columns", found.operator_columns)?;
                if let Some(residual) = found.max_relative_residual {
                    write!(f, "  residual {residual:.1e}")?;
                }
                if let Some(tolerance) = found.missed_tolerance() {
                    write!(f, " (above the tolerance of {tolerance})")?;
                }
                if let Some(moved) = embedding.rows_moved {
                    write!(f, "  {moved} rows moved")?;
                }
                for scores in [("valid", &embedding.valid), ("test", &embedding.test)] {
                    let (split, Some(Scores(scores))) = scores else { continue };
                    scores.iter().try_for_each(|(name, value)| write!(f, "  {split} {name} {value:.4}"))?;
                }
                write!(f, "  patch {:.3} s  embed {:.3} s", self.patch_seconds, embedding.seconds)?;
            }
        }
        write!(f, "  {:.0} bytes an edge", self.ledger_bytes_per_edge)
    }
}

impl Display for FollowFigures {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (added, removed, reweighted) = (self.edges_added, self.edges_removed, self.edges_reweighted);
        writeln!(f, "{} batches, {} updates: edges +{added} -{removed} ={reweighted}", self.batches, self.updates)?;
        writeln!(f, "{} new nodes, {} nodes without edges", self.new_nodes, self.isolated_nodes)?;
        self.counts.iter().try_for_each(|(what, count)| writeln!(f, "{count} {what}"))
    }
}

/// Writes rows of an embedding with the ids of their nodes, and how far they moved.
pub fn write_changes(file: &mut dyn Write, rows: &[(u32, f32)], ids: &Ids, embedding: &Embedding) -> io::Result<()> {
    write!(file, "id,moved")?;
    for side in ["left", "right"] {
        (1..=embedding.rank).try_for_each(|column| write!(file, ",{side}_{column}"))?;
    }
    writeln!(file)?;
    for &(row, moved) in rows {
        let at = row as usize * embedding.rank..(row as usize + 1) * embedding.rank;
        write!(file, "{},{moved}", quoted(&ids.get(row as usize).unwrap_or_default(), ','))?;
        for side in [&embedding.left, &embedding.right] {
            side[at.clone()].iter().try_for_each(|entry| write!(file, ",{entry}"))?;
        }
        writeln!(file)?;
    }
    Ok(())
}
