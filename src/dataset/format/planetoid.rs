//! Planetoid's citation networks: Cora, Citeseer, Pubmed.

use std::path::{Path, PathBuf};

use super::array::Array;
use super::pickle::{Pickle, Value, read_pickle};
use super::text;
use super::{FormatError, sparse};
use crate::dataset::budget::{Budget, BudgetedVec};
use crate::dataset::{Dataset, EdgeList, Ids, NodeSplit, SparseFeatures, UNLABELLED};

/// Nodes after those to learn from that are for choosing settings, as everybody who uses these
/// files has it.
const VALID_NODES: usize = 500;
const REMEDY: &str = "fetch the dataset again";

/// Reads `ind.NAME.{y, tx, ty, allx, ally, graph, test.index}` of a folder. The rows of test nodes
/// follow all others in the order of their ids; ids that `test.index` leaves out (Citeseer has
/// some) are nodes without features, label and split.
pub fn read_planetoid(folder: &Path, name: &str) -> Result<Dataset, FormatError> {
    let files = Files { folder, name };
    let known = files.features("allx")?;
    let tested = files.features("tx")?;
    let order = files.test_index(known.rows, tested.rows)?;
    let nodes = order.iter().map(|&row| row as usize + 1).max().unwrap_or(known.rows);
    if tested.feature_count != known.feature_count {
        let found = format!("{} features", tested.feature_count);
        let expected = format!("{} as in {}", known.feature_count, files.path("allx").display());
        return Err(FormatError::content(&files.path("tx"), found, expected, REMEDY));
    }
    let (mut labels, classes) = files.labels("ally", known.rows)?;
    labels.resize(nodes, UNLABELLED);
    let (test_labels, test_classes) = files.labels("ty", tested.rows)?;
    if test_classes != classes {
        let expected = format!("{classes} as in {}", files.path("ally").display());
        return Err(FormatError::content(&files.path("ty"), format!("{test_classes} classes"), expected, REMEDY));
    }
    for (&row, label) in order.iter().zip(test_labels) {
        labels[row as usize] = label;
    }
    let train = files.classes("y")?.shape.first().copied().unwrap_or(0);
    if train > known.rows {
        let expected = format!("at most {}, as many as allx has", known.rows);
        return Err(FormatError::content(&files.path("y"), format!("{train} rows"), expected, REMEDY));
    }
    let valid = known.rows.min(train + VALID_NODES);
    let mut test = order.clone();
    test.sort_unstable();
    let split = NodeSplit { train: (0..train as u32).collect(), valid: (train as u32..valid as u32).collect(), test };
    Ok(Dataset {
        name: name.to_owned(),
        graph: EdgeList { nodes, edges: files.edges(nodes)?, weights: None, directed: false }.into(),
        feature_count: known.feature_count,
        sparse_features: Some(stack(known, tested, &order, nodes)),
        labels: Some(labels),
        classes: (0..classes).map(|class| class.to_string()).collect(),
        node_split: Some(split),
        ids: Ids::counted(0, nodes),
        ..Dataset::default()
    })
}

struct Files<'a> {
    folder: &'a Path,
    name: &'a str,
}

