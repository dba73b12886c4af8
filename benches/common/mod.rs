//! Common code of the benchmarks.
#![allow(dead_code)] // Each benchmark uses its own part.

pub mod graphs;
pub mod other;
pub mod peer;
pub mod timing;
