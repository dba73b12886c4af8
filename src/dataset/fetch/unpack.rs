//! Zip archives, trusted as little as the network they come from.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::{FetchError, Limits};
use crate::dataset::format::packed::unsafe_name;

/// Below this size a file may be packed as tightly as it likes.
const HARMLESS: u64 = 1 << 20;
/// How many bytes are moved at a time.
const PIECE: usize = 1 << 16;

/// Why an archive is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// It is no zip archive, or a damaged one.
    #[error("it is not a whole zip archive")]
    NotAnArchive {
        /// The problem.
        source: ZipError,
    },
    /// A file in it is damaged.
    #[error("`{entry}` in it is damaged")]
    Damaged {
        /// The file.
        entry: String,
        /// The problem.
        source: io::Error,
    },
    /// A file in it would not stay in the folder of the dataset.
    #[error("`{entry}` in it is not safe: {why}")]
    Unsafe {
        /// The file.
        entry: String,
        /// The problem.
        why: &'static str,
    },
    /// Too many files.
    #[error("it holds {found} files, more than the {limit} that are taken")]
    TooMany {
        /// How many it holds.
        found: usize,
        /// How many are taken.
        limit: usize,
    },
    /// Too many bytes.
    #[error("`{entry}` in it goes beyond the {limit} bytes that are taken {of}")]
    TooLarge {
        /// The file at which it happened.
        entry: String,
        /// How many are taken.
        limit: u64,
        /// Of one file, or of all.
        of: &'static str,
    },
    /// A little that becomes a lot.
    #[error("`{entry}` in it grows more than {limit}-fold when it is unpacked: this is a trap, not a dataset")]
    Bomb {
        /// The file.
        entry: String,
        /// How much it may grow.
        limit: u64,
    },
    /// The disk refuses.
    #[error("cannot read or write {}", path.display())]
    Disk {
        /// Where.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl UnpackError {
    /// As the error of the archive at `address`. A disk that refuses is not the archive's fault.
    pub(super) fn of(self, address: String) -> FetchError {
        match self {
            Self::Disk { path, source } => FetchError::Disk { path, source },
            source => FetchError::Archive { address, source },
        }
    }
}

/// Unpacks what is in the folder `root` of the archive into the folder `into`. Nothing is written
/// before every name in the archive has been found harmless.
pub(super) fn unpack(archive: &Path, root: &str, into: &Path, limits: &Limits) -> Result<(), UnpackError> {
    let file = File::open(archive).map_err(|source| UnpackError::Disk { path: archive.to_owned(), source })?;
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|source| UnpackError::NotAnArchive { source })?;
    let names = inspect(&mut zip, limits)?;
    let mut total = 0;
    for (index, name) in names.into_iter().enumerate() {
        let Some(below) = name.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')) else { continue };
        if below.is_empty() || below.ends_with('/') {
            continue;
        }
        let place = into.join(below);
        let mut packed = zip.by_index(index).map_err(|source| UnpackError::NotAnArchive { source })?;
        let growth = packed.compressed_size().saturating_mul(limits.ratio).max(HARMLESS);
        let mut output = create(&place, &name)?;
        let mut size = 0;
        let mut piece = vec![0; PIECE];
        loop {
            let count = match packed.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(UnpackError::Damaged { entry: name, source }),
            };
            size += count as u64;
            total += count as u64;
            within(&name, size, total, growth, limits)?;
            output.write_all(&piece[..count]).map_err(|source| UnpackError::Disk { path: place.clone(), source })?;
        }
        output.sync_all().map_err(|source| UnpackError::Disk { path: place, source })?;
    }
    Ok(())
}

/// The names of all entries, none of which leads out of the folder.
fn inspect(zip: &mut ZipArchive<BufReader<File>>, limits: &Limits) -> Result<Vec<String>, UnpackError> {
    if zip.len() > limits.files {
        return Err(UnpackError::TooMany { found: zip.len(), limit: limits.files });
    }
    let mut names = Vec::with_capacity(zip.len());
    for index in 0..zip.len() {
        let entry = zip.by_index_raw(index).map_err(|source| UnpackError::NotAnArchive { source })?;
        let name = entry.name().map_err(|source| UnpackError::NotAnArchive { source })?.into_owned();
        let why = if entry.is_symlink() { Some("it is a symbolic link") } else { unsafe_name(&name) };
        if let Some(why) = why {
            return Err(UnpackError::Unsafe { entry: name, why });
        }
        names.push(name);
    }
    Ok(names)
}

fn within(entry: &str, size: u64, total: u64, growth: u64, limits: &Limits) -> Result<(), UnpackError> {
    let entry = || entry.to_owned();
    if size > limits.file {
        Err(UnpackError::TooLarge { entry: entry(), limit: limits.file, of: "of one file" })
    } else if total > limits.total {
        Err(UnpackError::TooLarge { entry: entry(), limit: limits.total, of: "of all files" })
    } else if size > growth {
        Err(UnpackError::Bomb { entry: entry(), limit: limits.ratio })
    } else {
        Ok(())
    }
}

/// Makes a file where there is none.
fn create(place: &Path, entry: &str) -> Result<File, UnpackError> {
    let parent = place.parent().unwrap_or(place);
    let created = fs::create_dir_all(parent).and_then(|()| File::create_new(place));
    created.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            UnpackError::Unsafe { entry: entry.to_owned(), why: "another one has the same name" }
        }
        _ => UnpackError::Disk { path: place.to_owned(), source },
    })
}

#[cfg(test)]
mod tests;
