//! Starting workers, and their common end.

use std::sync::Arc;

use timely::communication::Config as Communication;
use timely::worker::Worker;
use timely::{Config, WorkerConfig};

use super::agreement::{StopSign, catch};
use super::error::EngineError;
use super::layout::Layouts;
use super::session::Session;
use crate::kernel;
use crate::plan::Program;

/// How many workers run, and how blocks travel between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cluster {
    /// How many workers.
    pub workers: usize,
    /// How blocks travel.
    pub transport: Transport,
    /// The most bytes that the process may hold, if there is a limit.
    pub memory: Option<u64>,
}

/// Entries of matrices are written down unasked up to so many bytes, where memory has no limit.
const MOST_FORMED_BYTES: u64 = 2 << 30;

impl Cluster {
    /// So many worker threads that share memory.
    pub const fn threads(workers: usize) -> Self {
        Self { workers, transport: Transport::Pointers, memory: None }
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

/// How a worker ended.
struct Ending<T, E> {
    result: Result<T, E>,
    /// It was stopped by somebody else's error.
    is_echo: bool,
}

/// Runs `job` on every worker, and returns what the first one returns.
///
/// All workers call the same methods of their [`Session`] in the same order; `programs` are those that
/// [`Session::multiply`] can run, by their position. Where one worker ends with an error or a panic, all end.
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
    let communication = match cluster.transport {
        Transport::Pointers => Communication::Process(cluster.workers),
        Transport::Bytes => Communication::ProcessBinary(cluster.workers),
    };
    let layouts = Layouts::new(&programs, cluster.workers);
    let stop = Arc::new(StopSign::new(cluster.workers));
    let config = Config { communication, worker: WorkerConfig::default() };
    let work = move |worker: &mut Worker| {
        let index = worker.index();
        let outcome = catch(index, "the job", || {
            let mut session = Session::new(worker, &programs, layouts.clone(), cluster.transport, stop.clone());
            let result = job(&mut session);
            stop.end(index, session.turns());
            Ending { result, is_echo: session.was_stopped() }
        });
        let ending = outcome.unwrap_or_else(|panic| {
            stop.raise(panic.clone());
            Ending { result: Err(panic.into()), is_echo: false }
        });
        if let (Err(error), false) = (&ending.result, ending.is_echo) {
            stop.raise(EngineError::Stopped { worker: index, message: error.to_string() });
        }
        // Whatever is still under way is given up; nobody waits for it any more.
        let dropped = catch(index, "the end", || {
            worker.installed_dataflows().into_iter().for_each(|dataflow| worker.drop_dataflow(dataflow));
        });
        match dropped {
            Ok(()) => ending,
            Err(panic) => Ending { result: ending.result.and(Err(panic.into())), is_echo: ending.is_echo },
        }
    };
    let cannot_start = |reason| EngineError::CannotStart { workers: cluster.workers, reason };
    let guards = timely::execute(config, work).map_err(cannot_start)?;
    let mut endings = Vec::with_capacity(cluster.workers);
    for ending in guards.join() {
        endings.push(ending.map_err(|reason| EngineError::Stopped { worker: endings.len(), message: reason })?);
    }
    // The error to report is the one that the others only echo.
    let cause = endings.iter().position(|ending| ending.result.is_err() && !ending.is_echo);
    endings.swap_remove(cause.unwrap_or(0)).result
}
