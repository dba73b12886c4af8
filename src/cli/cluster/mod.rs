//! Several processes: who they are, what they know, and what they must have in common.

mod error;
mod hosts;
mod join;
mod kubernetes;
mod secret;
mod slurm;
mod tls;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

pub use error::ClusterError;
pub(super) use join::with_peers;
pub(super) use secret::VARIABLE as SECRET_VARIABLE;
pub use tls::TlsArguments;

use crate::dataset::Source;
use crate::engine::mesh::{Secret, Settings};

/// Holds the id of the process that launched this one. A process ends with its launcher, which
/// prints how the run ended.
pub(super) const LAUNCHED_VARIABLE: &str = "ISVD_LAUNCHED";

/// The first port where a scheduler, and no list, says who takes part.
const DEFAULT_PORT: u16 = 7461;

/// How several processes find and know each other.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Several processes")]
pub struct ClusterArguments {
    /// Run as one process of several: a file with the address of each, one host:port a line
    #[arg(long, value_name = "FILE", requires = "process", conflicts_with = "cluster", hide_short_help = true)]
    pub hosts: Option<PathBuf>,

    /// Which line of the file of hosts is this process, from 0. Process 0 alone writes and prints
    /// results
    #[arg(long, value_name = "I", requires = "hosts", hide_short_help = true)]
    pub process: Option<usize>,

    /// Run as one process of several, which a scheduler tells of each other
    #[arg(long, value_enum, hide_short_help = true)]
    pub cluster: Option<Scheduler>,

    /// The first port to listen on, with --cluster
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..), hide_short_help = true)]
    pub port: u16,

    /// A file with the secret that all processes share [default: $ISVD_CLUSTER_SECRET]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub secret_file: Option<PathBuf>,

    /// What is encrypted
    #[command(flatten)]
    pub tls: TlsArguments,

    /// Listen beyond this machine without a secret
    #[arg(long, hide_short_help = true)]
    pub insecure: bool,

    /// How long another process may be silent before the run ends
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=86_400), hide_short_help = true)]
    pub peer_timeout: u64,

    /// How long to wait for the other processes at the start
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400), hide_short_help = true)]
    pub connect_timeout: u64,
}

/// Who starts processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scheduler {
    /// srun: SLURM_PROCID, SLURM_NTASKS, SLURM_JOB_NODELIST, SLURM_TASKS_PER_NODE
    Slurm,
    /// A StatefulSet: HOSTNAME, and ISVD_SERVICE and ISVD_PROCESSES from its manifest
    Kubernetes,
}

/// The processes, and which of them this is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hosts {
    addresses: Vec<String>,
    process: usize,
}

/// Refuses data that several processes cannot all read. A missing file is left to its reader.
pub(super) fn check_shared(source: &Source, processes: usize) -> Result<(), ClusterError> {
    let is_pipe = |path: &&Path| path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir());
    match source.paths().into_iter().find(is_pipe).filter(|_| processes > 1) {
        Some(path) => Err(ClusterError::Pipe { path: path.to_owned(), processes }),
        None => Ok(()),
    }
}

/// Whether this process is one that `launch` started.
pub(super) fn is_launched() -> bool {
    std::env::var_os(LAUNCHED_VARIABLE).is_some()
}

/// A variable of the environment that must be there.
fn variable(environment: &impl Fn(&str) -> Option<String>, name: &'static str) -> Result<String, ClusterError> {
    environment(name).filter(|value| !value.is_empty()).ok_or(ClusterError::NoVariable { name })
}

/// A number from the environment.
fn number(environment: &impl Fn(&str) -> Option<String>, name: &'static str) -> Result<usize, ClusterError> {
    let value = variable(environment, name)?;
    value.parse().map_err(|_| ClusterError::BadVariable { name, value, expected: "a whole number" })
}

impl ClusterArguments {
    /// Whether this is to be one process of several.
    pub fn is_asked_for(&self) -> bool {
        self.hosts.is_some() || self.cluster.is_some()
    }

    /// What the arguments say, checked; `None` for a process on its own.
    pub(super) fn settings(&self) -> Result<Option<Settings>, ClusterError> {
        let environment = |name: &str| std::env::var(name).ok();
        let (hosts, listen) = match (&self.hosts, self.process, self.cluster) {
            (Some(file), Some(process), _) => {
                let hosts = hosts::read(file, process)?;
                let listen = addresses_of(&hosts.addresses[process])?;
                (hosts, listen)
            }
            (_, _, Some(scheduler)) => {
                let hosts = match scheduler {
                    Scheduler::Slurm => slurm::hosts(&environment, self.port)?,
                    Scheduler::Kubernetes => kubernetes::hosts(&environment, self.port)?,
                };
                // A machine may know itself by another address than the others do.
                let (_, port) = hosts.addresses[hosts.process].rsplit_once(':').unwrap_or_default();
                let listen = addresses_of(&format!("0.0.0.0:{port}"))?;
                (hosts, listen)
            }
            _ => return Ok(None),
        };
        let secret = secret::find(self.secret_file.as_deref(), environment(SECRET_VARIABLE))?;
        let is_reachable = listen.iter().any(|address| !address.ip().is_loopback());
        if let (None, true, false) = (&secret, is_reachable, self.insecure) {
            return Err(ClusterError::Unprotected { address: listen[0].to_string() });
        }
        Ok(Some(Settings {
            addresses: hosts.addresses,
            process: hosts.process,
            listen,
            secret: secret.unwrap_or(Secret::known_to_all()),
            tls: self.tls.read()?,
            connect_timeout: Duration::from_secs(self.connect_timeout),
            peer_timeout: Duration::from_secs(self.peer_timeout),
        }))
    }
}

fn addresses_of(address: &str) -> Result<Vec<SocketAddr>, ClusterError> {
    let unknown = |reason: String| ClusterError::UnknownAddress { address: address.to_owned(), reason };
    let found: Vec<_> = address.to_socket_addrs().map_err(|error| unknown(error.to_string()))?.collect();
    if found.is_empty() { Err(unknown("the name has no address".to_owned())) } else { Ok(found) }
}
