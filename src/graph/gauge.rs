//! How far work has come, for whoever watches.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Work that is done, of what is known to be ahead, in this process since its start.
#[derive(Debug)]
pub struct Gauge {
    done: AtomicU64,
    ahead: AtomicU64,
}

impl Gauge {
    /// Nothing is done, and nothing is ahead.
    pub const fn new() -> Self {
        Self { done: AtomicU64::new(0), ahead: AtomicU64::new(0) }
    }

    /// Notes that there is so much more to do.
    pub fn expect(&self, more: u64) {
        self.ahead.fetch_add(more, Relaxed);
    }

    /// Notes that so much less is to be done.
    pub fn forget(&self, less: u64) {
        self.ahead.fetch_sub(less, Relaxed);
    }

    /// Notes that so much more is done.
    pub fn advance(&self, more: u64) {
        self.done.fetch_add(more, Relaxed);
    }

    /// How much is done, and of how much.
    pub fn now(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.ahead.load(Relaxed))
    }
}

impl Default for Gauge {
    fn default() -> Self {
        Self::new()
    }
}
