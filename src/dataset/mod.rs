//! Where data comes from.
//!
//! A [`Dataset`] is what every source yields: a graph as an edge list, the pairs to score, and whatever the nodes carry.

pub mod catalog;
pub mod demo;
pub mod fetch;
mod source;

pub use source::{Source, UnknownDataset};

/// Edges as they were read: node numbers are rows, `0..nodes`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EdgeList {
    /// How many nodes there are, joined or not.
    pub nodes: usize,
    /// Each edge by the numbers of its two nodes.
    pub edges: Vec<(u32, u32)>,
    /// One weight an edge; `None` when every edge weighs one.
    pub weights: Option<Vec<f32>>,
    /// An undirected edge is listed once, in either direction.
    pub directed: bool,
}

/// Pairs of nodes to score: edges held out of the graph, and as many pairs that are no edges.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkSplit {
    /// Edges that the graph lacks and the scores should find.
    pub edges: Vec<(u32, u32)>,
    /// Pairs joined neither in the graph nor in any split.
    pub non_edges: Vec<(u32, u32)>,
}

/// Everything that one source knows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dataset {
    /// What a config calls it.
    pub name: String,
    /// The edges to learn from.
    pub graph: EdgeList,
    /// Pairs for choosing settings.
    pub valid: Option<LinkSplit>,
    /// Pairs for the final figure.
    pub test: Option<LinkSplit>,
    /// Dense features, row-major, `nodes × feature_count`.
    pub features: Option<Vec<f32>>,
    /// How many features each node carries; 0 without features.
    pub feature_count: usize,
    /// One class a node.
    pub labels: Option<Vec<u32>>,
    /// The user's own node names, one a row.
    pub ids: Vec<String>,
}
