//! Decides which error ends this process.
//!
//! When a peer is lost, its control connection closes, its data connections break, and other peers
//! give up too, all at about the same time. The first error is reported; the others wait until the
//! process is gone.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The decision about the end of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It works with the others.
    Open,
    /// It is done, or reports an error of its own.
    Left,
    /// It is about to exit.
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

    /// Returns to the first caller while no decision is made; blocks all others for ever.
    pub(super) fn end(&self) {
        if self.decide(State::Ending) != State::Open {
            wait_for_exit();
        }
    }

    /// Leaves the mesh. True for the first call; does not return when the process is about to exit.
    pub(super) fn leave(&self) -> bool {
        match self.decide(State::Left) {
            State::Open => true,
            State::Left => false,
            State::Ending => wait_for_exit(),
        }
    }

    /// Waits for a decision, at most this long.
    pub(super) fn wait(&self, most: Duration) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Either way the caller then asks for the end of the process.
        let _ = self.changed.wait_timeout_while(state, most, |state| *state == State::Open);
    }

    /// Decides, if nothing is decided yet; returns the previous decision.
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

/// Another thread ends the process.
fn wait_for_exit() -> ! {
    loop {
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_the_last() {
        let exit = ExitDecision::new();
        assert!(exit.leave());
        assert!(!exit.leave(), "once is enough");
        exit.wait(Duration::from_secs(60));
    }

    #[test]
    fn waiting_for_a_decision_has_an_end() {
        ExitDecision::new().wait(Duration::from_millis(10));
    }
}
