use std::env;
use std::path::{Path, PathBuf};
use std::thread;

use super::{Arguments, Error};
use crate::config::Experiment;
use crate::engine::Cluster;

/// A run that makes sense: what [`Arguments`] ask for, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// What to compute.
    pub experiment: Experiment,
    /// Who computes it.
    pub cluster: Cluster,
    /// Where datasets are.
    pub data: Option<PathBuf>,
    /// Where results go.
    pub out: PathBuf,
    /// What is printed on stdout.
    pub format: Format,
    /// Whether progress is hidden even from a terminal.
    pub quiet: bool,
    /// The entries of the config that were overridden.
    pub set: Vec<String>,
}

/// What is printed on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A short table for people.
    Table,
    /// The content of `metrics.json`.
    Json,
}

impl Request {
    /// Reads the config and fills in what the command line leaves open.
    pub fn new(arguments: Arguments) -> Result<Self, Error> {
        let set = arguments.assignments();
        let Arguments { config, workers, data, out, seed, json, quiet, transport, .. } = arguments;
        let mut experiment = Experiment::load(&config, &set)?;
        if let Some(seed) = seed {
            experiment = experiment.with_seed(seed);
        }
        Ok(Self {
            cluster: Cluster { workers: workers.unwrap_or_else(all_threads), transport: transport.into() },
            data: data_folder(data)?,
            out: out.unwrap_or_else(|| Path::new("out").join(&experiment.name)),
            format: if json { Format::Json } else { Format::Table },
            quiet,
            set,
            experiment,
        })
    }
}

/// The folder that holds datasets, if one is named.
pub(super) fn data_folder(named: Option<PathBuf>) -> Result<Option<PathBuf>, Error> {
    match named {
        Some(path) if !path.is_dir() => Err(Error::DataFolder { path }),
        Some(path) => Ok(Some(path)),
        None => Ok(env::var_os("ISVD_DATA").map(PathBuf::from)),
    }
}

pub(super) fn all_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
