//! Events of a running experiment.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use super::metrics::FINETUNE;
use crate::dataset::progress::BYTES_READ;
use crate::dataset::{Dataset, Source};
use crate::engine::checkpoint::Notice;
use crate::evaluate::Metric;
use crate::finetune::{Kernel, TuneProgress, network};
use crate::graph::{ProgressCounter, TILES_MADE};
use crate::svd;

/// Something that happens while an experiment runs.
#[non_exhaustive]
pub enum Event<'a> {
    /// A task begins; the one before has ended.
    Begin(Task<'a>),
    /// A step of the task is done.
    Step(Step<'a>),
    /// The task ends.
    End(End),
    /// A dataset was read, and what its files hold decided how: see [`Dataset::remarks`].
    Remarks(&'a Dataset),
    /// A checkpoint could not be used or written, or is taken up.
    Checkpoint(Notice),
}

/// What is being computed. Its text is a short label.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Task<'a> {
    /// A dataset is made or read.
    Load(&'a Source),
    /// Edges become a graph.
    Import,
    /// Ranks are tried.
    Rank,
    /// A decomposition or a network, by the name of its stage.
    Stage(&'static str),
    /// A kernel is trained; the function gives a measure of its quality.
    Kernel(&'a dyn Fn() -> Measure),
}

/// Computes a figure of a kernel on the validation pairs, if there are any.
pub type Measure = Box<dyn Fn(Kernel) -> Option<(Metric, f64)> + Send>;

/// A step of a task.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Step<'a> {
    /// An iteration of a decomposition.
    Iteration {
        /// Iterations that are done.
        done: usize,
        /// The most iterations.
        of: usize,
        /// The worst relative residual, if a tolerance was given.
        residual: Option<f64>,
    },
    /// A batch of pairs that a kernel is trained on.
    Batch(&'a TuneProgress),
    /// A batch of nodes that a network is trained on.
    Network(&'a network::EpochProgress),
}

/// How a task ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// A dataset with this number of nodes is loaded.
    Loaded(usize),
    /// A graph with this number of edges is made.
    Imported(usize),
    /// This rank is chosen.
    Rank(usize),
    /// The task is done.
    Done,
    /// The task failed.
    Failed,
}

impl Task<'_> {
    /// The counter of its work, and whether it counts bytes. Other tasks report steps.
    pub fn gauge(&self) -> Option<(&'static ProgressCounter, bool)> {
        match self {
            Self::Load(_) => Some((&BYTES_READ, true)),
            Self::Import => Some((&TILES_MADE, false)),
            _ => None,
        }
    }
}

impl Display for Task<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(source) => write!(f, "load {source}"),
            Self::Import => f.write_str("import"),
            Self::Rank => f.write_str("rank"),
            Self::Stage(name) => f.write_str(name),
            Self::Kernel(_) => f.write_str(FINETUNE),
        }
    }
}

/// A receiver of events, on any thread and in their order.
pub trait Observer: Send + Sync {
    /// Takes note of an event.
    fn observe(&self, event: Event<'_>);
}

impl<F: Fn(Event<'_>) + Send + Sync> Observer for F {
    fn observe(&self, event: Event<'_>) {
        self(event);
    }
}

/// A task that has begun. One that is dropped before it is done has failed.
pub(crate) struct Running {
    observer: Arc<dyn Observer>,
    end: End,
}

impl Running {
    pub(crate) fn begin(observer: &Arc<dyn Observer>, task: Task<'_>) -> Self {
        observer.observe(Event::Begin(task));
        Self { observer: observer.clone(), end: End::Failed }
    }

    /// What a decomposition calls after each iteration.
    pub(crate) fn iterations(&self) -> Arc<svd::Progress> {
        let observer = self.observer.clone();
        Arc::new(move |done, of, residual| observer.observe(Event::Step(Step::Iteration { done, of, residual })))
    }

    /// What the training of a kernel calls after each batch.
    pub(crate) fn batches(&self) -> Arc<crate::finetune::Progress> {
        let observer = self.observer.clone();
        Arc::new(move |at: &TuneProgress| observer.observe(Event::Step(Step::Batch(at))))
    }

    /// What the training of a network calls after each batch.
    pub(crate) fn network_batches(&self) -> Arc<network::Progress> {
        let observer = self.observer.clone();
        Arc::new(move |at| observer.observe(Event::Step(Step::Network(at))))
    }

    pub(crate) fn done(self) {
        self.ends(End::Done);
    }

    pub(crate) fn ends(mut self, end: End) {
        self.end = end;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.observer.observe(Event::End(self.end));
    }
}
