//! Progress of long work.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts the work that is done and the work that is expected, in this process since its start.
#[derive(Debug)]
pub struct ProgressCounter {
    done: AtomicU64,
    ahead: AtomicU64,
}

impl ProgressCounter {
    /// A counter at zero.
    pub const fn new() -> Self {
        Self { done: AtomicU64::new(0), ahead: AtomicU64::new(0) }
    }

    /// Expects `more` units of work.
    pub fn expect(&self, more: u64) {
        self.ahead.fetch_add(more, Relaxed);
    }

    /// Expects `less` fewer units of work.
    pub fn forget(&self, less: u64) {
        self.ahead.fetch_sub(less, Relaxed);
    }

    /// Counts `more` units of work as done.
    pub fn advance(&self, more: u64) {
        self.done.fetch_add(more, Relaxed);
    }

    /// Units that are done, and units that were expected.
    pub fn now(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.ahead.load(Relaxed))
    }
}

impl Default for ProgressCounter {
    fn default() -> Self {
        Self::new()
    }
}
