//! Files in a zip archive.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use zip::ZipArchive;
use zip::result::ZipError;

use super::FormatError;
use super::input::{Input, OpenedFile, Seekable, read_up_to};
use super::zip_directory::{Allowed, Directory};
use crate::dataset::budget::{Budget, Reservation};

pub(crate) const MAGIC: &[u8] = b"PK\x03\x04";
const FETCH_AGAIN: &str = "the file is cut off or damaged: fetch or save it again";
/// Bytes before the name of an entry where its data is, and where among them the length of the name
/// stands.
const LOCAL_HEADER: (usize, usize) = (30, 26);

/// An archive without unsafe names.
pub(crate) struct Archive {
    path: PathBuf,
    zip: ZipArchive<Allowed>,
    names: Vec<String>,
    original: OpenedFile,
    budget: Budget,
    /// Memory of a copy of the file, and of its directory.
    _reserved: [Reservation; 2],
}

impl Archive {
    pub fn of(input: Input) -> Result<Self, FormatError> {
        let path = input.path().to_owned();
        if input.start().is_empty() {
            return Err(FormatError::Empty { path, expected: "a zip archive" });
        }
        let budget = input.budget().clone();
        let Seekable { mut reader, original, _reserved } = input.seekable()?;
        let broken = |error| broken(&path, error);
        let directory = Directory::of(&mut reader).map_err(|source| FormatError::io(&path, source))?;
        let no_end = ZipError::InvalidArchive("its directory has no end".into());
        let directory = directory.ok_or(no_end).map_err(broken)?;
        directory.check(&path)?;
        let _reserved = [_reserved, budget.reserve(directory.memory()).map_err(|over| over.reading(&path))?];
        let allowance = Arc::new(AtomicU64::new(directory.allowance()));
        let reader = Allowed { reader, allowance: Arc::clone(&allowance) };
        let mut zip = ZipArchive::new(reader).map_err(broken)?;
        allowance.store(u64::MAX, Relaxed);
        let mut names = vec![];
        let mut places = vec![];
        for number in 0..zip.len() {
            let entry = zip.by_index_raw(number).map_err(broken)?;
            names.push(entry.name().map_err(broken)?.into_owned());
            places.push((entry.header_start(), entry.name_raw().to_vec()));
        }
        if let Some((name, why)) = names.iter().find_map(|name| Some((name, unsafe_name(name)?))) {
            let found = format!("an entry named `{}`: {why}", name.escape_default());
            let remedy = "do not trust this archive, fetch it again from its source";
            return Err(FormatError::content(&path, found, "names that stay inside the archive", remedy));
        }
        // No checksum covers the names: a damaged name would make an optional entry look missing.
        let mut reader = zip.into_inner();
        for ((start, raw), name) in places.iter().zip(&names) {
            let is_same = has_name(&mut reader, *start, raw).map_err(|source| FormatError::io(&path, source))?;
            if !is_same {
                let found = format!("another name where the data of `{}` is", name.escape_default());
                return Err(FormatError::content(&path, found, "the same name twice", FETCH_AGAIN));
            }
        }
        let zip = ZipArchive::new(reader).map_err(broken)?;
        Ok(Self { zip, names, original, budget, _reserved, path })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The name of an entry for messages.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Refuses an archive that changed since it was opened.
    pub fn check(&self) -> Result<(), FormatError> {
        self.original.check()
    }

    /// Opens an entry; `None` if there is none of that name. Its checksum is compared at its end,
    /// so it must be read to there.
    pub fn entry(&mut self, name: &str) -> Result<Option<impl Read>, FormatError> {
        match self.zip.by_name(name) {
            Ok(entry) => Ok(Some(entry)),
            Err(ZipError::FileNotFound) => Ok(None),
            Err(error) => Err(broken(&self.path, error)),
        }
    }

    /// Reads an entry; memory grows with the bytes that were read, not with the stated size.
    pub fn read(&mut self, name: &str) -> Result<Option<(Vec<u8>, Reservation)>, FormatError> {
        let (path, budget) = (self.place(name), self.budget.clone());
        let Some(mut entry) = self.entry(name)? else { return Ok(None) };
        let (bytes, reserved, ended) = read_up_to(&mut entry, u64::MAX, &path, &budget)?;
        drop(entry);
        ended.map_err(|source| FormatError::Compressed { path, offset: bytes.len() as u64, source })?;
        self.check()?;
        Ok(Some((bytes, reserved)))
    }
}

/// Whether the entry that starts there has that name.
fn has_name(reader: &mut (impl Read + Seek), start: u64, name: &[u8]) -> io::Result<bool> {
    reader.seek(SeekFrom::Start(start))?;
    let mut found = vec![];
    reader.take((LOCAL_HEADER.0 + name.len()) as u64).read_to_end(&mut found)?;
    let length = found.get(LOCAL_HEADER.1..).and_then(<[u8]>::first_chunk).copied().map(u16::from_le_bytes);
    Ok(length.map(usize::from) == Some(name.len()) && found.get(LOCAL_HEADER.0..) == Some(name))
}

fn broken(path: &Path, error: ZipError) -> FormatError {
    match error {
        ZipError::Io(source) => FormatError::Compressed { path: path.to_owned(), offset: 0, source },
        error => FormatError::content(path, format!("no readable archive ({error})"), "a zip archive", FETCH_AGAIN),
    }
}

/// What makes the name of an entry unsafe. Archives of datasets have no need for unusual names.
pub(crate) fn unsafe_name(name: &str) -> Option<&'static str> {
    let parts = || name.strip_suffix('/').unwrap_or(name).split('/');
    if name.starts_with('/') {
        Some("its path is absolute")
    } else if parts().any(|part| part == "..") {
        Some("its path leads out of the folder")
    } else if name.contains(['\\', ':', '\0']) || parts().any(|part| part.is_empty() || part == ".") {
        Some("its path means different things on different systems")
    } else {
        None
    }
}
