//! What the decomposition is for.

pub mod classifier;
pub mod embedding;
pub mod features;
pub mod follow;
pub mod map;
pub mod named;
pub mod neighbours;
pub mod propagation;
pub mod rank;
pub mod transition;
pub mod vectors;
