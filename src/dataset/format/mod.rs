//! The formats that data comes in.
//!
//! [`read_edges`] reads a graph from one file, whatever its format: a text of edges, numpy's pairs,
//! a scipy matrix, Matrix Market. Features, labels and splits of nodes are read by
//! [`read_features`], [`read_labels`], [`read_nodes`]. Benchmarks come as folders: [`read_ogb`],
//! [`read_planetoid`], [`read_asymproj`]. Everything is read as a stream, plain or compressed, from
//! a file or a pipe that is opened once; memory is taken from a [`Budget`](super::Budget). Nothing
//! that a file says is believed before its bytes are there, and nothing in a file is ever run.

mod array;
mod asymproj;
mod detect;
mod error;
mod input;
mod matrix_market;
mod nodes;
#[cfg(not(feature = "formats"))]
pub(in crate::dataset) mod not_packed;
mod npy;
mod npz;
mod ogb;
mod options;
#[cfg(feature = "formats")]
pub(in crate::dataset) mod packed;
mod pickle;
mod planetoid;
mod remark;
mod rows;
mod sparse;
mod symmetry;
mod text;
mod torch;
#[cfg(feature = "formats")]
mod zip_directory;
#[cfg(feature = "formats")]
mod zipped;

pub use array::{Array, ElementKind, ElementType};
pub use asymproj::read_asymproj;
use detect::PairCollector;
pub use detect::{Format, ReadEdges, ReadPairs, UnknownIds, read_edges, read_pairs};
pub(in crate::dataset) use error::{Fault, excerpt};
pub use error::{FormatError, Location};
pub(in crate::dataset) use input::file_identity;
#[cfg(feature = "cli")]
pub(crate) use input::read_short;
#[cfg(feature = "experiment")]
pub(crate) use input::read_short_text;
pub use nodes::{Features, Labels, read_features, read_labels, read_nodes};
#[cfg(not(feature = "formats"))]
pub(in crate::dataset) use not_packed as packed;
pub use npy::read_npy;
pub use npz::Npz;
pub use ogb::{OgbOptions, read_ogb};
pub use options::{EdgeOptions, IdKind, Weights};
pub use pickle::{Pickle, Value, read_pickle};
pub use planetoid::read_planetoid;
pub use remark::Remark;
pub(in crate::dataset) use text::{
    GZIP, check_encoding, data, lines, looks_like_a_time, next_field, other_format, trim, weight,
};
pub use torch::read_torch;

#[cfg(all(test, feature = "formats"))]
pub(in crate::dataset) mod tests;
