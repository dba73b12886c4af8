//! A file of any name, written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use super::lock::FolderLock;
use super::{Folder, OutputError, Staged, folder_of};

/// What a file is written with.
pub type FileWriter<'a> = BufWriter<&'a File>;

/// A place for a file that was found to take one.
#[derive(Debug, Clone)]
pub struct SingleFile {
    folder: Folder,
    name: OsString,
}

impl SingleFile {
    /// Makes the folder if need be and tries to write there. Only a file may be replaced: what is
    /// no file (a folder, a device) stays as it is, and a link is followed. A folder of results
    /// that a run writes into is refused.
    pub fn prepare(path: &Path) -> Result<Self, OutputError> {
        let path = match fs::canonicalize(path) {
            Ok(found) if found.is_file() => found,
            Ok(_) => return Err(OutputError::NoFile { path: path.to_owned() }),
            Err(_) => path.to_owned(),
        };
        let Some(name) = path.file_name() else { return Err(OutputError::NoFile { path }) };
        let parent = folder_of(&path);
        FolderLock::check_free(parent)?;
        Ok(Self { folder: Folder::shared(parent)?, name: name.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.path.join(&self.name)
    }

    /// Writes it.
    pub fn write(&self, write: impl FnOnce(&mut FileWriter<'_>) -> io::Result<()>) -> Result<(), OutputError> {
        self.write_staged(vec![self.stage(write)?])
    }

    /// Writes it, and another one beside it; neither takes its name before both are written.
    pub fn write_with(
        &self,
        write: impl FnOnce(&mut FileWriter<'_>) -> io::Result<()>,
        other: &Self,
        write_other: impl FnOnce(&mut FileWriter<'_>) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        self.write_staged(vec![other.stage(write_other)?, self.stage(write)?])
    }

    fn stage(&self, write: impl FnOnce(&mut FileWriter<'_>) -> io::Result<()>) -> Result<Staged, OutputError> {
        self.folder.stage(&self.name, write)
    }

    fn write_staged(&self, staged: Vec<Staged>) -> Result<(), OutputError> {
        staged.into_iter().try_for_each(Staged::place)?;
        self.folder.synchronize()
    }
}
