//! What can go wrong between processes.

use std::io;
use std::time::Duration;

/// Why processes cannot work together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// The port cannot be opened.
    #[error("process {process} cannot listen on {address}: {source}")]
    CannotListen {
        /// Which process.
        process: usize,
        /// Where.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The system has no random numbers, or no threads.
    #[error("cannot prepare for other processes: {0}")]
    Unprepared(String),
    /// Some processes did not come.
    #[error("no connection within {} s: {}", waited.as_secs(), missing.join("; "))]
    Missing {
        /// Each of them, and the last reason.
        missing: Vec<String>,
        /// How long they were waited for.
        waited: Duration,
    },
    /// Two processes would not compute the same.
    #[error("{what} is {here} here and {there} on {peer}: all processes must be given the same")]
    Differs {
        /// In what they differ.
        what: String,
        /// What it is here.
        here: String,
        /// What it is there.
        there: String,
        /// The other process.
        peer: String,
    },
    /// A process is gone.
    #[error("lost {peer}: {reason}; the last step here: {step}")]
    Lost {
        /// Which one.
        peer: String,
        /// How that was noticed.
        reason: String,
        /// What this process was doing.
        step: String,
    },
    /// Another process ended the run.
    #[error("{peer} ended the run: {reason}; the last step here: {step}")]
    Blamed {
        /// Which one.
        peer: String,
        /// What it said.
        reason: String,
        /// What this process was doing.
        step: String,
    },
}

impl MeshError {
    /// The text for other processes: without the step, which differs there.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Lost { peer, reason, .. } => format!("lost {peer}: {reason}"),
            Self::Blamed { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }
}
