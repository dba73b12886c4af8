//! Decides when a checkpoint is due, and writes it.

use std::fmt::{self, Debug, Formatter};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::interrupt::Interrupt;
use super::manifest::{Identity, Record};
use super::monitor::{Monitor, Work};
use super::notice::{CheckpointError, Notice};
use super::store::{Space, Store};
use crate::engine::EngineError;

/// The results of shorter stages are not stored.
const WORTH_KEEPING: Duration = Duration::from_secs(1);
/// Overhead of a file system for the files of a result.
const FILE_SYSTEM_BYTES: u64 = 64 << 10;
/// The interval between checkpoints is at least this many times the duration of one.
const SHARE: u32 = 20;

/// When the next checkpoint is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Every {
    /// After this duration; zero means at every iteration.
    Time(Duration),
    /// After this many iterations.
    Iterations(NonZeroU64),
}

/// How often a checkpoint is written, and whether one is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointPolicy {
    /// The interval; `None` if none is written.
    pub every: Option<Every>,
    /// Whether to resume from the newest.
    pub resume: bool,
}

impl CheckpointPolicy {
    fn is_used(&self) -> bool {
        self.every.is_some() || self.resume
    }
}

/// Writes the checkpoints of a run, and ends the run when it is asked to.
pub struct CheckpointWriter {
    policy: CheckpointPolicy,
    /// In the process of the first worker. A run that neither writes nor reads checkpoints has it,
    /// too: checkpoints of an earlier run are removed if the disk is full.
    store: Option<Mutex<Store>>,
    interrupt: Interrupt,
    clock: Mutex<Clock>,
    /// The number of stages so far.
    works: AtomicUsize,
    has_warned: AtomicBool,
    tell: Box<Tell>,
}

type Tell = dyn Fn(Notice) + Send + Sync;

struct Clock {
    last: Instant,
    /// Iterations since the last checkpoint.
    iterations: u64,
    /// The duration of the last checkpoint.
    took: Duration,
}

impl CheckpointWriter {
    /// The writer of a run with its checkpoints in `folder`. `tell` receives notices for the user.
    /// Every process of a run has a writer; only that of the first worker has a folder.
    pub fn new(
        folder: Option<&Path>,
        run: Identity,
        policy: CheckpointPolicy,
        interrupt: Interrupt,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, CheckpointError> {
        let store = match folder {
            Some(folder) if policy.is_used() => Some(Store::open(folder, run, policy.resume, &tell)?),
            Some(folder) => Store::open(folder, run, false, &|_| ()).ok(),
            None => None,
        };
        Ok(Arc::new(Self {
            policy,
            store: store.map(Mutex::new),
            interrupt,
            clock: Mutex::new(Clock { last: Instant::now(), iterations: 0, took: Duration::ZERO }),
            works: AtomicUsize::new(0),
            has_warned: AtomicBool::new(false),
            tell: Box::new(tell),
        }))
    }

    /// A monitor for the next stage. All processes must call this in the same order.
    pub fn watch<P: ?Sized>(self: &Arc<Self>, progress: Arc<P>) -> Monitor<P> {
        let number = self.works.fetch_add(1, Ordering::Relaxed);
        Monitor::kept(progress, Work { writer: self.clone(), number })
    }

    /// Removes all checkpoints after the results of the run are written.
    pub fn finish(&self) {
        if let Some(mut store) = self.store() {
            store.remove();
        }
    }

    /// Frees space on a full disk for results of size `needed`: removes older checkpoints, then the
    /// newest if the results fit in its place. Returns whether there is more space now.
    pub fn make_space(&self, needed: Space) -> bool {
        let Some(store) = &self.store else { return false };
        let mut store = locked(store);
        if store.drop_older() {
            return true;
        }
        let taken = store.taken();
        let is_enough = |free: Space| {
            free.bytes.saturating_add(taken.bytes) >= needed.bytes.saturating_add(FILE_SYSTEM_BYTES)
                && free.files.saturating_add(taken.files) >= needed.files
        };
        if taken.files == 0 || !store.free().is_some_and(is_enough) {
            return false;
        }
        store.remove();
        true
    }

    /// The flag that asks the run to end.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    pub(super) fn is_resuming(&self) -> bool {
        self.policy.resume
    }

    /// Sends a notice from the process that has the checkpoints.
    pub(super) fn tell(&self, notice: Notice) {
        // The store may be locked by this thread.
        if self.store.is_some() && self.policy.is_used() {
            (self.tell)(notice);
        }
    }

    /// Reports once that checkpoints cannot be written. The run goes on.
    pub(super) fn warn(&self, error: &EngineError) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            self.tell(Notice::NotKept { reason: error.to_string() });
        }
    }

    /// The store, in the process of the first worker, if checkpoints are written or read.
    pub(super) fn store(&self) -> Option<MutexGuard<'_, Store>> {
        self.store.as_ref().filter(|_| self.policy.is_used()).map(locked)
    }

    /// Whether checkpoints are written at all.
    pub(super) fn is_writing(&self) -> bool {
        self.policy.every.is_some()
    }

    /// Counts an iteration.
    pub(super) fn count(&self) {
        self.clock().iterations += 1;
    }

    /// Whether a checkpoint is due.
    pub(super) fn is_due(&self) -> bool {
        let clock = self.clock();
        self.policy.every.is_some_and(|every| match every {
            Every::Time(pause) if pause.is_zero() => true,
            Every::Time(pause) => clock.last.elapsed() >= pause.max(SHARE * clock.took),
            Every::Iterations(most) => clock.iterations >= most.get(),
        })
    }

    /// Whether a stage that has just finished is worth a checkpoint.
    pub(super) fn is_worth_keeping(&self) -> bool {
        let least = |every| match every {
            Every::Time(pause) => WORTH_KEEPING.min(pause),
            Every::Iterations(_) => WORTH_KEEPING,
        };
        self.policy.every.is_some_and(|every| self.clock().last.elapsed() >= least(every))
    }

    /// Writes a checkpoint with the record that `write` returns; `start` is when it began. The
    /// clock restarts even on failure.
    pub(super) fn commit(
        &self,
        start: Instant,
        write: impl FnOnce(&mut Store) -> Result<Record, CheckpointError>,
    ) -> Result<(), CheckpointError> {
        let Some(mut store) = self.store() else { return Ok(()) };
        let written = write(&mut store).and_then(|record| store.commit(record));
        if written.is_err() {
            store.discard_pending();
        }
        *self.clock() = Clock { last: Instant::now(), iterations: 0, took: start.elapsed() };
        written
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Its methods leave the store consistent even if they panic.
fn locked(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Debug for CheckpointWriter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointWriter")
            .field("policy", &self.policy)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
