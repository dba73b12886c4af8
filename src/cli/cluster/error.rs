use std::io;
use std::path::PathBuf;

use crate::engine::mesh::TlsError;

/// An error in the arguments about several processes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line of the file of hosts makes no sense.
    #[error("{}, line {line}: `{found}` {problem}", path.display())]
    Host {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What it says.
        found: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no such process.
    #[error("--process {process}: {} names {count} processes, numbered from 0", path.display())]
    NoSuchProcess {
        /// Which was asked for.
        process: usize,
        /// How many there are.
        count: usize,
        /// The file of hosts.
        path: PathBuf,
    },
    /// A variable of the environment is not set.
    #[error("the variable {name} is not set: --cluster works only where the scheduler, or the manifest, sets it")]
    NoVariable {
        /// Which one.
        name: &'static str,
    },
    /// A variable of the environment makes no sense.
    #[error("the variable {name} is `{value}`: it should be {expected}")]
    BadVariable {
        /// Which one.
        name: &'static str,
        /// What it says.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A name cannot be looked up.
    #[error("the address {address} of this process is unknown here: {reason}")]
    UnknownAddress {
        /// Which address.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// A secret with nothing in it protects nothing.
    #[error("the secret of {place} is empty: put a long random text there")]
    EmptySecret {
        /// Where it stands.
        place: String,
    },
    /// A secret that others can read is none.
    #[error("everybody can read the secret in {path}: chmod 600 {path}", path = path.display())]
    OpenSecret {
        /// The file.
        path: PathBuf,
    },
    /// Anybody on the network could take part.
    #[error(
        "listening on {address} without a secret would let anybody on the network take part: give all processes the same \
         --secret-file or ISVD_CLUSTER_SECRET, or say --insecure"
    )]
    Unprotected {
        /// Where it would listen.
        address: String,
    },
    /// A file for TLS cannot be used.
    #[error("{option} {}: {source}", path.display())]
    Tls {
        /// What named it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: TlsError,
    },
    /// A pipe gives each byte to one process alone.
    #[error(
        "{}: found a pipe or a device, expected a file or a folder, which {processes} processes can read: save it to a \
         file, or make it a store first (isvd-dist convert)", path.display()
    )]
    Pipe {
        /// What cannot be shared.
        path: PathBuf,
        /// How many there are.
        processes: usize,
    },
    /// A launched run has its processes and its hosts from the launcher.
    #[error("launch starts the processes of an experiment itself: leave {what} out")]
    NotForLaunch {
        /// What was given.
        what: &'static str,
    },
}
