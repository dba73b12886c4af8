//! What this process was last seen doing, for messages about peers that are lost meanwhile.

use std::sync::{Mutex, PoisonError};

static STEP: Mutex<String> = Mutex::new(String::new());

/// Notes the step that a worker of this process is in.
pub(in crate::engine) fn note(step: &str) {
    let mut note = STEP.lock().unwrap_or_else(PoisonError::into_inner);
    note.clear();
    note.push_str(step);
}

/// The step that was noted last.
pub(super) fn last() -> String {
    let note = STEP.lock().unwrap_or_else(PoisonError::into_inner);
    if note.is_empty() { "before the first step".to_owned() } else { note.clone() }
}
