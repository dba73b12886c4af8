//! Where progress is shown, and messages on stderr beside it.

use std::env;
use std::io::{IsTerminal, Write, stderr};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use indicatif::ProgressBar;

/// Where progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressSink {
    /// Nowhere.
    Hidden,
    /// In lines on stderr, each with the seconds since the start.
    Lines,
    /// In a bar on stderr, which disappears at the end.
    Bar,
}

impl ProgressSink {
    /// A bar on a terminal that can move its cursor, otherwise lines; nothing if `quiet`.
    pub fn for_stderr(quiet: bool) -> Self {
        since_start();
        match (quiet, stderr().is_terminal() && !is_dumb()) {
            (true, _) => Self::Hidden,
            (false, true) => Self::Bar,
            (false, false) => Self::Lines,
        }
    }
}

/// Whether the terminal has no cursor and no colours.
fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// Whether stderr takes colours: a terminal does, unless its user does not want them.
pub fn has_colours() -> bool {
    let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !is_refused && stderr().is_terminal() && !is_dumb()
}

/// The bar on the screen.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn shown() -> MutexGuard<'static, Option<ProgressBar>> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds since the first call.
fn since_start() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Shows a message where progress is shown, and logs it by [`tracing`].
pub fn announce(text: &str, sink: ProgressSink) {
    tracing::info!("{text}");
    match sink {
        ProgressSink::Hidden => {}
        ProgressSink::Lines => line(text),
        ProgressSink::Bar => note(text),
    }
}

/// Writes a message to stderr, whether or not progress is shown. A closed stderr is no error.
pub fn note(text: &str) {
    above(|| {
        let _ = writeln!(stderr().lock(), "{text}");
    });
}

/// Writes a line of progress. A closed stderr is no error.
pub(super) fn line(text: &str) {
    let _ = writeln!(stderr().lock(), "[{:8.2} s] {text}", since_start());
}

/// Sets the bar that is on the screen.
pub(super) fn set_bar(bar: &ProgressBar) {
    *shown() = Some(bar.clone());
}

/// Clears the bar from the screen, if there is one. It is not drawn again.
pub fn clear_bar() {
    if let Some(bar) = shown().take() {
        bar.finish_and_clear();
    }
}

/// Clears the bar before the process ends: a thread that wants to show another one waits for ever.
pub fn clear_bar_for_good() {
    let mut shown = shown();
    if let Some(bar) = shown.take() {
        bar.finish_and_clear();
    }
    std::mem::forget(shown);
}

/// Calls `write`, which writes to stderr, with the bar out of the way.
pub fn above<T>(write: impl FnOnce() -> T) -> T {
    let bar = shown().clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
