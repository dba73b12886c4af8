//! Who multiplies: timely workers, each with its tiles of every panel.
//!
//! [`run`] starts the workers; each gets a [`Session`], and all of them run the same job, step by step. A
//! [`Program`](crate::plan::Program) becomes one dataflow with one named operator a step; a multiplication is one epoch
//! of it. Between steps panels stay where they are, cut by rows into [`Shard`]s of whole tiles; a step that needs all the
//! rows of a panel is preceded by an all-gather, and sums over rows go up a fixed binary tree over the tiles. Between
//! processes a sparse product is preceded by a gather of the rows that it picks, if they are few enough. So a
//! result never depends on who computed it: the bits are those of one worker, whatever the number of workers. Small
//! matrices are multiplied by columns in place of rows, with the same bits.
//!
//! Three things do not go unnoticed. A block that was not sent, or sent twice: every block says how many its sender
//! sends. A failing step: its error travels in place of its result, and all workers agree on it before the epoch ends. A
//! worker that panics, or ends before the others: they stop at their next turn.
//!
//! Workers may be spread over several processes: see [`mesh`].
//!
//! This is the only module that imports timely or differential dataflow.

mod affinity;
mod analyze;
mod blocks;
mod broadcast;
pub mod checkpoint;
mod cluster;
mod codec;
mod collective;
mod directed;
mod edge_collection;
mod error;
mod exchange;
mod flow;
#[doc(hidden)]
pub mod fuzz;
mod gather_needed;
mod leader;
#[cfg(test)]
mod local_mesh;
mod map;
pub mod mesh;
mod message;
mod operands;
mod operator;
mod rates;
mod row_exchange;
mod schedule;
mod session;
mod shard;
mod standalone;
mod step;
mod stop;
mod stored;
pub mod trace;
mod tree;

pub use analyze::{Measured, analyze};
pub use checkpoint::{CheckpointWriter, Monitor};
pub use cluster::{Cluster, Transport, run};
pub use edge_collection::{EdgeCollection, EdgeCollectionSize};
pub use error::EngineError;
pub use rates::measure_rates;
pub use session::Session;
pub use shard::Shard;
pub use standalone::{form, product, with_formed};
pub use trace::{WorkerTime, worker_times};
