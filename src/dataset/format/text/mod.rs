//! Text, plain or gzip, block after block.

mod blocks;
mod dialect;
mod edges;
mod fields;
mod lines;
mod numbers;
mod table;

pub(super) use blocks::Blocks;
pub(in crate::dataset) use blocks::{GZIP, check_encoding};
pub(super) use edges::{read_edges, read_pairs};
pub(in crate::dataset) use fields::{data, lines, looks_like_a_time, next_field, other_format, times, trim, weight};
pub(super) use fields::{is_quoted, parse_number};
pub(super) use lines::{each_line, utf8};
pub(super) use table::{Table, read_floats, read_integers, read_separated};
