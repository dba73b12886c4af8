//! Truncated SVD of matrices that are never formed.

pub mod dataset;
pub mod graph;
pub mod kernel;
pub mod matrix;
pub mod plan;
