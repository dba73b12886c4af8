//! How this process ends: by whoever says so first.
//!
//! When a peer is lost, its control connection closes, its data connections break, and the other peers give up too, all at
//! about the same time. One of these is told to the user; the others wait until the process is gone.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What has been decided about the end of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It works with the others.
    Open,
    /// It goes its own way: it is done, or has an error of its own to tell.
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

    /// Returns to the first who calls it, while the process works with others; holds up everybody else for ever.
    pub(super) fn end(&self) {
        if self.decide(State::Ending) != State::Open {
            wait_for_exit();
        }
    }

    /// Leaves the others. True for the first to do so; does not return when the process is about to exit.
    pub(super) fn leave(&self) -> bool {
        match self.decide(State::Left) {
            State::Open => true,
            State::Left => false,
            State::Ending => wait_for_exit(),
        }
    }

    /// Waits for a decision, but no longer than this.
    pub(super) fn wait(&self, most: Duration) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Either way the caller goes on to ask for the end of the process.
        let _ = self.changed.wait_timeout_while(state, most, |state| *state == State::Open);
    }

    /// Decides, if nothing is decided yet. What was decided before is returned.
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

/// Somebody else ends the process.
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
