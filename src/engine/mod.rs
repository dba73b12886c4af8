//! Distributed products and reductions on timely dataflow.
//!
//! [`run`] starts the workers. Each gets a [`Session`], and all of them run the same job. Panels
//! are cut by rows into [`Shard`]s of whole tiles, one a worker. A
//! [`Program`](crate::plan::Program) runs by one of two schedules, with the same bits:
//!
//! By rows it is a dataflow with one named operator a step, one epoch a product. A step that reads
//! all rows of a panel is preceded by an all-gather; between processes only the rows that sparse
//! products pick are sent, where they are few. Sums over rows go up a fixed binary tree over tiles.
//! By columns, for small matrices, each worker takes some columns through all steps.
//!
//! The bits of a result are those of one worker, whatever the number of workers.
//!
//! Three faults are detected. A block that is missing or sent twice: every block says how many its
//! sender sends. A failing step: its error travels in place of its result, and all workers agree on
//! it before the epoch ends. A worker that panics or ends before the others: they stop at their
//! next epoch.
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
