//! Truncated SVD of matrices that are never formed.

pub mod dataset;
pub mod engine;
pub mod graph;
pub mod kernel;
pub mod matrix;
pub mod plan;
pub mod svd;
