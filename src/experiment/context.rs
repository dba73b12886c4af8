//! What all stages of a run share.

use std::path::PathBuf;
use std::sync::Arc;

use super::RunError;
use super::event::{Event, Observer, Running, Task};
use super::explain::Recorder;
use super::memory::share;
use crate::config::Experiment;
use crate::dataset::Dataset;
use crate::engine::checkpoint::{CheckpointPolicy, CheckpointWriter, Identity, Interrupt};
use crate::engine::{Cluster, Monitor};
use crate::kernel::cores;
use crate::kernel::simd::Simd;

/// The prefix of settings that change which figures are computed, and not the results.
const MEASURED: &str = "evaluate.";

/// Where and how an experiment runs. Its results do not depend on these settings.
#[derive(Clone)]
pub struct Settings {
    /// The workers.
    pub cluster: Cluster,
    /// The folder where datasets of the catalog are looked for first.
    pub data: Option<PathBuf>,
    /// The receiver of events.
    pub observer: Arc<dyn Observer>,
    /// Where checkpoints are, if there are to be any.
    pub checkpoints: Option<Checkpoints>,
    /// Whether curves, confusion matrices and plans are collected for a report.
    pub details: bool,
}

/// Where checkpoints are written, and when.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    /// Their folder.
    pub folder: PathBuf,
    /// How often a checkpoint is written, and whether the run resumes from one.
    pub policy: CheckpointPolicy,
    /// Ends the run on request, after the next checkpoint.
    pub interrupt: Interrupt,
}

/// One worker a core, three quarters of the memory, no observer and no checkpoints.
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

/// A run whose dataset is loaded.
pub(crate) struct Context<'a> {
    /// The experiment with its first seed.
    pub(super) experiment: &'a Experiment,
    pub(super) settings: &'a Settings,
    /// The workers, with the memory that the data leaves.
    pub(super) cluster: Cluster,
    pub(super) checkpoints: Option<Arc<CheckpointWriter>>,
    /// The plans of the stages, where the process of this run writes a report.
    pub(super) plans: Option<Recorder>,
}

impl<'a> Context<'a> {
    /// A run on a dataset. `bytes` are those of the dataset and of the program.
    pub(super) fn new(
        experiment: &'a Experiment,
        settings: &'a Settings,
        dataset: &Dataset,
        bytes: u64,
    ) -> Result<Self, RunError> {
        let memory = settings.cluster.memory.map(|memory| memory.saturating_sub(bytes));
        let checkpoints = match &settings.checkpoints {
            None => None,
            Some(Checkpoints { folder, policy, interrupt }) => {
                let folder = settings.cluster.is_leader().then_some(&**folder);
                let observer = settings.observer.clone();
                let tell = move |notice| observer.observe(Event::Checkpoint(notice));
                let run = identity(experiment, dataset);
                Some(CheckpointWriter::new(folder, run, policy.clone(), interrupt.clone(), tell)?)
            }
        };
        let plans = (settings.details && settings.cluster.is_leader()).then(Recorder::default);
        Ok(Self { experiment, settings, cluster: Cluster { memory, ..settings.cluster }, checkpoints, plans })
    }

    /// The monitor of the next computation: it reports progress, and writes checkpoints if there
    /// are to be any.
    pub(super) fn monitor<P: ?Sized>(&self, progress: Arc<P>) -> Monitor<P> {
        match &self.checkpoints {
            None => Monitor::new(progress),
            Some(checkpoints) => checkpoints.watch(progress),
        }
    }

    /// Does the work of a stage, and records its plan for a report.
    pub(super) fn record_plan<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        match &self.plans {
            None => work(),
            Some(plans) => plans.record(stage, self.cluster, work),
        }
    }

    pub(super) fn begin(&self, task: Task<'_>) -> Running {
        Running::begin(&self.settings.observer, task)
    }
}

/// The settings and the data that the results of a run depend on.
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
