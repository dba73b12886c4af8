//! Ctrl-C, and what a scheduler sends before it ends a process.

use super::Request;
use super::error::{self, Error};
use crate::engine::checkpoint::Interrupt;

/// Waits for signals from now on. The first asks the run to end, and ends it on the spot if it is not in the middle of
/// something that can be kept; the second ends it on the spot.
pub(super) fn watch(request: &Request) -> Interrupt {
    let interrupt = Interrupt::default();
    #[cfg(unix)]
    wait_for_signals(request.clone(), interrupt.clone());
    interrupt
}

#[cfg(unix)]
fn wait_for_signals(request: Request, interrupt: Interrupt) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Without it signals end the run as they always did.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        for _ in signals.forever() {
            let is_first = !interrupt.is_asked();
            if !(interrupt.ask() && is_first) {
                let interrupted = Error::Interrupted { is_kept: request.has_checkpoint() };
                error::print(&interrupted);
                std::process::exit(interrupted.exit_code().into());
            }
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(wait);
}
