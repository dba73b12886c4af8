//! What can go wrong while workers run.

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
    #[error("{name} is an outline, of which only the size is known: there is nothing to multiply with")]
    Outline {
        /// Which matrix.
        name: String,
    },
    /// The worker threads could not be started.
    #[error("cannot start {workers} workers: {reason}")]
    CannotStart {
        /// How many were asked for.
        workers: usize,
        /// What the system said.
        reason: String,
    },
    /// A step or the job panicked.
    #[error("worker {worker} panicked in {step}: {message}")]
    Panicked {
        /// Which worker.
        worker: usize,
        /// In which step.
        step: String,
        /// What it said.
        message: String,
    },
    /// Another worker ended first.
    #[error("worker {worker} stopped: {message}")]
    Stopped {
        /// Which worker.
        worker: usize,
        /// What it said.
        message: String,
    },
    /// Blocks of a step did not arrive, or more arrived than were sent.
    #[error("{step}: worker {worker} got {received} of {expected} blocks of a panel")]
    BlocksMissing {
        /// In which step.
        step: String,
        /// Which worker.
        worker: usize,
        /// How many came.
        received: usize,
        /// How many should have.
        expected: usize,
    },
    /// Workers reduced different things.
    #[error("{step}: worker {worker} got parts that do not fit together, of {one} and of {other}")]
    PartsDiffer {
        /// In which step.
        step: String,
        /// Which worker.
        worker: usize,
        /// What the first part is of.
        one: String,
        /// What another part is of.
        other: String,
    },
    /// Bytes arrived that are no message.
    #[error("a block arrived damaged: {reason}")]
    DamagedBlock {
        /// What is wrong with it.
        reason: String,
    },
    /// A tile cannot be read from where it is stored.
    #[error("{reason}")]
    Tile {
        /// Which one, and the way out.
        reason: String,
    },
    /// A result is not finite.
    #[error("{step} gave a number that is not finite: the entries of the matrix are too large for 32-bit numbers")]
    NotFinite {
        /// In which step.
        step: String,
    },
    /// The run was interrupted; what it found was kept where checkpoints are.
    #[error("interrupted")]
    Interrupted,
    /// A checkpoint cannot be read, or the last one cannot be written.
    #[error("{reason}")]
    Checkpoint {
        /// What, where and why.
        reason: String,
    },
}

impl From<TileError> for EngineError {
    fn from(error: TileError) -> Self {
        let cause = std::error::Error::source(&error).map_or_else(String::new, |cause| format!(" ({cause})"));
        Self::Tile { reason: format!("{error}{cause}") }
    }
}
