//! The real binary on one machine: what is typed, what is printed, what is written, and what others
//! make of it.

#[path = "../support/mod.rs"]
mod support;

mod checkpoint;
mod cli;
mod comfort;
mod explain;
mod follow;
mod link_prediction;
mod node_classification;
mod output;
mod progress;
mod report;
mod results;
mod same_bits;
mod serve;
mod trace;
