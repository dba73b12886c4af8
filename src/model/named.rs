//! The matrices, vectors and sets of a graph that have names, for matrices stated as text.
//!
//! | name | what it is |
//! |---|---|
//! | `A` | the adjacency matrix |
//! | `T`, `S` | the matrices of one step, `D⁻¹·A` and `D^-½·A·D^-½` |
//! | `Ahat`, `Z` | `(D+I)^-½·(A+I)·(D+I)^-½`, and that without its diagonal |
//! | `I`, `J`, `n` | the identity and all ones, n×n, and how many nodes there are |
//! | `degree`, `in_degree` | of every node, 1 for a node without edges; they differ where edges have a direction |
//! | `X`, `Y` | features; the known labels of the nodes to learn from |
//! | `train`, `valid`, `test` | the nodes of each part of the split |
//!
//! They are the very expressions that [`embedding`](super::embedding) and [`classifier`](super::classifier) use.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;

use super::classifier::Labels;
use super::features::{self, FeatureError};
use super::propagation::{Propagation, PropagationError};
use super::transition::{DegreeError, Degrees, StepError};
use crate::dataset::{Dataset, Ids};
use crate::engine::{Cluster, EngineError, form};
use crate::graph::Graph;
use crate::kernel::Mask;
use crate::matrix::text::{Names, Refusal, Value, Vector};
use crate::matrix::{Entries, Kind, Matrix, MatrixError, Shape};
use crate::plan::forming::bytes_to_form;

/// The names.
const NAMES: [&str; 16] =
    ["A", "T", "S", "Ahat", "Z", "I", "J", "n", "degree", "in_degree", "returns", "X", "Y", "train", "valid", "test"];

/// Why something with a name cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamedError {
    /// No labels.
    #[error("the nodes of `{dataset}` have no labels")]
    NoLabels {
        /// What carries none.
        dataset: String,
    },
    /// No split of the nodes.
    #[error("the nodes of `{dataset}` are not split into train, valid and test")]
    NoSplit {
        /// What has none.
        dataset: String,
    },
    /// An empty part of a split.
    #[error("no node of `{dataset}` is in that part of the split")]
    EmptyPart {
        /// What has none.
        dataset: String,
    },
    /// Labels or splits of other nodes than the graph has.
    #[error("the labels or the split of `{dataset}` are not those of the {nodes} nodes of its graph")]
    OtherNodes {
        /// Whose they are.
        dataset: String,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Entries can only be dropped of a matrix that is written down.
    #[error("{shape} are too many entries to write down and drop some of")]
    TooLargeToDrop {
        /// The shape of the matrix.
        shape: Shape,
    },
    /// Edges that do not let features travel.
    #[error(transparent)]
    Propagation(#[from] PropagationError),
    /// Features that are not there, or no matrix.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The workers failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The weights of a node's edges add up to too much.
    #[error(transparent)]
    Degree(#[from] DegreeError),
    /// Something is no matrix.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

impl From<StepError> for NamedError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Degree(error) => error.into(),
            StepError::Matrix(error) => error.into(),
        }
    }
}

impl NamedError {
    /// The same, with the name of the node that it is about.
    fn with_name(mut self, ids: &Ids) -> Self {
        if let Self::Degree(error) | Self::Propagation(PropagationError::Degree(error)) = &mut self {
            error.name = ids.get(error.row).map(Cow::into_owned);
        }
        self
    }
}

/// What names stand for on a graph; each is made when it is first asked for, and once.
pub struct Named<'a> {
    graph: &'a Graph,
    dataset: &'a Dataset,
    cluster: Cluster,
    seed: u64,
    degrees: Option<Degrees>,
    found: HashMap<&'static str, Value>,
}

impl<'a> Named<'a> {
    /// The names on a graph and on what its nodes carry. The seed is that of dropout, the cluster forms what is to be
    /// dropped from and centred.
    pub fn new(graph: &'a Graph, dataset: &'a Dataset, cluster: Cluster, seed: u64) -> Self {
        Self { graph, dataset, cluster, seed, degrees: None, found: HashMap::new() }
    }

    fn value(&mut self, name: &'static str) -> Result<Value, NamedError> {
        if let Some(value) = self.found.get(name) {
            return Ok(value.clone());
        }
        let value = self.make(name).map_err(|error| error.with_name(&self.dataset.ids))?;
        self.found.insert(name, value.clone());
        Ok(value)
    }

