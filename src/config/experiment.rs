use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use super::defaults::*;
use super::entries::Entries;
use super::error::ConfigError;
use super::nodes::NodeTask;
use super::scalar::{self, Scalar};
use super::statement::{Statement, statement};
use super::{keys, nodes, shipped};
use crate::dataset::format::{EdgeOptions, read_short_text};
use crate::dataset::store::{MatrixSettings, Store};
use crate::dataset::{EdgeFile, Holdout, Source};
use crate::evaluate::Metric;
use crate::graph::{Duplicates, Import, SelfLoops};
use crate::model::embedding::{self, Walks};
use crate::model::rank::RankSearch;
use crate::svd::{Completeness, Keep};
use crate::{finetune, svd};

/// Bytes of the longest config.
const LONGEST: usize = 1 << 20;

/// A validated config: what to compute on what, and what to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The config's name: of the file without its ending, or of the shipped config.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Every entry that was set, by its key.
    pub settings: BTreeMap<String, String>,
    /// The assignments that override entries of the text.
    pub overrides: Vec<String>,
    /// The graph.
    pub dataset: Source,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How edges become a graph.
    pub import: Import,
    /// Whether nodes may get other rows than their numbers while they are embedded.
    pub may_renumber: bool,
    /// The matrix to decompose, if not that of the embedding.
    pub matrix: Option<Statement>,
    /// How nodes are embedded.
    pub embedding: embedding::Options,
    /// The ranks to choose from, where the rank is to be chosen.
    pub rank_search: Option<RankSearch>,
    /// How the kernel is trained, if it is.
    pub finetune: Option<finetune::Options>,
    /// How the graph is embedded again with the validation edges, if it is.
    pub update: Option<Update>,
    /// How nodes are classified, if that is the task.
    pub nodes: Option<NodeTask>,
    /// How many runs there are, with the seeds from `seed` on.
    pub seeds: usize,
    /// The figures to compute; at least one.
    pub metrics: Vec<Metric>,
}

/// How a graph is embedded again after edges were added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Start from the vectors found before.
    pub warm_start: bool,
    /// The most iterations, if not those of the embedding.
    pub iterations: Option<usize>,
}

impl Experiment {
    /// Reads a config file, or the shipped config of that name, and overrides its entries by each
    /// `key=value` in turn.
    ///
    /// What has a folder in front or ends in `.toml` is a path; anything else is a name. Where
    /// there is no file at a path such as `ddi.toml` or `configs/ddi.toml`, it means the shipped
    /// config of that name.
    ///
    /// ```
    /// use isvd_dist::config::Experiment;
    /// let experiment = Experiment::load("demo".as_ref(), &["embedding.rank=8".to_owned()])?;
    /// assert_eq!(experiment.embedding.svd.rank, 8);
    /// # Ok::<(), isvd_dist::config::ConfigError>(())
    /// ```
    pub fn load(config: &Path, assignments: &[String]) -> Result<Self, ConfigError> {
        if shipped::is_name(config) {
            let name = config.to_string_lossy().into_owned();
            let text = shipped::find(&name).ok_or(ConfigError::UnknownName { name: name.clone() })?;
            return Self::parse(&name, &format!("{name}.toml"), text, assignments);
        }
        let text = match (read_short_text(config, LONGEST), shipped::named_by_file(config)) {
            (Ok(text), _) => text,
            (Err(error), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
                return Self::load(name.as_ref(), assignments);
            }
            (Err(source), _) => return Err(ConfigError::Unreadable { path: config.to_owned(), source }),
        };
        let name = config.file_stem().unwrap_or(config.as_os_str()).to_string_lossy();
        Self::parse(&name, &config.display().to_string(), &text, assignments)
    }

