//! Why an experiment cannot be carried out.

use std::borrow::Cow;

use crate::config::Place;
use crate::dataset::store::StoreError;
use crate::dataset::{Ids, LoadError, NodeDataError, OverBudget};
use crate::engine::EngineError;
use crate::engine::checkpoint::CheckpointError;
use crate::evaluate::{EvaluateError, Metric};
use crate::finetune::TuneError;
use crate::finetune::network::NetworkError;
use crate::graph::{GraphError, Order, TileError};
use crate::matrix::Shape;
use crate::matrix::text::TextError;
use crate::model::classifier::ClassifierError;
use crate::model::embedding::ModelError;
use crate::model::features::FeatureError;
use crate::model::rank::RankError;
use crate::svd::SvdError;

/// Why an experiment cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The embedding cannot be computed.
    #[error("cannot embed the nodes of `{dataset}`")]
    Embed {
        /// The dataset.
        dataset: String,
        /// Why.
        source: Box<ModelError>,
    },
    /// A text states no matrix over this dataset. It is shown whole, with its place in the text.
    #[error("{place}: {error}")]
    Statement {
        /// Where the text stands.
        place: Place,
        /// What is wrong with it.
        error: TextError,
    },
    /// A matrix of one's own cannot be decomposed.
    #[error("{place}: cannot decompose this matrix of {shape}")]
    Decompose {
        /// Where the text stands.
        place: Place,
        /// The shape of the matrix.
        shape: Shape,
        /// Why.
        source: Box<ModelError>,
    },
    /// Edges are found by a score for every pair of nodes.
    #[error(
        "{place}: a matrix of {shape} scores no pairs of the {nodes} nodes to fine-tune on: leave [finetune] out, or \
         state one of {nodes}×{nodes}"
    )]
    NoPairs {
        /// Where the text stands.
        place: Place,
        /// The shape of the matrix.
        shape: Shape,
        /// How many nodes there are.
        nodes: usize,
    },
    /// The dataset cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The edges make no graph.
    #[error("the edges of `{dataset}` make no graph")]
    Graph {
        /// The dataset.
        dataset: String,
        /// Why.
        source: GraphError,
    },
    /// Its matrix takes more memory than may be used.
    #[error("cannot build the graph of `{dataset}`, which has {nodes} nodes")]
    TooLarge {
        /// The dataset.
        dataset: String,
        /// Its nodes.
        nodes: usize,
        /// How much is needed.
        source: OverBudget,
    },
    /// No rank could be chosen.
    #[error("cannot choose a rank for `{dataset}`")]
    Rank {
        /// The dataset.
        dataset: String,
        /// Why.
        source: Box<RankError>,
    },
    /// The kernel cannot be trained.
    #[error("cannot fine-tune on `{dataset}`")]
    Tune {
        /// The dataset.
        dataset: String,
        /// Why.
        source: TuneError,
    },
    /// The nodes cannot be classified as they are.
    #[error("cannot classify the nodes of `{dataset}`")]
    Nodes {
        /// The dataset.
        dataset: String,
        /// Why.
        source: Box<NodeDataError>,
    },
    /// The features cannot be made ready.
    #[error("cannot use the features of `{dataset}`")]
    Features {
        /// The dataset.
        dataset: String,
        /// Why.
        source: Box<FeatureError>,
    },
    /// No classifier could be fitted or applied.
    #[error("cannot classify nodes")]
    Classify(#[source] Box<ClassifierError>),
    /// No network could be trained or asked.
    #[error("the network cannot be trained or applied")]
    Network(#[source] Box<NetworkError>),
    /// A network looks features up row by row, and there are too many to write down.
    #[error("{rows} × {columns} features are too many to train a network on: set features.components, such as 100")]
    TooManyFeatures {
        /// How many nodes.
        rows: usize,
        /// How many features each.
        columns: usize,
    },
    /// There are no edges to update with.
    #[error(
        "`{dataset}` has no validation edges to update with: leave [update] out, or hold edges out with data.valid"
    )]
    NothingToAdd {
        /// The dataset.
        dataset: String,
    },
    /// Walks cannot be taken along edges of negative weight.
    #[error(
        "some edges of `{dataset}` have a negative weight: walks need weights of 0 or more; state a matrix of your own \
         (matrix = \"A\"), or convert the data again without them"
    )]
    NegativeWeights {
        /// The dataset.
        dataset: String,
    },
    /// A residual is not a finite number, so nothing that was computed can be trusted.
    #[error("the residual of singular triplet {triplet} is {residual}: the computation broke down")]
    BrokenDown {
        /// Which triplet, from 0.
        triplet: usize,
        /// Its residual.
        residual: f64,
    },
    /// A figure cannot be computed.
    #[error("cannot compute `{metric}` on the {split} pairs of `{dataset}`")]
    Evaluate {
        /// The figure.
        metric: Metric,
        /// Which pairs.
        split: &'static str,
        /// The dataset.
        dataset: String,
        /// Why.
        source: EvaluateError,
    },
    /// The workers failed outside of a stage.
    #[error("the workers cannot exchange or measure results")]
    Workers(#[from] EngineError),
    /// A matrix cannot be decomposed as it was asked for.
    #[error("cannot decompose the matrix")]
    Plan(#[from] SvdError),
    /// A checkpoint cannot be read, or is one of another run.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}

impl From<ClassifierError> for RunError {
    fn from(source: ClassifierError) -> Self {
        Self::Classify(Box::new(source))
    }
}

impl From<NetworkError> for RunError {
    fn from(source: NetworkError) -> Self {
        Self::Network(Box::new(source))
    }
}

impl From<StoreError> for RunError {
    fn from(source: StoreError) -> Self {
        Self::Load(source.into())
    }
}

impl From<TileError> for RunError {
    fn from(source: TileError) -> Self {
        StoreError::from(source).into()
    }
}

impl RunError {
    /// Where the text stands that states a matrix, if the error is about one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Statement { place, .. } | Self::Decompose { place, .. } | Self::NoPairs { place, .. } => Some(place),
            _ => None,
        }
    }

    /// The same, with the user's name for the node that the error is about; `order` says which row
    /// a node has, where not its own.
    pub(super) fn with_node_name(mut self, ids: &Ids, order: Option<&Order>) -> Self {
        let model = match &mut self {
            Self::Embed { source, .. } | Self::Decompose { source, .. } => Some(&mut **source),
            Self::Rank { source, .. } => match &mut **source {
                RankError::Model(source) => Some(source),
                _ => None,
            },
            _ => None,
        };
        if let Some(ModelError::Degree(error)) = model {
            let node = match order {
                None => Some(error.row),
                Some(order) => order.rows().iter().position(|&row| row as usize == error.row),
            };
            error.name = node.and_then(|node| ids.get(node)).map(Cow::into_owned);
        }
        self
    }
}
