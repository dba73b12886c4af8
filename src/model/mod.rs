//! What the decomposition is for.

pub mod classifier;
pub mod embedding;
pub mod features;
pub mod follow;
pub mod named;
pub mod propagation;
pub mod transition;
