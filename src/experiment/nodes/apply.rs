//! A classifier applied: features made ready, and scores.

use std::sync::Arc;

use super::{TrainedClassifier, Weights};
use crate::dataset::UNLABELLED;
use crate::engine::{Cluster, form};
use crate::experiment::RunError;
use crate::finetune::network::{self, Problem};
use crate::matrix::{Dense, Kind, Matrix};
use crate::model::classifier::{self, Design, Scoring};
use crate::model::features::{FeatureError, with_embedding};
use crate::model::propagation::Propagation;
use crate::plan::forming::bytes_to_form;

/// The features as a classifier takes them: reduced, and with embeddings appended.
pub(crate) fn ready_features(
    model: &TrainedClassifier,
    features: &Matrix,
    cluster: Cluster,
) -> Result<Matrix, FeatureError> {
    if features.shape().columns != model.recipe.features {
        let (found, expected) = (features.shape().columns, model.recipe.features);
        return Err(FeatureError::OtherColumns { found, expected });
    }
    let beside = |features: &Matrix| match &model.embedding {
        None => Ok(features.clone()),
        Some(sides) => with_embedding(features, sides),
    };
    let features = beside(features)?;
    match &model.reduction {
        None => Ok(features),
        Some(reduction) => beside(&Matrix::dense("X", reduction.apply(&features, cluster)?)?),
    }
}

/// Nodes to score, and what is known of them.
pub(crate) struct Nodes<'a> {
    pub(crate) propagation: &'a Propagation,
    /// As [`ready_features`] makes them.
    pub(crate) features: &'a Matrix,
    pub(crate) labels: &'a [u32],
    /// Nodes whose labels are input.
    pub(crate) known: &'a [u32],
}

/// The scores of all nodes, one column a class.
pub(crate) fn scores(model: &TrainedClassifier, nodes: &Nodes<'_>, cluster: Cluster) -> Result<Dense, RunError> {
    let recipe = &model.recipe;
    let label_classes = if recipe.label_reuse { recipe.classes.len() } else { 0 };
    match &model.weights {
        Weights::Linear(weights) => {
            let design = Design {
                propagation: nodes.propagation.clone(),
                features: nodes.features.clone(),
                layers: recipe.layers,
                label_classes,
            };
            let scoring = Scoring { labels: nodes.labels, known: nodes.known, passes: recipe.passes };
            Ok(classifier::score(&design, weights, &scoring, cluster)?)
        }
        Weights::Network(network) => {
            let problem = problem(nodes, Vec::new(), cluster)?;
            Ok(network::score(&problem, network, nodes.known, recipe.passes, cluster)?)
        }
    }
}

/// What a network is trained or asked on. It looks features up row by row, so they must be written
/// down.
pub(super) fn problem(nodes: &Nodes<'_>, valid: Vec<u32>, cluster: Cluster) -> Result<Problem, RunError> {
    let features = match nodes.features.kind() {
        Kind::Dense { data, mask: None, .. } => data.clone(),
        _ if bytes_to_form(nodes.features) > cluster.forming_limit() => {
            let shape = nodes.features.shape();
            return Err(RunError::TooManyFeatures { rows: shape.rows, columns: shape.columns });
        }
        _ => Arc::new(form(nodes.features, cluster).map_err(network::NetworkError::from)?),
    };
    // Other labels are not read.
    let mut labels = vec![UNLABELLED; nodes.labels.len()];
    for &node in nodes.known.iter().chain(&valid) {
        labels[node as usize] = nodes.labels[node as usize];
    }
    Ok(Problem {
        propagation: nodes.propagation.clone(),
        features,
        labels: labels.into(),
        learn: nodes.known.to_vec(),
        valid,
    })
}
