//! Ctrl-C, and what a scheduler sends before it ends a process.
//!
//! Of several processes any may be asked. In the middle of something that can be kept all hear of it at the next step, and
//! end alike; elsewhere whoever is asked tells the others and ends on the spot, and so do they.

use std::sync::OnceLock;

use super::error::{self, Error};
use super::{Request, cluster};
use crate::engine::checkpoint::Interrupt;
use crate::engine::mesh::{Mesh, MeshError};
use crate::report::output::remove_lock_files;
use crate::report::progress::close;

/// What the other processes are told.
const REASON: &str = "interrupted";

/// Signals are for the process as a whole, and come at any moment. This is what they need.
static RUN: OnceLock<Run> = OnceLock::new();

struct Run {
    request: Request,
    /// The other processes, once they are met.
    mesh: OnceLock<&'static Mesh>,
}

/// Waits for signals from now on. The first asks the run to end, and ends it on the spot if it is not in the middle of
/// something that can be kept; the second ends it on the spot.
pub(super) fn watch(request: &Request) -> Interrupt {
    let interrupt = Interrupt::default();
    RUN.get_or_init(|| Run { request: request.clone(), mesh: OnceLock::new() });
    #[cfg(unix)]
    wait_for_signals(interrupt.clone());
    interrupt
}

/// The processes to be told when this one is ended on the spot.
pub(super) fn tell_to(mesh: &'static Mesh) {
    if let Some(run) = RUN.get() {
        let _ = run.mesh.set(mesh);
    }
}

/// Whether an error comes of a signal to another process.
pub(super) fn is_cause_of(error: &MeshError) -> bool {
    matches!(error, MeshError::Blamed { reason, .. } if reason == REASON)
}

/// Has a command that keeps nothing end on the spot when it is asked to, once it has cleaned up.
pub(super) fn end_at_once(words: &'static str, clean_up: impl Fn() + Send + 'static) {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::iterator::Signals;

        // Without it signals end the command as they always did.
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

/// Ends this process because it, or another one, was asked to end.
pub(super) fn end() -> ! {
    if let Some(run) = RUN.get() {
        error::print(&run.request.interrupted());
    }
    exit()
}

/// Nothing is left on the screen, and no lock file in the folder.
fn exit() -> ! {
    close();
    remove_lock_files();
    std::process::exit(Error::INTERRUPTED.into())
}

impl Request {
    /// Says that the run was asked to end.
    pub(super) fn interrupted(&self) -> Error {
        // Of several processes the first tells the person, of launched ones the launcher.
        let is_first = self.company.as_ref().is_none_or(|company| company.process == 0);
        Error::Interrupted { is_kept: self.has_checkpoint(), is_told: !is_first || cluster::is_launched() }
    }
}

#[cfg(unix)]
fn wait_for_signals(interrupt: Interrupt) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Without it signals end the run as they always did.
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