    fn make(&mut self, name: &'static str) -> Result<Value, NamedError> {
        let nodes = self.graph.nodes();
        let vector = |name: &str, values: Entries| Value::Vector(Vector { name: name.to_owned(), values });
        Ok(match name {
            "T" => Value::Matrix(self.stepping(Degrees::row_normalized)?),
            "S" => Value::Matrix(self.stepping(Degrees::symmetric)?),
            "Ahat" => Value::Matrix(Propagation::new(self.graph)?.average()?),
            "Z" => Value::Matrix(Propagation::new(self.graph)?.neighbours()?),
            "I" => Value::Matrix(Matrix::identity(nodes)),
            "J" => Value::Matrix(Matrix::ones(nodes, nodes)),
            "n" => Value::Number(nodes as f64),
            "degree" => vector("D", self.degrees().leaving()?.clone()),
            "in_degree" => vector("E", self.degrees().arriving()?.clone()),
            "returns" => vector("diag(ÂZ)", Propagation::new(self.graph)?.returns()),
            "X" => Value::Matrix(features::of_dataset(self.dataset)?),
            "Y" => Value::Matrix(self.labels()?.matrix()?),
            "train" | "valid" | "test" => self.part(name)?,
            _ => Value::Matrix(Matrix::sparse("A", self.graph.adjacency.clone())),
        })
    }

    fn degrees(&mut self) -> &Degrees {
        self.degrees.get_or_insert_with(|| Degrees::new(self.graph, 0.0))
    }

    /// A matrix of one step, over the A that has that name.
    fn stepping(&mut self, of: fn(&Degrees, &Matrix) -> Result<Matrix, StepError>) -> Result<Matrix, NamedError> {
        match self.value("A")? {
            Value::Matrix(edges) => Ok(of(self.degrees(), &edges)?),
            _ => unreachable!("A is a matrix"),
        }
    }

    fn labels(&self) -> Result<Labels, NamedError> {
        let dataset = || self.dataset.name.clone();
        let labels = self.dataset.labels.as_ref().ok_or_else(|| NamedError::NoLabels { dataset: dataset() })?;
        let split = self.dataset.node_split.as_ref().ok_or_else(|| NamedError::NoSplit { dataset: dataset() })?;
        let (nodes, classes) = (self.graph.nodes(), self.dataset.classes.len());
        let is_known = |&node: &u32| (node as usize) < nodes;
        let is_class = |&class: &u32| class == crate::dataset::UNLABELLED || (class as usize) < classes;
        if labels.len() != nodes || !labels.iter().all(is_class) || !split.train.iter().all(is_known) {
            return Err(NamedError::OtherNodes { dataset: dataset(), nodes });
        }
        Ok(Labels::known(labels, &split.train, classes))
    }

    fn part(&self, name: &str) -> Result<Value, NamedError> {
        let dataset = self.dataset.name.clone();
        let Some(split) = &self.dataset.node_split else { return Err(NamedError::NoSplit { dataset }) };
        let part = match name {
            "train" => &split.train,
            "valid" => &split.valid,
            _ => &split.test,
        };
        match part.is_empty() {
            true => Err(NamedError::EmptyPart { dataset }),
            false => Ok(Value::Indices(part.iter().map(|&node| node as usize).collect())),
        }
    }

    /// The matrix, written down.
    fn stored(&self, matrix: &Matrix) -> Result<Matrix, NamedError> {
        if let Kind::Dense { mask: None, .. } = matrix.kind() {
            return Ok(matrix.clone());
        }
        if bytes_to_form(matrix) > self.cluster.forming_limit() {
            return Err(NamedError::TooLargeToDrop { shape: matrix.shape() });
        }
        Ok(Matrix::dense("M", form(matrix, self.cluster)?)?)
    }
}

impl Names for Named<'_> {
    fn find(&mut self, name: &str) -> Result<Option<Value>, Refusal> {
        match NAMES.iter().find(|known| **known == name) {
            None => Ok(None),
            Some(known) => self.value(known).map(Some).map_err(refusal),
        }
    }

    fn known(&self) -> Vec<String> {
        NAMES.iter().map(|&name| name.to_owned()).collect()
    }

    fn center(&mut self, matrix: &Matrix) -> Result<Matrix, Refusal> {
        features::center(matrix, self.cluster).map_err(NamedError::from).map_err(refusal)
    }

    fn dropout(&mut self, matrix: &Matrix, rate: f64, copy: u32) -> Result<Matrix, Refusal> {
        let mask = Mask::new(rate, self.seed, copy);
        let dropped = self.stored(matrix).and_then(|stored| Ok(stored.try_dropout(mask)?));
        dropped.map_err(refusal)
    }
}

fn refusal(error: NamedError) -> Refusal {
    let is_failure = matches!(error, NamedError::Engine(_) | NamedError::Features(FeatureError::Engine(_)));
    let error: Box<dyn Error + Send + Sync> = Box::new(error);
    if is_failure { Refusal::Failed(error) } else { Refusal::Absent(error) }
}
