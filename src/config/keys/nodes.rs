//! The keys of node classification: `[features]`, `[classifier]`, `[network]`, and the files that nodes come from.

use super::Key;
use crate::config::defaults::*;
use crate::config::scalar;
use crate::model::classifier::Rows;
use crate::svd::Method;

const COUNT: &str = "a whole number from 1 to 4294967295";
const SWITCH: &str = "true or false";

pub const SEEDS: Key = Key {
    path: "seeds",
    about: "how many times to run, with the seeds from `seed` on; figures are the mean, with the spread beside it",
    accepts: "a whole number from 1 to 1000",
    default: || Some(DEFAULT_SEEDS.to_string()),
};
pub const FEATURE_FILE: Key = Key {
    path: "data.features",
    about: "what the nodes of data.path carry, one row a node: .npy, a sparse scipy .npz, or numbers in columns of text",
    accepts: "the path of a file",
    default: || Some("none".to_owned()),
};
pub const LABEL_FILE: Key = Key {
    path: "data.labels",
    about: "the classes of the nodes of data.path: one a line (nothing, -1 or ? where unknown), or .npy",
    accepts: "the path of a file",
    default: || Some("none".to_owned()),
};
pub const TRAIN: Key = Key {
    path: "data.train",
    about: "the nodes to learn from: a file with one row a line or .npy; or the fraction of those with a label",
    accepts: "the path of a file, or a number above 0 and up to 1",
    default: || Some("what valid and test leave".to_owned()),
};
pub const EMBEDDED: Key = Key {
    path: "features.embedding",
    about: "put the vectors L and R of [embedding] beside the features",
    accepts: SWITCH,
    default: || Some(DEFAULT_EMBEDDED.to_string()),
};
pub const COMPONENTS: Key = Key {
    path: "features.components",
    about: "reduce features to so many principal components",
    accepts: COUNT,
    default: || Some("take them as they are".to_owned()),
};
pub const COMPONENTS_TOLERANCE: Key = Key {
    path: "features.tolerance",
    about: "find the principal components to this residual, relative to the σ of each, where they are found by iteration",
    accepts: "a finite number above 0",
    default: || Some(DEFAULT_COMPONENTS_TOLERANCE.to_string()),
};
pub const LAYERS: Key = Key {
    path: "classifier.layers",
    about: "L: how many steps features travel; [classifier], even if it is empty, asks for node classification",
    accepts: "a whole number from 0 to 1000",
    default: || Some(DEFAULT_LAYERS.to_string()),
};
pub const LABEL_REUSE: Key = Key {
    path: "classifier.label_reuse",
    about: "known labels of other nodes within two steps are input too",
    accepts: SWITCH,
    default: || Some(DEFAULT_LABEL_REUSE.to_string()),
};
pub const CLASSIFIER_ROWS: Key = Key {
    path: "classifier.rows",
    about: "decompose the rows of M with a label to learn from, or all of M and take those rows of U",
    accepts: "\"labelled\" or \"all\"",
    default: || scalar::name_of(scalar::ROWS, Rows::default()),
};
pub const CLASSIFIER_RANK: Key = Key {
    path: "classifier.rank",
    about: "how many singular triplets to keep of M",
    accepts: COUNT,
    default: || Some("100, less for few rows".to_owned()),
};
pub const CLASSIFIER_OVERSAMPLE: Key = Key {
    path: "classifier.oversample",
    about: "columns to iterate on beyond the rank",
    accepts: "a whole number from 0 to 4294967295",
    default: || Some("the rank, at most 30".to_owned()),
};
pub const CLASSIFIER_ITERATIONS: Key = Key {
    path: "classifier.iterations",
    about: "how many iterations to make at most, where the method iterates",
    accepts: "a whole number from 0 to 4294967295",
    default: || Some(crate::svd::DEFAULT_ITERATIONS.to_string()),
};
pub const CLASSIFIER_METHOD: Key = Key {
    path: "classifier.method",
    about: "the algorithm; \"auto\" takes \"gram\" where it is less work and its certificate allows",
    accepts: "\"auto\", \"gram\", \"krylov\" or \"subspace\"",
    default: || scalar::name_of(scalar::METHOD, Method::Auto),
};
pub const TARGETS: Key = Key {
    path: "classifier.targets",
    about: "what to fit for the class of a node, and for every other class",
    accepts: "a list of two finite numbers, the first larger",
    default: || Some(format!("[{:?}, {:?}]", DEFAULT_TARGETS.hit, DEFAULT_TARGETS.miss)),
};
pub const CUT: Key = Key {
    path: "classifier.cut",
    about: "singular values below this many times the largest count as zero",
    accepts: "a number from 0 and below 1",
    default: || Some(DEFAULT_CUT.to_string()),
};
pub const LABEL_DROPOUT: Key = Key {
    path: "classifier.label_dropout",
    about: "learn from a copy of M without labels too",
    accepts: SWITCH,
    default: || Some(DEFAULT_LABEL_DROPOUT.to_string()),
};
pub const DROPOUT_COPIES: Key = Key {
    path: "classifier.dropout_copies",
    about: "learn from so many copies of M with entries dropped at random too",
    accepts: "a whole number from 0 to 100",
    default: || Some(DEFAULT_DROPOUT_COPIES.to_string()),
};
pub const DROPOUT_RATE: Key = Key {
    path: "classifier.dropout_rate",
    about: "the fraction of the entries that such a copy drops",
    accepts: "a number between 0 and 1",
    default: || Some(DEFAULT_DROPOUT_RATE.to_string()),
};
pub const PASSES: Key = Key {
    path: "classifier.passes",
    about: "how often to score: from the second time on with what was found in place of unknown labels",
    accepts: "a whole number from 1 to 10",
    default: || Some("2 with label_reuse, else 1".to_owned()),
};
pub const LEARN_FROM: Key = Key {
    path: "classifier.learn_from",
    about: "whose labels to learn from",
    accepts: "\"train\" or \"train+valid\"",
    default: || scalar::name_of(scalar::LEARN_FROM, DEFAULT_LEARN_FROM),
};
pub const NETWORK_EPOCHS: Key = Key {
    path: "network.epochs",
    about: "how often every node is seen, with each of the learning rates; any key of [network] asks for fine-tuning",
    accepts: "a list of one or more whole numbers from 1 to 4294967295",
    default: || Some(format!("{DEFAULT_NETWORK_EPOCHS:?}")),
};
pub const LEARNING_RATES: Key = Key {
    path: "network.learning_rates",
    about: "the steps of Adam, one for each number of epochs",
    accepts: "a list of as many finite numbers above 0 as there are in network.epochs",
    default: || Some(format!("{DEFAULT_LEARNING_RATES:?}")),
};
pub const NETWORK_BATCH: Key = Key {
    path: "network.batch",
    about: "nodes in a batch",
    accepts: COUNT,
    default: || Some(DEFAULT_NETWORK_BATCH.to_string()),
};
pub const FANOUTS: Key = Key {
    path: "network.fanouts",
    about: "how many neighbours to draw for a node, from the batch outwards, one number a layer",
    accepts: "a list of whole numbers from 1 to 4294967295 or \"all\", as many as classifier.layers",
    default: || Some("4, and \"all\" for the last".to_owned()),
};
pub const NETWORK_DROPOUT: Key = Key {
    path: "network.dropout",
    about: "the fraction of the inputs of every layer that is dropped",
    accepts: "a number from 0 and below 1",
    default: || Some(DEFAULT_NETWORK_DROPOUT.to_string()),
};
pub const WEIGHT_DECAY: Key = Key {
    path: "network.weight_decay",
    about: "the weight of the squared weights in the loss",
    accepts: "a finite number, at least 0",
    default: || Some(DEFAULT_WEIGHT_DECAY.to_string()),
};
pub const NETWORK_LEARN_FROM: Key = Key {
    path: "network.learn_from",
    about: "whose labels to train on; with those of \"valid\" the last epoch is kept, else the best on them",
    accepts: "\"train\" or \"train+valid\"",
    default: || Some("that of the classifier".to_owned()),
};
