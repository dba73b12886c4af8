use std::io::{self, Write};
use std::path::PathBuf;

use super::cluster::ClusterError;
use super::follow::FollowError;
use super::hint::worded;
use crate::config::ConfigError;
use crate::dataset::LoadError;
use crate::dataset::catalog::CatalogError;
use crate::dataset::fetch::FetchError;
use crate::dataset::store::WriteError;
use crate::engine::EngineError;
use crate::engine::checkpoint::CheckpointError;
use crate::engine::mesh::MeshError;
use crate::evaluate::EvaluateError;
use crate::experiment::RunError;
use crate::finetune::TuneError;
use crate::finetune::network::NetworkError;
use crate::matrix::text::{Problem, Refusal};
use crate::model::classifier::ClassifierError;
use crate::model::embedding::ModelError;
use crate::model::features::FeatureError;
use crate::model::propagation::PropagationError;
use crate::model::rank::RankError;
use crate::report::export::ExportError;
use crate::report::output::OutputError;
pub(super) use crate::report::progress::note;
use crate::report::progress::{clear_bar, has_colours};
use crate::report::saved::{SavedError, UnknownNode};
use crate::serve::ServeError;
use crate::svd::SvdError;

/// Everything that can end a run early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The experiment cannot be carried out.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The config is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The arguments about several processes are wrong.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The connections to the other processes failed.
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
    /// A store cannot be written.
    #[error(transparent)]
    Store(#[from] WriteError),
    /// The results of a run cannot be used.
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
    /// The results cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
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
    /// Somebody asked the run to end.
    #[error("interrupted{}", if *is_kept { ": to go on from the checkpoint, give the same command and --resume" } else { "" })]
    Interrupted {
        /// Whether there is a checkpoint.
        is_kept: bool,
        /// Whether another process prints this message.
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
    /// The answer cannot be printed, and is nowhere else.
    #[error("cannot print on stdout")]
    Stdout(#[source] io::Error),
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

boxed!(SavedError => Saved, FollowError => Follow);

impl From<UnknownNode> for Error {
    fn from(unknown: UnknownNode) -> Self {
        Self::UnknownNode { place: None, unknown }
    }
}

/// Errors of parts of an experiment are worded as errors of the experiment.
macro_rules! of_run {
    ($($source:ty),*) => {
        $(impl From<$source> for Error {
            fn from(source: $source) -> Self {
                Self::Run(source.into())
            }
        })*
    };
}

of_run!(LoadError, CheckpointError, ClassifierError, EngineError, SvdError);

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

    fn of_catalog(error: &CatalogError) -> u8 {
        match error {
            CatalogError::Unknown { .. } => Self::USAGE,
            CatalogError::Missing { .. } => Self::DATA,
            _ => Self::FAILED,
        }
    }

    fn of_run(error: &RunError) -> u8 {
        match error {
            RunError::Load(LoadError::Catalog(error)) => Self::of_catalog(error),
            RunError::Load(LoadError::TooLarge(_)) => Self::FAILED,
            // As where the computation takes too much.
            RunError::Load(error) if error.is_over_budget() => Self::USAGE,
            RunError::TooLarge { .. } => Self::USAGE,
            RunError::Load(_) => Self::DATA,
            RunError::Embed { source, .. } | RunError::Decompose { source, .. } => Self::of_model(source),
            RunError::Statement { error, .. } => match error.problem() {
                Problem::Refused { refusal: Refusal::Failed(_), .. } => Self::FAILED,
                _ => Self::USAGE,
            },
            RunError::NoPairs { .. } => Self::USAGE,
            RunError::Plan(error) if error.is_misuse() => Self::USAGE,
            RunError::Plan(_) | RunError::Workers(_) => Self::FAILED,
            RunError::Rank { source, .. } => match source.as_ref() {
                RankError::Model(source) => Self::of_model(source),
                RankError::NoCandidate { .. } => Self::USAGE,
                RankError::TooFewEdges { .. } | RankError::Graph(_) => Self::DATA,
                _ => Self::FAILED,
            },
            RunError::Tune { source: TuneError::NoEdges, .. } => Self::DATA,
            RunError::Tune { .. } => Self::FAILED,
            RunError::Classify(source) => match source.as_ref() {
                ClassifierError::Svd(error) if error.is_misuse() => Self::USAGE,
                ClassifierError::TooLargeToDrop { .. } => Self::USAGE,
                ClassifierError::NoLabels
                | ClassifierError::OtherColumns { .. }
                | ClassifierError::Propagation(PropagationError::Degree(_)) => Self::DATA,
                _ => Self::FAILED,
            },
            RunError::Features { source, .. } => match source.as_ref() {
                FeatureError::Svd(error) if error.is_misuse() => Self::USAGE,
                FeatureError::Svd(_) | FeatureError::Engine(_) => Self::FAILED,
                _ => Self::DATA,
            },
            RunError::Network(source) => match source.as_ref() {
                NetworkError::NothingToLearn | NetworkError::Unlabelled { .. } | NetworkError::NoSuchNode { .. } => {
                    Self::DATA
                }
                NetworkError::Fanouts { .. } | NetworkError::OutOfBounds { .. } | NetworkError::TooLarge { .. } => {
                    Self::USAGE
                }
                _ => Self::FAILED,
            },
            RunError::TooManyFeatures { .. } => Self::USAGE,
            RunError::Nodes { .. } | RunError::Graph { .. } => Self::DATA,
            RunError::NothingToAdd { .. } | RunError::NegativeWeights { .. } => Self::DATA,
            RunError::Evaluate { source: EvaluateError::Empty { .. }, .. } => Self::DATA,
            RunError::Evaluate { .. } | RunError::BrokenDown { .. } => Self::FAILED,
            RunError::Checkpoint(CheckpointError::OtherRun { .. }) => Self::USAGE,
            RunError::Checkpoint(_) => Self::FAILED,
        }
    }

    /// The code that the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Run(error) => Self::of_run(error),
            Self::Config(_) | Self::DataFolder { .. } | Self::Cluster(_) => Self::USAGE,
            Self::Mesh(_) => Self::CLUSTER,
            Self::Launch(_) => Self::FAILED,
            Self::Launched { code, .. } => *code,
            Self::Catalog(error) => Self::of_catalog(error),
            Self::Store(WriteError::Store(_)) => Self::DATA,
            Self::Store(WriteError::Occupied { .. }) => Self::USAGE,
            Self::Store(_) => Self::FAILED,
            Self::Fetch { source, .. } if source.is_bad_data() => Self::DATA,
            Self::Fetch { .. } => Self::FAILED,
            Self::MissingSize { .. } => Self::USAGE,
            Self::Saved(_) | Self::OtherGraph { .. } => Self::DATA,
            Self::OwnEmbedding { .. } | Self::UnknownClass { .. } => Self::DATA,
            Self::UnknownNode { place: None, .. } | Self::Export(ExportError::Sides(_)) => Self::USAGE,
            Self::UnknownNode { .. } | Self::UnknownPair { .. } | Self::Nodelist { .. } => Self::DATA,
            Self::Export(ExportError::Output(_)) => Self::FAILED,
            Self::Export(_) => Self::DATA,
            Self::Serve(error) if error.is_misuse() => Self::USAGE,
            Self::Serve(_) => Self::FAILED,
            Self::Interrupted { .. } => Self::INTERRUPTED,
            Self::Follow(error) if error.is_misuse() => Self::USAGE,
            Self::Follow(error) if error.is_of_system() => Self::FAILED,
            Self::Follow(_) => Self::DATA,
            Self::Output(_) | Self::Print { .. } | Self::Timeline { .. } | Self::Unwell { .. } | Self::Stdout(_) => {
                Self::FAILED
            }
        }
    }
}

