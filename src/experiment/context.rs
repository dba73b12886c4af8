//! What all stages of a run share.

use std::path::PathBuf;
use std::sync::Arc;

use super::RunError;
use super::event::{Event, Observer, Running, Task};
use super::memory::share;
use crate::config::Experiment;
use crate::dataset::Dataset;
use crate::engine::checkpoint::{CheckpointPolicy, CheckpointWriter, Identity, Interrupt};
use crate::engine::{Cluster, Monitor};
use crate::kernel::cores;
use crate::kernel::simd::Simd;

/// Settings that change what is measured, and nothing that is computed.
const MEASURED: &str = "evaluate.";

/// Where and how an experiment is carried out. The figures do not depend on it.
#[derive(Clone)]
pub struct Settings {
    /// Who computes.
    pub cluster: Cluster,
    /// The folder where datasets of the catalog are looked for first.
    pub data: Option<PathBuf>,
    /// Who is told of events.
    pub observer: Arc<dyn Observer>,
    /// Where checkpoints are, if there are to be any.
    pub checkpoints: Option<Checkpoints>,
    /// Whether curves, confusions and the plan are found for a report.
    pub details: bool,
}

/// Where checkpoints are, and when there is one.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    /// Their folder.
    pub folder: PathBuf,
    /// How often there is one, and whether one is taken up.
    pub rhythm: CheckpointPolicy,
    /// Ends the run when it is asked to, at the next moment at which what was found can be kept.
    pub interrupt: Interrupt,
}

/// One worker a core and three quarters of the memory, nobody to watch and no checkpoints.
impl Default for Settings {
    fn default() -> Self {
        Self {
            cluster: Cluster { memory: share(), ..Cluster::threads(cores()) },
            data: None,
            observer: Arc::new(|_: Event<'_>| ()),
            checkpoints: None,
            details: true,
        }
    }
}

/// A run that has loaded its data.
pub(crate) struct Context<'a> {
    /// The experiment; that of one of several runs has another seed.
    pub(super) experiment: &'a Experiment,
    pub(super) settings: &'a Settings,
    /// Who computes, with the memory that the data has left.
    pub(super) cluster: Cluster,
    pub(super) keeper: Option<Arc<CheckpointWriter>>,
}

impl<'a> Context<'a> {
    /// A run on a dataset that takes so many bytes together with the program.
    pub(super) fn new(
        experiment: &'a Experiment,
        settings: &'a Settings,
        dataset: &Dataset,
        bytes: u64,
    ) -> Result<Self, RunError> {
        let memory = settings.cluster.memory.map(|memory| memory.saturating_sub(bytes));
        let keeper = match &settings.checkpoints {
            None => None,
            Some(Checkpoints { folder, rhythm, interrupt }) => {
                let folder = settings.cluster.is_leader().then_some(&**folder);
                let observer = settings.observer.clone();
                let tell = move |notice| observer.observe(Event::Checkpoint(notice));
                let run = identity(experiment, dataset);
                Some(CheckpointWriter::new(folder, run, rhythm.clone(), interrupt.clone(), tell)?)
            }
        };
        Ok(Self { experiment, settings, cluster: Cluster { memory, ..settings.cluster }, keeper })
    }

    /// Who stands by the next piece of work.
    pub(super) fn watch<P: ?Sized>(&self, progress: Arc<P>) -> Monitor<P> {
        match &self.keeper {
            None => Monitor::new(progress),
            Some(keeper) => keeper.watch(progress),
        }
    }

    pub(super) fn begin(&self, task: Task<'_>) -> Running {
        Running::begin(&self.settings.observer, task)
    }
}

/// What tells a run from others that give other results.
pub(crate) fn identity(experiment: &Experiment, dataset: &Dataset) -> Identity {
    let settings = experiment.settings.iter().filter(|(key, _)| !key.starts_with(MEASURED));
    let mut identity: Identity = settings.map(|(key, value)| (key.clone(), value.clone())).collect();
    let (nodes, edges) = (dataset.graph.nodes(), dataset.graph.len());
    identity.extend([
        ("seed".to_owned(), experiment.seed.to_string()),
        ("the program".to_owned(), format!("version {}", env!("CARGO_PKG_VERSION"))),
        ("the data".to_owned(), format!("{nodes} nodes and {edges} edges ({:08x})", dataset.checksum())),
        ("the instruction set".to_owned(), Simd::best().name().to_owned()),
    ]);
    identity
}
