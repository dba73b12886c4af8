//! Matrices stated as text: what is read, what is refused, and that it is the same matrix as in Rust.

mod errors;
mod language;
mod models;
mod printed;
mod runs;
mod world;
