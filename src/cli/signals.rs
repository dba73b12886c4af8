//! SIGINT (Ctrl-C) and SIGTERM, which a scheduler sends before it ends a process.
//!
//! Any of several processes may get the signal. While work is done whose state can be kept, all
//! processes learn of it at the next step, keep a checkpoint and end alike. At other times the
//! process that got the signal tells the others, and all end at once.

use std::sync::OnceLock;

use super::error::{self, Error};
use super::{Request, cluster};
use crate::engine::checkpoint::Interrupt;
use crate::engine::mesh::{Mesh, MeshError};
use crate::report::output::remove_lock_files;
use crate::report::progress::clear_bar_for_good;

/// The reason that the other processes get.
const REASON: &str = "interrupted";

/// The run of this process. A handler of signals has no other way to reach it.
static RUN: OnceLock<Run> = OnceLock::new();

struct Run {
    request: Request,
    /// The connections to the other processes, once there are any.
    mesh: OnceLock<&'static Mesh>,
}

/// Handles signals from now on. The first asks the run to end after its next checkpoint, or ends
/// the process at once where nothing could be kept. The second ends the process at once.
pub(super) fn install(request: &Request) -> Interrupt {
    let interrupt = Interrupt::default();
    RUN.get_or_init(|| Run { request: request.clone(), mesh: OnceLock::new() });
    #[cfg(unix)]
    wait_for_signals(interrupt.clone());
    interrupt
}

/// Sets the connections over which the other processes learn that this one ends at once.
pub(super) fn notify_at_exit(mesh: &'static Mesh) {
    if let Some(run) = RUN.get() {
        let _ = run.mesh.set(mesh);
    }
}

/// Whether an error of this process is the effect of a signal to another one.
pub(super) fn is_cause_of(error: &MeshError) -> bool {
    matches!(error, MeshError::Failed { reason, .. } if reason == REASON)
}

/// Ends a command that keeps nothing at the first signal, after `clean_up`.
pub(super) fn end_at_once(words: &'static str, clean_up: impl Fn() + Send + 'static) {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::iterator::Signals;

        // Without a handler, signals end the process by default.
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
        let wait = move || {
            if signals.forever().next().is_some() {
                clean_up();
                error::note(words);
                exit();
            }
        };
        let _ = std::thread::Builder::new().name("signals".into()).spawn(wait);
    }
    #[cfg(not(unix))]
    let _ = (words, clean_up);
}

/// Ends this process because of a signal to it or to another process.
pub(super) fn end() -> ! {
    if let Some(run) = RUN.get() {
        error::print(&run.request.interrupted());
    }
    exit()
}

/// Ends the process without a progress bar on the screen and without lock files.
fn exit() -> ! {
    clear_bar_for_good();
    remove_lock_files();
    std::process::exit(Error::INTERRUPTED.into())
}

impl Request {
    /// Says that the run was asked to end.
    pub(super) fn interrupted(&self) -> Error {
        // Of several processes the first prints the message; of launched processes the launcher
        // does.
        let is_first = self.peers.as_ref().is_none_or(|peers| peers.process == 0);
        Error::Interrupted { is_kept: self.has_checkpoint(), is_told: !is_first || cluster::is_launched() }
    }
}

#[cfg(unix)]
fn wait_for_signals(interrupt: Interrupt) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Without a handler, signals end the process by default.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        for _ in signals.forever() {
            let is_first = !interrupt.is_asked();
            if !(interrupt.ask() && is_first) {
                if let Some(mesh) = RUN.get().and_then(|run| run.mesh.get()) {
                    mesh.fail(REASON);
                }
                end();
            }
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(wait);
}
