//! Models built on a decomposition: embeddings, classifiers, neighbours, maps.

pub mod classifier;
pub mod embedding;
pub mod features;
pub mod follow;
pub mod map;
pub mod names;
pub mod neighbours;
pub mod propagation;
pub mod rank;
pub mod transition;
pub mod vectors;
