//! The connections between processes, and their joint end.
//!
//! Every process runs the same program on the same data, calls [`run`](super::run) in the same
//! order, and gets the same results. Two processes share a *control connection* for heartbeats,
//! goodbyes and errors, and for each `run` a *data connection* for timely. The process with the
//! higher number connects to the listener of the other. Both prove that they know the secret (see
//! `handshake`), and compare their [`ClusterAgreement`]. With [`Tls`] everything is encrypted.
//!
//! A process that loses another one reports the loss to the other processes and to the user, and
//! ends. The caller of `run` cannot do that, since it waits for blocks that never arrive; so
//! [`Mesh::join`] takes a function that ends the process.

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
use control::{HEARTBEAT, Message, PeerEnd, listen};
pub use error::MeshError;
use exit::ExitDecision;
pub use hello::Secret;
use link::Link;
use listener::Listener;
pub use tls::{Tls, TlsError};

/// Time for a process to report an error of its own before it reports one of another process: the
/// same error often occurs in all.
const GRACE: Duration = Duration::from_secs(1);
/// Time limit for sending a control message.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The processes of a mesh, and their time limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The address of each process, as `host:port`.
    pub addresses: Vec<String>,
    /// The number of this process.
    pub process: usize,
    /// The addresses at which this process listens.
    pub listen: Vec<SocketAddr>,
    /// The shared secret.
    pub secret: Secret,
    /// The certificates, if connections are encrypted.
    pub tls: Option<Tls>,
    /// Time limit for the connection to all other processes.
    pub connect_timeout: Duration,
    /// Time without a heartbeat after which a process counts as lost.
    pub peer_timeout: Duration,
}

/// The connections of this process to all others.
pub struct Mesh {
    settings: Settings,
    listener: Arc<Listener>,
    /// By process; the entry of this process is unused.
    peers: Vec<Peer>,
    /// Settings that are compared when the next run starts.
    agreement: Mutex<ClusterAgreement>,
    /// The number of runs that have started.
    runs: AtomicU64,
    sent: AtomicU64,
    /// The least memory limit of all processes; `u64::MAX` if none has one.
    memory: AtomicU64,
    exit: ExitDecision,
    end_process: fn(&MeshError) -> !,
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
    /// Connects to all other processes, and compares agreements.
    ///
    /// From then on `end_process` is called if another process is lost or ends the run. It reports
    /// the error to the user and exits. The mesh is never freed: its threads monitor the other
    /// processes.
    pub fn join(
        settings: Settings,
        agreement: &ClusterAgreement,
        end_process: fn(&MeshError) -> !,
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
            agreement: Mutex::default(),
            runs: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            memory: AtomicU64::new(u64::MAX),
            exit: ExitDecision::new(),
            end_process,
            settings,
        }));
        mesh.catch_network_panics();
        thread::Builder::new().name("mesh:heartbeat".into()).spawn(|| mesh.send_heartbeats()).map_err(unprepared)?;
        match mesh.connect_control(agreement) {
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

    /// The number of processes.
    pub fn processes(&self) -> usize {
        self.settings.addresses.len()
    }

    /// Adds settings that are compared when the next run starts.
    pub fn agree_on(&self, settings: ClusterAgreement) {
        let mut agreement = self.agreement.lock().unwrap_or_else(PoisonError::into_inner);
        *agreement = std::mem::take(&mut *agreement).and(settings);
    }

    /// Bytes that this process has sent to others in all runs.
    pub fn bytes_sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// The least memory limit of all processes, if any has one.
    pub fn memory(&self) -> Option<u64> {
        Some(self.memory.load(Ordering::Relaxed)).filter(|&bytes| bytes < u64::MAX)
    }

    /// Leaves the mesh: this process is done.
    pub fn leave(&self) {
        if self.exit.leave() {
            self.send_to_all(&Message::Goodbye);
        }
    }

    /// Ends the other processes, because this one reports an error.
    pub fn fail(&self, reason: &str) {
        if self.exit.leave() {
            self.send_to_all(&Message::Failure(reason.to_owned()));
        }
    }

    /// Ends this process and the others.
    fn end(&self, error: &MeshError) -> ! {
        self.exit.end();
        self.send_to_all(&Message::Failure(error.for_peers()));
        (self.end_process)(error)
    }

    /// The name of a process in messages.
    fn name(&self, process: usize) -> String {
        format!("process {process} ({})", self.settings.addresses[process])
    }

    /// Sends a message to all peers. Errors are ignored: the thread that monitors a peer reports
    /// them.
    fn send_to_all(&self, message: &Message) {
        for peer in &self.peers {
            let control = peer.control.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(link) = control.as_ref() {
                let _ = message.send(link);
            }
        }
    }

    fn send_heartbeats(&self) -> ! {
        loop {
            self.send_to_all(&Message::Heartbeat);
            thread::sleep(HEARTBEAT);
        }
    }

    /// Monitors a peer from now on.
    fn monitor(&'static self, process: usize, link: Link) -> std::io::Result<()> {
        link.socket().set_write_timeout(Some(SEND_TIMEOUT))?;
        let receiver = link.try_clone()?;
        *self.peers[process].control.lock().unwrap_or_else(PoisonError::into_inner) = Some(link);
        let monitoring = move || match listen(&receiver, self.settings.peer_timeout) {
            PeerEnd::Goodbye => self.peers[process].has_left.store(true, Ordering::Release),
            PeerEnd::Failure(reason) => {
                self.exit.wait(GRACE);
                self.end(&MeshError::Failed { peer: self.name(process), reason, step: last_step::last() })
            }
            PeerEnd::Lost(reason) => {
                self.end(&MeshError::Lost { peer: self.name(process), reason, step: last_step::last() })
            }
        };
        thread::Builder::new().name(format!("mesh:monitor-{process}")).spawn(monitoring).map(drop)
    }

    /// Keeps the network threads of timely from reporting a lost peer as a panic. The control
    /// connection gives the reason. A broken data connection is reported only if there is none.
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
