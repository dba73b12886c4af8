//! What the decomposition is for.

pub mod embedding;
