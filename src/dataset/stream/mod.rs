//! Streams of updates of a graph.
//!
//! A line says `time op source target [weight]`, with any ids. Lines come from a file, from one
//! that grows, or from standard input, and are cut into [`Batch`]es by count or by time; or each
//! file of a folder is a batch. [`Batches`] reads them, says of every batch where it ends, and goes
//! on from such a [`Position`] later, once it has seen that what comes before it is what was read
//! then. A [`Log`] keeps the batches that were accepted.

mod batch_builder;
mod batches;
mod error;
mod folder;
mod line;
mod lines;
mod log;
mod notice;
mod text;
mod time;

pub use batches::{Batch, Batches, Next, Rule};
pub use error::{Refusal, StreamError};
pub use line::{Action, Problem, Update};
pub use lines::Place;
pub use log::{Entry, Log, LogError, Opened, Record};
pub use notice::Notice;
pub use time::{ParseTimeError, Span, Time};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where updates come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Standard input.
    Input,
    /// A file or a folder of files.
    Path(PathBuf),
}

impl Origin {
    /// The origin of a path as a user gives it: `-` is standard input.
    pub fn named(path: &Path) -> Self {
        match path.as_os_str() == "-" {
            true => Self::Input,
            false => Self::Path(path.to_owned()),
        }
    }

    /// Its name in messages.
    pub fn shown(&self) -> &Path {
        match self {
            Self::Input => Path::new("standard input"),
            Self::Path(path) => path,
        }
    }

    /// Whether each file in it is a batch.
    pub fn is_folder(&self) -> bool {
        matches!(self, Self::Path(path) if path.is_dir())
    }
}

/// How far a stream was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Up to a place of a text.
    Text(Place),
    /// A file of a folder is done.
    File {
        /// Its name.
        name: String,
        /// Its bytes, unpacked.
        bytes: u64,
        /// XXH3 of those.
        checksum: u64,
        /// The latest time so far.
        time: Option<String>,
    },
}

impl Position {
    /// The latest time so far.
    pub fn time(&self) -> Option<&str> {
        match self {
            Self::Text(place) => place.time.as_deref(),
            Self::File { time, .. } => time.as_deref(),
        }
    }
}