    /// Reads the text of a config; `file` is what messages call it.
    pub fn parse(name: &str, file: &str, text: &str, assignments: &[String]) -> Result<Self, ConfigError> {
        let mut entries = Entries::parse(file, text)?;
        for assignment in assignments {
            entries.set(assignment)?;
        }
        let mut dataset = source(&entries, file)?;
        let seed = entries.get(&keys::SEED, seed)?.unwrap_or(DEFAULT_SEED);
        let nodes = nodes::task(&entries, file, seed)?;
        let update = update(&entries)?;
        let import = import(&entries, &dataset, nodes.is_some())?;
        let matrix = statement(&entries, file, nodes.is_some(), update.is_some())?;
        if let Source::Edges(file) = &mut dataset {
            file.options.signed = matrix.is_some();
        }
        Ok(Self {
            name: name.to_owned(),
            text: text.to_owned(),
            settings: entries.settings(),
            overrides: assignments.to_vec(),
            dataset,
            seed,
            import,
            may_renumber: entries.choice(&keys::ORDER, scalar::ORDER)?.unwrap_or(true),
            matrix,
            embedding: embedding(&entries, seed)?,
            rank_search: rank_search(&entries)?,
            finetune: finetune(&entries, seed)?,
            update,
            nodes,
            seeds: entries.count(&keys::SEEDS, 1..=1000)?.unwrap_or(DEFAULT_SEEDS),
            metrics: entries.get(&keys::METRICS, metrics)?.unwrap_or_else(|| DEFAULT_METRICS.to_vec()),
        })
    }

    /// One experiment a seed; there is at least one.
    pub fn runs(&self) -> impl Iterator<Item = Self> + '_ {
        (0..self.seeds.max(1) as u64).map(|run| self.clone().with_seed(self.seed.wrapping_add(run)))
    }

    /// The same experiment with another seed.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self.embedding.svd.seed = seed;
        if let Some(finetune) = &mut self.finetune {
            finetune.seed = seed;
        }
        if let Some(nodes) = &mut self.nodes {
            nodes.set_seed(seed);
        }
        self
    }
}

/// The dataset, or the user's own graph; exactly one of them must be named.
fn source(entries: &Entries, file: &str) -> Result<Source, ConfigError> {
    let named = entries.get(&keys::DATASET, dataset)?;
    let own = entries.get(&keys::PATH, text)?;
    let fraction = |key, default| Ok(entries.number(key, |part| (0.0..=0.5).contains(&part))?.unwrap_or(default));
    let options = EdgeOptions {
        directed: entries.get(&keys::DIRECTED, boolean)?,
        header: entries.get(&keys::HEADER, boolean)?,
        ids: entries.choice(&keys::IDS, scalar::IDS)?.unwrap_or_default(),
        weights: entries.choice(&keys::WEIGHTS, scalar::WEIGHTS)?.unwrap_or_default(),
        ..EdgeOptions::default()
    };
    let nodes = nodes::files(entries, file)?;
    let holdout = match &nodes {
        Some(_) => Holdout::default(),
        None => Holdout { valid: fraction(&keys::VALID, DEFAULT_VALID)?, test: fraction(&keys::TEST, DEFAULT_TEST)? },
    };
    match (named, own) {
        (Some(_), None) if nodes.is_some() => {
            let rule = "a dataset has its own; files of nodes go with data.path";
            let keys = [keys::DATASET.path, "data.features, data.labels or data.train"];
            Err(ConfigError::Disagreement { config: file.to_owned(), keys, rule })
        }
        (Some(named), None) => Ok(named),
        (None, Some(path)) => Ok(Source::Edges(EdgeFile { path: path.into(), options, holdout, nodes })),
        (Some(_), Some(_)) => {
            Err(ConfigError::Contradiction { config: file.to_owned(), keys: [keys::DATASET.path, keys::PATH.path] })
        }
        (None, None) => Err(ConfigError::Missing {
            config: file.to_owned(),
            key: keys::DATASET.path,
            expected: keys::DATASET.accepts,
        }),
    }
}

pub(super) fn text(value: &Scalar) -> Option<String> {
    match value {
        Scalar::Text(text) if !text.is_empty() => Some(text.clone()),
        _ => None,
    }
}

/// How edges become a graph where a config does not say. For classifying nodes an edge is there or
/// not, and every node has a loop anyway. R-MAT draws some edges more than once. A store is what it
/// was made of; that it cannot be opened is said when it is loaded.
pub fn usual_import(dataset: &Source, is_for_nodes: bool) -> Import {
    match dataset {
        _ if is_for_nodes => Import { duplicates: Duplicates::Once, self_loops: SelfLoops::Drop },
        Source::Rmat(_) => Import { duplicates: Duplicates::Once, ..Import::default() },
        Source::Store(folder) => {
            let making = Store::open(folder).and_then(|store| MatrixSettings::of(&store));
            making.map_or_else(|_| Import::default(), |making| making.usual_import)
        }
        _ => Import::default(),
    }
}

