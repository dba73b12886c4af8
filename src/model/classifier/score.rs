//! The scores of all nodes.

use std::sync::Arc;

use super::{ClassifierError, Design, Labels};
use crate::dataset::UNLABELLED;
use crate::engine::{Cluster, product};
use crate::kernel::elementwise::softmax;
use crate::matrix::Dense;
use crate::plan::Side;

/// The known labels, and the number of passes.
#[derive(Debug, Clone)]
pub struct Scoring<'a> {
    /// The class of every node, or [`UNLABELLED`].
    pub labels: &'a [u32],
    /// The nodes whose labels are part of M.
    pub known: &'a [u32],
    /// How often to score: from the second time on with the probabilities found before in place of
    /// labels that are not known.
    pub passes: usize,
}

/// `M·W`: one row a node, one column a class.
pub fn score(
    design: &Design,
    weights: &Arc<Dense>,
    scoring: &Scoring<'_>,
    cluster: Cluster,
) -> Result<Dense, ClassifierError> {
    if weights.rows() != design.columns() {
        return Err(ClassifierError::OtherColumns { found: design.columns(), expected: weights.rows() });
    }
    let classes = weights.columns();
    let known = Labels::known(scoring.labels, scoring.known, classes);
    let mut scores = product(&design.matrix(Some(&known))?, Side::Plain, weights, cluster)?;
    if design.label_classes > 0 {
        for _ in 1..scoring.passes {
            let predicted = Labels::Soft(Arc::new(with_known(probabilities(&scores), scoring)));
            scores = product(&design.matrix(Some(&predicted))?, Side::Plain, weights, cluster)?;
        }
    }
    Ok(scores)
}

/// The softmax of every row.
pub fn probabilities(scores: &Dense) -> Dense {
    let mut data = scores.data().to_vec();
    for row in data.chunks_exact_mut(scores.columns().max(1)) {
        softmax(row);
    }
    Dense::new(scores.rows(), scores.columns(), data).unwrap_or_default()
}

/// Replaces predictions by known labels.
fn with_known(predicted: Dense, scoring: &Scoring<'_>) -> Dense {
    let (rows, classes) = (predicted.rows(), predicted.columns());
    let mut data = predicted.into_data();
    for &node in scoring.known {
        let label = scoring.labels[node as usize];
        if label != UNLABELLED {
            let row = &mut data[node as usize * classes..(node as usize + 1) * classes];
            row.fill(0.0);
            row[label as usize] = 1.0;
        }
    }
    Dense::new(rows, classes, data).unwrap_or_default()
}
