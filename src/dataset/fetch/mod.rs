//! Getting a dataset of the [catalog](super::catalog) from its source, or from a mirror.
//!
//! Everything happens in a folder beside that of the dataset, `.fetch-NAME`, held by a lock. What
//! has arrived stays there, so that a broken download goes on where it stopped. Only files that are
//! whole, and that match what is on record about them, move to the dataset's own folder, each by
//! one rename; a folder that was not there yet appears all at once. Data that turns out to be bad
//! is thrown away, and what was in place before is left as it was.

mod download;
mod error;
mod http;
mod mirror;
mod part;
mod unpack;
mod work;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ureq::Agent;

use super::catalog::{Entry, File, Package, Status};
pub use error::FetchError;
pub use mirror::{Mirror, MirrorError};
pub use unpack::UnpackError;
use work::Work;

/// Called after each piece with the file, the bytes that have arrived, and its size if that is
/// known.
pub type Progress<'a> = dyn Fn(&str, u64, Option<u64>) + 'a;

/// Limits of a download, so that neither a broken server nor a malicious archive fills the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of one download.
    pub download: u64,
    /// The most bytes of one file of an archive, unpacked.
    pub file: u64,
    /// The most bytes of all files of an archive, unpacked.
    pub total: u64,
    /// The most files of an archive.
    pub files: usize,
    /// The most bytes that one packed byte may become, in files of more than a megabyte.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { download: 2 << 30, file: 2 << 30, total: 4 << 30, files: 10_000, ratio: 100 }
    }
}

/// How to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where to fetch from instead of the source of the catalog.
    pub from: Option<Mirror>,
    /// The limits of a download.
    pub limits: Limits,
    /// How long to wait for a silent server.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { from: None, limits: Limits::default(), patience: Duration::from_secs(30) }
    }
}

/// The files in place after a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The folder of the dataset.
    pub folder: PathBuf,
    /// Its files that are there.
    pub files: Vec<FetchedFile>,
}

/// A file that is in place after a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedFile {
    /// Its path below the folder of the dataset.
    pub path: &'static str,
    /// Its bytes.
    pub size: u64,
    /// Whether its size and sum are on record and match.
    pub verified: bool,
    /// Whether it has just come; otherwise it was here before.
    pub fresh: bool,
}

/// Brings the files of `entry` into its folder below `data`; those that are there and good stay as
/// they are.
pub fn fetch(entry: &Entry, data: &Path, options: &Options, progress: &Progress<'_>) -> Result<Fetched, FetchError> {
    let target = data.join(entry.folder);
    let before = check(entry, &target)?;
    if lacks_nothing(entry, &before) {
        return Ok(report(entry, target, &before, &before));
    }
    let base = options.from.as_ref().map_or(entry.source, Mirror::as_str);
    let work = Work::open(&target, entry.name, base)?;
    // Another process may have fetched them while it held the lock.
    let before = check(entry, &target)?;
    if lacks_nothing(entry, &before) {
        work.remove();
        return Ok(report(entry, target, &before, &before));
    }
    let job = Job { entry, work: &work, base, agent: http::agent(options.patience), limits: &options.limits, progress };
    let filled = job.fill(&before).and_then(|()| work.place(&target, |path| is_kept(entry, &before, path)));
    match filled {
        Err(error) if !error.is_bad_data() || error.is_resumable() => {
            work.remove_if_empty();
            Err(error)
        }
        done => {
            work.remove();
            done?;
            let after = check(entry, &target)?;
            Ok(report(entry, target, &before, &after))
        }
    }
}

/// The context of a download.
struct Job<'a> {
    entry: &'a Entry,
    work: &'a Work,
    base: &'a str,
    agent: Agent,
    limits: &'a Limits,
    progress: &'a Progress<'a>,
}

impl Job<'_> {
    /// Fills the folder of things that are ready with what the dataset still lacks.
    fn fill(&self, before: &[Status]) -> Result<(), FetchError> {
        match self.entry.package {
            Package::Loose { .. } => {
                let downloads = self.entry.downloads().into_iter().zip(before);
                for ((path, file), _) in downloads.filter(|(_, status)| !status.is_good()) {
                    self.download(&path, &file, &self.work.ready(file.path)?)?;
                }
                Ok(())
            }
            Package::Zip { archive, root } => {
                let packed = self.work.archive(archive.path);
                self.download(archive.path, &archive, &packed)?;
                let unpacked = self.work.empty_ready()?;
                let address = || self.address(archive.path);
                unpack::unpack(&packed, root, &unpacked, self.limits).map_err(|error| error.of(address()))?;
                self.verify(&unpacked, address())
            }
        }
    }

    /// Compares unpacked files with the sizes and sums on record.
    fn verify(&self, unpacked: &Path, address: String) -> Result<(), FetchError> {
        let statuses = check(self.entry, unpacked)?;
        let files = || self.entry.files.iter().zip(&statuses);
        let missing: Vec<_> = files().filter(|(file, status)| file.needed && **status == Status::Missing).collect();
        if !missing.is_empty() {
            let missing = missing.into_iter().map(|(file, _)| file.path).collect();
            return Err(FetchError::Incomplete { address, missing });
        }
        files().try_for_each(|(file, status)| error::judge(file, status, || format!("{} in {address}", file.path)))
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

fn check(entry: &Entry, folder: &Path) -> Result<Vec<Status>, FetchError> {
    let check = |file: &File| {
        let path = folder.join(file.path);
        file.check(&path).map_err(|source| FetchError::Disk { path, source })
    };
    entry.files.iter().map(check).collect()
}

/// Whether nothing has to be fetched. Optional files may be missing, but must not be wrong.
fn lacks_nothing(entry: &Entry, statuses: &[Status]) -> bool {
    let fine = |(file, status): (&File, &Status)| status.is_good() || (!file.needed && *status == Status::Missing);
    entry.files.iter().zip(statuses).all(fine)
}

/// Whether an existing file is kept although it was fetched again. Files that are not in the
/// catalog are always kept.
fn is_kept(entry: &Entry, before: &[Status], path: &Path) -> bool {
    let known = entry.files.iter().zip(before).find(|(file, _)| Path::new(file.path) == path);
    known.is_none_or(|(_, status)| status.is_good())
}

fn report(entry: &Entry, folder: PathBuf, before: &[Status], after: &[Status]) -> Fetched {
    let files = entry.files.iter().zip(before).zip(after).filter_map(|((file, before), after)| {
        let (size, verified) = match after {
            Status::Verified { found_size } => (*found_size, true),
            Status::Unverified { found_size } => (*found_size, false),
            _ => return None,
        };
        Some(FetchedFile { path: file.path, size, verified, fresh: !before.is_good() })
    });
    Fetched { folder, files: files.collect() }
}
