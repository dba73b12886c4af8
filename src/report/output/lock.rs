//! Who writes into a folder: one run at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::OutputError;

/// The file that is locked while a run writes into its folder. It holds the id of its process.
const NAME: &str = ".isvd.lock";
/// How often a lock is tried whose file another run removes at that moment.
const ATTEMPTS: usize = 100;

/// The files that are locked now, for a process that ends without dropping its locks.
static HELD: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the lock files of this process, which is about to end.
pub fn remove_lock_files() {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    for path in held.drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// A lock of the system, which ends with the process however that ends.
#[derive(Debug)]
pub(super) struct FolderLock {
    file: File,
    path: PathBuf,
}

impl FolderLock {
    /// Locks a folder; `None` where the file system has no locks.
    pub(super) fn take(folder: &Path) -> Result<Option<Self>, OutputError> {
        let refused = |source| OutputError::Folder { path: folder.to_owned(), source };
        let path = folder.join(NAME);
        for _ in 0..ATTEMPTS {
            let open = || OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            drop(open().map_err(refused)?);
            // A file that is open for reading does not keep a disk from being mounted read-only.
            // NFS locks those alone that are open for writing.
            let mut file = match File::open(&path) {
                // Another run has just ended.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(refused)?,
            };
            let mut locked = file.try_lock();
            if matches!(locked, Err(TryLockError::Error(_))) {
                file = open().map_err(refused)?;
                locked = file.try_lock();
            }
            match locked {
                Ok(()) if !is_at(&file, &path) => {}
                Ok(()) => {
                    // Without its id, on a full disk for one, the lock holds all the same.
                    let _ = fs::write(&path, format!("{}\n", std::process::id()));
                    HELD.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
                    return Ok(Some(Self { file, path }));
                }
                Err(TryLockError::WouldBlock) => return Err(in_use(folder)),
                Err(TryLockError::Error(error)) if has_no_locks(&error) => {
                    let _ = fs::remove_file(&path);
                    return Ok(None);
                }
                Err(TryLockError::Error(error)) => return Err(refused(error)),
            }
        }
        Err(OutputError::InUse { path: folder.to_owned(), process: None })
    }

    /// Whether a lock of the folder is there, held or left behind.
    pub(super) fn is_there(folder: &Path) -> bool {
        folder.join(NAME).is_file()
    }

    /// Refuses a folder that a run has locked. A shared lock, at once given back, disturbs nobody
    /// else who asks.
    pub(super) fn check_free(folder: &Path) -> Result<(), OutputError> {
        let Ok(file) = File::open(folder.join(NAME)) else { return Ok(()) };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Err(in_use(folder)),
            _ => Ok(()),
        }
    }
}

fn in_use(folder: &Path) -> OutputError {
    let process = fs::read_to_string(folder.join(NAME)).ok().and_then(|text| text.trim().parse().ok());
    OutputError::InUse { path: folder.to_owned(), process }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Removed while it is locked: whoever opened it meanwhile sees that it is not the file of
        // that name any more.
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|path| *path != self.path);
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

/// Whether a file still has its name.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |found: fs::Metadata| (found.dev(), found.ino());
        file.metadata().map(place).ok() == fs::metadata(path).map(place).ok()
    }
    #[cfg(not(unix))]
    {
        let _ = (file, path);
        true
    }
}

/// Lustre without `-o flock`, and NFS without a lock manager.
fn has_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let none = [Errno::NOSYS, Errno::NOTSUP, Errno::NOLCK].map(Errno::raw_os_error);
        error.raw_os_error().is_some_and(|code| none.contains(&code))
    }
    #[cfg(not(unix))]
    {
        error.kind() == io::ErrorKind::Unsupported
    }
}
