//! `isvd-dist serve`: what a run found, over HTTP.

use std::time::Duration;

use clap::Args;

use super::arguments::worker_count;
use super::error::note;
use super::results::Model;
use super::{Error, print_text};
use crate::kernel::cores;
use crate::serve::{Limits, ServeError, State, Stop, listen, serve};

/// Answer questions about results over HTTP, with a page to look around, until told to stop
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// What to serve
    #[command(flatten)]
    pub model: Model,

    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    pub address: String,

    /// Clients at a time; more wait to be let in
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections, value_parser = connection_count())]
    pub connections: usize,

    /// Seconds that a client may take to ask, an answer to be found, and a client to listen
    #[arg(long, value_name = "SECONDS", default_value_t = Limits::default().timeout.as_secs(), value_parser = seconds())]
    pub timeout: u64,

    /// The most bytes that a client may post
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().body)]
    pub body: usize,

    /// How many threads compute [default: all threads]
    #[arg(long, value_name = "N", value_parser = worker_count())]
    pub workers: Option<usize>,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist serve --model out/demo
  curl 'http://127.0.0.1:8080/api/neighbors?node=17&top=5'";

fn connection_count() -> clap::builder::RangedU64ValueParser<usize> {
    clap::builder::RangedU64ValueParser::new().range(1..=65_536)
}

fn seconds() -> clap::builder::RangedU64ValueParser<u64> {
    clap::builder::RangedU64ValueParser::new().range(1..=3_600)
}

impl Serve {
    /// Opens the results, listens, prints the address, and answers until a signal.
    pub fn run(&self) -> Result<(), Error> {
        let stop = Stop::default();
        #[cfg(unix)]
        wait_for_signals(stop.clone());
        let state = State::new(self.model.open()?, self.workers.unwrap_or_else(cores))?;
        let listener = listen(&self.address)?;
        let address = listener.local_addr().map_err(ServeError::System)?;
        if !address.ip().is_loopback() {
            note(&format!("warning: other machines can reach {address}, and nobody is asked for a password"));
        }
        print_text(format!("serving {} on http://{address}/ (Ctrl-C stops)\n", self.model.model.display()))?;
        let timeout = Duration::from_secs(self.timeout);
        let limits = Limits { connections: self.connections, timeout, body: self.body };
        Ok(serve(state, listener, limits, &stop)?)
    }
}

/// The first signal lets the server answer what it was asked, the second ends it on the spot.
#[cfg(unix)]
fn wait_for_signals(stop: Stop) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Without it signals end the server as they always did.
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        for (number, _) in signals.forever().enumerate() {
            if number > 0 {
                std::process::exit(Error::INTERRUPTED.into());
            }
            stop.stop();
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(wait);
}
