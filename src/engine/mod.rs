//! Distributed products and reductions on timely dataflow.
//!
//! [`run`] starts the workers. Each gets a [`Session`], and all run the same job. A panel is
//! divided by rows into [`Shard`]s of complete tiles, one for each worker. A
//! [`Program`](crate::plan::Program) runs by one of two schedules, with the same bits:
//!
//! - *By rows*, it is a dataflow with one operator for each step, and one epoch for each product. A
//!   panel is all-gathered before a step that reads all of its rows; between processes only the
//!   rows that sparse products read are sent, if they are few. Reductions follow a fixed binary
//!   tree over tiles.
//! - *By columns*, for small matrices, each worker computes all steps of some columns.
//!
//! The bits of a result do not depend on the number of workers.
//!
//! Three faults are detected:
//!
//! - A message is missing or arrives twice. Every message carries the number of messages of its
//!   sender.
//! - A step fails. Its error is sent in place of its result, and all workers agree on it before the
//!   epoch ends.
//! - A worker panics or ends early. The others stop at their next epoch.
//!
//! Workers may be spread over several processes: see [`mesh`].
//!
//! This is the only module that imports timely or differential dataflow.

mod affinity;
mod analyze;
mod blocks;
mod channels;
pub mod checkpoint;
mod cluster;
mod codec;
mod collective;
mod edge_collection;
mod error;
mod exchange;
mod fetch;
mod flow;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzz;
mod gather_needed;
mod leader;
#[cfg(all(test, feature = "cluster"))]
mod local_mesh;
mod map;
#[cfg(feature = "cluster")]
pub mod mesh;
#[cfg(not(feature = "cluster"))]
#[path = "no_mesh.rs"]
pub mod mesh;
mod message;
mod operands;
mod operator;
mod rates;
mod row_exchange;
mod schedule;
mod session;
mod shard;
mod sharded;
mod standalone;
mod step;
mod stop;
mod stored;
pub mod trace;
mod tree;

pub use analyze::{Measured, analyze};
pub use checkpoint::{CheckpointWriter, Monitor};
pub use cluster::{Cluster, Transport, run, run_on};
pub use edge_collection::{EdgeCollection, EdgeCollectionSize};
pub use error::EngineError;
pub use rates::measure_rates;
pub use session::Session;
pub use shard::Shard;
pub use sharded::{Collected, Sharded};
pub use standalone::{form, product, with_formed};
pub use trace::{WorkerTime, worker_times};
