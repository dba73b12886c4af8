//! Folders of the Open Graph Benchmark.

mod raw;
mod split;

use std::path::Path;

use super::{FormatError, Labels};
use crate::dataset::{Dataset, EdgeList, Edges, Ids, LinkSplit, NodeSplit};
use raw::Raw;
use split::{Links, Part};

/// How to read a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OgbOptions {
    /// Whether edges have a direction; by default those of a dataset with a split of nodes have.
    pub directed: Option<bool>,
    /// Which folder in `split` to use; by default the only one.
    pub split: Option<String>,
}

/// Reads a folder: `raw` as text or as `data.npz`, and `split/*` as text or as torch's files.
/// Training edges in the split are the edges of the graph; without them the raw ones are.
pub fn read_ogb(folder: &Path, name: &str, options: &OgbOptions) -> Result<Dataset, FormatError> {
    let mut raw = Raw::open(folder)?;
    let nodes = raw.nodes()?;
    let part = |stem: &str| split::read(folder, options.split.as_deref(), stem, nodes);
    let (train, valid, test) = (part("train")?, part("valid")?, part("test")?);
    let links = |part: Option<Part>| match part {
        Some(Part::Links(Links { edges, non_edges, .. })) => Some(LinkSplit { edges, non_edges }),
        _ => None,
    };
    let by_nodes = [&train, &valid, &test].into_iter().flatten().any(|part| matches!(part, Part::Nodes(_)));
    let directed = options.directed.unwrap_or(by_nodes);
    let mut dataset = Dataset { name: name.to_owned(), ids: Ids::counted(0, nodes), ..Dataset::default() };
    if by_nodes {
        let rows = |part| match part {
            Some(Part::Nodes(rows)) => rows,
            _ => vec![],
        };
        dataset.node_split = Some(NodeSplit { train: rows(train), valid: rows(valid), test: rows(test) });
        dataset.graph = graph(raw.edges()?, nodes, directed);
    } else {
        dataset.graph = graph(
            match train {
                Some(Part::Links(Links { edges, weights, .. })) => (edges, weights),
                _ => raw.edges()?,
            },
            nodes,
            directed,
        );
        (dataset.valid, dataset.test) = (links(valid), links(test));
    }
    if let Some((features, count)) = raw.features()? {
        (dataset.features, dataset.feature_count) = (Some(features), count);
    }
    if let Some(Labels { labels, classes }) = raw.labels()? {
        (dataset.labels, dataset.classes) = (Some(labels), classes);
    }
    dataset.years = raw.years()?;
    Ok(dataset)
}

fn graph((edges, weights): (Vec<(u32, u32)>, Option<Vec<f32>>), nodes: usize, directed: bool) -> Edges {
    let weights = weights.filter(|weights| weights.iter().any(|&weight| weight != 1.0));
    EdgeList { nodes, edges, weights, directed }.into()
}
