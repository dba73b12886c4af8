//! A mesh of processes: their connections, and how they end together.
//!
//! Every process runs the same program on the same data, calls [`run`](super::run) in the same
//! order, and gets the same results. Between any two processes there is a *control connection* for
//! heartbeats, goodbyes and errors, and for each `run` a *data connection*, which is handed to
//! timely. The process with the higher number calls the listener of the other. Both prove that
//! they know the secret (see `handshake`), and then compare their [`ClusterAgreement`]. With
//! [`Tls`] all of that happens inside TLS.
//!
//! A process that loses another one ends: it tells the other processes, and then the user. The
//! caller of `run` cannot do that, since it waits for blocks that never come; so [`Mesh::join`]
//! takes a function that ends the process.

mod agreement;
mod connect;
mod control;
mod error;
mod exit;
#[cfg(feature = "fuzzing")]
pub(super) mod fuzz;
mod handshake;
mod hello;
pub(super) mod last_step;
mod link;
mod listener;
mod network;
mod secured;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

pub use agreement::ClusterAgreement;
use control::{BEAT, Message, PeerEnd, listen};
pub use error::MeshError;
use exit::ExitDecision;
pub use hello::Secret;
use link::Link;
use listener::Listener;
pub use tls::{Tls, TlsError};

/// Time for a process that is blamed by another to report an error of its own, since the same error
/// often stops all.
const GRACE: Duration = Duration::from_secs(1);
/// Time limit of a control message.
const SAYING: Duration = Duration::from_secs(1);

/// The processes of a mesh, and their time limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where each process listens, as `host:port`.
    pub addresses: Vec<String>,
    /// Which of them this is.
    pub process: usize,
    /// Where this one listens.
    pub listen: Vec<SocketAddr>,
    /// The shared secret.
    pub secret: Secret,
    /// Certificates, if connections are encrypted.
    pub tls: Option<Tls>,
    /// Time limit for the others to come.
    pub connect_timeout: Duration,
    /// Silence after which a process is given up.
    pub peer_timeout: Duration,
}

/// The connections of this process to all others.
pub struct Mesh {
    settings: Settings,
    listener: Arc<Listener>,
    /// By process; this one's own place is unused.
    peers: Vec<Peer>,
    /// Settings that must agree from the next run on.
    facts: Mutex<ClusterAgreement>,
    /// How many runs have begun.
    runs: AtomicU64,
    sent: AtomicU64,
    /// Least memory limit of all processes; the largest number where none has one.
    memory: AtomicU64,
    exit: ExitDecision,
    ending: fn(&MeshError) -> !,
}

#[derive(Default)]
struct Peer {
    control: Mutex<Option<Link>>,
    has_left: AtomicBool,
}

/// There is one mesh in a process.
impl PartialEq for Mesh {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Mesh {}

impl std::fmt::Debug for Mesh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mesh({} of {})", self.process(), self.processes())
    }
}