fn import(entries: &Entries, dataset: &Source, is_for_nodes: bool) -> Result<Import, ConfigError> {
    let default = usual_import(dataset, is_for_nodes);
    Ok(Import {
        duplicates: entries.choice(&keys::DUPLICATES, scalar::DUPLICATES)?.unwrap_or(default.duplicates),
        self_loops: entries.choice(&keys::SELF_LOOPS, scalar::SELF_LOOPS)?.unwrap_or(default.self_loops),
    })
}

fn embedding(entries: &Entries, seed: u64) -> Result<embedding::Options, ConfigError> {
    let (rank, keep) = match entries.get(&keys::RANK, rank)? {
        Some(Rank::Fixed(rank)) => (rank, Keep::All),
        Some(Rank::Rule { keep, most }) => (most, keep),
        Some(Rank::Best) | None => (DEFAULT_RANK, Keep::All),
    };
    let svd = svd::Options {
        rank,
        keep,
        oversample: entries.count(&keys::OVERSAMPLE, 0..=u32::MAX)?,
        iterations: entries.count(&keys::ITERATIONS, 0..=u32::MAX)?.unwrap_or(svd::DEFAULT_ITERATIONS),
        tolerance: entries.number(&keys::TOLERANCE, |tolerance| tolerance > 0.0)?,
        basis: entries.count(&keys::BASIS, 1..=u32::MAX)?,
        completeness: entries.get(&keys::COMPLETENESS, completeness)?.unwrap_or_default(),
        seed,
        method: entries.choice(&keys::METHOD, scalar::METHOD)?.unwrap_or_default(),
        start: None,
    };
    Ok(embedding::Options {
        walks: match entries.get(&keys::WALK_WEIGHTS, walk_weights)? {
            Some(weights) => Walks::Weights(weights),
            None => Walks::Window(entries.count(&keys::WINDOW, 1..=MOST_STEPS)?.unwrap_or(DEFAULT_WINDOW)),
        },
        negative: entries.number(&keys::NEGATIVE, |negative| negative >= 0.0)?.unwrap_or(DEFAULT_NEGATIVE),
        normalize: entries.choice(&keys::NORMALIZE, scalar::NORMALIZE)?.unwrap_or(DEFAULT_NORMALIZE),
        degree_weighted: entries.get(&keys::DEGREE_WEIGHTED, boolean)?.unwrap_or(DEFAULT_DEGREE_WEIGHTED),
        self_loops: entries.get(&keys::STAY, boolean)?.unwrap_or(DEFAULT_STAY),
        svd,
    })
}

/// The largest gap that is worth a check: values of eleven times the smallest one found are among
/// the largest of most matrices.
const LARGEST_GAP: f64 = 10.0;

/// `"off"`, or the gap to check.
fn completeness(value: &Scalar) -> Option<Completeness> {
    match value {
        Scalar::Text(text) if text == "off" => Some(Completeness::Off),
        other => finite(other).filter(|gap| *gap > 0.0 && *gap <= LARGEST_GAP).map(Completeness::Gap),
    }
}

/// The rank as a config states it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rank {
    Fixed(usize),
    Best,
    /// As many as a rule says, and no more than that.
    Rule {
        keep: Keep,
        most: usize,
    },
}

pub(super) fn rank(value: &Scalar) -> Option<Rank> {
    match value {
        Scalar::Text(text) if text == "best" => Some(Rank::Best),
        Scalar::Table(entries) => rank_rule(entries),
        other => count(other).map(Rank::Fixed),
    }
}

