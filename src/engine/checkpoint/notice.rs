//! Notices and errors of checkpoints.

use std::io;
use std::path::PathBuf;

use crate::engine::EngineError;

/// A message for the user. The run continues.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// The run continues from a checkpoint.
    #[error("resumed from {}", path.display())]
    Resumed {
        /// The checkpoint.
        path: PathBuf,
    },
    /// There is no checkpoint to resume from.
    #[error("there is nothing to resume in {}: starting from the beginning", folder.display())]
    NothingToResume {
        /// The folder of the checkpoints.
        folder: PathBuf,
    },
    /// There is a checkpoint, and the run was not asked to resume.
    #[error("{} holds a checkpoint, which the next one replaces: to continue from it, resume the run", folder.display())]
    NotResumed {
        /// The folder of the checkpoints.
        folder: PathBuf,
    },
    /// A checkpoint is damaged.
    #[error("the checkpoint {} cannot be used ({reason}): trying the one before it", path.display())]
    Damaged {
        /// The checkpoint.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
    /// A checkpoint could not be written. The previous one is intact.
    #[error("{reason}; the run goes on without")]
    NotKept {
        /// The error.
        reason: String,
    },
    /// The checkpoint holds a stage of another problem.
    #[error("stage {work} in the checkpoint is of another problem: computing it again")]
    OtherWork {
        /// The number of the stage in the run, from 0.
        work: usize,
    },
}

/// Why checkpoints cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The checkpoint is of another run.
    #[error(
        "the checkpoint in {} is of another run: {}; to start from the beginning, do not resume",
        folder.display(),
        differences.join(", ")
    )]
    OtherRun {
        /// The folder of the checkpoints.
        folder: PathBuf,
        /// The settings that differ, with both values.
        differences: Vec<String>,
    },
    /// The folder cannot be read.
    #[error("cannot read the checkpoints in {}: choose another folder", folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file became unreadable during the run.
    #[error("{} was intact when the run began and is damaged now: resume the run again", path.display())]
    Lost {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error(
        "cannot write the checkpoint {} ({source}): free some disk space, choose another folder, or write no checkpoints",
        path.display()
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl From<CheckpointError> for EngineError {
    /// As text, which can be sent to other processes.
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint { reason: error.to_string() }
    }
}
