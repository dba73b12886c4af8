//! Starts workers and joins them.

use std::ops::Range;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use timely::WorkerConfig;
use timely::communication::{Config as Communication, WorkerGuards};
use timely::worker::Worker;

use super::affinity::begin_on_own_core;
use super::error::EngineError;
use super::mesh::Mesh;
use super::row_exchange::RowRequests;
use super::session::Session;
use super::sharded::Sharded;
use super::stop::{StopSign, catch};
use super::stored::make_ready;
use super::trace;
use crate::kernel;
use crate::plan::{Layouts, Program};

/// The workers of a run, and the transport of blocks between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cluster {
    /// The number of workers of each process.
    pub workers: usize,
    /// The transport between workers of a process.
    pub transport: Transport,
    /// Memory limit of this process in bytes, if there is one.
    pub memory: Option<u64>,
    /// The connections to other processes, if there are any.
    pub mesh: Option<&'static Mesh>,
}

/// Limit for parts of matrices that the planner forms, if memory is not limited.
const MOST_FORMED_BYTES: u64 = 2 << 30;

impl Cluster {
    /// A cluster of one process with `workers` threads.
    pub const fn threads(workers: usize) -> Self {
        Self { workers, transport: Transport::Pointers, memory: None, mesh: None }
    }

    /// The number of processes.
    pub fn processes(&self) -> usize {
        self.mesh.map_or(1, Mesh::processes)
    }

    /// The number of workers of all processes.
    pub fn all_workers(&self) -> usize {
        self.workers * self.processes()
    }

    /// Whether this process reports to the user and writes files.
    pub fn is_leader(&self) -> bool {
        self.process() == 0
    }

    fn process(&self) -> usize {
        self.mesh.map_or(0, Mesh::process)
    }

    pub(super) fn transfer(&self) -> Transfer {
        let by_pointer = self.transport == Transport::Pointers;
        Transfer { in_chunks: !by_pointer || self.processes() > 1, by_pointer, workers: self.workers }
    }

    /// The numbers of the workers of this process.
    pub(super) fn own_workers(&self) -> Range<usize> {
        let first = self.process() * self.workers;
        first..first + self.workers
    }

    /// Limit in bytes for parts of matrices that the planner forms: half of the memory limit.
    pub fn forming_limit(&self) -> u64 {
        self.memory.map_or(MOST_FORMED_BYTES, |memory| memory / 2)
    }
}

/// The transport of blocks between the workers of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Transport {
    /// As shared pointers, without a copy.
    #[default]
    Pointers,
    /// As bytes, as between processes.
    Bytes,
}

/// The transport of blocks to all workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    /// Blocks are divided into chunks, since they are sent as bytes.
    pub(super) in_chunks: bool,
    /// Workers of one process share blocks by pointer.
    pub(super) by_pointer: bool,
    /// The number of workers of each process.
    pub(super) workers: usize,
}

impl Transfer {
    /// Whether other workers of the process read the memory of this worker's blocks.
    pub(super) fn is_shared(&self) -> bool {
        self.by_pointer && self.workers > 1
    }

    /// All workers of the process of a worker.
    pub(super) fn workers_of_process(&self, worker: usize) -> Range<usize> {
        let first = worker - worker % self.workers;
        first..first + self.workers
    }
}

/// Time limit for joining the threads of a failed run. If all processes fail, their threads end at
/// once; otherwise some still wait for blocks.
const JOIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The end of a worker.
struct Ending<T, E> {
    result: Result<T, E>,
    /// Whether its error is a consequence of another worker's.
    is_consequence: bool,
}

