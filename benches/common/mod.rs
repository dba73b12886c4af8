//! What the benchmarks share.

pub mod graphs;
pub mod timing;
