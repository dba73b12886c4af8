//! Errors of streams.

use std::path::PathBuf;

use super::line::Problem;
use crate::dataset::format::FormatError;
use crate::dataset::remedy::START_OVER;

/// Why a stream cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A line is wrong.
    #[error("{}; a tolerant stream counts such lines and leaves them out", .0.error)]
    Refused(Refusal),
    /// A file cannot be read.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A file that is watched has become shorter.
    #[error(
        "{} has {found} bytes, and {read} were read already: it was cut off while it was watched; restore it, or {START_OVER}",
        path.display()
    )]
    Cut {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        found: u64,
        /// Bytes that were read.
        read: u64,
    },
    /// A file that is watched is another one now.
    #[error(
        "{} is another file than the one that was being read: it was replaced or removed while it was watched; append to it, or watch a folder of batches",
        path.display()
    )]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// A compressed file cannot grow.
    #[error("{} is compressed and cannot be watched: read it once, or let a plain file grow", path.display())]
    PackedAndWatched {
        /// The file.
        path: PathBuf,
    },
    /// Standard input is open until it ends.
    #[error("standard input is followed until it ends and cannot be watched")]
    InputWatched,
    /// The text that was applied before is missing.
    #[error(
        "{}: the first {bytes} bytes are not those that were applied before: give the stream that the run began with, or {START_OVER}",
        path.display()
    )]
    OtherText {
        /// The stream.
        path: PathBuf,
        /// How many bytes were applied.
        bytes: u64,
    },
    /// A line that was taken as complete has grown.
    #[error(
        "{}, line {line}: the line goes on, and was taken without its end before: repair the graph by an update of its own, or {START_OVER}",
        path.display()
    )]
    TakenEarly {
        /// The stream.
        path: PathBuf,
        /// The line.
        line: u64,
    },
    /// A batch that was applied has another content now.
    #[error(
        "{} is not as it was when it was applied: restore it, give what is new another name, or {START_OVER}",
        path.display()
    )]
    OtherBatch {
        /// The file.
        path: PathBuf,
    },
    /// The run began with another kind of stream.
    #[error("{}: the run began with {was}: give that, or {START_OVER}", path.display())]
    OtherKind {
        /// The stream.
        path: PathBuf,
        /// The kind that it began with.
        was: &'static str,
    },
}

/// A line that is left out, or ends the run.
#[derive(Debug)]
pub struct Refusal {
    /// The problem.
    pub problem: Problem,
    /// Where, and the way out.
    pub error: FormatError,
}
