use std::io;
use std::path::PathBuf;

use super::UnpackError;
use crate::dataset::catalog::{File, Status};

/// Why a dataset was not fetched. Whatever was in its folder before is still there, unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Another process is fetching the same dataset to the same place.
    #[error("another fetch is at work in {}: wait for it to end", path.display())]
    Locked {
        /// Where.
        path: PathBuf,
    },
    /// The server has something else to say than the file.
    #[error("{address}: the server answered {status}{} fetch from a mirror", advice(*status))]
    Status {
        /// The address.
        address: String,
        /// The status of its answer.
        status: u16,
    },
    /// The server does not answer.
    #[error("cannot reach {address}: check the network, or fetch from a mirror")]
    Unreachable {
        /// The address.
        address: String,
        /// The error.
        source: Box<ureq::Error>,
    },
    /// The server stopped in the middle of a file.
    #[error(
        "{address}: the server stopped after {arrived} bytes{}: fetch again to go on from there",
        of(*expected)
    )]
    Interrupted {
        /// The address.
        address: String,
        /// How many of its bytes are here.
        arrived: u64,
        /// How many it has.
        expected: Option<u64>,
        /// The error of the system.
        source: Option<io::Error>,
    },
    /// The file has another size than is on record.
    #[error("{what} has {found} bytes, but {expected} are on record: nothing was replaced")]
    Size {
        /// The file.
        what: String,
        /// The bytes on record.
        expected: u64,
        /// The bytes it has.
        found: u64,
    },
    /// The content is another than is on record.
    #[error(
        "{what} has the wrong checksum: nothing was replaced\n  expected SHA-256 {expected}\n  found    SHA-256 {found}"
    )]
    Checksum {
        /// The file.
        what: String,
        /// The sum on record.
        expected: String,
        /// The sum of the file that arrived.
        found: String,
    },
    /// There is no end to it.
    #[error("{address} has more than {limit} bytes, which no dataset of the catalog has: nothing was replaced")]
    TooLarge {
        /// The address.
        address: String,
        /// The most bytes that are taken.
        limit: u64,
    },
    /// The archive is damaged, or not to be trusted.
    #[error("{address} cannot be unpacked: nothing was replaced")]
    Archive {
        /// The archive.
        address: String,
        /// Why.
        source: UnpackError,
    },
    /// The archive lacks files of the dataset.
    #[error("{address} lacks {}: nothing was replaced", missing.join(", "))]
    Incomplete {
        /// The archive.
        address: String,
        /// The missing files.
        missing: Vec<&'static str>,
    },
    /// The disk refuses.
    #[error("cannot read or write {}{}", path.display(), disk_advice(source))]
    Disk {
        /// Where.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl FetchError {
    /// Whether the fetched data is at fault, rather than the network or the disk.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Interrupted { .. }
            | Self::Size { .. }
            | Self::Checksum { .. }
            | Self::TooLarge { .. }
            | Self::Archive { .. }
            | Self::Incomplete { .. } => true,
            Self::Locked { .. } | Self::Status { .. } | Self::Unreachable { .. } | Self::Disk { .. } => false,
        }
    }

    /// Whether fetching again goes on with what has arrived.
    pub fn is_resumable(&self) -> bool {
        matches!(self, Self::Interrupted { .. } | Self::Unreachable { .. } | Self::Disk { .. })
    }
}

/// Turns a bad status of a file into an error; `what` names the file.
pub(super) fn judge(file: &File, status: &Status, what: impl Fn() -> String) -> Result<(), FetchError> {
    match status {
        Status::WrongSize { found_size } => {
            Err(FetchError::Size { what: what(), expected: file.size.unwrap_or_default(), found: *found_size })
        }
        Status::WrongSum { found_sha256, .. } => Err(FetchError::Checksum {
            what: what(),
            expected: file.sha256.unwrap_or_default().to_owned(),
            found: found_sha256.clone(),
        }),
        _ => Ok(()),
    }
}

fn advice(status: u16) -> &'static str {
    match status {
        404 | 410 => " (it has no such file):",
        401 | 403 | 407 => " (it refuses to give the file):",
        429 | 500..=599 => " (it is overloaded or out of order): try again later, or",
        _ => ":",
    }
}

fn of(expected: Option<u64>) -> String {
    expected.map_or_else(String::new, |expected| format!(" of {expected}"))
}

fn disk_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ": the disk is full: free some space and fetch again, or name another folder for datasets"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ": name another folder for datasets",
        _ => "",
    }
}
