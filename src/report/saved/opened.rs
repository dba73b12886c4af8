//! A folder of results, opened to be used.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::{MODEL, PROBABILITIES, SavedError, of_one_run, read_array, read_ids, read_json};
use crate::dataset::Ids;
use crate::experiment::Recipe;
use crate::matrix::Dense;
use crate::model::neighbours::{By, Neighbours};
use crate::model::vectors::{Side, Vectors};
use crate::report::output::{IDS, LEFT, METRICS, RIGHT};

/// The results of a run: vectors of an embedding, class probabilities, or both.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The folder.
    pub path: PathBuf,
    /// What it says of itself.
    pub summary: Summary,
    /// The user's own id of each row; the numbers of rows where they are no nodes.
    pub ids: Ids,
    /// Two vectors for every row.
    pub vectors: Option<Arc<Vectors>>,
    /// What a classifier says of every row.
    pub classes: Option<Arc<Classes>>,
    /// Whether rows are nodes of the graph.
    is_of_nodes: bool,
}

/// The part of `metrics.json` that is needed to use the results.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Summary {
    /// The name of the config.
    pub config: String,
    /// The name of the dataset.
    pub dataset: String,
    /// How many nodes the graph has.
    pub nodes: usize,
    /// How many edges it has.
    pub edges: usize,
    /// Whether they have a direction, if the version that wrote it said so.
    pub directed: Option<bool>,
    /// The seed of the run.
    pub seed: u64,
}

/// What a classifier says of every node.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes {
    /// The name of each class.
    pub names: Vec<String>,
    /// The probability of each class, one row a node.
    pub probabilities: Dense,
}

/// A node that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no node `{id}`{}", match (nearest, first) {
    (Some(nearest), _) => format!(": did you mean `{nearest}`?"),
    (None, Some(first)) => format!(": the first one is `{first}`"),
    (None, None) => ": there are no nodes".to_owned(),
})]
pub struct UnknownNode {
    /// What was asked for.
    pub id: String,
    /// The id that was probably meant.
    pub nearest: Option<String>,
    /// The first id, to show how ids look.
    pub first: Option<String>,
}

impl UnknownNode {
    /// An id that is not among these.
    pub fn new(ids: &Ids, id: &str) -> Self {
        let (nearest, first) = (ids.nearest(id), ids.get(0));
        Self { id: id.to_owned(), nearest: nearest.map(Cow::into_owned), first: first.map(Cow::into_owned) }
    }
}

impl Opened {
    /// Opens the folder of a run that came to its end.
    pub fn open(folder: &Path) -> Result<Self, SavedError> {
        of_one_run(folder, || Self::open_once(folder))
    }

    fn open_once(folder: &Path) -> Result<Self, SavedError> {
        let metrics = folder.join(METRICS);
        if !metrics.is_file() {
            return Err(SavedError::NoResults { path: folder.to_owned() });
        }
        let summary: Summary = read_json(&metrics)?;
        let vectors = match folder.join(LEFT).is_file() {
            false => None,
            true => {
                let left = read_array(&folder.join(LEFT), None, None)?;
                let right = read_array(&folder.join(RIGHT), None, Some(left.columns()))?;
                Some(Arc::new(Vectors { left, right }))
            }
        };
        let classes = match folder.join(MODEL).is_file() {
            false => None,
            true => {
                let names = Recipe::load(folder)?.classes;
                let probabilities = read_array(&folder.join(PROBABILITIES), Some(summary.nodes), Some(names.len()))?;
                Some(Arc::new(Classes { names, probabilities }))
            }
        };
        let rows = match (&vectors, &classes) {
            (Some(vectors), _) => vectors.left.rows(),
            (None, Some(classes)) => classes.probabilities.rows(),
            (None, None) => return Err(SavedError::NoResults { path: folder.to_owned() }),
        };
        let path = folder.join(IDS);
        let is_of_nodes = path.is_file();
        let ids = match is_of_nodes {
            false => Ids::counted(0, rows),
            true => Ids::parse(&read_ids(&path, rows)?).map_err(SavedError::damaged(&path))?,
        };
        if ids.len() != rows {
            let what = format!("holds {} ids, and one for each of {rows} rows was expected", ids.len());
            return Err(SavedError::contradiction(&path, what));
        }
        Ok(Self { path: folder.to_owned(), summary, ids, vectors, classes, is_of_nodes })
    }

    /// The vectors, where there are any.
    pub fn vectors(&self) -> Result<&Arc<Vectors>, SavedError> {
        self.vectors.as_ref().ok_or_else(|| SavedError::NoVectors { path: self.path.clone() })
    }

    /// Whether links that the vectors score have a direction; refused where they score none.
    pub fn links_are_directed(&self) -> Result<bool, SavedError> {
        let vectors = self.vectors()?;
        let (rows, columns) = (vectors.left.rows(), vectors.right.rows());
        if !self.is_of_nodes || rows != columns {
            return Err(SavedError::NoLinks { path: self.path.clone(), rows, columns });
        }
        self.summary.directed.ok_or_else(|| SavedError::NoDirection { path: self.path.join(METRICS) })
    }

    /// Rows made ready to be asked for their neighbours by the angle between their vectors.
    pub fn by_cosine(&self, side: Side) -> Result<Neighbours, SavedError> {
        self.neighbours(By::Cosine(side))
    }

    /// Rows made ready to be asked for those that they are most likely linked with.
    pub fn by_score(&self) -> Result<Neighbours, SavedError> {
        self.neighbours(By::Score { is_directed: self.links_are_directed()? })
    }

    fn neighbours(&self, by: By) -> Result<Neighbours, SavedError> {
        let unlike = |source| SavedError::Sides { path: self.path.clone(), source };
        Neighbours::new(self.vectors()?.clone(), by).map_err(unlike)
    }

    /// The row of a node.
    pub fn row(&self, id: &str) -> Result<u32, UnknownNode> {
        self.ids.row(id).map(|row| row as u32).ok_or_else(|| UnknownNode::new(&self.ids, id))
    }

    /// The id of a row that there is.
    pub fn id(&self, row: u32) -> Cow<'_, str> {
        self.ids.get(row as usize).unwrap_or_default()
    }
}
