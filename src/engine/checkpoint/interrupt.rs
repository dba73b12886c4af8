//! A wish that the run should end, from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Whether the run was asked to end, and whether it will look.
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
    /// Asks the run to end. False if it does not look: then whoever asks may end it on the spot.
    pub fn ask(&self) -> bool {
        self.0.is_asked.store(true, SeqCst);
        self.0.is_held.load(SeqCst)
    }

    /// Whether the run was asked to end.
    pub fn is_asked(&self) -> bool {
        self.0.is_asked.load(SeqCst)
    }

    /// From here on the run looks by itself, or must not be ended.
    pub fn hold(&self) {
        self.0.is_held.store(true, SeqCst);
    }

    /// From here on nothing is lost if the run ends. True if it was asked to meanwhile.
    pub fn release(&self) -> bool {
        self.0.is_held.store(false, SeqCst);
        self.is_asked()
    }

    /// Notes that the run ends because it was asked to.
    pub(super) fn acknowledge(&self) {
        self.0.is_met.store(true, SeqCst);
    }

    /// Whether the run ended because it was asked to.
    pub fn is_met(&self) -> bool {
        self.0.is_met.load(SeqCst)
    }
}
