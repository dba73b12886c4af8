use std::borrow::Cow;
use std::error::Error as _;
use std::io::{self, Write};
use std::path::PathBuf;

use super::cluster::ClusterError;
use super::follow::FollowError;
use crate::config::{ConfigError, Place};
use crate::dataset::catalog::CatalogError;
use crate::dataset::fetch::FetchError;
use crate::dataset::store::{StoreError, WriteError};
use crate::dataset::{Ids, LoadError, NodeDataError, OverBudget};
use crate::engine::EngineError;
use crate::engine::checkpoint::CheckpointError;
use crate::engine::mesh::MeshError;
use crate::evaluate::{EvaluateError, Metric};
use crate::finetune::TuneError;
use crate::finetune::network::NetworkError;
use crate::graph::{GraphError, Order, TileError};
use crate::matrix::Shape;
use crate::matrix::text::{Problem, Refusal, TextError};
use crate::model::classifier::ClassifierError;
use crate::model::embedding::ModelError;
use crate::model::features::FeatureError;
use crate::model::propagation::PropagationError;
use crate::model::rank::RankError;
use crate::report::export::ExportError;
use crate::report::output::OutputError;
use crate::report::progress::{above, has_colours, take_down};
use crate::report::saved::{SavedError, UnknownNode};
use crate::report::shown::ShownError;
use crate::serve::ServeError;
use crate::svd::SvdError;

