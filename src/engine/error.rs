//! What can go wrong while workers run.

use serde::{Deserialize, Serialize};

/// Why a run of workers ended without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum EngineError {
    /// There must be somebody to do the work.
    #[error("0 workers cannot compute anything: ask for at least 1")]
    NoWorkers,
    /// The worker threads could not be started.
    #[error("cannot start {workers} workers: {reason}")]
    CannotStart { workers: usize, reason: String },
    /// Code of ours, or of the job, panicked.
    #[error("worker {worker} panicked in {step}: {message}")]
    Panicked { worker: usize, step: String, message: String },
    /// Another worker ended early, for a reason of its own.
    #[error("worker {worker} stopped: {message}")]
    Stopped { worker: usize, message: String },
    /// Blocks of a step did not arrive, or more arrived than were sent.
    #[error("{step}: worker {worker} got {received} of {expected} blocks of a panel")]
    BlocksMissing { step: String, worker: usize, received: usize, expected: usize },
    /// Bytes arrived that are no block.
    #[error("a block arrived damaged: {reason}")]
    DamagedBlock { reason: String },
    /// A product overflowed.
    #[error("{step} gave a number that is not finite: the entries of the matrix are too large for 32-bit numbers")]
    NotFinite { step: String },
}
