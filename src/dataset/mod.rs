//! Where data comes from.
//!
//! A [`Dataset`] is what every source yields: the edges of a graph, the pairs to score, and
//! whatever the nodes carry.

mod budget;
pub mod catalog;
mod checksum;
pub mod demo;
mod edges;
#[cfg(feature = "download")]
pub mod fetch;
pub mod format;
mod holdout;
mod ids;
mod nodes;
pub mod progress;
mod remedy;
pub mod rmat;
mod source;
pub mod store;
pub mod stream;

pub(crate) use budget::Reservation;
pub use budget::{Budget, OverBudget};
pub use edges::{Edges, StoredEdges};
pub(crate) use holdout::hold_out_against;
pub use holdout::{HeldOut, Holdout, HoldoutError, hold_out};
pub use ids::{Ids, RepeatedId};
pub use nodes::{FractionsError, NodeDataError, NodeFiles, NodeSplitFrom, SplitPart, check_nodes};
pub use rmat::Rmat;
pub use source::{EdgeFile, LoadError, Source, UnknownDataset};

pub use crate::graph::EdgeList;

/// Pairs of nodes to score: edges held out of the graph, and as many pairs that are no edges.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkSplit {
    /// Edges that the graph lacks and the scores should find.
    pub edges: Vec<(u32, u32)>,
    /// Pairs joined neither in the graph nor in any split.
    pub non_edges: Vec<(u32, u32)>,
}

/// The label of a node that has none.
pub const UNLABELLED: u32 = u32::MAX;

/// Rows of nodes to learn from, for choosing settings, and for the final figure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeSplit {
    /// Nodes whose labels are known.
    pub train: Vec<u32>,
    /// Nodes for choosing settings.
    pub valid: Vec<u32>,
    /// Nodes for the final figure.
    pub test: Vec<u32>,
}

/// Features that are mostly zero, as compressed rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SparseFeatures {
    /// The number of rows: one for each node.
    pub rows: usize,
    /// The number of features of a node.
    pub feature_count: usize,
    /// Where the entries of each row start, followed by the number of entries.
    pub starts: Vec<usize>,
    /// The feature of each entry.
    pub columns: Vec<u32>,
    /// The value of each entry; entries at the same place add up.
    pub values: Vec<f32>,
}

/// A graph, and what belongs to it: splits, features, labels and ids.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dataset {
    /// Its name in a config.
    pub name: String,
    /// The edges to learn from.
    pub graph: Edges,
    /// Pairs for choosing settings.
    pub valid: Option<LinkSplit>,
    /// Pairs for the final figure.
    pub test: Option<LinkSplit>,
    /// Dense features, row-major, `nodes × feature_count`.
    pub features: Option<Vec<f32>>,
    /// Features that are mostly zero; a source has these or dense ones.
    pub sparse_features: Option<SparseFeatures>,
    /// The number of features of a node; 0 without features.
    pub feature_count: usize,
    /// The class of each node, or [`UNLABELLED`].
    pub labels: Option<Vec<u32>>,
    /// The name of each class, by its number; empty without labels.
    pub classes: Vec<String>,
    /// Nodes to classify.
    pub node_split: Option<NodeSplit>,
    /// The year of each node.
    pub years: Option<Vec<i32>>,
    /// The user's own node ids.
    pub ids: Ids,
    /// What the reader inferred from the content of the edge file. A store does not keep it.
    pub remarks: Vec<format::Remark>,
}

impl Dataset {
    /// Distinct edges that are held out, for choosing settings and for the final figure together.
    pub fn held_out_edges(&self) -> usize {
        self.held_out_pairs().len()
    }

    /// The held-out edges in ascending order; an undirected edge starts with its smaller node.
    pub(crate) fn held_out_pairs(&self) -> Vec<(u32, u32)> {
        let is_directed = self.graph.is_directed();
        let key = |&(from, to): &(u32, u32)| match is_directed {
            true => (from, to),
            false => (from.min(to), from.max(to)),
        };
        let splits = [&self.valid, &self.test].into_iter().flatten();
        let mut pairs: Vec<(u32, u32)> = splits.flat_map(|split| split.edges.iter().map(key)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Approximate size in memory, in bytes.
    pub fn bytes(&self) -> u64 {
        let pairs = |split: &Option<LinkSplit>| split.as_ref().map_or(0, |s| 8 * (s.edges.len() + s.non_edges.len()));
        let numbers = |numbers: &Option<Vec<f32>>| numbers.as_ref().map_or(0, |numbers| 4 * numbers.len());
        let sparse = self.sparse_features.as_ref().map_or(0, |sparse| 8 * (sparse.columns.len() + sparse.starts.len()));
        let labels = self.labels.as_ref().map_or(0, |labels| 4 * labels.len());
        let edges = self.graph.bytes();
        (edges + pairs(&self.valid) + pairs(&self.test) + numbers(&self.features) + sparse + labels) as u64
            + self.ids.bytes()
    }
}
