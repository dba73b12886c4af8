//! Matrices stated as text: valid texts, errors, and the equality with matrices stated in Rust.

mod errors;
mod language;
mod models;
mod printed;
mod runs;
mod world;
