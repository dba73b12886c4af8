//! Errors between processes.

use std::io;
use std::time::Duration;

/// Why processes cannot work together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// The port cannot be opened.
    #[error("process {process} cannot listen on {address}: {source}")]
    CannotListen {
        /// The process.
        process: usize,
        /// The address.
        address: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The system has no random numbers, or no threads.
    #[error("cannot prepare for other processes: {0}")]
    Unprepared(String),
    /// Some processes did not connect.
    #[error("no connection within {} s: {}", waited.as_secs(), missing.join("; "))]
    Missing {
        /// Each process, with the last reason.
        missing: Vec<String>,
        /// The time limit.
        waited: Duration,
    },
    /// The settings of two processes differ.
    #[error("{what} is {here} here and {there} on {peer}: all processes must be given the same")]
    Differs {
        /// The setting.
        what: String,
        /// Its value in this process.
        here: String,
        /// Its value in the other process.
        there: String,
        /// The other process.
        peer: String,
    },
    /// The connection to a process is lost.
    #[error("lost {peer}: {reason}; the last step here: {step}")]
    Lost {
        /// The process.
        peer: String,
        /// How the loss was detected.
        reason: String,
        /// The last step of this process.
        step: String,
    },
    /// Another process ended the run.
    #[error("{peer} ended the run: {reason}; the last step here: {step}")]
    Failed {
        /// The process.
        peer: String,
        /// Its error.
        reason: String,
        /// The last step of this process.
        step: String,
    },
}

impl MeshError {
    /// The text for other processes, without the last step of this one.
    pub(super) fn for_peers(&self) -> String {
        match self {
            Self::Lost { peer, reason, .. } => format!("lost {peer}: {reason}"),
            Self::Failed { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }
}