impl Files<'_> {
    fn path(&self, part: &str) -> PathBuf {
        self.folder.join(format!("ind.{}.{part}", self.name))
    }

    fn pickle(&self, part: &str) -> Result<Pickle, FormatError> {
        let path = self.path(part);
        if !path.exists() {
            return Err(FormatError::Missing {
                path,
                expected: format!("the part `{part}` of Planetoid's `{}`", self.name),
            });
        }
        read_pickle(&path)
    }

    fn wrong(&self, part: &str, value: Value<'_>, expected: &'static str) -> FormatError {
        FormatError::content(&self.path(part), value.kind(), expected, REMEDY)
    }

    fn features(&self, part: &str) -> Result<SparseFeatures, FormatError> {
        let pickle = self.pickle(part)?;
        let matrix = pickle.value().as_sparse();
        let matrix = matrix.ok_or_else(|| self.wrong(part, pickle.value(), "a scipy matrix"))?;
        matrix.and_then(sparse::Entries::features)
    }

    /// One row a node, one column a class.
    fn classes(&self, part: &str) -> Result<Array<'static>, FormatError> {
        let pickle = self.pickle(part)?;
        let array = pickle.value().as_array().filter(|array| array.shape.len() == 2 && !array.fortran);
        let array = array.ok_or_else(|| self.wrong(part, pickle.value(), "an array with one row a node"))?;
        let reserved = Budget::current().reserve_for::<u8>(array.bytes.len());
        let reserved = reserved.map_err(|over| over.reading(&self.path(part)))?;
        Ok(Array { bytes: array.bytes.into_owned().into(), _reserved: reserved, ..array })
    }

    /// The class of each row, and how many there are.
    fn labels(&self, part: &str, rows: usize) -> Result<(Vec<u32>, usize), FormatError> {
        let array = self.classes(part)?;
        let classes = array.shape[1];
        if array.shape[0] != rows || classes == 0 {
            let expected = format!("{rows} rows, one a node, and a column for each class");
            return Err(FormatError::content(array.path(), format!("a shape of {:?}", array.shape), expected, REMEDY));
        }
        let values = array.floats()?;
        let label = |row: &[f32]| row.iter().position(|&value| value > 0.0).map_or(UNLABELLED, |class| class as u32);
        Ok((values.chunks_exact(classes).map(label).collect(), classes))
    }

    /// The rows of the test nodes, in the order of `tx`.
    fn test_index(&self, known: usize, tested: usize) -> Result<Vec<u32>, FormatError> {
        let path = self.path("test.index");
        if !path.exists() {
            return Err(FormatError::Missing { path, expected: "the ids of the test nodes".into() });
        }
        let table = text::read_integers(&path)?;
        let ids: Vec<i64> = table.values.into_iter().flatten().collect();
        if ids.len() != tested {
            let found = format!("{} ids", ids.len());
            return Err(FormatError::content(&path, found, format!("{tested}, as many as tx has rows"), REMEDY));
        }
        // Gaps are few; an id far away would make rows that no file holds.
        let last = known + 2 * tested + 1000;
        let outside = ids.iter().position(|&id| usize::try_from(id).is_ok_and(|id| id < known || id >= last) || id < 0);
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        let repeated = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        match (outside, repeated) {
            (Some(line), _) => {
                let expected = format!("an id from {known}, the rows of allx, and below {last}");
                Err(FormatError::line(&path, line as u64 + 1, format!("the id {}", ids[line]), expected, REMEDY))
            }
            (None, Some(id)) => Err(FormatError::content(&path, format!("the id {id} twice"), "every id once", REMEDY)),
            (None, None) => Ok(ids.into_iter().map(|id| id as u32).collect()),
        }
    }

    /// Every edge once; the file lists neighbours of both ends.
    fn edges(&self, nodes: usize) -> Result<Vec<(u32, u32)>, FormatError> {
        let pickle = self.pickle("graph")?;
        let value = pickle.value();
        let entries = value.entries().ok_or_else(|| self.wrong("graph", value, "a dict of lists of neighbours"))?;
        let row = |value: Value<'_>| {
            let row = value.as_int().and_then(|id| u32::try_from(id).ok()).filter(|&id| (id as usize) < nodes);
            row.ok_or_else(|| {
                let found = value.as_int().map_or(value.kind().to_owned(), |id| format!("the id {id}"));
                FormatError::content(&self.path("graph"), found, format!("an id from 0 and below {nodes}"), REMEDY)
            })
        };
        let mut edges = BudgetedVec::default();
        for (node, neighbours) in entries {
            let node = row(node)?;
            let neighbours = neighbours.items().ok_or_else(|| self.wrong("graph", neighbours, "a list"))?;
            let edges = edges.reserve(neighbours.len()).map_err(|over| over.reading(&self.path("graph")))?;
            for neighbour in neighbours {
                let neighbour = row(neighbour)?;
                edges.push((node.min(neighbour), node.max(neighbour)));
            }
        }
        let mut edges = edges.into_kept();
        edges.sort_unstable();
        edges.dedup();
        Ok(edges)
    }
}

/// Appends the rows of `tested` to `known`, in the positions that `order` states.
fn stack(mut known: SparseFeatures, tested: SparseFeatures, order: &[u32], nodes: usize) -> SparseFeatures {
    let mut source = vec![None; nodes - known.rows];
    order.iter().enumerate().for_each(|(n, &row)| source[row as usize - known.rows] = Some(n));
    for n in source {
        if let Some(n) = n {
            let range = tested.starts[n]..tested.starts[n + 1];
            known.columns.extend_from_slice(&tested.columns[range.clone()]);
            known.values.extend_from_slice(&tested.values[range]);
        }
        known.starts.push(known.columns.len());
    }
    SparseFeatures { rows: nodes, ..known }
}
