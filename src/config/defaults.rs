use crate::evaluate::Metric;
use crate::model::embedding::Normalize;

/// The seed of the start block.
pub const DEFAULT_SEED: u64 = 1;
/// The longest walk, C.
pub const DEFAULT_WINDOW: usize = 5;
/// The longest walk that a config may ask for: every step is a product, and an operator of the dataflow.
pub const MOST_STEPS: u32 = 1000;
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
