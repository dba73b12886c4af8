//! Notices and errors of checkpoints.

use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::PathBuf;

use crate::engine::EngineError;

/// A message for the user; the run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The run goes on from here.
    Resumed {
        /// The checkpoint.
        path: PathBuf,
    },
    /// There is no checkpoint to go on from.
    NothingToResume {
        /// Where it would be.
        folder: PathBuf,
    },
    /// There is a checkpoint, and the run was not asked to resume.
    NotResumed {
        /// Where it is.
        folder: PathBuf,
    },
    /// A checkpoint cannot be used.
    Damaged {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A checkpoint could not be written; the previous one is still there.
    NotKept {
        /// Why.
        reason: String,
    },
    /// The checkpoint holds a stage of another problem.
    OtherWork {
        /// Which one of the run, from 0.
        work: usize,
    },
}

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resumed { path } => write!(f, "resumed from {}", path.display()),
            Self::NothingToResume { folder } => {
                write!(f, "there is nothing to resume in {}: starting from the beginning", folder.display())
            }
            Self::NotResumed { folder } => {
                let folder = folder.display();
                write!(f, "{folder} holds a checkpoint, which the next one replaces: resume to go on from it")
            }
            Self::Damaged { path, reason } => {
                write!(f, "the checkpoint {} cannot be used ({reason}): trying the one before it", path.display())
            }
            Self::NotKept { reason } => write!(f, "{reason}; the run goes on without"),
            Self::OtherWork { work } => {
                write!(
                    f,
                    "the checkpoint has something else in place of decomposition or training {work}: doing it again"
                )
            }
        }
    }
}

/// Why checkpoints cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The checkpoint is one of another run.
    #[error(
        "the checkpoint in {} is one of another run: {}; start from the beginning, or choose another folder",
        folder.display(),
        differences.join(", ")
    )]
    OtherRun {
        /// Where it is.
        folder: PathBuf,
        /// What differs, and how.
        differences: Vec<String>,
    },
    /// The folder cannot be looked into.
    #[error("cannot read the checkpoints in {}: choose another folder", folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be read.
    #[error("{} was whole when the run began, and is not any more: resume again", path.display())]
    Lost {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error(
        "cannot write the checkpoint {} ({source}): make room, choose another folder, or write no checkpoints",
        path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl From<CheckpointError> for EngineError {
    /// As text, which can be sent to other processes.
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint { reason: error.to_string() }
    }
}
