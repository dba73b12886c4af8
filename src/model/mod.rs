//! What the decomposition is for.

pub mod classifier;
pub mod embedding;
pub mod features;
pub mod propagation;
