//! The names that a matrix stated as text may use for parts of a graph.
//!
//! | name | meaning |
//! |---|---|
//! | `A` | the adjacency matrix |
//! | `T`, `S` | the matrices of one step, `D⁻¹·A` and `D^-½·A·D^-½` |
//! | `Ahat`, `Z` | `(D+I)^-½·(A+I)·(D+I)^-½`, and that without its diagonal |
//! | `I`, `J`, `n` | the identity and all ones, n×n, and how many nodes there are |
//! | `degree`, `in_degree` | of every node, 1 for a node without edges; they differ where edges have a direction |
//! | `X`, `Y` | features; the known labels of the nodes to learn from |
//! | `train`, `valid`, `test` | the nodes of each part of the split |
//!
//! The expressions are those of [`embedding`](super::embedding) and
//! [`classifier`](super::classifier).

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

/// Why a name has no value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The dataset has no labels.
    #[error("the nodes of `{dataset}` have no labels")]
    NoLabels {
        /// The dataset.
        dataset: String,
    },
    /// The dataset has no split of the nodes.
    #[error("the nodes of `{dataset}` are not split into train, valid and test")]
    NoSplit {
        /// The dataset.
        dataset: String,
    },
    /// A part of the split is empty.
    #[error("no node of `{dataset}` is in that part of the split")]
    EmptyPart {
        /// The dataset.
        dataset: String,
    },
    /// Labels or split do not match the nodes of the graph.
    #[error("the labels or the split of `{dataset}` are not those of the {nodes} nodes of its graph")]
    OtherNodes {
        /// The dataset.
        dataset: String,
        /// Number of nodes.
        nodes: usize,
    },
    /// Dropout needs a stored matrix, and this one is too large to store.
    #[error("{shape} has too many entries to be stored for dropout")]
    TooLargeToDrop {
        /// The shape of the matrix.
        shape: Shape,
    },
    /// The graph cannot be propagated over.
    #[error(transparent)]
    Propagation(#[from] PropagationError),
    /// The features are missing or form no matrix.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// The workers failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The degree of a node overflows.
    #[error(transparent)]
    Degree(#[from] DegreeError),
    /// A matrix cannot be stated.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

impl From<StepError> for NameError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Degree(error) => error.into(),
            StepError::Matrix(error) => error.into(),
        }
    }
}

impl NameError {
    /// Adds the id of the node to an error about one.
    fn with_name(mut self, ids: &Ids) -> Self {
        if let Self::Degree(error) | Self::Propagation(PropagationError::Degree(error)) = &mut self {
            error.name = ids.get(error.row).map(Cow::into_owned);
        }
        self
    }
}

/// The values of the names on a graph, each computed at its first use.
pub struct GraphNames<'a> {
    graph: &'a Graph,
    dataset: &'a Dataset,
    cluster: Cluster,
    seed: u64,
    degrees: Option<Degrees>,
    found: HashMap<&'static str, Value>,
}

impl<'a> GraphNames<'a> {
    /// The names for a graph, with the features, labels and split of `dataset`. The seed is used
    /// for dropout; the cluster forms matrices for dropout and centring.
    pub fn new(graph: &'a Graph, dataset: &'a Dataset, cluster: Cluster, seed: u64) -> Self {
        Self { graph, dataset, cluster, seed, degrees: None, found: HashMap::new() }
    }

    fn value(&mut self, name: &'static str) -> Result<Value, NameError> {
        if let Some(value) = self.found.get(name) {
            return Ok(value.clone());
        }
        let value = self.make(name).map_err(|error| error.with_name(&self.dataset.ids))?;
        self.found.insert(name, value.clone());
        Ok(value)
    }

    fn make(&mut self, name: &'static str) -> Result<Value, NameError> {
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

    /// A transition matrix over the node of `A`, so that the expressions share it.
    fn stepping(&mut self, of: fn(&Degrees, &Matrix) -> Result<Matrix, StepError>) -> Result<Matrix, NameError> {
        match self.value("A")? {
            Value::Matrix(edges) => Ok(of(self.degrees(), &edges)?),
            _ => unreachable!("A is a matrix"),
        }
    }

    fn labels(&self) -> Result<Labels, NameError> {
        let dataset = || self.dataset.name.clone();
        let labels = self.dataset.labels.as_ref().ok_or_else(|| NameError::NoLabels { dataset: dataset() })?;
        let split = self.dataset.node_split.as_ref().ok_or_else(|| NameError::NoSplit { dataset: dataset() })?;
        let (nodes, classes) = (self.graph.nodes(), self.dataset.classes.len());
        let is_known = |&node: &u32| (node as usize) < nodes;
        let is_class = |&class: &u32| class == crate::dataset::UNLABELLED || (class as usize) < classes;
        if labels.len() != nodes || !labels.iter().all(is_class) || !split.train.iter().all(is_known) {
            return Err(NameError::OtherNodes { dataset: dataset(), nodes });
        }
        Ok(Labels::known(labels, &split.train, classes))
    }

    fn part(&self, name: &str) -> Result<Value, NameError> {
        let dataset = self.dataset.name.clone();
        let Some(split) = &self.dataset.node_split else { return Err(NameError::NoSplit { dataset }) };
        let part = match name {
            "train" => &split.train,
            "valid" => &split.valid,
            _ => &split.test,
        };
        match part.is_empty() {
            true => Err(NameError::EmptyPart { dataset }),
            false => Ok(Value::Indices(part.iter().map(|&node| node as usize).collect())),
        }
    }

    /// The matrix in stored form.
    fn stored(&self, matrix: &Matrix) -> Result<Matrix, NameError> {
        if let Kind::Dense { mask: None, .. } = matrix.kind() {
            return Ok(matrix.clone());
        }
        if bytes_to_form(matrix) > self.cluster.forming_limit() {
            return Err(NameError::TooLargeToDrop { shape: matrix.shape() });
        }
        Ok(Matrix::dense("M", form(matrix, self.cluster)?)?)
    }
}

impl Names for GraphNames<'_> {
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
        features::center(matrix, self.cluster).map_err(NameError::from).map_err(refusal)
    }

    fn dropout(&mut self, matrix: &Matrix, rate: f64, copy: u32) -> Result<Matrix, Refusal> {
        let mask = Mask::new(rate, self.seed, copy);
        let dropped = self.stored(matrix).and_then(|stored| Ok(stored.try_dropout(mask)?));
        dropped.map_err(refusal)
    }
}

fn refusal(error: NameError) -> Refusal {
    let is_failure = matches!(error, NameError::Engine(_) | NameError::Features(FeatureError::Engine(_)));
    let error: Box<dyn Error + Send + Sync> = Box::new(error);
    if is_failure { Refusal::Failed(error) } else { Refusal::Absent(error) }
}
