//! Stops all workers when one ends early.
//!
//! An error in an operator reaches all workers by the dataflow. A panic in the job, an error of one
//! worker's job, or a job that ends early does not, and the others would wait for blocks forever.
//! Therefore waiting workers check the [`StopSign`].

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Once, OnceLock};

use super::error::EngineError;

/// The first reason to stop, if there is one, and the workers whose jobs ended.
#[derive(Debug)]
pub(super) struct StopSign {
    reason: OnceLock<EngineError>,
    /// The first worker of this process.
    first: usize,
    /// By worker of this process: its number of epochs when its job ended, or [`RUNNING`].
    ended_at: Vec<AtomicU64>,
}

const RUNNING: u64 = u64::MAX;

impl StopSign {
    /// For `workers` workers, of which the first is `first`.
    pub(super) fn new(first: usize, workers: usize) -> Self {
        let ended_at = (0..workers).map(|_| AtomicU64::new(RUNNING)).collect();
        Self { reason: OnceLock::new(), first, ended_at }
    }

    /// Records that the job of a worker ended after `epochs` epochs.
    pub(super) fn end(&self, worker: usize, epochs: u64) {
        self.ended_at[worker - self.first].store(epochs, Ordering::Release);
    }

    /// Asks every worker to stop. The first reason stays.
    pub(super) fn raise(&self, reason: EngineError) {
        // A second reason is a consequence of the first.
        let _ = self.reason.set(reason);
    }

    /// The reason why the epoch of this number will not complete, if there is one.
    pub(super) fn reason_to_stop(&self, epochs: u64) -> Option<EngineError> {
        if let Some(reason) = self.reason.get() {
            return Some(reason.clone());
        }
        let place = self.ended_at.iter().position(|ended| ended.load(Ordering::Acquire) < epochs)?;
        let worker = self.first + place;
        let message = "its job ended while others went on; all workers must ask for the same, in the same order".into();
        Some(EngineError::Stopped { worker, message })
    }
}

thread_local! {
    /// The source location of the last panic of this thread, while it is caught.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
    static IS_WATCHED: RefCell<bool> = const { RefCell::new(false) };
}

/// Records the location of panics that are caught, in place of printing them.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if IS_WATCHED.with_borrow(|watched| *watched) {
                PLACE.set(info.location().map(ToString::to_string));
            } else {
                previous(info);
            }
        }));
    });
}

/// Runs `work`, and turns a panic in it into an error.
pub(super) fn catch<T>(worker: usize, step: &str, work: impl FnOnce() -> T) -> Result<T, EngineError> {
    install_hook();
    let was_watched = IS_WATCHED.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    IS_WATCHED.set(was_watched);
    outcome.map_err(|panic| {
        let place = PLACE.take().map_or_else(String::new, |place| format!(" (at {place})"));
        let message = format!("{}{place}", text_of(panic.as_ref()));
        EngineError::Panicked { worker, step: step.into(), message }
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
