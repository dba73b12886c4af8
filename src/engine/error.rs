//! Errors of runs.

use serde::{Deserialize, Serialize};

use crate::graph::TileError;

/// Why a run of workers ended without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum EngineError {
    /// A cluster without workers.
    #[error("0 workers cannot compute anything: ask for at least 1")]
    NoWorkers,
    /// A matrix of which only the size is known.
    #[error("cannot multiply by {name}: only its size is known")]
    Outline {
        /// Which matrix.
        name: String,
    },
    /// The worker threads could not be started.
    #[error("cannot start {workers} workers: {reason}")]
    CannotStart {
        /// The number of workers.
        workers: usize,
        /// The error of the system.
        reason: String,
    },
    /// A step or the job panicked.
    #[error("worker {worker} panicked in {step}: {message}")]
    Panicked {
        /// The worker.
        worker: usize,
        /// The step.
        step: String,
        /// Its message.
        message: String,
    },
    /// Another worker ended first.
    #[error("worker {worker} stopped: {message}")]
    Stopped {
        /// The worker.
        worker: usize,
        /// Its message.
        message: String,
    },
    /// Blocks of a step did not arrive, or more arrived than were sent.
    #[error("{step}: worker {worker} got {received} of {expected} blocks of a panel")]
    BlocksMissing {
        /// The step.
        step: String,
        /// The worker.
        worker: usize,
        /// The number that arrived.
        received: usize,
        /// The number that was expected.
        expected: usize,
    },
    /// Workers took part in different reductions.
    #[error("{step}: worker {worker} got parts that do not fit together, of {one} and of {other}")]
    PartsDiffer {
        /// The step.
        step: String,
        /// The worker.
        worker: usize,
        /// The reduction of the first part.
        one: String,
        /// The reduction of another part.
        other: String,
    },
    /// Bytes that arrived are not a message.
    #[error("a block arrived damaged: {reason}")]
    DamagedBlock {
        /// The damage.
        reason: String,
    },
    /// A stored tile cannot be read.
    #[error("{reason}")]
    Tile {
        /// The tile, the cause, and the way out.
        reason: String,
    },
    /// A result is not finite.
    #[error("{step} gave a number that is not finite: the entries of the matrix are too large for 32-bit numbers")]
    NotFinite {
        /// The step.
        step: String,
    },
    /// The run was asked to end. A checkpoint was written before, if checkpoints are written.
    #[error("interrupted")]
    Interrupted,
    /// A checkpoint cannot be read, or the last one of an interrupted run cannot be written.
    #[error("{reason}")]
    Checkpoint {
        /// The file, the cause, and the way out.
        reason: String,
    },
}

impl From<TileError> for EngineError {
    fn from(error: TileError) -> Self {
        let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(" ({cause})"));
        Self::Tile { reason: format!("{error}{cause}") }
    }
}
