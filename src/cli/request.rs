use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::level_filters::LevelFilter;

use super::arguments::What;
use super::checkpoints::Checkpoints;
use super::cluster::check_shared;
use super::{Arguments, Error, memory};
use crate::config::Experiment;
use crate::engine::{CheckpointWriter, Cluster, Monitor, mesh};
use crate::report::progress::Voice;

/// A run that makes sense: what [`Arguments`] ask for, read and checked.
#[derive(Debug, Clone)]
pub struct Request {
    /// What to compute.
    pub experiment: Experiment,
    /// Who computes it.
    pub cluster: Cluster,
    /// The processes that compute it together, if there are several.
    pub company: Option<mesh::Settings>,
    /// Where datasets are.
    pub data: Option<PathBuf>,
    /// Where results go.
    pub out: PathBuf,
    /// What is printed on stdout.
    pub format: Format,
    /// How progress is told.
    pub voice: Voice,
    /// How often there is a checkpoint.
    pub checkpoint: Checkpoints,
    /// Whether to go on from one.
    pub resume: bool,
    /// The entries of the config that were overridden.
    pub set: Vec<String>,
    /// What is told on stderr of what happens.
    pub log: LevelFilter,
    /// The file that shows every step on a time line.
    pub timeline: Option<PathBuf>,
    /// Whether a report is written.
    pub report: bool,
    /// Keeps what is found, once the data is known.
    pub keeper: Option<Arc<CheckpointWriter>>,
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
            company,
            checkpoint,
            resume,
            log,
            trace,
            no_report,
            ..
        } = arguments;
        let (experiment, data) = (what.experiment()?, data_folder(what.data.clone())?);
        let company = company.settings()?;
        check_shared(&experiment.dataset, company.as_ref().map_or(1, |company| company.addresses.len()))?;
        let log = LevelFilter::from(log);
        Ok(Self {
            cluster: Cluster {
                workers: workers.count(),
                transport: transport.into(),
                memory: memory.or_else(memory::share),
                mesh: None,
            },
            data,
            out: out.unwrap_or_else(|| Path::new("out").join(&experiment.name)),
            format: if json { Format::Json } else { Format::Table },
            // Of several processes the first alone speaks, and a log tells the same as lines would.
            voice: match Voice::for_stderr(quiet || company.as_ref().is_some_and(|company| company.process > 0)) {
                Voice::Lines if log >= LevelFilter::INFO => Voice::Silent,
                voice => voice,
            },
            company,
            checkpoint,
            resume,
            set: what.assignments(),
            log,
            timeline: trace,
            report: !no_report,
            keeper: None,
            experiment,
        })
    }
}

impl Request {
    /// Who stands by the next piece of work.
    pub(super) fn watch<P: ?Sized>(&self, progress: Arc<P>) -> Monitor<P> {
        match &self.keeper {
            None => Monitor::new(progress),
            Some(keeper) => keeper.watch(progress),
        }
    }

    /// The same with so many bytes of the memory taken already.
    pub(super) fn beside(&self, bytes: u64) -> Self {
        let memory = self.cluster.memory.map(|memory| memory.saturating_sub(bytes));
        Self { cluster: Cluster { memory, ..self.cluster }, ..self.clone() }
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
