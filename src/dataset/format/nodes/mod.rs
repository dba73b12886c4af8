//! Files about nodes: features, labels, and the nodes of a part of a split.
//!
//! Row `i` of every file is node `i` of the graph.

mod features;
mod labels;
mod members;

pub use features::{Features, read_features};
pub use labels::{Labels, read_labels};
pub use members::read_nodes;

use super::{Array, FormatError};

/// How many entries a list has; a matrix of one column is one too.
fn list(array: &Array<'_>) -> Result<usize, FormatError> {
    match array.shape[..] {
        [rows] | [rows, 1] => Ok(rows),
        _ => {
            let found = format!("an array of shape {:?}", array.shape);
            Err(FormatError::content(array.path(), found, "one number a row", "save a list, of shape [n]"))
        }
    }
}
