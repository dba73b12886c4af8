//! Features, labels and splits of a graph that a user gives in files.

use std::path::{Path, PathBuf};

use super::fractions::draw;
use crate::dataset::format::{
    EdgeOptions, Features, FormatError, IdKind, Labels, ReadEdges, read_edges, read_features, read_labels, read_nodes,
};
use crate::dataset::{Dataset, LoadError, NodeSplit};

/// Features, labels and splits of the nodes of a user's graph.
///
/// Row `i` of the features and of the labels is node `i` of the graph. So the ids in a file of
/// edges are taken for numbers of rows, from 0, and a row without edges is a node without edges.
/// Ids may also be said to be numbers ([`IdKind::Numbers`]) or names ([`IdKind::Names`]): then rows
/// follow the order of the numbers, or that in which names first appear, and every node has an
/// edge.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeFiles {
    /// The file with the features, as [`read_features`] takes it.
    pub features: Option<PathBuf>,
    /// The file with the labels, as [`read_labels`] takes it.
    pub labels: Option<PathBuf>,
    /// Which nodes to learn from, and which to be judged by.
    pub split: NodeSplitFrom,
}

impl NodeFiles {
    /// All of them.
    pub(in crate::dataset) fn paths(&self) -> impl Iterator<Item = &Path> {
        let split = match &self.split {
            NodeSplitFrom::Files { train, valid, test } => [Some(train), valid.as_ref(), test.as_ref()],
            _ => [None; 3],
        };
        [self.features.as_ref(), self.labels.as_ref()].into_iter().chain(split).flatten().map(PathBuf::as_path)
    }
}

/// Where a split of nodes comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeSplitFrom {
    /// Files that name the nodes, as [`read_nodes`] takes them.
    Files {
        /// Nodes to learn from.
        train: PathBuf,
        /// Nodes for choosing settings.
        valid: Option<PathBuf>,
        /// Nodes for the final figure.
        test: Option<PathBuf>,
    },
    /// Random parts of the nodes that have a label. The first node drawn of each class is one to
    /// learn from.
    Fractions {
        /// The fraction to learn from; more, if it has fewer nodes than there are classes.
        train: f64,
        /// The fraction for choosing settings.
        valid: f64,
        /// The fraction for the final figure.
        test: f64,
    },
}

/// Reads a graph and what its nodes carry. No edges are held out.
pub(in crate::dataset) fn load(
    path: &Path,
    options: &EdgeOptions,
    files: &NodeFiles,
    seed: u64,
) -> Result<Dataset, LoadError> {
    let features = files.features.as_deref().map(read_features).transpose()?;
    let labels = files.labels.as_deref().map(read_labels).transpose()?;
    let rows = features.iter().map(Features::rows).zip(&files.features);
    let rows: Vec<(usize, &PathBuf)> =
        rows.chain(labels.iter().map(|read| read.labels.len()).zip(&files.labels)).collect();
    if let [(first, first_path), (second, second_path)] = rows[..]
        && first != second
    {
        let expected = format!("{first}, as many as {}", first_path.display());
        let found = format!("{second} rows");
        return Err(FormatError::content(second_path, found, expected, "write one row a node in both files").into());
    }
    let counted = rows.first().copied();
    let ReadEdges { edges: graph, ids, remarks, .. } = read_graph(path, options, counted)?;
    let mut dataset = Dataset { graph: graph.into(), ids, remarks, ..Dataset::default() };
    dataset.node_split = split(&files.split, &dataset, labels.as_ref(), seed)?;
    match features {
        Some(Features::Dense { columns, values, .. }) => {
            (dataset.features, dataset.feature_count) = (Some(values), columns);
        }
        Some(Features::Sparse(sparse)) => {
            (dataset.feature_count, dataset.sparse_features) = (sparse.feature_count, Some(sparse));
        }
        None => {}
    }
    if let Some(Labels { labels, classes }) = labels {
        (dataset.labels, dataset.classes) = (Some(labels), classes);
    }
    Ok(dataset)
}

/// Reads the edges; there are as many nodes as `counted` rows of some file.
fn read_graph(
    path: &Path,
    options: &EdgeOptions,
    counted: Option<(usize, &PathBuf)>,
) -> Result<ReadEdges, FormatError> {
    let ids = if options.ids == IdKind::Auto { IdKind::Rows } else { options.ids };
    let nodes = counted.map(|(rows, _)| rows).or(options.nodes);
    let read = read_edges(path, &EdgeOptions { ids, nodes, ..*options })?;
    match counted {
        Some((rows, counted)) if rows != read.edges.nodes => {
            let expected = format!("{}, one for each node in {}", read.edges.nodes, path.display());
            let remedy = match ids {
                IdKind::Rows => "write one row a node, in the order of the matrix",
                _ => "write one row a node, or let edges name rows (ids = \"rows\") if some nodes have no edges",
            };
            Err(FormatError::content(counted, format!("{rows} rows"), expected, remedy))
        }
        _ => Ok(read),
    }
}

fn split(
    from: &NodeSplitFrom,
    dataset: &Dataset,
    labels: Option<&Labels>,
    seed: u64,
) -> Result<Option<NodeSplit>, LoadError> {
    match from {
        NodeSplitFrom::Files { train, valid, test } => {
            let rows = |path: &Path| read_nodes(path, &dataset.ids);
            let some = |path: &Option<PathBuf>| path.as_deref().map_or(Ok(vec![]), rows);
            Ok(Some(NodeSplit { train: rows(train)?, valid: some(valid)?, test: some(test)? }))
        }
        &NodeSplitFrom::Fractions { train, valid, test } => {
            let drawn = labels.map(|read| draw(&read.labels, read.classes.len(), [train, valid, test], seed));
            Ok(drawn.transpose()?)
        }
    }
}
