//! Connections to all other processes at once.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::agreement::ClusterAgreement;
use super::handshake::{Timed, call};
use super::hello::{Hello, Role};
use super::link::Link;
use super::{Mesh, MeshError};

/// The generation of control connections.
const CONTROL: u64 = 0;
/// Pause before another attempt, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));
/// Time limit of one attempt.
const CALL: Duration = Duration::from_secs(5);

/// Why there is no connection to a process.
enum ConnectFailure {
    /// It cannot be reached, or did not connect.
    Missing(String),
    Differs(MeshError),
}

impl Mesh {
    /// Opens the control connections, and monitors every peer from then on.
    pub(super) fn connect_control(&'static self, agreement: &ClusterAgreement) -> Result<(), MeshError> {
        let deadline = Instant::now() + self.settings.connect_timeout;
        self.memory.fetch_min(agreement.memory.unwrap_or(u64::MAX), Ordering::Relaxed);
        self.with_all(|process| {
            let (link, theirs) = self.connect(process, CONTROL, agreement, Some(deadline))?;
            self.memory.fetch_min(theirs.memory.unwrap_or(u64::MAX), Ordering::Relaxed);
            self.monitor(process, link).map_err(|error| ConnectFailure::Missing(error.to_string()))
        })?;
        Ok(())
    }

    /// Opens the data connections of a run. A peer that is alive is awaited without a time limit.
    pub(super) fn connect_data(
        &'static self,
        generation: u64,
        agreement: &ClusterAgreement,
    ) -> Result<Vec<Option<Link>>, MeshError> {
        self.with_all(|process| Ok(self.connect(process, generation, agreement, None)?.0))
    }

    /// Runs `act` for all other processes in parallel, so that a missing one does not delay the
    /// others.
    fn with_all<T: Send>(
        &self,
        act: impl Fn(usize) -> Result<T, ConnectFailure> + Sync,
    ) -> Result<Vec<Option<T>>, MeshError> {
        let act = &act;
        let outcomes: Vec<Option<Result<T, ConnectFailure>>> = thread::scope(|scope| {
            let others = (0..self.processes())
                .map(|process| (process != self.process()).then(|| scope.spawn(move || act(process))));
            let others: Vec<_> = others.collect();
            others.into_iter().map(|other| other.map(|acting| acting.join().expect("no panic"))).collect()
        });
        let (mut done, mut missing) = (Vec::new(), Vec::new());
        for (process, outcome) in outcomes.into_iter().enumerate() {
            match outcome.transpose() {
                Ok(outcome) => done.push(outcome),
                Err(ConnectFailure::Differs(error)) => return Err(error),
                Err(ConnectFailure::Missing(reason)) => missing.push(format!("{}: {reason}", self.name(process))),
            }
        }
        match missing.is_empty() {
            true => Ok(done),
            false => Err(MeshError::Missing { missing, waited: self.settings.connect_timeout }),
        }
    }

    /// Connects and compares agreements, and tries again until the deadline. Without a deadline a
    /// process may take any time as long as it can be reached.
    fn connect(
        &self,
        process: usize,
        generation: u64,
        agreement: &ClusterAgreement,
        deadline: Option<Instant>,
    ) -> Result<(Link, ClusterAgreement), ConnectFailure> {
        let calling_ends = Instant::now() + self.settings.connect_timeout;
        let mut pause = PAUSES.0;
        let mut refusal = None;
        loop {
            let is_caller = process < self.process();
            let opened = if is_caller { self.call(process, generation) } else { self.receive(process, generation) };
            let compared = opened.and_then(|link| {
                let theirs = exchange(&link, agreement, deadline)?;
                Ok((link, theirs))
            });
            let reason = match compared {
                Ok((link, theirs)) => match agreement.difference(&theirs) {
                    None => return Ok((link, theirs)),
                    Some(found) => {
                        let (what, here, there) = (found.what, found.here, found.there);
                        return Err(ConnectFailure::Differs(MeshError::Differs {
                            what,
                            here,
                            there,
                            peer: self.name(process),
                        }));
                    }
                },
                Err(error) => {
                    let reason = error.to_string();
                    // A refusal is more informative than a later failure to connect.
                    if error.kind() == io::ErrorKind::Other {
                        refusal = Some(reason.clone());
                    }
                    refusal.clone().unwrap_or(reason)
                }
            };
            let ends = deadline.or(is_caller.then_some(calling_ends));
            if ends.is_some_and(|ends| ends < Instant::now()) {
                return Err(ConnectFailure::Missing(reason));
            }
            if self.peers[process].has_left.load(Ordering::Acquire) {
                return Err(ConnectFailure::Missing("it has finished while this process has not".to_owned()));
            }
            // The listener has waited already.
            if is_caller {
                thread::sleep(pause);
                pause = (2 * pause).min(PAUSES.1);
            }
        }
    }

    /// Connects to the listener of a process.
    fn call(&self, process: usize, generation: u64) -> io::Result<Link> {
        let deadline = Instant::now() + CALL;
        let stream = dial(&self.settings.addresses[process])?;
        let link = Link::open(stream, self.settings.tls.as_ref(), Role::Caller, deadline)?;
        let hello = Hello::fresh(self.process(), process, self.processes(), generation)?;
        call(&mut Timed::new(&link, deadline), hello, &self.settings.secret)?;
        Ok(link)
    }

    /// Waits for a connection at the listener of this process.
    fn receive(&self, process: usize, generation: u64) -> io::Result<Link> {
        self.listener.wait_for(generation, process, PAUSES.1).ok_or_else(|| {
            io::Error::other(match self.listener.refusal() {
                None => "it did not connect".to_owned(),
                Some(reason) => format!("it did not connect, but: {reason}"),
            })
        })
    }
}

/// Connects to any address of a host name, which is resolved each time: it may be registered late.
fn dial(address: &str) -> io::Result<TcpStream> {
    let mut failed = io::Error::other("its name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CALL) {
            // A call to a free local port may connect to itself.
            Ok(stream) if stream.local_addr()? == address => failed = io::ErrorKind::ConnectionRefused.into(),
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Exchanges agreements with a process that has proven that it knows the secret.
fn exchange(link: &Link, agreement: &ClusterAgreement, deadline: Option<Instant>) -> io::Result<ClusterAgreement> {
    link.socket().set_nodelay(true)?;
    let mut timed = Timed::new(link, deadline);
    agreement.write(&mut timed)?;
    let theirs = ClusterAgreement::read(&mut timed)?;
    link.socket().set_read_timeout(None)?;
    link.socket().set_write_timeout(None)?;
    Ok(theirs)
}
