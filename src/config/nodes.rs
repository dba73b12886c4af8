//! The part of an experiment that classifies nodes.

use super::defaults::*;
use super::entries::Entries;
use super::error::ConfigError;
use super::experiment::{boolean, count, finite, list, text};
use super::scalar::{self, Scalar};
use super::{keys, keys::Key};
use crate::dataset::{NodeFiles, NodeSplitFrom};
use crate::finetune::network::{self, Phase};
use crate::model::classifier::{self, Targets};
use crate::svd::{self, Method};

/// Node classification, as a config asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeTask {
    /// Whether embeddings are put beside the features.
    pub embedding: bool,
    /// To how many components features are reduced, if they are.
    pub components: Option<svd::Options>,
    /// The closed form.
    pub classifier: classifier::Options,
    /// How often nodes are scored.
    pub passes: usize,
    /// Whose labels the closed form learns from.
    pub learn_from: LearnFrom,
    /// How the network is trained, if it is.
    pub network: Option<network::Options>,
}

/// Whose labels to learn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LearnFrom {
    /// The labels of training nodes.
    Train,
    /// The labels of training and validation nodes.
    TrainAndValid,
}

impl NodeTask {
    /// The same with another seed.
    pub(super) fn set_seed(&mut self, seed: u64) {
        self.classifier.svd.seed = seed;
        if let Some(components) = &mut self.components {
            components.seed = seed;
        }
        if let Some(network) = &mut self.network {
            network.seed = seed;
        }
    }
}

/// The task, if the config has a table for it.
pub(super) fn task(entries: &Entries, file: &str, seed: u64) -> Result<Option<NodeTask>, ConfigError> {
    let label_reuse = switch(entries, &keys::LABEL_REUSE, DEFAULT_LABEL_REUSE)?;
    let layers = entries.count(&keys::LAYERS, 0..=MOST_STEPS)?.unwrap_or(DEFAULT_LAYERS);
    let learn_from = entries.choice(&keys::LEARN_FROM, scalar::LEARN_FROM)?.unwrap_or(DEFAULT_LEARN_FROM);
    let tolerance = entries.number(&keys::COMPONENTS_TOLERANCE, |tolerance| tolerance > 0.0)?;
    let components = entries.count(&keys::COMPONENTS, 1..=u32::MAX)?.map(|rank| svd::Options {
        method: Method::Auto,
        tolerance: Some(tolerance.unwrap_or(DEFAULT_COMPONENTS_TOLERANCE)),
        seed,
        ..svd::Options::of_rank(rank)
    });
    let task = NodeTask {
        embedding: switch(entries, &keys::EMBEDDED, DEFAULT_EMBEDDED)?,
        components,
        classifier: classifier::Options {
            layers,
            label_reuse,
            rows: entries.choice(&keys::CLASSIFIER_ROWS, scalar::ROWS)?.unwrap_or_default(),
            rank: entries.count(&keys::CLASSIFIER_RANK, 1..=u32::MAX)?,
            svd: svd::Options {
                oversample: entries.count(&keys::CLASSIFIER_OVERSAMPLE, 0..=u32::MAX)?,
                iterations: entries
                    .count(&keys::CLASSIFIER_ITERATIONS, 0..=u32::MAX)?
                    .unwrap_or(svd::DEFAULT_ITERATIONS),
                method: entries.choice(&keys::CLASSIFIER_METHOD, scalar::METHOD)?.unwrap_or(Method::Auto),
                seed,
                ..svd::Options::of_rank(1)
            },
            targets: entries.get(&keys::TARGETS, targets)?.unwrap_or(DEFAULT_TARGETS),
            cut: entries.number(&keys::CUT, |cut| (0.0..1.0).contains(&cut))?.unwrap_or(DEFAULT_CUT),
            label_dropout: switch(entries, &keys::LABEL_DROPOUT, DEFAULT_LABEL_DROPOUT)?,
            dropout_copies: entries.count(&keys::DROPOUT_COPIES, 0..=100)?.unwrap_or(DEFAULT_DROPOUT_COPIES),
            dropout_rate: entries
                .number(&keys::DROPOUT_RATE, |rate| rate > 0.0 && rate < 1.0)?
                .unwrap_or(DEFAULT_DROPOUT_RATE),
        },
        passes: entries.count(&keys::PASSES, 1..=MOST_PASSES)?.unwrap_or(if label_reuse { 2 } else { 1 }),
        learn_from,
        network: network(entries, file, layers, learn_from, seed)?,
    };
    // A matrix may be stated of what nodes carry.
    let may_imply = !entries.has(&keys::MATRIX);
    let files = [&keys::FEATURE_FILE, &keys::LABEL_FILE, &keys::TRAIN];
    let has_files = may_imply && files.into_iter().any(|key| entries.has(key));
    let is_asked_for = has_files || ["features", "classifier", "network"].iter().any(|table| entries.has_table(table));
    if is_asked_for {
        check(entries, file, &task)?;
    }
    Ok(is_asked_for.then_some(task))
}

