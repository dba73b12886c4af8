//! The folders of the link-prediction benchmark of Abu-El-Haija et al., 2017 (“asymproj”).

use std::path::Path;

use super::input::Input;
use super::rows::{self, Pairs};
use super::{FormatError, npy};
use crate::dataset::{Dataset, EdgeList, Ids, LinkSplit};

/// Edges to learn from.
const TRAIN: &str = "train.txt.npy";
/// Edges to find.
const TEST: &str = "test.txt.npy";
/// Pairs that are no edges.
const TEST_NON_EDGES: &str = "test.neg.txt.npy";

/// Reads a folder with `train.txt.npy`, `test.txt.npy` and `test.neg.txt.npy`: an undirected graph
/// whose ids are rows. The training edges of these datasets touch every node.
pub fn read_asymproj(folder: &Path, name: &str) -> Result<Dataset, FormatError> {
    let read = |file: &str, expected: &str| -> Result<Pairs, FormatError> {
        let path = folder.join(file);
        if !path.exists() {
            return Err(FormatError::Missing { path, expected: expected.to_owned() });
        }
        let read = npy::read_pairs(Input::open(&path)?)?;
        read.reserved.keep();
        Ok(read.pairs)
    };
    let train = read(TRAIN, "the training edges")?;
    if train.len() == 0 {
        return Err(FormatError::Empty { path: folder.join(TRAIN), expected: "pairs of ids" });
    }
    let nodes = usize::try_from(train.largest()).ok().filter(|&largest| largest < u32::MAX as usize);
    let Some(nodes) = nodes.map(|largest| largest + 1) else {
        let found = format!("the id {}", train.largest());
        return Err(FormatError::content(&folder.join(TRAIN), found, "rows from 0", "renumber the nodes"));
    };
    let rows = |pairs, file: &str| rows::of_graph(pairs, nodes, &folder.join(file));
    let test = LinkSplit {
        edges: rows(read(TEST, "the test edges")?, TEST)?,
        non_edges: rows(read(TEST_NON_EDGES, "the test pairs that are no edges")?, TEST_NON_EDGES)?,
    };
    let edges = rows(train, TRAIN)?;
    Ok(Dataset {
        name: name.to_owned(),
        graph: EdgeList { nodes, edges, weights: None, directed: false }.into(),
        test: Some(test),
        ids: Ids::counted(0, nodes),
        ..Dataset::default()
    })
}
