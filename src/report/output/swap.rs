//! Files of a folder, replaced by others in one step.
//!
//! Systems can rename one file in one step, not several. So for a moment every name of the result
//! is a symbolic link through one other link, `.isvd-result`, and that one is replaced:
//!
//! 1. The new files stand in `.isvd-new`, on the disk. The old ones get second names, by hard
//!    links, in `.isvd-old`.
//! 2. `.isvd-result` leads to `.isvd-old`, and every name `x` of the old or the new result becomes
//!    a link to `.isvd-result/x`. Each still leads to the old file; a name that only the new result
//!    has leads nowhere.
//! 3. `.isvd-result` is replaced by a link to `.isvd-new`: now each leads to the new file, or
//!    nowhere.
//! 4. The links are replaced by the files they lead to, and what leads nowhere is removed
//!    ([`settle`]).
//!
//! Whenever this ends, all names lead to the old files or all to the new ones, and the next run
//! begins with [`settle`]. Nothing else in the folder is touched. Where a file system has no links
//! the names are replaced one by one, `metrics.json` removed first and put in place last.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::full_disk::{FreeSpace, retry_when_full};
use crate::engine::checkpoint::Space;

/// The new files.
pub(super) const NEW: &str = ".isvd-new";
/// Second names of the old files.
const OLD: &str = ".isvd-old";
/// Leads to one of the two.
const RESULT: &str = ".isvd-result";
/// A link on its way to its place.
const LINK: &str = ".isvd-link";

/// What is replaced by what.
pub(super) struct Swap<'a> {
    pub(super) folder: &'a Path,
    /// The names of the new files, which stand in [`NEW`], in the order in which they are put in
    /// place one by one.
    pub(super) new: &'a [&'a OsStr],
    /// All names of the old result that may be there.
    pub(super) old: &'a [&'a OsStr],
    /// Frees space where the disk takes no more names.
    pub(super) free_space: &'a FreeSpace<'a>,
}

/// Called before every change of the folder, so that tests can end there.
pub(super) type Step<'a> = &'a mut dyn FnMut();

impl Swap<'_> {
    /// Replaces the files. After an error the old ones are in place, unless the file system has no
    /// links.
    pub(super) fn run(&self, step: Step<'_>) -> io::Result<()> {
        let there = |name: &&&OsStr| fs::symlink_metadata(self.folder.join(name)).is_ok();
        let old: Vec<&OsStr> = self.old.iter().filter(there).copied().collect();
        if !cfg!(unix) {
            return self.one_by_one(&old, step);
        }
        match self.link_old(&old, step) {
            Err(error) if has_no_links(&error) => return self.one_by_one(&old, step),
            linked => linked.and_then(|()| self.lead_to_new(&old, step)).or_else(|error| {
                settle(self.folder, self.old, step)?;
                Err(error)
            })?,
        }
        // The result is whole. What is left to do the next run does if this one cannot.
        let _ = settle(self.folder, self.old, step);
        Ok(())
    }

    /// Gives the old files second names.
    fn link_old(&self, old: &[&OsStr], step: Step<'_>) -> io::Result<()> {
        let second = self.folder.join(OLD);
        synchronize(&self.folder.join(NEW))?;
        step();
        self.retry_when_full(|| fs::create_dir(&second))?;
        for name in old {
            step();
            let path = self.folder.join(name);
            match path.is_symlink() {
                false => self.retry_when_full(|| fs::hard_link(&path, second.join(name)))?,
                // A link that a user put there leads to the same file from one folder below; one
                // that leads nowhere still does.
                true => fs::canonicalize(&path)
                    .map_or(Ok(()), |target| self.retry_when_full(|| symlink(&target, &second.join(name))))?,
            }
        }
        step();
        self.retry_when_full(|| symlink(Path::new(OLD), &self.folder.join(RESULT)))?;
        synchronize(&second)
    }

    /// Turns all names into links, and lets them lead to the new files.
    fn lead_to_new(&self, old: &[&OsStr], step: Step<'_>) -> io::Result<()> {
        let only_new = self.new.iter().filter(|name| !old.contains(name));
        for name in old.iter().chain(only_new) {
            self.replace_by_link(&through_result(name), name, step)?;
        }
        synchronize(self.folder)?;
        self.replace_by_link(Path::new(NEW), OsStr::new(RESULT), step)?;
        synchronize(self.folder)
    }

    fn replace_by_link(&self, target: &Path, name: &OsStr, step: Step<'_>) -> io::Result<()> {
        let link = self.folder.join(LINK);
        step();
        remove_file(&link)?;
        self.retry_when_full(|| symlink(target, &link))?;
        step();
        self.retry_when_full(|| fs::rename(&link, self.folder.join(name)))
    }

    /// Tries again as long as space can be freed for the folder and the links of a result.
    fn retry_when_full<T>(&self, attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        // Each name is a link for a moment, and a second name of an old file.
        let files = 3 + 2 * self.new.len() as u64;
        retry_when_full(Space { bytes: 0, files }, self.free_space, attempt)
    }

    /// Where nothing can be linked. `metrics.json` comes last among the new names, and is the
    /// first of the old ones to go: where it stands the result is whole.
    fn one_by_one(&self, old: &[&OsStr], step: Step<'_>) -> io::Result<()> {
        let _ = remove_dir(&self.folder.join(OLD));
        let gone = old.iter().filter(|name| !self.new.contains(name));
        let marks = self.new.last().into_iter().filter(|last| old.contains(last));
        for name in marks.chain(gone) {
            step();
            remove_file(&self.folder.join(name))?;
        }
        for name in self.new {
            step();
            fs::rename(self.folder.join(NEW).join(name), self.folder.join(name))?;
        }
        step();
        remove_dir(&self.folder.join(NEW))?;
        synchronize(self.folder)
    }
}

/// Finishes what a run left that ended while it replaced its result: every link through [`RESULT`]
/// becomes the file that it leads to.
pub(super) fn settle(folder: &Path, names: &[&OsStr], step: Step<'_>) -> io::Result<()> {
    let result = folder.join(RESULT);
    if let Ok(target) = fs::read_link(&result) {
        for name in names {
            let place = folder.join(name);
            if fs::read_link(&place).is_ok_and(|target| target == through_result(name)) {
                step();
                match fs::rename(folder.join(&target).join(name), &place) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => remove_file(&place)?,
                    renamed => renamed?,
                }
            }
        }
        // The names are on the disk before what they led through is gone.
        synchronize(folder)?;
        step();
        remove_file(&result)?;
    }
    for name in [OLD, NEW] {
        step();
        remove_dir(&folder.join(name))?;
    }
    step();
    remove_file(&folder.join(LINK))
}

fn through_result(name: &OsStr) -> PathBuf {
    Path::new(RESULT).join(name)
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(not(unix))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// FAT and some network file systems refuse links with one of these.
fn has_no_links(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn remove_dir(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Brings the names in a folder to the disk. Not every system can open a folder.
pub(super) fn synchronize(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
