//! Warnings about a stream that do not stop it.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

/// A warning about a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The last line has no line feed.
    Unfinished {
        /// The stream.
        path: PathBuf,
        /// The line.
        line: u64,
    },
    /// A file of a folder that is watched ends in the middle of a line.
    Waiting {
        /// The file.
        path: PathBuf,
    },
    /// A batch was applied before under another name.
    Duplicate {
        /// The file.
        path: PathBuf,
        /// The name under which it was applied.
        was: String,
    },
    /// A batch arrived after one with a later name.
    Late {
        /// The file.
        path: PathBuf,
        /// The last one that was applied.
        last: String,
    },
    /// There are no updates.
    Empty {
        /// The stream, or the file of a folder.
        path: PathBuf,
    },
    /// Standard input starts with another line than before: it continues, rather than repeats, the
    /// earlier stream.
    GoesOn,
}

impl Notice {
    /// The label of a count of such notices.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Unfinished { .. } => "last lines without a line feed",
            Self::Waiting { .. } => "batches that were waited for",
            Self::Duplicate { .. } => "batches that came again",
            Self::Late { .. } => "batches that came late",
            Self::Empty { .. } => "batches without updates",
            Self::GoesOn => "streams that go on",
        }
    }
}

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unfinished { path, line } => {
                let path = path.display();
                write!(f, "{path}, line {line}: the last line has no line feed, and is taken as it is")
            }
            Self::Waiting { path } => {
                write!(f, "{} ends in the middle of a line: waiting for the rest", path.display())
            }
            Self::Duplicate { path, was } => {
                write!(f, "{} has been applied already, as {was}: left out", path.display())
            }
            Self::Late { path, last } => {
                write!(f, "{} comes after {last}, which its name is before: applied now", path.display())
            }
            Self::Empty { path } => write!(f, "{} holds no updates", path.display()),
            Self::GoesOn => {
                write!(f, "standard input does not begin as it did before: taken as what comes after that")
            }
        }
    }
}
