//! Files in a zip archive.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::FormatError;

pub(crate) const MAGIC: &[u8] = b"PK\x03\x04";
const FETCH_AGAIN: &str = "the file is cut off or damaged: fetch or save it again";

/// An archive whose names all stay inside it.
pub(crate) struct Archive {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
    names: Vec<String>,
}

impl Archive {
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let failed = |source| FormatError::io(path, source);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(FormatError::Folder { path: path.to_owned() });
        }
        if metadata.len() == 0 {
            return Err(FormatError::Empty { path: path.to_owned(), expected: "a zip archive" });
        }
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| broken(path, error))?;
        let names = zip.file_names().map(|name| name.map(|name| name.into_owned()));
        let names: Vec<String> = names.collect::<Result<_, _>>().map_err(|error| broken(path, error))?;
        let outside = |name: &&String| {
            name.starts_with('/') || name.contains(['\\', '\0', ':']) || name.split('/').any(|part| part == "..")
        };
        if let Some(name) = names.iter().find(outside) {
            let found = format!("an entry named `{}`", name.escape_default());
            let remedy = "do not trust this archive, fetch it again from its source";
            return Err(FormatError::content(path, found, "names that stay inside the archive", remedy));
        }
        Ok(Self { path: path.to_owned(), zip, names })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The name of an entry for messages.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Opens an entry; `None` if there is none of that name.
    pub fn entry(&mut self, name: &str) -> Result<Option<impl Read>, FormatError> {
        match self.zip.by_name(name) {
            Ok(entry) => Ok(Some(entry)),
            Err(ZipError::FileNotFound) => Ok(None),
            Err(error) => Err(broken(&self.path, error)),
        }
    }

    /// Reads an entry; memory grows with what is really there.
    pub fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, FormatError> {
        let path = self.place(name);
        let Some(mut entry) = self.entry(name)? else { return Ok(None) };
        let mut bytes = vec![];
        match entry.read_to_end(&mut bytes) {
            Ok(_) => Ok(Some(bytes)),
            Err(source) => Err(FormatError::Compressed { path, offset: bytes.len() as u64, source }),
        }
    }
}

fn broken(path: &Path, error: ZipError) -> FormatError {
    match error {
        ZipError::Io(source) => FormatError::Compressed { path: path.to_owned(), offset: 0, source },
        error => FormatError::content(path, format!("no readable archive ({error})"), "a zip archive", FETCH_AGAIN),
    }
}
