//! When a checkpoint is due, and who writes it.

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

/// Work that took less is done again rather than written down.
const WORTH_KEEPING: Duration = Duration::from_secs(1);
/// Bytes that a file system takes beside the content of the files of a result.
const FILE_SYSTEM_BYTES: u64 = 64 << 10;
/// Checkpoints may take one part in so many of the time.
const SHARE: u32 = 20;

/// When the next checkpoint is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Every {
    /// After so long; at every step, if that is nothing.
    Time(Duration),
    /// After so many iterations: steps between which work can be taken up again.
    Iterations(NonZeroU64),
}

/// How often there is a checkpoint, and whether one is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointPolicy {
    /// From one to the next; `None` where there are none.
    pub every: Option<Every>,
    /// Whether to go on from the newest.
    pub resume: bool,
}

/// Keeps what a run finds, and ends the run when it is asked to.
pub struct CheckpointWriter {
    rhythm: CheckpointPolicy,
    /// Where the first worker is.
    store: Option<Mutex<Store>>,
    interrupt: Interrupt,
    clock: Mutex<Clock>,
    /// How many files of work there were.
    works: AtomicUsize,
    has_warned: AtomicBool,
    tell: Box<Tell>,
}

type Tell = dyn Fn(Notice) + Send + Sync;

struct Clock {
    last: Instant,
    /// Iterations since then.
    iterations: u64,
    /// How long the last one took.
    took: Duration,
}

impl CheckpointWriter {
    /// The writer of a run that keeps its checkpoints in `folder`; `tell` is told what a person should know. Every process of
    /// a run has one; the one with the first worker gives a folder.
    pub fn new(
        folder: Option<&Path>,
        run: Identity,
        rhythm: CheckpointPolicy,
        interrupt: Interrupt,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Arc<Self>, CheckpointError> {
        let is_used = rhythm.every.is_some() || rhythm.resume;
        let open = |folder: &Path| Store::open(folder, run, rhythm.resume, &tell).map(Mutex::new);
        let store = folder.filter(|_| is_used).map(open).transpose()?;
        Ok(Arc::new(Self {
            rhythm,
            store,
            interrupt,
            clock: Mutex::new(Clock { last: Instant::now(), iterations: 0, took: Duration::ZERO }),
            works: AtomicUsize::new(0),
            has_warned: AtomicBool::new(false),
            tell: Box::new(tell),
        }))
    }

    /// Watches the next piece of work of the run. All processes must ask in the same order.
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

    /// Makes room on a full disk for what is `needed`: without older checkpoints at first, and then without the newest,
    /// if the results fit in its place. Says whether there is more room now.
    pub fn make_room(&self, needed: Space) -> bool {
        let Some(mut store) = self.store() else { return false };
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

    /// What was asked of the run from outside.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    pub(super) fn is_resuming(&self) -> bool {
        self.rhythm.resume
    }

    /// Tells a person something; of several processes the one with the checkpoints does.
    pub(super) fn tell(&self, notice: Notice) {
        if self.store.is_some() {
            (self.tell)(notice);
        }
    }

    /// Tells, once, that checkpoints cannot be written. A run that goes on may still end well.
    pub(super) fn warn(&self, error: &EngineError) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            self.tell(Notice::NotKept { reason: error.to_string() });
        }
    }

    /// The checkpoints, where they are and if they are wanted.
    pub(super) fn store(&self) -> Option<MutexGuard<'_, Store>> {
        // A store is whole between any two of its steps.
        Some(self.store.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether what is found is written down at all.
    pub(super) fn is_writing(&self) -> bool {
        self.rhythm.every.is_some()
    }

    /// Counts an iteration.
    pub(super) fn count(&self) {
        self.clock().iterations += 1;
    }

    /// Whether it is time for a checkpoint.
    pub(super) fn is_due(&self) -> bool {
        let clock = self.clock();
        self.rhythm.every.is_some_and(|every| match every {
            Every::Time(pause) if pause.is_zero() => true,
            Every::Time(pause) => clock.last.elapsed() >= pause.max(SHARE * clock.took),
            Every::Iterations(most) => clock.iterations >= most.get(),
        })
    }

    /// Whether work that has just been finished is worth a checkpoint.
    pub(super) fn is_worth_keeping(&self) -> bool {
        let least = |every| match every {
            Every::Time(pause) => WORTH_KEEPING.min(pause),
            Every::Iterations(_) => WORTH_KEEPING,
        };
        self.rhythm.every.is_some_and(|every| self.clock().last.elapsed() >= least(every))
    }

    /// Makes a checkpoint, begun at `start`, of what `write` writes; the clock starts again even if that fails.
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

impl Debug for CheckpointWriter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointWriter")
            .field("rhythm", &self.rhythm)
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}
