//! What a run found, used: neighbours, scores, and files for other programs.

#[path = "../support/mod.rs"]
mod support;

mod export;
mod neighbors;
mod python;
mod score;
mod world;
