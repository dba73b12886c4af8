use super::nodes::LearnFrom;
use crate::evaluate::Metric;
use crate::model::classifier::Targets;
use crate::model::embedding::Normalize;
#[cfg(doc)]
use crate::svd::Method;
use crate::svd::TRUSTED_RESIDUAL;

/// The seed of the start block.
pub const DEFAULT_SEED: u64 = 1;
/// The longest walk, C.
pub const DEFAULT_WINDOW: usize = 5;
/// The longest walk that a config may ask for: every step is a product, and an operator of the
/// dataflow.
pub const MOST_STEPS: u32 = 1000;
/// The most times that nodes may be scored.
pub const MOST_PASSES: u32 = 10;
/// The weight of the non-edges, λ.
pub const DEFAULT_NEGATIVE: f64 = 0.02;
/// How the adjacency becomes a walk.
pub const DEFAULT_NORMALIZE: Normalize = Normalize::Row;
/// Whether the walk term is multiplied by the square roots of the degrees.
pub const DEFAULT_DEGREE_WEIGHTED: bool = false;
/// Whether walks may stay where they are.
pub const DEFAULT_STAY: bool = false;
/// How many singular triplets are kept.
pub const DEFAULT_RANK: usize = 32;
/// The most triplets that are kept where a rule picks them.
pub const DEFAULT_MOST_RANK: usize = 256;
/// The figures that are computed.
pub const DEFAULT_METRICS: &[Metric] = &[Metric::Auc];
/// The step of Adam.
pub const DEFAULT_LEARNING_RATE: f64 = 1e-2;
/// Edges in a batch.
pub const DEFAULT_BATCH: usize = 1000;
/// Random pairs for every edge.
pub const DEFAULT_NEGATIVES: usize = 10;
/// How often every edge is seen.
pub const DEFAULT_EPOCHS: usize = 1;
/// Whether embedding again starts from what was found before.
pub const DEFAULT_WARM_START: bool = true;
/// The fraction of a user's own edges that is held out for choosing settings.
pub const DEFAULT_VALID: f64 = 0.05;
/// The fraction of a user's own edges that is held out for the final figure.
pub const DEFAULT_TEST: f64 = 0.1;
/// How many times an experiment runs.
pub const DEFAULT_SEEDS: usize = 1;
/// Whether embeddings are appended to the features.
pub const DEFAULT_EMBEDDED: bool = false;
/// The residual to find principal components to, relative to the σ of each: what
/// [`Method::Auto`] asks of a Gram matrix.
pub const DEFAULT_COMPONENTS_TOLERANCE: f64 = TRUSTED_RESIDUAL;
/// How many steps features travel.
pub const DEFAULT_LAYERS: usize = 2;
/// Whether known labels are input to the classifier.
pub const DEFAULT_LABEL_REUSE: bool = false;
/// Whether the classifier learns from a copy of M without labels too.
pub const DEFAULT_LABEL_DROPOUT: bool = false;
/// How many copies of M with entries dropped the classifier learns from too.
pub const DEFAULT_DROPOUT_COPIES: usize = 0;
/// The fraction that such a copy drops.
pub const DEFAULT_DROPOUT_RATE: f64 = 0.5;
/// The targets for the class of a node and for other classes.
pub const DEFAULT_TARGETS: Targets = Targets { hit: 1.0, miss: 0.0 };
/// Singular values below this many times the largest count as zero.
pub const DEFAULT_CUT: f64 = 1e-6;
/// Whose labels the classifier learns from.
pub const DEFAULT_LEARN_FROM: LearnFrom = LearnFrom::Train;
/// Epochs of fine-tuning at each learning rate.
pub const DEFAULT_NETWORK_EPOCHS: &[usize] = &[7, 8];
/// The learning rates of fine-tuning.
pub const DEFAULT_LEARNING_RATES: &[f64] = &[1e-3, 1e-4];
/// Nodes in a batch of fine-tuning.
pub const DEFAULT_NETWORK_BATCH: usize = 500;
/// The fraction of the inputs of a layer that fine-tuning drops.
pub const DEFAULT_NETWORK_DROPOUT: f64 = 0.25;
/// The weight of the squared weights in the loss of fine-tuning.
pub const DEFAULT_WEIGHT_DECAY: f64 = 1e-5;
/// The fraction of a user's own labelled nodes for choosing settings.
pub const DEFAULT_VALID_NODES: f64 = 0.2;
/// The fraction of a user's own labelled nodes for the final figure.
pub const DEFAULT_TEST_NODES: f64 = 0.2;
