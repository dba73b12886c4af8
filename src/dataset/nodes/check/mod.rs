//! Whether a dataset has what a classifier needs.

mod error;
mod features;
mod split;

#[cfg(test)]
mod tests;

pub use error::{NodeDataError, SplitPart};

use crate::dataset::{Dataset, UNLABELLED};

/// Refuses a dataset that a classifier cannot learn from or be judged by; says what is wrong with
/// it and where. One pass over the data.
///
/// ```
/// use isvd_dist::dataset::{check_nodes, demo::demo};
/// let mut dataset = demo();
/// assert!(check_nodes(&dataset).is_ok());
/// dataset.labels = None;
/// assert!(check_nodes(&dataset).unwrap_err().to_string().contains("no labels"));
/// ```
pub fn check_nodes(dataset: &Dataset) -> Result<(), NodeDataError> {
    let name = || dataset.name.clone();
    let dense = dataset.features.as_deref();
    let sparse = dataset.sparse_features.as_ref();
    if (dense.is_none() && sparse.is_none()) || dataset.feature_count == 0 {
        return Err(NodeDataError::NoFeatures { dataset: name() });
    }
    let labels = dataset.labels.as_deref().ok_or_else(|| NodeDataError::NoLabels { dataset: name() })?;
    let parts = dataset.node_split.as_ref().ok_or_else(|| NodeDataError::NoSplit { dataset: name() })?;
    check_labels(dataset, labels)?;
    split::check(dataset, labels, parts)?;
    let (nodes, columns) = (dataset.graph.nodes(), dataset.feature_count);
    dense.map_or(Ok(()), |values| features::check_dense(values, nodes, columns))?;
    sparse.map_or(Ok(()), |sparse| features::check_sparse(sparse, nodes, columns))
}

fn check_labels(dataset: &Dataset, labels: &[u32]) -> Result<(), NodeDataError> {
    let (nodes, classes) = (dataset.graph.nodes(), dataset.classes.len());
    if labels.len() != nodes {
        return Err(NodeDataError::LabelRows { rows: labels.len(), nodes });
    }
    let beyond = labels.iter().position(|&label| label != UNLABELLED && label as usize >= classes);
    beyond.map_or(Ok(()), |row| Err(NodeDataError::LabelBeyondClasses { row, label: labels[row], classes }))
}
