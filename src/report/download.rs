//! How far a download has come, for those who watch.

use std::cell::RefCell;
use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on stderr. It is silent when stderr is no terminal or nobody wants it, and gone when it is dropped.
#[derive(Debug)]
pub struct DownloadBar {
    bar: ProgressBar,
    file: RefCell<String>,
}

impl DownloadBar {
    /// A bar that waits for the first byte.
    pub fn new(quiet: bool) -> Self {
        let visible = !quiet && stderr().is_terminal();
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style =
            ProgressStyle::with_template("{prefix} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} to go")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
        Self { bar: ProgressBar::with_draw_target(None, target).with_style(style), file: RefCell::default() }
    }

    /// Shows that `done` bytes of `file` are here, of `total` if that is known.
    pub fn show(&self, file: &str, done: u64, total: Option<u64>) {
        if *self.file.borrow() != file {
            file.clone_into(&mut self.file.borrow_mut());
            self.bar.reset();
            self.bar.set_prefix(file.to_owned());
        }
        match total {
            Some(total) => self.bar.set_length(total),
            None => self.bar.unset_length(),
        }
        self.bar.set_position(done);
    }
}

impl Drop for DownloadBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
