//! What a person sees: the table and the files of a run, and its progress while it runs.

#[cfg(feature = "download")]
pub mod catalog;
pub mod details;
mod explain;
pub mod export;
pub mod follow;
pub mod html;
pub mod output;
pub mod progress;
pub mod saved;
pub mod shown;
pub mod table;
pub mod trace;