/// The messages of an error and of its causes, the error first.
fn messages(error: &Error) -> impl Iterator<Item = String> {
    let first: &(dyn std::error::Error + 'static) = error;
    std::iter::successors(Some(first), |&error| error.source()).map(worded)
}

/// An error and its causes as one line, which the other processes print.
pub(super) fn in_one_line(error: &Error) -> String {
    messages(error).collect::<Vec<_>>().join(": ")
}

/// Prints an error of the connections between processes.
pub(super) fn print_line(error: &MeshError) {
    clear_bar();
    note(&format!("{}{error}", kind()));
}

/// The text in front of an error.
fn kind() -> &'static str {
    if has_colours() { "\x1b[1;31merror:\x1b[0m " } else { "error: " }
}

/// Prints an error and its causes on stderr. A closed stderr is no reason to fail differently.
pub fn print(error: &Error) {
    if matches!(error, Error::Interrupted { is_told: true, .. }) {
        return;
    }
    clear_bar();
    let mut stderr = io::stderr().lock();
    let kind = if matches!(error, Error::Interrupted { .. }) { "" } else { kind() };
    for (level, message) in messages(error).enumerate() {
        let before = if level == 0 { kind } else { "  because: " };
        let _ = writeln!(stderr, "{before}{message}");
    }
}
