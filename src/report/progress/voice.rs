//! How progress is told: by a bar that comes and goes on a terminal, by plain lines elsewhere, or not at all.

use std::env;
use std::io::{IsTerminal, Write, stderr};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use indicatif::ProgressBar;

/// How progress is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// Not at all.
    Silent,
    /// By lines on stderr, each with the seconds since the start.
    Lines,
    /// By a bar on stderr, which is gone at the end.
    Bars,
}

impl Voice {
    /// A bar for somebody at a terminal that can move its cursor, lines for all others, and nothing for those who want quiet.
    pub fn for_stderr(quiet: bool) -> Self {
        since_start();
        let can_draw = stderr().is_terminal() && env::var_os("TERM").is_none_or(|terminal| terminal != "dumb");
        match (quiet, can_draw) {
            (true, _) => Self::Silent,
            (false, true) => Self::Bars,
            (false, false) => Self::Lines,
        }
    }
}

/// The bar on the screen.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn shown() -> MutexGuard<'static, Option<ProgressBar>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds since progress was first asked for.
fn since_start() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Says something of what happens, once, to those who are to see progress, and to [`tracing`].
pub fn tell(text: &str, voice: Voice) {
    tracing::info!("{text}");
    match voice {
        Voice::Silent => {}
        Voice::Lines => line(text),
        Voice::Bars => note(text),
    }
}

/// Tells a person something, whoever sees progress. A closed stderr is no reason to fail.
pub fn note(text: &str) {
    above(|| {
        let _ = writeln!(stderr().lock(), "{text}");
    });
}

/// Writes a line of progress.
pub(super) fn line(text: &str) {
    // A closed stderr is no reason to fail.
    let _ = writeln!(stderr().lock(), "[{:8.2} s] {text}", since_start());
}

/// Notes that a bar is on the screen.
pub(super) fn put_up(bar: &ProgressBar) {
    *shown() = Some(bar.clone());
}

/// Takes the bar off the screen, if there is one; nothing draws it again.
pub fn take_down() {
    if let Some(bar) = shown().take() {
        bar.finish_and_clear();
    }
}

/// Takes the bar off the screen for good, because the process ends: whoever wants to put up another waits for that.
pub fn close() {
    let mut shown = shown();
    if let Some(bar) = shown.take() {
        bar.finish_and_clear();
    }
    std::mem::forget(shown);
}

/// Writes to stderr above the bar, if there is one.
pub fn above<T>(write: impl FnOnce() -> T) -> T {
    let bar = shown().clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Whether stderr takes colours: a terminal does, unless its user does not want them.
pub fn has_colours() -> bool {
    let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !is_refused && stderr().is_terminal() && env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}
