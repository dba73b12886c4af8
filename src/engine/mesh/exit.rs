//! Decides which error ends this process.
//!
//! When a peer is lost, its control connection closes, its data connection breaks, and other peers
//! report errors, all at about the same time. The first error is reported; the threads with the
//! others wait until the process exits.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The decision about the end of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The process is part of the mesh.
    Open,
    /// The process is done, or reports an error of its own.
    Left,
    /// The process is about to exit.
    Ending,
}

#[derive(Debug)]
pub(super) struct ExitDecision {
    state: Mutex<State>,
    changed: Condvar,
}

impl ExitDecision {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State::Open), changed: Condvar::new() }
    }

    /// Returns if no decision was made before, and blocks forever otherwise.
    pub(super) fn end(&self) {
        if self.decide(State::Ending) != State::Open {
            wait_for_exit();
        }
    }

    /// Leaves the mesh. True for the first call. Does not return if the process is about to exit.
    pub(super) fn leave(&self) -> bool {
        match self.decide(State::Left) {
            State::Open => true,
            State::Left => false,
            State::Ending => wait_for_exit(),
        }
    }

    /// Waits for a decision, at most for `most`.
    pub(super) fn wait(&self, most: Duration) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The caller proceeds in either case.
        let _ = self.changed.wait_timeout_while(state, most, |state| *state == State::Open);
    }

    /// Makes a decision unless one was made before. Returns the previous state.
    fn decide(&self, decision: State) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *state;
        if before == State::Open {
            *state = decision;
            self.changed.notify_all();
        }
        before
    }
}

/// Blocks until another thread ends the process.
fn wait_for_exit() -> ! {
    loop {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_decision_stays() {
        let exit = ExitDecision::new();
        assert!(exit.leave());
        assert!(!exit.leave(), "once is enough");
        exit.wait(Duration::from_secs(60));
    }

    #[test]
    fn waiting_for_a_decision_has_a_time_limit() {
        ExitDecision::new().wait(Duration::from_millis(10));
    }
}