impl Mesh {
    /// Connects with all other processes, and compares agreements.
    ///
    /// From then on `ending` is called when another process is lost or ends the run; it tells the
    /// user and exits. The mesh is never freed: its threads monitor the other processes.
    pub fn join(
        settings: Settings,
        facts: &ClusterAgreement,
        ending: fn(&MeshError) -> !,
    ) -> Result<&'static Self, MeshError> {
        let (process, processes) = (settings.process, settings.addresses.len());
        let listener = TcpListener::bind(settings.listen.as_slice()).map_err(|source| MeshError::CannotListen {
            process,
            address: settings.addresses[process].clone(),
            source,
        })?;
        let unprepared = |error: std::io::Error| MeshError::Unprepared(error.to_string());
        let (secret, tls) = (settings.secret.clone(), settings.tls.clone());
        let listener = Listener::open(listener, process, processes, secret, tls).map_err(unprepared)?;
        let mesh: &'static Self = Box::leak(Box::new(Self {
            listener,
            peers: (0..processes).map(|_| Peer::default()).collect(),
            facts: Mutex::default(),
            runs: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            memory: AtomicU64::new(u64::MAX),
            exit: ExitDecision::new(),
            ending,
            settings,
        }));
        mesh.catch_network_panics();
        thread::Builder::new().name("mesh:beat".into()).spawn(|| mesh.beat()).map_err(unprepared)?;
        match mesh.connect_control(facts) {
            Ok(()) => Ok(mesh),
            Err(error) => {
                mesh.fail(&error.to_string());
                Err(error)
            }
        }
    }

    /// The number of this process.
    pub fn process(&self) -> usize {
        self.settings.process
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.settings.addresses.len()
    }

    /// Adds settings that must agree, to be compared when the next run starts.
    pub fn state(&self, facts: ClusterAgreement) {
        let mut stated = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        *stated = std::mem::take(&mut *stated).and(facts);
    }

    /// Bytes that the runs so far have sent from this process to others.
    pub fn bytes_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Least memory limit of all processes, if any has one: the same everywhere.
    pub fn memory(&self) -> Option<u64> {
        Some(self.memory.load(Ordering::Relaxed)).filter(|&bytes| bytes < u64::MAX)
    }

    /// Says goodbye: this process is done.
    pub fn leave(&self) {
        if self.exit.leave() {
            self.tell(&Message::Goodbye);
        }
    }

    /// Ends the other processes, because this one reports an error.
    pub fn fail(&self, reason: &str) {
        if self.exit.leave() {
            self.tell(&Message::Blame(reason.to_owned()));
        }
    }

    /// Ends this process and the others.
    fn end(&self, error: &MeshError) -> ! {
        self.exit.end();
        self.tell(&Message::Blame(error.told()));
        (self.ending)(error)
    }

    /// The name of a process in messages.
    fn name(&self, process: usize) -> String {
        format!("process {process} ({})", self.settings.addresses[process])
    }

    /// Sends a message to all peers. Failures are ignored: a lost peer is noticed elsewhere.
    fn tell(&self, message: &Message) {
        for peer in &self.peers {
            let control = peer.control.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(link) = control.as_ref() {
                let _ = message.send(link);
            }
        }
    }

    fn beat(&self) -> ! {
        loop {
            self.tell(&Message::Beat);
            thread::sleep(BEAT);
        }
    }

    /// Monitors a peer from now on.
    fn watch(&'static self, process: usize, link: Link) -> std::io::Result<()> {
        link.socket().set_write_timeout(Some(SAYING))?;
        let heard = link.try_clone()?;
        *self.peers[process].control.lock().unwrap_or_else(PoisonError::into_inner) = Some(link);
        let watching = move || match listen(&heard, self.settings.peer_timeout) {
            PeerEnd::Goodbye => self.peers[process].has_left.store(true, Ordering::Release),
            PeerEnd::Blame(reason) => {
                self.exit.wait(GRACE);
                self.end(&MeshError::Blamed { peer: self.name(process), reason, step: last_step::last() })
            }
            PeerEnd::Lost(reason) => {
                self.end(&MeshError::Lost { peer: self.name(process), reason, step: last_step::last() })
            }
        };
        thread::Builder::new().name(format!("mesh:watch-{process}")).spawn(watching).map(drop)
    }

    /// Keeps timely's network threads from reporting a lost peer as a panic. The control connection
    /// knows the reason; a broken data connection is reported only if that one stays silent.
    fn catch_network_panics(&'static self) {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let thread = thread::current();
            let Some(process) = thread.name().and_then(peer_of_thread) else { return previous(info) };
            self.exit.wait(self.settings.peer_timeout + GRACE);
            let reason = info.payload_as_str().unwrap_or("its data connection broke").to_owned();
            self.end(&MeshError::Lost { peer: self.name(process), reason, step: last_step::last() });
        }));
    }
}

/// The process that a network thread of timely is connected to.
fn peer_of_thread(name: &str) -> Option<usize> {
    let process = name.strip_prefix("timely:recv-").or_else(|| name.strip_prefix("timely:send-"))?;
    process.parse().ok()
}
