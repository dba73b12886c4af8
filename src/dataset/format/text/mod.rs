//! Text, plain or gzip, block after block.

mod blocks;
mod dialect;
mod edges;
mod fields;
mod numbers;
mod table;

pub(super) use blocks::Blocks;
pub(super) use edges::{read_edges, read_pairs};
pub(super) use fields::{lines, parse_number, trim};
pub(super) use table::{read_floats, read_integers};
