//! What a run found, used: neighbours, scores, and files for other programs.

mod export;
mod neighbors;
mod python;
mod score;
mod world;
