//! A request from outside to end the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// A flag that asks the run to end, and whether the run checks it.
///
/// ```
/// let interrupt = isvd_dist::engine::checkpoint::Interrupt::default();
/// interrupt.hold();
/// assert!(interrupt.ask(), "the run will end by itself, at a good moment");
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
    /// Asks the run to end. False if the run does not check the flag: then the caller may end it at
    /// once.
    pub fn ask(&self) -> bool {
        self.0.is_asked.store(true, SeqCst);
        self.0.is_held.load(SeqCst)
    }

    /// Whether the run was asked to end.
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(SeqCst)
    }

    /// From here on the run checks the flag, or must not be ended.
    pub fn hold(&self) {
        self.0.is_held.store(true, SeqCst);
    }

    /// From here on the run may be ended at once. True if it was asked to meanwhile.
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