/// Refuses what would have no effect.
fn check(entries: &Entries, file: &str, task: &NodeTask) -> Result<(), ConfigError> {
    let links = "the one is for classifying nodes, the other for predicting links";
    let labels = "labels must be input for that: set label_reuse, and let features travel at least one step";
    let best = entries.get(&keys::RANK, |value| Some(text(value).is_some()))? == Some(true);
    let has_reuse = task.classifier.label_reuse && task.classifier.layers > 0;
    let rules: [(bool, [&'static str; 2], &'static str); 10] = [
        (entries.has_table("finetune"), ["classifier", "finetune"], links),
        (entries.has_table("update"), ["classifier", "update"], links),
        (entries.has(&keys::METRICS), ["classifier", keys::METRICS.path], "nodes are judged by accuracy alone"),
        (
            entries.has_table("embedding") && !task.embedding,
            [keys::EMBEDDED.path, "embedding"],
            "set features.embedding = true, or leave the table out",
        ),
        (
            entries.has(&keys::COMPONENTS_TOLERANCE) && task.components.is_none(),
            [keys::COMPONENTS.path, keys::COMPONENTS_TOLERANCE.path],
            "features are taken as they are: set features.components, or leave the tolerance out",
        ),
        (best, ["classifier", keys::RANK.path], "a rank can be searched for only to predict links"),
        (
            entries.get(&keys::DIRECTED, boolean)? == Some(true),
            ["classifier", keys::DIRECTED.path],
            "every edge counts both ways when nodes are classified",
        ),
        (task.classifier.label_reuse && !has_reuse, [keys::LAYERS.path, keys::LABEL_REUSE.path], labels),
        (task.classifier.label_dropout && !has_reuse, [keys::LABEL_REUSE.path, keys::LABEL_DROPOUT.path], labels),
        (task.passes > 1 && !has_reuse, [keys::LABEL_REUSE.path, keys::PASSES.path], labels),
    ];
    match rules.into_iter().find(|(is_broken, ..)| *is_broken) {
        Some((_, keys, rule)) => Err(ConfigError::Disagreement { config: file.to_owned(), keys, rule }),
        None => Ok(()),
    }
}

fn network(
    entries: &Entries,
    file: &str,
    layers: usize,
    learn_from: LearnFrom,
    seed: u64,
) -> Result<Option<network::Options>, ConfigError> {
    let epochs = entries.get(&keys::NETWORK_EPOCHS, |value| list(value, count))?;
    let rates = entries.get(&keys::LEARNING_RATES, |value| list(value, positive))?;
    let epochs = epochs.unwrap_or_else(|| DEFAULT_NETWORK_EPOCHS.to_vec());
    let rates = rates.unwrap_or_else(|| DEFAULT_LEARNING_RATES.to_vec());
    let fanouts = entries.get(&keys::FANOUTS, |value| list(value, fanout))?.unwrap_or_else(|| default_fanouts(layers));
    let learn_from = entries.choice(&keys::NETWORK_LEARN_FROM, scalar::LEARN_FROM)?.unwrap_or(learn_from);
    let options = network::Options {
        batch: entries.count(&keys::NETWORK_BATCH, 1..=u32::MAX)?.unwrap_or(DEFAULT_NETWORK_BATCH),
        dropout: entries
            .number(&keys::NETWORK_DROPOUT, |rate| (0.0..1.0).contains(&rate))?
            .unwrap_or(DEFAULT_NETWORK_DROPOUT),
        weight_decay: entries.number(&keys::WEIGHT_DECAY, |decay| decay >= 0.0)?.unwrap_or(DEFAULT_WEIGHT_DECAY),
        train_on_valid: learn_from == LearnFrom::TrainAndValid,
        seed,
        schedule: epochs.iter().zip(&rates).map(|(&epochs, &learning_rate)| Phase { epochs, learning_rate }).collect(),
        fanouts,
    };
    if !entries.has_table("network") {
        return Ok(None);
    }
    if epochs.len() != rates.len() {
        let keys = [keys::NETWORK_EPOCHS.path, keys::LEARNING_RATES.path];
        let rule = "give as many of the one as of the other";
        return Err(ConfigError::Disagreement { config: file.to_owned(), keys, rule });
    }
    if options.fanouts.len() != layers {
        let keys = [keys::LAYERS.path, keys::FANOUTS.path];
        return Err(ConfigError::Disagreement {
            config: file.to_owned(),
            keys,
            rule: "give one fan-out for each layer",
        });
    }
    Ok(Some(options))
}

/// Four at every step but the last, whose features are known in advance.
fn default_fanouts(layers: usize) -> Vec<Option<usize>> {
    (1..=layers).map(|layer| Some(4).filter(|_| layer < layers)).collect()
}

/// The files that the nodes of a user's own graph come from, if any are named.
pub(super) fn files(entries: &Entries, file: &str) -> Result<Option<NodeFiles>, ConfigError> {
    let features = entries.get(&keys::FEATURE_FILE, text)?;
    let labels = entries.get(&keys::LABEL_FILE, text)?;
    let part = |key: &Key| entries.get(key, part_of_nodes);
    let (train, valid, test) = (part(&keys::TRAIN)?, part(&keys::VALID)?, part(&keys::TEST)?);
    if features.is_none() && labels.is_none() && train.is_none() {
        return Ok(None);
    }
    let contradiction = |keys: [&'static str; 2]| {
        let rule = "give files for all parts of the split, or fractions for all";
        Err(ConfigError::Disagreement { config: file.to_owned(), keys, rule })
    };
    let split = match (train, valid, test) {
        (Some(Part::File(train)), valid, test) => {
            let file = |part: Option<Part>| match part {
                None => Ok(None),
                Some(Part::File(path)) => Ok(Some(path.into())),
                Some(Part::Fraction(_)) => Err(()),
            };
            match (file(valid), file(test)) {
                (Ok(valid), Ok(test)) => NodeSplitFrom::Files { train: train.into(), valid, test },
                (Err(()), _) => return contradiction([keys::TRAIN.path, keys::VALID.path]),
                (_, Err(())) => return contradiction([keys::TRAIN.path, keys::TEST.path]),
            }
        }
        (_, Some(Part::File(_)), _) => return contradiction([keys::TRAIN.path, keys::VALID.path]),
        (_, _, Some(Part::File(_))) => return contradiction([keys::TRAIN.path, keys::TEST.path]),
        (train, valid, test) => {
            let valid = fraction(valid).unwrap_or(DEFAULT_VALID_NODES);
            let test = fraction(test).unwrap_or(DEFAULT_TEST_NODES);
            let train = fraction(train).unwrap_or(1.0 - valid - test);
            // What fractions such as 0.6, 0.2 and 0.2 may add up to beyond one.
            if train <= 0.0 || train + valid + test > 1.0 + 1e-9 {
                let (keys, rule) = (
                    [keys::TRAIN.path, keys::TEST.path],
                    "fractions must add up to at most 1, some of it for training",
                );
                return Err(ConfigError::Disagreement { config: file.to_owned(), keys, rule });
            }
            NodeSplitFrom::Fractions { train, valid, test }
        }
    };
    Ok(Some(NodeFiles { features: features.map(Into::into), labels: labels.map(Into::into), split }))
}

/// Some of the nodes: the nodes of a file, or a fraction of all.
enum Part {
    File(String),
    Fraction(f64),
}

fn fraction(part: Option<Part>) -> Option<f64> {
    match part {
        Some(Part::Fraction(fraction)) => Some(fraction),
        _ => None,
    }
}

fn part_of_nodes(value: &Scalar) -> Option<Part> {
    match value {
        Scalar::Float(part) if (0.0..=1.0).contains(part) => Some(Part::Fraction(*part)),
        Scalar::Integer(part @ 0..=1) => Some(Part::Fraction(*part as f64)),
        other => text(other).map(Part::File),
    }
}

fn switch(entries: &Entries, key: &Key, default: bool) -> Result<bool, ConfigError> {
    Ok(entries.get(key, boolean)?.unwrap_or(default))
}

fn positive(value: &Scalar) -> Option<f64> {
    finite(value).filter(|&number| number > 0.0)
}

fn targets(value: &Scalar) -> Option<Targets> {
    match list(value, finite)?[..] {
        [hit, miss] if hit > miss => {
            let targets = Targets { hit: hit as f32, miss: miss as f32 };
            (targets.hit.is_finite() && targets.miss.is_finite()).then_some(targets)
        }
        _ => None,
    }
}

fn fanout(value: &Scalar) -> Option<Option<usize>> {
    match value {
        Scalar::Text(text) if text == "all" => Some(None),
        other => count(other).map(Some),
    }
}
