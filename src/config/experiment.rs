use std::fs;
use std::path::Path;

use super::defaults::*;
use super::entries::Entries;
use super::error::ConfigError;
use super::scalar::{self, Scalar};
use super::{keys, shipped};
use crate::dataset::Source;
use crate::evaluate::Metric;
use crate::model::embedding;
use crate::svd;

/// A validated config: what to compute on what, and what to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The config's name: of the file without its ending, or of the shipped config.
    pub name: String,
    /// The graph.
    pub dataset: Source,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How nodes are embedded.
    pub embedding: embedding::Options,
    /// The figures to compute; at least one.
    pub metrics: Vec<Metric>,
}

impl Experiment {
    /// Reads a config file, or the shipped config of that name, and overrides its entries by each `key=value` in turn.
    ///
    /// What has a folder in front or ends in `.toml` is a path; anything else is a name.
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
        let text =
            fs::read_to_string(config).map_err(|source| ConfigError::Unreadable { path: config.to_owned(), source })?;
        let name = config.file_stem().unwrap_or(config.as_os_str()).to_string_lossy();
        Self::parse(&name, &config.display().to_string(), &text, assignments)
    }

    /// Reads the text of a config; `file` is what messages call it.
    pub fn parse(name: &str, file: &str, text: &str, assignments: &[String]) -> Result<Self, ConfigError> {
        let mut entries = Entries::parse(file, text)?;
        for assignment in assignments {
            entries.set(assignment)?;
        }
        let dataset = entries.get(&keys::DATASET, dataset)?.ok_or(ConfigError::Missing {
            config: file.to_owned(),
            key: keys::DATASET.path,
            expected: keys::DATASET.accepts,
        })?;
        let seed = entries.get(&keys::SEED, seed)?.unwrap_or(DEFAULT_SEED);
        Ok(Self {
            name: name.to_owned(),
            dataset,
            seed,
            embedding: embedding(&entries, seed)?,
            metrics: entries.get(&keys::METRICS, metrics)?.unwrap_or_else(|| DEFAULT_METRICS.to_vec()),
        })
    }

    /// The same experiment with another seed.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self.embedding.svd.seed = seed;
        self
    }
}

fn embedding(entries: &Entries, seed: u64) -> Result<embedding::Options, ConfigError> {
    let svd = svd::Options {
        rank: entries.count(&keys::RANK, 1..=u32::MAX)?.unwrap_or(DEFAULT_RANK),
        oversample: entries.count(&keys::OVERSAMPLE, 0..=u32::MAX)?,
        iterations: entries.count(&keys::ITERATIONS, 0..=u32::MAX)?.unwrap_or(svd::DEFAULT_ITERATIONS),
        tolerance: entries.number(&keys::TOLERANCE, |tolerance| tolerance > 0.0)?,
        seed,
        method: entries.choice(&keys::METHOD, scalar::METHOD)?.unwrap_or_default(),
        orthonormalize: entries.choice(&keys::ORTHONORMALIZE, scalar::ORTHONORMALIZE)?.unwrap_or_default(),
    };
    Ok(embedding::Options {
        window: entries.count(&keys::WINDOW, 1..=MOST_STEPS)?.unwrap_or(DEFAULT_WINDOW),
        negative: entries.number(&keys::NEGATIVE, |negative| negative >= 0.0)?.unwrap_or(DEFAULT_NEGATIVE),
        normalize: entries.choice(&keys::NORMALIZE, scalar::NORMALIZE)?.unwrap_or(DEFAULT_NORMALIZE),
        degree_weighted: entries.get(&keys::DEGREE_WEIGHTED, boolean)?.unwrap_or(DEFAULT_DEGREE_WEIGHTED),
        svd,
    })
}

fn boolean(value: &Scalar) -> Option<bool> {
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
    match value {
        Scalar::List(names) if !names.is_empty() => names.iter().map(metric).collect(),
        _ => None,
    }
}

fn metric(value: &Scalar) -> Option<Metric> {
    match value {
        Scalar::Text(name) => name.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
