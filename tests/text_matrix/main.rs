//! Matrices stated as text: what is read, what is refused, and that it is the same matrix as in Rust.

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod errors;
mod language;
mod models;
mod printed;
mod runs;
mod world;
