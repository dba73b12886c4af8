//! Checkpoints on disk, from which another run can resume.
//!
//! A run consists of stages: a decomposition, a training. A [`Monitor`] accompanies each. The
//! result of a finished stage is a [`StoredResult`], and is read in place of computed again. A
//! stage in progress writes its state into a [`CheckpointLog`] between iterations, and all workers
//! resume from it. The [`CheckpointWriter`] of the run decides for all workers when a checkpoint is
//! due, and whether the run was asked to end. Only the first worker accesses the disk. The others
//! get their parts through the dataflow, so a run can resume with any number of workers.
//!
//! # On the disk
//!
//! ```text
//! checkpoint/000007.json   manifest: the stages of the run, their files and checksums
//! checkpoint/000008.json   manifest of the next checkpoint
//! checkpoint/pieces/…      files: panels, row-major, and other numbers
//! ```
//!
//! A file is never changed, so checkpoints share files. A file is written under a temporary name,
//! synchronised, and renamed; the manifest is the last. The two newest checkpoints are kept. Panels
//! are 32-bit and other numbers 64-bit little-endian floats, so all bits are restored.

mod file;
#[cfg(feature = "fuzzing")]
pub(super) mod fuzz;
mod interrupt;
mod log;
mod manifest;
mod monitor;
mod notice;
mod store;
mod writer;

pub use interrupt::Interrupt;
pub use log::{CheckpointLog, State};
pub use manifest::{Identity, differences};
pub use monitor::{Monitor, StoredResult};
pub use notice::{CheckpointError, Notice};
pub use store::{Space, Store, is_full, is_there};
pub use writer::{CheckpointPolicy, CheckpointWriter, Every};

#[cfg(test)]
mod tests;
