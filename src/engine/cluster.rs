//! Starting workers, and their common end.

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
use super::stop::{StopSign, catch};
use super::stored::make_ready;
use super::trace;
use crate::kernel;
use crate::plan::{Layouts, Program};

/// How many workers run, and how blocks travel between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cluster {
    /// How many workers each process has.
    pub workers: usize,
    /// How blocks travel inside a process.
    pub transport: Transport,
    /// The most bytes that the process may hold, if there is a limit.
    pub memory: Option<u64>,
    /// The other processes, if there are any.
    pub mesh: Option<&'static Mesh>,
}

/// Entries of matrices are written down unasked up to so many bytes, where memory has no limit.
const MOST_FORMED_BYTES: u64 = 2 << 30;

impl Cluster {
    /// So many worker threads that share memory.
    pub const fn threads(workers: usize) -> Self {
        Self { workers, transport: Transport::Pointers, memory: None, mesh: None }
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.mesh.map_or(1, Mesh::processes)
    }

    /// How many workers all processes have together.
    pub fn all_workers(&self) -> usize {
        self.workers * self.processes()
    }

    /// Whether this process is the one that talks to people and to the disk.
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

    /// The workers of this process, by their numbers among all.
    pub(super) fn own_workers(&self) -> Range<usize> {
        let first = self.process() * self.workers;
        first..first + self.workers
    }

    /// Up to how many bytes matrices may be written down unasked: half of what the process may hold.
    pub fn forming_limit(&self) -> u64 {
        self.memory.map_or(MOST_FORMED_BYTES, |memory| memory / 2)
    }
}

/// How blocks travel between the workers of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// As shared pointers: nothing is copied.
    #[default]
    Pointers,
    /// As raw bytes, the way they travel between processes.
    Bytes,
}

/// What becomes of blocks on their way to all workers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    /// They are cut into chunks, since they go over a wire, too.
    pub(super) in_chunks: bool,
    /// Inside the process only pointers travel.
    pub(super) by_pointer: bool,
    /// How many workers each process has.
    pub(super) workers: usize,
}

impl Transfer {
    /// Whether other workers of the process read blocks where they lie.
    pub(super) fn is_shared(&self) -> bool {
        self.by_pointer && self.workers > 1
    }

    /// The workers of the process of a worker, itself among them.
    pub(super) fn workers_of_process(&self, worker: usize) -> Range<usize> {
        let first = worker - worker % self.workers;
        first..first + self.workers
    }
}

/// How long the threads of a run that failed may take to end together with those of other processes. They do when all
/// failed alike; else the others still wait for blocks.
const JOIN_TIMEOUT: Duration = Duration::from_secs(1);

/// How a worker ended.
struct Ending<T, E> {
    result: Result<T, E>,
    /// It was stopped by somebody else's error.
    is_consequence: bool,
}

/// Runs `job` on every worker, and returns what the first one of this process returns.
///
/// All workers call the same methods of their [`Session`] in the same order; `programs` are those that
/// [`Session::multiply`] can run, by their position. Where one worker ends with an error or a panic, all end. With several
/// processes, all of them call this with the same; after an error this process can only end.
pub fn run<T, E, F>(cluster: Cluster, programs: Vec<Arc<Program>>, job: F) -> Result<T, E>
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
    let layouts = Layouts::new(programs.iter().map(Arc::as_ref), cluster.all_workers());
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
        // Whatever is still under way is given up; nobody waits for it any more.
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
        // The other end is there as long as a worker is awaited.
        let _ = ended.send((index - first, ending));
    };
    let guards =
        timely::execute::execute_from(builders, others, WorkerConfig::default(), work).map_err(cannot_start)?;
    let mut endings: Vec<(usize, Ending<T, E>)> = endings.iter().take(cluster.workers).collect();
    endings.sort_by_key(|(place, _)| *place);
    // The error to report is the one that the others only echo.
    let cause = endings.iter().position(|(_, ending)| ending.result.is_err() && !ending.is_consequence);
    join_threads(guards, cluster.mesh.is_some() && endings.iter().any(|(_, ending)| ending.result.is_err()));
    if endings.len() < cluster.workers {
        let message = "its thread ended before its job did".to_owned();
        return Err(EngineError::Stopped { worker: first, message }.into());
    }
    endings.swap_remove(cause.unwrap_or(0)).1.result
}

/// Waits until the threads of a run are gone; not for ever if they may wait for processes that know nothing of an error yet.
fn join_threads(guards: WorkerGuards<()>, others_may_wait: bool) {
    if !others_may_wait {
        guards.join();
        return;
    }
    let (parted, waiting) = mpsc::channel();
    thread::spawn(move || {
        guards.join();
        // Nobody waits any more if it took too long.
        let _ = parted.send(());
    });
    let _ = waiting.recv_timeout(JOIN_TIMEOUT);
}
