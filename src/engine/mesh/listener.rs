//! Accepts connections of the processes of the cluster, and refuses all others.
//!
//! The port stays open, since every run has connections of its own. Each caller has a thread and a
//! deadline. The number of callers without a proof is limited: the oldest is dropped for a new one.
//! A process of the cluster that is dropped tries again.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::handshake::{Timed, answer};
use super::hello::{Role, Secret};
use super::link::Link;
use super::tls::Tls;

/// Time limit of a handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The most callers without a proof.
const MOST_CALLERS: usize = 64;
/// Stack of a caller's thread.
const STACK_BYTES: usize = 256 << 10;
/// Pause after the system failed to provide a connection or a thread.
const REST: Duration = Duration::from_millis(50);

/// The open port.
pub(super) struct Listener {
    process: usize,
    processes: usize,
    secret: Secret,
    tls: Option<Tls>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Callers without a proof, the oldest first.
    callers: VecDeque<(u64, TcpStream)>,
    /// The number of callers so far.
    called: u64,
    /// Proven connections by generation and process, until they are taken.
    arrived: HashMap<(u64, usize), Link>,
    /// The reason of the last refusal, unless the caller was silent or gone.
    refusal: Option<String>,
}

impl Listener {
    /// Starts to listen; the port is never closed again.
    pub(super) fn open(
        port: TcpListener,
        process: usize,
        processes: usize,
        secret: Secret,
        tls: Option<Tls>,
    ) -> io::Result<Arc<Self>> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let listener = Arc::new(Self { process, processes, secret, tls, state, changed });
        let opened = listener.clone();
        thread::Builder::new().name("mesh:listener".into()).spawn(move || {
            for caller in port.incoming() {
                let begun = caller.and_then(|caller| opened.clone().receive(caller));
                if begun.is_err() {
                    thread::sleep(REST);
                }
            }
        })?;
        Ok(listener)
    }

    /// Waits at most `most` for a connection of this generation from a process.
    pub(super) fn wait_for(&self, generation: u64, process: usize, most: Duration) -> Option<Link> {
        let is_missing = |state: &mut State| !state.arrived.contains_key(&(generation, process));
        let waited = self.changed.wait_timeout_while(self.state(), most, is_missing);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.arrived.remove(&(generation, process))
    }

    /// The reason of the last refusal.
    pub(super) fn refusal(&self) -> Option<String> {
        self.state().refusal.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread for a caller.
    fn receive(self: Arc<Self>, caller: TcpStream) -> io::Result<()> {
        let number = self.admit(caller.try_clone()?);
        let listener = self.clone();
        let talk = move || listener.talk(number, caller);
        let begun = thread::Builder::new().name("mesh:caller".into()).stack_size(STACK_BYTES).spawn(talk);
        if begun.is_err() {
            self.dismiss(number);
        }
        begun.map(drop)
    }

    /// Registers a caller, and drops the oldest if there are too many.
    fn admit(&self, caller: TcpStream) -> u64 {
        let mut state = self.state();
        if state.callers.len() >= MOST_CALLERS
            && let Some((_, oldest)) = state.callers.pop_front()
        {
            // Its thread notices, and ends.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        state.called += 1;
        let number = state.called;
        state.callers.push_back((number, caller));
        number
    }

    /// Removes a caller. False when it was dropped before.
    fn dismiss(&self, number: u64) -> bool {
        let mut state = self.state();
        let place = state.callers.iter().position(|(found, _)| *found == number);
        place.and_then(|place| state.callers.remove(place)).is_some()
    }

    fn talk(&self, number: u64, caller: TcpStream) {
        let deadline = Instant::now() + HANDSHAKE;
        let answered = Link::open(caller, self.tls.as_ref(), Role::Answerer, deadline).and_then(|link| {
            let hello = answer(&mut Timed::new(&link, deadline), self.process, self.processes, &self.secret)?;
            Ok((hello, link))
        });
        // The refusal is recorded before the caller sees its connection close.
        if let Err(error) = &answered
            && error.kind() == io::ErrorKind::Other
        {
            self.state().refusal = Some(error.to_string());
        }
        let is_here = self.dismiss(number);
        // A newer connection replaces an older one, which the other process has abandoned.
        if let (Ok((hello, link)), true) = (answered, is_here) {
            self.state().arrived.insert((hello.generation, hello.from as usize), link);
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;
    use crate::engine::mesh::handshake::call;
    use crate::engine::mesh::hello::Hello;

    const LONG: Duration = Duration::from_secs(30);

    fn secret() -> Secret {
        Secret::new("s").unwrap()
    }

    fn listener() -> (Arc<Listener>, std::net::SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (Listener::open(listener, 0, 3, secret(), None).unwrap(), address)
    }

    fn connected(address: std::net::SocketAddr) -> Link {
        Link::open(TcpStream::connect(address).unwrap(), None, Role::Caller, Instant::now() + LONG).unwrap()
    }

    fn caller(address: std::net::SocketAddr, generation: u64) -> Link {
        let link = connected(address);
        let hello = Hello::fresh(2, 0, 3, generation).unwrap();
        call(&mut Timed::new(&link, Instant::now() + LONG), hello, &secret()).unwrap();
        link
    }

    #[test]
    fn a_connection_is_found_by_its_generation() {
        let (listener, address) = listener();
        let mut later = caller(address, 7);
        assert!(listener.wait_for(6, 2, Duration::ZERO).is_none(), "another generation");
        let mut arrived = listener.wait_for(7, 2, LONG).unwrap();
        later.write_all(b"x").unwrap();
        arrived.read_exact(&mut [0]).unwrap();
        assert!(listener.wait_for(7, 2, Duration::ZERO).is_none(), "taken already");
    }
}
