//! The design matrix of a classifier: propagated features and known labels.

use std::sync::Arc;

use crate::dataset::UNLABELLED;
use crate::graph::Sparse;
use crate::matrix::{Dense, Matrix, MatrixError};
use crate::model::propagation::Propagation;

/// Propagation steps of labels. The diagonal of a third step would cost further passes over the
/// graph.
const LABEL_STEPS: usize = 2;

/// `M = [X, ÂX, ZY, Â²X, (ÂZ − diag(ÂZ))Y, Â³X, …]`: a block for every step, with labels in the
/// first two. Row i does not depend on label i, up to the rounding of what is subtracted.
#[derive(Debug, Clone)]
pub struct Design {
    /// The graph.
    pub propagation: Propagation,
    /// X, one row a node.
    pub features: Matrix,
    /// L, the number of propagation steps.
    pub layers: usize,
    /// The number of classes if known labels are part of the matrix, else zero.
    pub label_classes: usize,
}

/// Known or predicted labels: one row a node, one column a class.
#[derive(Debug, Clone)]
pub enum Labels {
    /// Ones at the classes of some nodes.
    Known(Arc<Sparse>),
    /// Probabilities.
    Soft(Arc<Dense>),
}

impl Labels {
    /// The labels of some nodes; the others have rows of zeros.
    ///
    /// # Panics
    /// If a node or its class is out of range.
    pub fn known(labels: &[u32], nodes: &[u32], classes: usize) -> Self {
        let place = |&node: &u32| (node, labels[node as usize]);
        let mut places: Vec<(u32, u32)> = nodes.iter().map(place).filter(|place| place.1 != UNLABELLED).collect();
        // A node may be listed twice.
        places.sort_unstable();
        places.dedup();
        let matrix = Sparse::from_triplets(labels.len(), classes, places, None);
        Self::Known(Arc::new(matrix.expect("nodes and classes are within range")))
    }

    /// Y.
    pub fn matrix(&self) -> Result<Matrix, MatrixError> {
        match self {
            Self::Known(data) => Ok(Matrix::sparse("Y", data.clone())),
            Self::Soft(data) => Matrix::dense("Y", data.clone()),
        }
    }
}

impl Design {
    /// M with these labels; without any, their columns are left out of a design that has none, and
    /// zero in one that has.
    pub fn matrix(&self, labels: Option<&Labels>) -> Result<Matrix, MatrixError> {
        let average = self.propagation.average()?;
        let label_blocks = self.label_blocks(&average, labels)?;
        let mut features = self.features.clone();
        let mut blocks = vec![features.clone()];
        for step in 1..=self.layers {
            features = average.try_multiply(&features)?;
            blocks.push(features.clone());
            blocks.extend(label_blocks.get(step - 1).cloned());
        }
        Matrix::try_hstack(&blocks)
    }

    /// The columns of M.
    pub fn columns(&self) -> usize {
        Self::columns_of(self.features.shape().columns, self.layers, self.label_classes)
    }

    /// The columns of M over so many features, with labels of so many classes in it.
    pub fn columns_of(features: usize, layers: usize, label_classes: usize) -> usize {
        features * (layers + 1) + label_classes * layers.min(LABEL_STEPS)
    }

    /// One for every column of M that comes from features, zero for those that come from labels.
    pub fn feature_columns(&self) -> Vec<f32> {
        let features = std::iter::repeat_n(1.0, self.features.shape().columns);
        let labels = std::iter::repeat_n(0.0, self.label_classes);
        let step = |step: usize| {
            let labels = labels.clone().filter(move |_| (1..=LABEL_STEPS).contains(&step));
            features.clone().chain(labels)
        };
        (0..=self.layers).flat_map(step).collect()
    }

    /// The weights of M's columns as those of a network, in which labels travel as far as features
    /// do: beyond their steps the weights of labels are zero.
    pub fn network_weights(&self, weights: &Dense) -> Result<Dense, MatrixError> {
        let (width, classes) = (self.features.shape().columns, weights.columns());
        let mut rows = weights.data().chunks_exact(classes.max(1));
        let mut data = Vec::new();
        for step in 0..=self.layers {
            data.extend(rows.by_ref().take(width).flatten());
            match step {
                0 => {}
                1..=LABEL_STEPS => data.extend(rows.by_ref().take(self.label_classes).flatten()),
                _ => data.resize(data.len() + self.label_classes * classes, 0.0),
            }
        }
        Dense::new(data.len() / classes.max(1), classes, data)
    }

    fn label_blocks(&self, average: &Matrix, labels: Option<&Labels>) -> Result<Vec<Matrix>, MatrixError> {
        let steps = self.layers.min(LABEL_STEPS);
        if self.label_classes == 0 || steps == 0 {
            return Ok(Vec::new());
        }
        let Some(labels) = labels else {
            let none = Matrix::zero(self.propagation.nodes(), self.label_classes);
            return Ok(vec![none; steps]);
        };
        let labels = labels.matrix()?;
        let once = self.propagation.neighbours()?.try_multiply(&labels)?;
        let mut blocks = vec![once.clone()];
        if steps > 1 {
            let returned = Matrix::diagonal_of("diag(ÂZ)", self.propagation.returns())?.try_multiply(&labels)?;
            blocks.push(average.try_multiply(&once)?.try_subtract(&returned)?);
        }
        Ok(blocks)
    }
}
