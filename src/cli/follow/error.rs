//! What can end following.

use std::path::PathBuf;

use crate::dataset::format::FormatError;
use crate::dataset::stream::{LogError, StreamError};
use crate::model::embedding::ModelError;

/// Why a stream cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The config asks for what no stream can change.
    #[error("follow cannot {what}: {remedy}")]
    NotFollowed {
        /// What the config asks for.
        what: &'static str,
        /// The way out.
        remedy: &'static str,
    },
    /// Files of a folder are batches.
    #[error("{} is a folder, and each of its files is a batch: leave --batch, --every and --linger out", path.display())]
    BatchesGiven {
        /// The folder.
        path: PathBuf,
    },
    /// The graph after a batch cannot be embedded; the batch is taken back.
    #[error(
        "batch {batch} ({name}) cannot be embedded, so nothing of it was applied: repair it and go on with --resume; with --tolerate such batches are counted and left out"
    )]
    Unembeddable {
        /// Its number.
        batch: u64,
        /// Where it comes from.
        name: String,
        /// Why.
        source: Box<ModelError>,
    },
    /// The updates cannot be read.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl FollowError {
    /// Whether the command is wrong, rather than what it was given.
    pub fn is_misuse(&self) -> bool {
        matches!(
            self,
            Self::NotFollowed { .. }
                | Self::BatchesGiven { .. }
                | Self::Stream(
                    StreamError::InputWatched
                        | StreamError::PackedAndWatched { .. }
                        | StreamError::OtherKind { .. }
                        | StreamError::Format(FormatError::Memory { .. })
                )
        )
    }

    /// Whether a file cannot be written, rather than read.
    pub fn is_of_system(&self) -> bool {
        matches!(self, Self::Log(LogError::Io { .. }))
    }
}
