//! Whether a file is what is on record.

use std::fs;
use std::io;
#[cfg(feature = "formats")]
use std::io::Read;
use std::path::Path;

use serde::Serialize;
#[cfg(feature = "formats")]
use sha2::{Digest, Sha256};

use super::{CatalogError, Entry, File};

/// How a file compares with what is on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// It is not there.
    Missing,
    /// It has the size and the sum on record.
    Verified {
        /// Its bytes.
        found_size: u64,
    },
    /// It is there, and no sum is on record.
    Unverified {
        /// Its bytes.
        found_size: u64,
    },
    /// It has another size than is on record.
    WrongSize {
        /// Its bytes.
        found_size: u64,
    },
    /// It has another sum than is on record.
    WrongSum {
        /// Its bytes.
        found_size: u64,
        /// Its sum.
        found_sha256: String,
    },
}

impl Status {
    /// Whether the file is there and nothing on record speaks against it.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Verified { .. } | Self::Unverified { .. })
    }
}

impl File {
    /// Compares the file at `path` with what is on record.
    pub fn check(&self, path: &Path) -> io::Result<Status> {
        let found_size = match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(_) => return Ok(Status::Missing),
            Err(error) if is_absence(&error) => return Ok(Status::Missing),
            Err(error) => return Err(error),
        };
        if self.size.is_some_and(|size| size != found_size) {
            return Ok(Status::WrongSize { found_size });
        }
        let Some(expected) = self.sha256 else {
            return Ok(Status::Unverified { found_size });
        };
        let found_sha256 = sha256(path)?;
        Ok(match found_sha256 == expected {
            true => Status::Verified { found_size },
            false => Status::WrongSum { found_size, found_sha256 },
        })
    }
}

impl Entry {
    /// Compares the files in `folder`, the dataset's own, with what is on record: one status a
    /// file.
    pub fn check(&self, folder: &Path) -> Result<Vec<Status>, CatalogError> {
        let check = |file: &File| {
            let path = folder.join(file.path);
            file.check(&path).map_err(|source| CatalogError::Unreadable { path, source })
        };
        self.files.iter().map(check).collect()
    }
}

/// Says that the library is built without the feature `formats`.
#[cfg(not(feature = "formats"))]
pub fn sha256(_: &Path) -> io::Result<String> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "sums take the feature `formats` of the library"))
}

/// The SHA-256 of the file at `path`, in lower-case hexadecimal.
#[cfg(feature = "formats")]
pub fn sha256(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            Ok(count) => digest.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