/// Runs `job` as [`run`] does, without programs, where processes own the rows of some panels.
pub fn run_on<T, E, F>(cluster: Cluster, panels: &[&Sharded], job: F) -> Result<T, E>
where
    T: Send + 'static,
    E: From<EngineError> + std::fmt::Display + Send + 'static,
    F: Fn(&mut Session<'_>) -> Result<T, E> + Send + Sync + 'static,
{
    let layouts_of = |_: &[Arc<Program>]| {
        let mut layouts = Layouts::new([], cluster.processes(), cluster.workers);
        panels.iter().filter(|panel| !panel.is_whole()).for_each(|panel| layouts.add(panel.layout().clone()));
        layouts
    };
    run_with(cluster, Vec::new(), layouts_of, job)
}

/// Runs `job` on every worker, and returns the result of the first worker of this process.
///
/// All workers must call the same methods of their [`Session`] in the same order.
/// [`Session::multiply`] refers to `programs` by number. If a worker fails or panics, all end. With
/// several processes, all must call this with the same arguments; after an error this process can
/// only end.
pub fn run<T, E, F>(cluster: Cluster, programs: Vec<Arc<Program>>, job: F) -> Result<T, E>
where
    T: Send + 'static,
    E: From<EngineError> + std::fmt::Display + Send + 'static,
    F: Fn(&mut Session<'_>) -> Result<T, E> + Send + Sync + 'static,
{
    let layouts_of = |programs: &[Arc<Program>]| {
        Layouts::new(programs.iter().map(Arc::as_ref), cluster.processes(), cluster.workers)
    };
    run_with(cluster, programs, layouts_of, job)
}

/// Runs `job`. The layouts are made once there are workers, and entries of all matrices.
fn run_with<T, E, F>(
    cluster: Cluster,
    programs: Vec<Arc<Program>>,
    layouts_of: impl FnOnce(&[Arc<Program>]) -> Layouts,
    job: F,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<EngineError> + std::fmt::Display + Send + 'static,
    F: Fn(&mut Session<'_>) -> Result<T, E> + Send + Sync + 'static,
{
    if cluster.workers == 0 {
        return Err(EngineError::NoWorkers.into());
    }
    if let Some(name) = programs.iter().find_map(|program| program.outline()) {
        return Err(EngineError::Outline { name: name.to_owned() }.into());
    }
    kernel::configure();
    let layouts = layouts_of(&programs);
    make_ready(&programs, &layouts, cluster.own_workers())?;
    let wanted = RowRequests::new(&programs, &layouts, cluster);
    let cannot_start = |reason| EngineError::CannotStart { workers: cluster.workers, reason };
    let (builders, others) = match (cluster.mesh, cluster.transport) {
        (Some(mesh), transport) => mesh.communication(cluster.workers, transport, &programs),
        (None, Transport::Pointers) => Communication::Process(cluster.workers).try_build(),
        (None, Transport::Bytes) => Communication::ProcessBinary(cluster.workers).try_build(),
    }
    .map_err(cannot_start)?;
    let first = cluster.own_workers().start;
    let stop = Arc::new(StopSign::new(first, cluster.workers));
    let (ended, endings) = mpsc::channel();
    let work = move |worker: &mut Worker| {
        let index = worker.index();
        begin_on_own_core(index, cluster.workers);
        trace::begin(index, cluster.all_workers(), cluster.processes());
        let outcome = catch(index, "the job", || {
            let mut session = Session::new(worker, layouts.clone(), cluster, stop.clone());
            let started = session.start(&programs, &wanted).map_err(E::from);
            let result = started.and_then(|()| job(&mut session));
            stop.end(index, session.epochs());
            Ending { result, is_consequence: session.was_stopped() }
        });
        let ending = outcome.unwrap_or_else(|panic| {
            stop.raise(panic.clone());
            Ending { result: Err(panic.into()), is_consequence: false }
        });
        if let (Err(error), false) = (&ending.result, ending.is_consequence) {
            stop.raise(EngineError::Stopped { worker: index, message: error.to_string() });
        }
        // Epochs that are still in progress are dropped.
        let dropped = catch(index, "the end", || {
            worker.installed_dataflows().into_iter().for_each(|dataflow| worker.drop_dataflow(dataflow));
        });
        let ending = match dropped {
            Ok(()) => ending,
            Err(panic) => {
                Ending { result: ending.result.and(Err(panic.into())), is_consequence: ending.is_consequence }
            }
        };
        trace::end();
        // The receiver lives until all workers have ended.
        let _ = ended.send((index - first, ending));
    };
    let guards =
        timely::execute::execute_from(builders, others, WorkerConfig::default(), work).map_err(cannot_start)?;
    let mut endings: Vec<(usize, Ending<T, E>)> = endings.iter().take(cluster.workers).collect();
    endings.sort_by_key(|(place, _)| *place);
    // The cause is reported, not its consequences on other workers.
    let cause = endings.iter().position(|(_, ending)| ending.result.is_err() && !ending.is_consequence);
    join_threads(guards, cluster.mesh.is_some() && endings.iter().any(|(_, ending)| ending.result.is_err()));
    if endings.len() < cluster.workers {
        let message = "its thread ended before its job did".to_owned();
        return Err(EngineError::Stopped { worker: first, message }.into());
    }
    endings.swap_remove(cause.unwrap_or(0)).1.result
}

/// Joins the threads of a run, with a time limit if they may wait for processes that have not
/// failed yet.
fn join_threads(guards: WorkerGuards<()>, others_may_wait: bool) {
    if !others_may_wait {
        guards.join();
        return;
    }
    let (parted, waiting) = mpsc::channel();
    thread::spawn(move || {
        guards.join();
        // The receiver is gone after the time limit.
        let _ = parted.send(());
    });
    let _ = waiting.recv_timeout(JOIN_TIMEOUT);
}
