//! A request to end the run, such as a signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// A request to end the run, and whether the run checks for it.
///
/// ```
/// let interrupt = isvd_dist::engine::checkpoint::Interrupt::default();
/// interrupt.hold();
/// assert!(interrupt.ask(), "the run will write a checkpoint and end");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    is_asked: AtomicBool,
    is_held: AtomicBool,
    is_met: AtomicBool,
}

impl Interrupt {
    /// Asks the run to end. False if the run does not check for it: the caller may then end it at
    /// once.
    pub fn ask(&self) -> bool {
        self.0.is_asked.store(true, SeqCst);
        self.0.is_held.load(SeqCst)
    }

    /// Whether the run was asked to end.
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(SeqCst)
    }

    /// From now on the run checks for the request, and must not be ended otherwise.
    pub fn hold(&self) {
        self.0.is_held.store(true, SeqCst);
    }

    /// From now on the run may be ended at once. True if it was asked to end meanwhile.
    pub fn release(&self) -> bool {
        self.0.is_held.store(false, SeqCst);
        self.is_asked()
    }

    /// Records that the run ends because it was asked to.
    pub(super) fn acknowledge(&self) {
        self.0.is_met.store(true, SeqCst);
    }

    /// Whether the run ended because it was asked to.
    pub fn is_met(&self) -> bool {
        self.0.is_met.load(SeqCst)
    }
}
