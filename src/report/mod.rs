//! What a person sees: the table and the files of a run, and its progress while it runs.

pub mod catalog;
pub mod download;
pub mod explain;
pub mod follow;
pub mod memory;
pub mod metrics;
pub mod output;
pub mod progress;
pub mod saved;
pub mod table;
pub mod trace;
