//! Checkpoints: what a run has found so far, on the disk, so that another run can go on from there.
//!
//! A run does one piece of work after the other: a decomposition, a training. A [`Monitor`] stands by each. What a finished
//! one found is an [`StoredResult`], and is read instead of found again. One on its way writes its state into a [`CheckpointLog`] between
//! two steps, and all workers go on from it. The [`CheckpointWriter`] of the run knows when it is time, and whether somebody asked
//! the run to end; it decides for all workers. Only the first worker touches the disk; the others get what it read
//! through the dataflow, so that a run can go on with any number of workers.
//!
//! # On the disk
//!
//! ```text
//! checkpoint/000007.json    what the run had found, and the files that hold it, with their checksums
//! checkpoint/000008.json    the same a little later
//! checkpoint/files/…       panels, row after row, and the numbers beside them
//! ```
//!
//! A piece never changes, so that checkpoints share those that they have in common. Every file is written beside its place,
//! brought to the disk, and then renamed; a checkpoint takes its name after its files. The two newest are kept. Panels
//! are 32-bit and all other numbers 64-bit little-endian floats, so all come back with the same bits.

mod file;
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