/// Everything that can end a run early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The config is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What was said about several processes is wrong.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The other processes cannot be worked with.
    #[error(transparent)]
    Mesh(#[from] MeshError),
    /// The processes of a cluster on this machine cannot be started.
    #[error("cannot start the processes")]
    Launch(#[source] io::Error),
    /// A process of a cluster on this machine failed.
    #[error("process {process} {how}; what was said stands above")]
    Launched {
        /// Which process.
        process: usize,
        /// How it ended, in words.
        how: String,
        /// The exit code for that.
        code: u8,
    },
    /// `--data` names no folder.
    #[error("--data {}: there is no such folder", path.display())]
    DataFolder {
        /// What was named.
        path: PathBuf,
    },
    /// A dataset is unknown or not here.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A dataset cannot be fetched.
    #[error("cannot fetch `{dataset}`")]
    Fetch {
        /// The dataset.
        dataset: &'static str,
        /// Why.
        source: Box<FetchError>,
    },
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
    #[error("cannot decompose the matrix of {place} ({shape})")]
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
    /// A store cannot be written.
    #[error(transparent)]
    Store(#[from] WriteError),
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
    /// A run cannot be shown.
    #[error(transparent)]
    Shown(Box<ShownError>),
    /// There is no model to apply.
    #[error(transparent)]
    Saved(Box<SavedError>),
    /// A node that is asked for is not there.
    #[error("{}{unknown}", place.as_ref().map_or(String::new(), |place| format!("{place}: ")))]
    UnknownNode {
        /// The line of the list that names it, if a list does.
        place: Option<String>,
        /// Which it is.
        unknown: UnknownNode,
    },
    /// A list of nodes cannot be read.
    #[error("cannot read the nodes of {name}: give a text in UTF-8 with one id a line")]
    Nodelist {
        /// What was to be read.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A node of a pair is not there.
    #[error("{place}: {unknown} (--skip-unknown leaves such pairs out)")]
    UnknownPair {
        /// The file and the line or the entry.
        place: String,
        /// Which it is.
        unknown: UnknownNode,
    },
    /// Vectors cannot be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The results cannot be served.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The graph that a model was trained on has changed.
    #[error(
        "the graph has {found} nodes, and the model was trained on {expected}: give the new one with --graph and --features"
    )]
    OtherGraph {
        /// Nodes of the graph.
        found: usize,
        /// Nodes of the one it was trained on.
        expected: usize,
    },
    /// A model cannot leave its graph.
    #[error("{}: the model uses vectors of its own graph and cannot be applied to another: train it with features.embedding = false", model.display())]
    OwnEmbedding {
        /// Where the model is.
        model: PathBuf,
    },
    /// A label names a class that a model does not know.
    #[error("the model knows no class `{class}`: it was trained on {known}")]
    UnknownClass {
        /// The class.
        class: String,
        /// Those that it knows.
        known: String,
    },
    /// A size that a plan needs was not given.
    #[error("nodes are classified here: give {size} beside --nodes and --edges")]
    MissingSize {
        /// The option that is missing.
        size: &'static str,
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
    /// The results cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A plan cannot be printed.
    #[error("cannot print")]
    Show(#[source] io::Error),
    /// A product could not be measured.
    #[error("cannot multiply to measure")]
    Measure(#[from] EngineError),
    /// A matrix cannot be decomposed as it was asked for.
    #[error("cannot decompose the matrix")]
    Plan(#[from] SvdError),
    /// The results are written but cannot be printed.
    #[error("cannot print the results on stdout; they are in {}", folder.display())]
    Print {
        /// Where the results are.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The time line cannot be written.
    #[error("cannot write the time line {}: choose another place by --trace, or leave it out", path.display())]
    Timeline {
        /// Where it was to go.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A checkpoint cannot be read, or is one of another run.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Somebody asked the run to end.
    #[error("interrupted{}", if *is_kept { ": to go on from the checkpoint, give the same command and --resume" } else { "" })]
    Interrupted {
        /// Whether there is a checkpoint.
        is_kept: bool,
        /// Whether another process tells the person.
        is_told: bool,
    },
    /// Something on this machine would make runs fail.
    #[error("{broken} of these would make runs fail: beside each stands the way out")]
    Unwell {
        /// How many.
        broken: usize,
    },
    /// A stream cannot be followed.
    #[error(transparent)]
    Follow(Box<FollowError>),
    /// There is nothing but the answer on stdout, and it cannot be printed.
    #[error("cannot print on stdout")]
    Stdout {
        /// What the system said.
        source: io::Error,
    },
}

/// Boxes what is large.
macro_rules! boxed {
    ($($source:ty => $variant:ident),*) => {
        $(impl From<$source> for Error {
            fn from(source: $source) -> Self {
                Self::$variant(Box::new(source))
            }
        })*
    };
}

boxed!(ClassifierError => Classify, NetworkError => Network, SavedError => Saved, FollowError => Follow);

impl From<UnknownNode> for Error {
    fn from(unknown: UnknownNode) -> Self {
        Self::UnknownNode { place: None, unknown }
    }
}

impl From<StoreError> for Error {
    fn from(source: StoreError) -> Self {
        Self::Load(source.into())
    }
}

impl From<TileError> for Error {
    fn from(source: TileError) -> Self {
        StoreError::from(source).into()
    }
}

impl Error {
    /// The exit code for something that went wrong while running.
    pub const FAILED: u8 = 1;
    /// The exit code for wrong arguments or a wrong config.
    pub const USAGE: u8 = 2;
    /// The exit code for bad input data.
    pub const DATA: u8 = 3;
    /// The exit code for processes that cannot work together, or lost each other.
    pub const CLUSTER: u8 = 4;
    /// The exit code for a run that was asked to end.
    pub const INTERRUPTED: u8 = 130;

    /// The same, with the user's name for the node that it is about; `order` says which row a node
    /// has, where not its own.
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

    fn of_model(error: &ModelError) -> u8 {
        match error {
            ModelError::NoWalks => Self::USAGE,
            ModelError::Svd(error) if error.is_misuse() => Self::USAGE,
            ModelError::EmptyGraph
            | ModelError::Degree(_)
            | ModelError::Svd(SvdError::Engine(EngineError::Tile { .. })) => Self::DATA,
            _ => Self::FAILED,
        }
    }

    /// The code that the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::DataFolder { .. } | Self::Cluster(_) => Self::USAGE,
            Self::Mesh(_) => Self::CLUSTER,
            Self::Launch(_) => Self::FAILED,
            Self::Launched { code, .. } => *code,
            Self::Catalog(error) | Self::Load(LoadError::Catalog(error)) => match error {
                CatalogError::Unknown { .. } => Self::USAGE,
                CatalogError::Missing { .. } => Self::DATA,
                _ => Self::FAILED,
            },
            Self::Load(LoadError::NoRoom(_)) => Self::FAILED,
            // As where the computation takes too much.
            Self::Load(error) if error.is_over_budget() => Self::USAGE,
            Self::TooLarge { .. } => Self::USAGE,
            Self::Load(_) | Self::Store(WriteError::Store(_)) => Self::DATA,
            Self::Store(WriteError::Occupied { .. }) => Self::USAGE,
            Self::Store(_) => Self::FAILED,
            Self::Fetch { source, .. } if source.is_bad_data() => Self::DATA,
            Self::Fetch { .. } => Self::FAILED,
            Self::Embed { source, .. } | Self::Decompose { source, .. } => Self::of_model(source),
            Self::Statement { error, .. } => match error.problem() {
                Problem::Refused { refusal: Refusal::Failed(_), .. } => Self::FAILED,
                _ => Self::USAGE,
            },
            Self::NoPairs { .. } | Self::MissingSize { .. } => Self::USAGE,
            Self::Plan(error) if error.is_misuse() => Self::USAGE,
            Self::Plan(_) | Self::Show(_) | Self::Measure(_) => Self::FAILED,
            Self::Rank { source, .. } => match source.as_ref() {
                RankError::Model(source) => Self::of_model(source),
                RankError::NoCandidate { .. } => Self::USAGE,
                RankError::TooFewEdges { .. } | RankError::Graph(_) => Self::DATA,
                _ => Self::FAILED,
            },
            Self::Tune { source, .. } => match source {
                TuneError::NoEdges => Self::DATA,
                _ => Self::FAILED,
            },
            Self::Classify(source) => match source.as_ref() {
                ClassifierError::Svd(error) if error.is_misuse() => Self::USAGE,
                ClassifierError::TooLargeToDrop { .. } => Self::USAGE,
                ClassifierError::NoLabels
                | ClassifierError::OtherColumns { .. }
                | ClassifierError::Propagation(PropagationError::Degree(_)) => Self::DATA,
                _ => Self::FAILED,
            },
            Self::Features { source, .. } => match source.as_ref() {
                FeatureError::Svd(error) if error.is_misuse() => Self::USAGE,
                FeatureError::Svd(_) | FeatureError::Engine(_) => Self::FAILED,
                _ => Self::DATA,
            },
            Self::Shown(_) => Self::DATA,
            Self::Saved(_) | Self::Nodes { .. } | Self::OtherGraph { .. } => Self::DATA,
            Self::OwnEmbedding { .. } | Self::UnknownClass { .. } => Self::DATA,
            Self::UnknownNode { place: None, .. } | Self::Export(ExportError::Sides(_)) => Self::USAGE,
            Self::UnknownNode { .. } | Self::UnknownPair { .. } | Self::Nodelist { .. } => Self::DATA,
            Self::Export(ExportError::Output(_)) => Self::FAILED,
            Self::Export(_) => Self::DATA,
            Self::Serve(error) if error.is_misuse() => Self::USAGE,
            Self::Serve(_) => Self::FAILED,
            Self::Network(source) => match source.as_ref() {
                NetworkError::NothingToLearn | NetworkError::Unlabelled { .. } | NetworkError::NoSuchNode { .. } => {
                    Self::DATA
                }
                NetworkError::Fanouts { .. } | NetworkError::OutOfBounds { .. } | NetworkError::TooLarge { .. } => {
                    Self::USAGE
                }
                _ => Self::FAILED,
            },
            Self::TooManyFeatures { .. } => Self::USAGE,
            Self::Graph { .. } | Self::NothingToAdd { .. } | Self::NegativeWeights { .. } => Self::DATA,
            Self::Evaluate { source, .. } => match source {
                EvaluateError::Empty { .. } => Self::DATA,
                _ => Self::FAILED,
            },
            Self::Checkpoint(CheckpointError::OtherRun { .. }) => Self::USAGE,
            Self::Checkpoint(_) => Self::FAILED,
            Self::Interrupted { .. } => Self::INTERRUPTED,
            Self::Follow(error) if error.is_misuse() => Self::USAGE,
            Self::Follow(error) if error.is_of_system() => Self::FAILED,
            Self::Follow(_) => Self::DATA,
            Self::BrokenDown { .. }
            | Self::Output(_)
            | Self::Print { .. }
            | Self::Timeline { .. }
            | Self::Unwell { .. }
            | Self::Stdout { .. } => Self::FAILED,
        }
    }
}

/// An error and its causes, for a process that has one line for it.
pub(super) fn in_one_line(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Tells a person what went wrong between processes.
pub(super) fn print_line(error: &MeshError) {
    take_down();
    note(&format!("{}{error}", kind()));
}

/// Tells a person something, on stderr. A closed stderr is no reason to fail.
pub(super) fn note(text: &str) {
    above(|| {
        let _ = writeln!(io::stderr().lock(), "{text}");
    });
}

/// What stands before an error.
fn kind() -> &'static str {
    if has_colours() { "\x1b[1;31merror:\x1b[0m " } else { "error: " }
}

/// Tells a person what went wrong and why, on stderr. A closed stderr is no reason to fail differently.
pub fn print(error: &Error) {
    if matches!(error, Error::Interrupted { is_told: true, .. }) {
        return;
    }
    take_down();
    let mut stderr = io::stderr().lock();
    let kind = if matches!(error, Error::Interrupted { .. }) { "" } else { kind() };
    let _ = writeln!(stderr, "{kind}{error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = writeln!(stderr, "  because: {error}");
        cause = error.source();
    }
}
