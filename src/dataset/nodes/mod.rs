//! Nodes to classify: what they carry, which of them are to learn from, and whether that is enough.

mod check;
mod files;
mod fractions;

#[cfg(all(test, feature = "formats"))]
mod tests;

pub use check::{NodeDataError, SplitPart, check_nodes};
pub(super) use files::load;
pub use files::{NodeFiles, NodeSplitFrom};
pub use fractions::FractionsError;
