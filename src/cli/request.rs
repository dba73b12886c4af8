use std::env;
use std::path::{Path, PathBuf};

use tracing::level_filters::LevelFilter;

use super::arguments::What;
use super::checkpoints::Checkpoints;
use super::cluster::check_shared;
use super::{Arguments, Error, memory};
use crate::config::Experiment;
use crate::engine::{Cluster, mesh};
use crate::report::progress::ProgressSink;

/// A run as [`Arguments`] ask for it, read and checked.
#[derive(Debug, Clone)]
pub struct Request {
    /// What to compute.
    pub experiment: Experiment,
    /// Who computes it.
    pub cluster: Cluster,
    /// The addresses and settings of all processes, if there are several.
    pub peers: Option<mesh::Settings>,
    /// Where datasets are.
    pub data: Option<PathBuf>,
    /// Where results go.
    pub out: PathBuf,
    /// What is printed on stdout.
    pub format: Format,
    /// How progress is shown.
    pub progress: ProgressSink,
    /// How often there is a checkpoint.
    pub checkpoint: Checkpoints,
    /// Whether to go on from one.
    pub resume: bool,
    /// The level of the log on stderr.
    pub log: LevelFilter,
    /// The file that shows every step on a time line.
    pub timeline: Option<PathBuf>,
    /// Whether a report is written.
    pub report: bool,
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
        let Arguments {
            what,
            workers,
            memory,
            out,
            json,
            quiet,
            transport,
            peers,
            checkpoint,
            resume,
            log,
            trace,
            no_report,
            ..
        } = arguments;
        let (experiment, data) = (what.experiment()?, data_folder(what.data.clone())?);
        let peers = peers.settings()?;
        check_shared(&experiment.dataset, peers.as_ref().map_or(1, |peers| peers.addresses.len()))?;
        Ok(Self {
            cluster: Cluster { workers: workers.count(), transport, memory: memory.or_else(memory::share), mesh: None },
            data,
            out: out.unwrap_or_else(|| Path::new("out").join(&experiment.name)),
            format: if json { Format::Json } else { Format::Table },
            // Of several processes the first alone shows progress. A log has the same lines.
            progress: match ProgressSink::for_stderr(quiet || peers.as_ref().is_some_and(|peers| peers.process > 0)) {
                ProgressSink::Lines if log >= LevelFilter::INFO => ProgressSink::Hidden,
                sink => sink,
            },
            peers,
            checkpoint,
            resume,
            log,
            timeline: trace,
            report: !no_report,
            experiment,
        })
    }
}

impl What {
    /// The config, with everything that is overridden.
    pub(super) fn experiment(&self) -> Result<Experiment, Error> {
        let experiment = Experiment::load(&self.config, &self.assignments())?;
        Ok(match self.seed {
            None => experiment,
            Some(seed) => experiment.with_seed(seed),
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
