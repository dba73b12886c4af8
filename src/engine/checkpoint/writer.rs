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

/// Stages that took less are computed again rather than stored.
const WORTH_KEEPING: Duration = Duration::from_secs(1);
/// Overhead of a file system for the files of a result.
const FILE_SYSTEM_BYTES: u64 = 64 << 10;
/// Checkpoints may take one part in this many of the time.
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
    /// The interval; `None` for no checkpoints.
    pub every: Option<Every>,
    /// Whether to resume from the newest.
    pub resume: bool,
}

/// Writes the checkpoints of a run, and ends the run when it is asked to.
pub struct CheckpointWriter {
    rhythm: CheckpointPolicy,
    /// In the process of the first worker.
    store: Option<Mutex<Store>>,
    /// Checkpoints of an earlier run, where this one makes none: they give way to its results on a
    /// full disk.
    earlier: Option<Mutex<Store>>,
    interrupt: Interrupt,
    clock: Mutex<Clock>,
    /// Number of stages so far.
    works: AtomicUsize,
    has_warned: AtomicBool,
    tell: Box<Tell>,
}

type Tell = dyn Fn(Notice) + Send + Sync;

struct Clock {
    last: Instant,
    /// Iterations since the last checkpoint.
    iterations: u64,
    /// Duration of the last one.
    took: Duration,
}

impl CheckpointWriter {
    /// The writer of a run with its checkpoints in `folder`; `tell` receives notices for the user.
    /// Every process of a run has a writer; that of the first worker has a folder.
    pub fn new(
        folder: Option<&Path>,
        run: Identity,
        rhythm: CheckpointPolicy,
        interrupt: Interrupt,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, CheckpointError> {
        let is_used = rhythm.every.is_some() || rhythm.resume;
        let (store, earlier) = match folder {
            Some(folder) if is_used => (Some(Store::open(folder, run, rhythm.resume, &tell)?), None),
            Some(folder) => (None, Store::open(folder, run, false, &|_| ()).ok()),
            None => (None, None),
        };
        Ok(Arc::new(Self {
            rhythm,
            store: store.map(Mutex::new),
            earlier: earlier.map(Mutex::new),
            interrupt,
            clock: Mutex::new(Clock { last: Instant::now(), iterations: 0, took: Duration::ZERO }),
            works: AtomicUsize::new(0),
            has_warned: AtomicBool::new(false),
            tell: Box::new(tell),
        }))
    }

    /// A monitor for the next stage. All processes must ask in the same order.
    pub fn watch<P: ?Sized>(self: &Arc<Self>, progress: Arc<P>) -> Monitor<P> {
        let number = self.works.fetch_add(1, Ordering::Relaxed);
        Monitor::kept(progress, Work { writer: self.clone(), number })
    }

    /// Removes all checkpoints: the run is over, and its results are written.
    pub fn finish(&self) {
        if let Some(mut store) = self.store() {
            store.remove();
        }
    }

    /// Frees space on a full disk for results of size `needed`: removes older checkpoints, then the
    /// newest if the results fit in its place. Says whether there is more space now.
    pub fn make_room(&self, needed: Space) -> bool {
        let Some(store) = self.store.as_ref().or(self.earlier.as_ref()) else { return false };
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
        self.rhythm.resume
    }

    /// Sends a notice, from the process that has the checkpoints.
    pub(super) fn tell(&self, notice: Notice) {
        if self.store.is_some() {
            (self.tell)(notice);
        }
    }

    /// Reports once that checkpoints cannot be written. The run goes on.
    pub(super) fn warn(&self, error: &EngineError) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            self.tell(Notice::NotKept { reason: error.to_string() });
        }
    }

    /// The store, in the process that has one.
    pub(super) fn store(&self) -> Option<MutexGuard<'_, Store>> {
        self.store.as_ref().map(locked)
    }

    /// Whether checkpoints are written at all.
    pub(super) fn is_writing(&self) -> bool {
        self.rhythm.every.is_some()
    }

    /// Counts an iteration.
    pub(super) fn count(&self) {
        self.clock().iterations += 1;
    }

    /// Whether a checkpoint is due.
    pub(super) fn is_due(&self) -> bool {
        let clock = self.clock();
        self.rhythm.every.is_some_and(|every| match every {
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
        self.rhythm.every.is_some_and(|every| self.clock().last.elapsed() >= least(every))
    }

    /// Makes a checkpoint, begun at `start`, of the record that `write` writes. The clock restarts
    /// even on failure.
    pub(super) fn commit(
        &self,
        start: Instant,
        write: impl FnOnce(&mut Store) -> Result<Record, CheckpointError>,
    ) -> Result<(), CheckpointError> {
        let Some(mut store) = self.store() else { return Ok(()) };
        let written = write(&mut store).and_then(|record| store.commit(record));
        if written.is_err() {
            store.give_up();
        }
        *self.clock() = Clock { last: Instant::now(), iterations: 0, took: start.elapsed() };
        written
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store is whole between any two of its steps.
fn locked(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Debug for CheckpointWriter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointWriter")
            .field("rhythm", &self.rhythm)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