/// `{ energy = 0.9, max = 256 }` or `{ tolerance = 0.1, max = 256 }`
fn rank_rule(entries: &[(String, Scalar)]) -> Option<Rank> {
    let (mut keep, mut most) = (None, DEFAULT_MOST_RANK);
    for (name, value) in entries {
        match name.as_str() {
            "energy" if keep.is_none() => keep = Some(Keep::Energy(share(value)?)),
            "tolerance" if keep.is_none() => keep = Some(Keep::Above(share(value)?)),
            "max" => most = count(value)?,
            _ => return None,
        }
    }
    keep.map(|keep| Rank::Rule { keep, most })
}

/// A number above 0 and at most 1.
fn share(value: &Scalar) -> Option<f64> {
    finite(value).filter(|share| *share > 0.0 && *share <= 1.0)
}

/// Any number but an infinite one.
pub(super) fn finite(value: &Scalar) -> Option<f64> {
    match *value {
        Scalar::Float(number) => Some(number).filter(|number| number.is_finite()),
        Scalar::Integer(number) => Some(number as f64),
        _ => None,
    }
}

fn rank_search(entries: &Entries) -> Result<Option<RankSearch>, ConfigError> {
    let candidates = entries.get(&keys::RANKS, |value| list(value, count))?;
    let kept = entries.number(&keys::KEPT, |kept| kept > 0.0 && kept < 1.0)?;
    let is_asked_for = entries.get(&keys::RANK, rank)? == Some(Rank::Best);
    let default = RankSearch::default();
    Ok(is_asked_for.then_some(RankSearch {
        candidates: candidates.unwrap_or(default.candidates),
        kept: kept.unwrap_or(default.kept),
        negatives: default.negatives,
    }))
}

fn finetune(entries: &Entries, seed: u64) -> Result<Option<finetune::Options>, ConfigError> {
    entries.choice(&keys::KERNEL, scalar::KERNEL)?;
    let options = finetune::Options {
        learning_rate: entries.number(&keys::LEARNING_RATE, |rate| rate > 0.0)?.unwrap_or(DEFAULT_LEARNING_RATE),
        batch: entries.count(&keys::BATCH, 1..=u32::MAX)?.unwrap_or(DEFAULT_BATCH),
        negatives: entries.count(&keys::NEGATIVES, 1..=u32::MAX)?.unwrap_or(DEFAULT_NEGATIVES),
        epochs: entries.count(&keys::EPOCHS, 1..=u32::MAX)?.unwrap_or(DEFAULT_EPOCHS),
        seed,
    };
    Ok(entries.has_table("finetune").then_some(options))
}

fn update(entries: &Entries) -> Result<Option<Update>, ConfigError> {
    entries.choice(&keys::UPDATE_EDGES, scalar::UPDATE_EDGES)?;
    let update = Update {
        warm_start: entries.get(&keys::WARM_START, boolean)?.unwrap_or(DEFAULT_WARM_START),
        iterations: entries.count(&keys::UPDATE_ITERATIONS, 0..=u32::MAX)?,
    };
    Ok(entries.has_table("update").then_some(update))
}

pub(super) fn list<T>(value: &Scalar, read: impl Fn(&Scalar) -> Option<T>) -> Option<Vec<T>> {
    match value {
        Scalar::List(values) if !values.is_empty() => values.iter().map(read).collect(),
        _ => None,
    }
}

pub(super) fn count(value: &Scalar) -> Option<usize> {
    match *value {
        Scalar::Integer(count) if count > 0 => u32::try_from(count).ok().map(|count| count as usize),
        _ => None,
    }
}

fn walk_weights(value: &Scalar) -> Option<Vec<f64>> {
    let weights = list(value, finite)?;
    (weights.len() <= MOST_STEPS as usize).then_some(weights)
}

pub(super) fn boolean(value: &Scalar) -> Option<bool> {
    match *value {
        Scalar::Boolean(value) => Some(value),
        _ => None,
    }
}

fn seed(value: &Scalar) -> Option<u64> {
    match *value {
        Scalar::Integer(seed) => u64::try_from(seed).ok(),
        _ => None,
    }
}

fn dataset(value: &Scalar) -> Option<Source> {
    match value {
        Scalar::Text(name) => name.parse().ok(),
        _ => None,
    }
}

fn metrics(value: &Scalar) -> Option<Vec<Metric>> {
    list(value, metric)
}

fn metric(value: &Scalar) -> Option<Metric> {
    match value {
        Scalar::Text(name) => name.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
