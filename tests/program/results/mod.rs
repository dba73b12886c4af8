//! Neighbours, scores, and exports of results.

mod export;
mod neighbors;
mod python;
mod score;
mod world;
