//! A trained classifier.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::finetune::network::Network;
use crate::matrix::Dense;
use crate::model::features::Reduction;

/// The form of a [`Recipe`] that is written and understood.
pub(crate) const VERSION: u32 = 1;

/// How M is made, and what its weights give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The form that it is written in.
    pub version: u32,
    /// The config that it was trained with, as text, and what was set on top of it.
    pub config: SavedConfig,
    /// How many nodes its graph had.
    pub nodes: usize,
    /// How many features a node carries, before they are reduced.
    pub features: usize,
    /// Whether the vectors of an embedding are appended to the features.
    pub embedding: bool,
    /// Whether they are reduced.
    pub reduced: bool,
    /// L, how many steps features travel.
    pub layers: usize,
    /// Whether known labels are input.
    pub label_reuse: bool,
    /// How often nodes are scored.
    pub passes: usize,
    /// Whether a network was trained from the weights.
    pub network: bool,
    /// The name of each class.
    pub classes: Vec<String>,
}

/// A config, complete enough to load the same data again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedConfig {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Entries that were overridden.
    pub set: Vec<String>,
    /// The seed of the run.
    pub seed: u64,
    /// The seed that the data was split with.
    pub data_seed: u64,
    /// Whether validation labels were learnt from too.
    pub learnt_from_valid: bool,
}

/// A classifier that can be applied.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedClassifier {
    /// What it is.
    pub recipe: Recipe,
    /// How its features are reduced, if they are.
    pub reduction: Option<Reduction>,
    /// The vectors that are appended to the features, left and right, if there are any.
    pub embedding: Option<(Dense, Dense)>,
    /// What scores are made with.
    pub weights: Weights,
}

/// What scores are made with.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights {
    /// `M·W`
    Linear(Arc<Dense>),
    /// A network.
    Network(Network),
}

impl Recipe {
    /// A recipe of the current version, of a plain linear model; the other fields are set after.
    pub fn new(config: SavedConfig, nodes: usize, features: usize, classes: Vec<String>) -> Self {
        Self {
            version: VERSION,
            config,
            nodes,
            features,
            embedding: false,
            reduced: false,
            layers: 0,
            label_reuse: false,
            passes: 1,
            network: false,
            classes,
        }
    }
}
