//! The last step of this process, for errors about lost peers.

use std::sync::{Mutex, PoisonError};

static STEP: Mutex<String> = Mutex::new(String::new());

/// Records the current step of a worker.
pub(in crate::engine) fn note(step: &str) {
    let mut note = STEP.lock().unwrap_or_else(PoisonError::into_inner);
    note.clear();
    note.push_str(step);
}

/// The last step recorded.
pub(super) fn last() -> String {
    let note = STEP.lock().unwrap_or_else(PoisonError::into_inner);
    if note.is_empty() { "before the first step".to_owned() } else { note.clone() }
}
