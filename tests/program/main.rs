//! The program on one machine: its arguments, its output, its files, and their use by other
//! programs.

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
