//! The working folder of a download, next to the folder of the dataset.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::FetchError;
use super::part::Part;
use crate::dataset::format::file_identity;

/// The file that the lock is on.
const LOCK: &str = "lock";
/// The file with the address that the folder was fetched from.
const ORIGIN: &str = "from";
/// The folder of complete and verified files.
const READY: &str = "ready";

/// A folder that no other process works in.
#[derive(Debug)]
pub(super) struct Work {
    folder: PathBuf,
    _lock: File,
}

impl Work {
    /// Creates the folder, or continues in that of an interrupted fetch. Files from another address
    /// than `base` are removed.
    pub fn open(target: &Path, name: &str, base: &str) -> Result<Self, FetchError> {
        let folder = target.with_file_name(format!(".fetch-{name}"));
        let lock = lock(&folder)?;
        let work = Self { folder, _lock: lock };
        let origin = work.folder.join(ORIGIN);
        if fs::read(&origin).ok().as_deref() != Some(base.as_bytes()) {
            work.clear();
            fs::write(&origin, base).map_err(at(&origin))?;
        }
        Ok(work)
    }

    /// The growing file for what will be called `path`.
    pub fn part(&self, path: &str) -> Part {
        Part::new(self.folder.join(format!("{}.part", path.replace('/', "-"))))
    }

    /// Where an archive goes.
    pub fn archive(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// The path of a complete and verified file.
    pub fn ready(&self, path: &str) -> Result<PathBuf, FetchError> {
        let path = self.folder.join(READY).join(path);
        make_parent(&path)?;
        Ok(path)
    }

    /// The folder for such files, with nothing in it.
    pub fn empty_ready(&self) -> Result<PathBuf, FetchError> {
        let ready = self.folder.join(READY);
        match fs::remove_dir_all(&ready) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Err(FetchError::Disk { path: ready, source }),
            _ => fs::create_dir(&ready).map_err(at(&ready)).map(|()| ready),
        }
    }

    /// Moves everything that is ready to `target`: the folder as a whole if there is none yet, else
    /// file by file. A file that is there stays if `is_kept` says so of its path.
    pub fn place(&self, target: &Path, is_kept: impl Fn(&Path) -> bool) -> Result<(), FetchError> {
        let ready = self.folder.join(READY);
        if !target.exists() {
            return fs::rename(&ready, target).map_err(at(target));
        }
        for path in files_below(&ready).map_err(at(&ready))? {
            let Ok(below) = path.strip_prefix(&ready) else { continue };
            let place = target.join(below);
            if place.is_file() && is_kept(below) {
                continue;
            }
            make_parent(&place)?;
            fs::rename(&path, &place).map_err(at(&place))?;
        }
        Ok(())
    }

    /// Removes the folder if nothing has arrived in it.
    pub fn remove_if_empty(&self) {
        let arrived = files_below(&self.folder).unwrap_or_default();
        if arrived.iter().all(|path| [LOCK, ORIGIN].iter().any(|name| *path == self.folder.join(name))) {
            self.remove();
        }
    }

    /// Removes the folder and all that is in it. Errors are ignored: a leftover is harmless.
    pub fn remove(&self) {
        self.clear();
        let _ = fs::remove_file(self.folder.join(LOCK));
        let _ = fs::remove_dir(&self.folder);
    }

    fn clear(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_name() != LOCK {
                let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            }
        }
    }
}

/// Locks the folder. The system releases the lock when the process ends in any way.
fn lock(folder: &Path) -> Result<File, FetchError> {
    let path = folder.join(LOCK);
    loop {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let file = match File::options().create(true).write(true).truncate(false).open(&path) {
            // The holder has just removed the folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(at(&path))?,
        };
        match file.try_lock() {
            Ok(()) if is_at(&file, &path) => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(FetchError::Locked { path: folder.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(FetchError::Disk { path, source }),
        }
    }
}

/// Whether the locked file still exists at its path: the previous owner removes it at the end.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(held), Ok(named)) = (file.metadata(), fs::metadata(path)) else { return false };
    file_identity(&held) == file_identity(&named)
}

fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let found = if entry.file_type()?.is_dir() { &mut folders } else { &mut files };
            found.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn make_parent(path: &Path) -> Result<(), FetchError> {
    path.parent().map_or(Ok(()), |parent| fs::create_dir_all(parent).map_err(at(parent)))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> FetchError {
    let path = path.to_owned();
    move |source| FetchError::Disk { path, source }
}
