//! Sparse matrices of graphs, stored in tiles.
//!
//! A [`Sparse`] matrix is stored once, tile by tile ([`Tiling`]), without values when all are one.
//! A [`Graph`] is the adjacency matrix of an edge list with its degrees; normalisations are
//! diagonal matrices that products apply on the way.

mod adjacency;
mod buckets;
mod build;
mod cells;
mod edges;
mod error;
pub mod evolve;
mod neighbours;
mod order;
pub(crate) mod parallel;
mod progress;
mod radix;
mod row_set;
mod slot;
mod sparse;

pub use adjacency::{Graph, Import, ImportReport, SelfLoops};
pub use build::{Duplicates, TILES_MADE};
pub use edges::EdgeList;
pub(crate) use edges::renumber;
pub use error::GraphError;
pub use neighbours::Neighbours;
pub use order::Order;
pub use progress::ProgressCounter;
pub use row_set::RowSet;
pub use slot::TileError;
pub(crate) use slot::TileSource;
pub use sparse::{STRIP_COLUMNS, Sparse};

pub use crate::kernel::Tiling;
