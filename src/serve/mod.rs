//! What a run found, over HTTP: answers as JSON, and a page to look around.
//!
//! One thread serves all connections and never computes. Computations run on a few other threads,
//! with a queue no longer than the limit of connections; neighbours are found for all waiting
//! questions at once. A client that is too slow, or asks too much, is disconnected ([`Limits`]).
//! When it is stopped, the server accepts no more connections, answers open questions, and ends.

mod answer;
mod api;
mod batch;
mod connection;
mod counters;
mod query;
mod state;
mod worded;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

pub use state::State;
use tokio::runtime::Builder;
use tokio::sync::watch;

/// What a client may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Clients at a time; more wait to be let in.
    pub connections: usize,
    /// How long a client may take to ask, an answer to be found, and a client to listen.
    pub timeout: Duration,
    /// Bytes of a question.
    pub body: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 512, timeout: Duration::from_secs(10), body: 1 << 20 }
    }
}

/// Why results cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// There is no such address.
    #[error("{address}: expected an address and a port, such as 127.0.0.1:8080")]
    Address {
        /// What was given.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: choose another address, or port 0 for any that is free")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The system does not let the server run.
    #[error("the server cannot run")]
    System(#[source] io::Error),
}

impl ServeError {
    /// Whether what was asked for makes no sense.
    pub fn is_misuse(&self) -> bool {
        matches!(self, Self::Address { .. })
    }
}

/// A handle that stops a server.
#[derive(Debug, Clone)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Stop {
    /// Tells it.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    fn told(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }
}

/// Takes an address.
pub fn listen(address: &str) -> Result<TcpListener, ServeError> {
    use std::net::ToSocketAddrs;
    let unknown = |source| ServeError::Address { address: address.to_owned(), source };
    let found = address.to_socket_addrs().map_err(unknown)?.next();
    let found = found.ok_or_else(|| unknown(io::Error::from(io::ErrorKind::AddrNotAvailable)))?;
    TcpListener::bind(found).map_err(|source| ServeError::Listen { address: found, source })
}

/// Answers until the server is stopped.
pub fn serve(state: State, listener: TcpListener, limits: Limits, stop: &Stop) -> Result<(), ServeError> {
    listener.set_nonblocking(true).map_err(ServeError::System)?;
    // Neighbours are found two ways and the map is drawn; the others are for what is soon done.
    let threads = state.threads + 3;
    let runtime = Builder::new_current_thread().enable_io().enable_time().max_blocking_threads(threads).build();
    let runtime = runtime.map_err(ServeError::System)?;
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        connection::accept(Arc::new(state), listener, limits, stop.told()).await
    });
    // Computations that still run are for clients that were disconnected.
    runtime.shutdown_background();
    served.map_err(ServeError::System)
}
