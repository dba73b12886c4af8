//! The folder of checkpoints.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use super::file::{CheckpointFile, CheckpointFileWriter, Damage};
use super::manifest::{Identity, Manifest, Record, differences};
use super::notice::{CheckpointError, Notice};
use crate::graph::Tiling;

/// Checkpoints that are kept: the newest, and one before it in case of damage.
const KEPT: usize = 2;
/// The subfolder of the data files.
const PIECES: &str = "pieces";
/// Suffix of incomplete files.
const UNFINISHED: &str = "tmp";

/// Space on a disk, in bytes and in files: many file systems limit both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// The length of all files.
    pub bytes: u64,
    /// Files, folders and links.
    pub files: u64,
}

/// The checkpoints of one run, and the files that hold them.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    run: Identity,
    /// Number of the newest checkpoint, usable or not.
    number: u64,
    /// Records of the newest usable checkpoint.
    records: Vec<Record>,
    /// The usable checkpoints, the newest last.
    kept: Vec<Manifest>,
    /// Files written for the next checkpoint.
    pending: HashSet<String>,
}

impl Store {
    /// Opens a folder, which need not exist. A resumed run uses the newest intact checkpoint; one
    /// of another run is an error.
    pub fn open(
        folder: &Path,
        run: Identity,
        is_resuming: bool,
        tell: &dyn Fn(Notice),
    ) -> Result<Self, CheckpointError> {
        let mut numbers =
            numbers_in(folder).map_err(|source| CheckpointError::Unreadable { folder: folder.to_owned(), source })?;
        numbers.sort_unstable();
        let number = numbers.last().copied().unwrap_or(0);
        let mut store = Self {
            folder: folder.to_owned(),
            run,
            number,
            records: Vec::new(),
            kept: Vec::new(),
            pending: HashSet::new(),
        };
        if !is_resuming {
            if !numbers.is_empty() {
                tell(Notice::NotResumed { folder: folder.to_owned() });
            }
            return Ok(store);
        }
        for &number in numbers.iter().rev() {
            let path = store.manifest_path(number);
            match store.load(&path) {
                Err(reason) => tell(Notice::Damaged { path, reason }),
                Ok(manifest) if manifest.run != store.run => {
                    let differences = differences(&manifest.run, &store.run);
                    return Err(CheckpointError::OtherRun { folder: folder.to_owned(), differences });
                }
                Ok(manifest) => {
                    tell(Notice::Resumed { path });
                    store.records.clone_from(&manifest.records);
                    store.kept.push(manifest);
                    return Ok(store);
                }
            }
        }
        tell(Notice::NothingToResume { folder: folder.to_owned() });
        Ok(store)
    }

    /// Reads a manifest, and verifies its files unless it is of another run.
    fn load(&self, path: &Path) -> Result<Manifest, String> {
        let text = fs::read(path).map_err(|error| error.to_string())?;
        let manifest = Manifest::parse(&text).map_err(|error| error.to_string())?;
        let mut seen = HashSet::new();
        for piece in manifest.files().filter(|piece| manifest.run == self.run && seen.insert(&piece.file)) {
            self.read_tiles(piece, |_| ()).map_err(|damage| damage.to_string())?;
        }
        Ok(manifest)
    }

    fn read_tiles(&self, piece: &CheckpointFile, take: impl FnMut(&[u8])) -> Result<(), Damage> {
        let unreadable = |source| Damage::Unreadable { file: piece.file.clone(), source };
        let file = File::open(self.piece_path(&piece.file)).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        piece.read(BufReader::new(file), length, take)
    }

    /// The record of a stage.
    pub(super) fn record(&self, work: usize) -> Option<&Record> {
        self.records.iter().find(|record| record.work == work)
    }

    /// The content of a file.
    pub(super) fn read(&self, piece: &CheckpointFile) -> Result<Vec<u8>, CheckpointError> {
        let mut bytes = Vec::new();
        self.read_tiles(piece, |tile| bytes.extend_from_slice(tile)).map_err(|_| self.lost(&piece.file))?;
        Ok(bytes)
    }

    /// The numbers of a panel, row after row.
    pub(super) fn read_panel(&self, piece: &CheckpointFile) -> Result<Vec<f32>, CheckpointError> {
        let mut numbers = Vec::new();
        let take = |tile: &[u8]| numbers.extend(tile.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        self.read_tiles(piece, take).map_err(|_| self.lost(&piece.file))?;
        Ok(numbers)
    }

    /// The error for a file that was intact when the run began.
    pub(super) fn lost(&self, name: &str) -> CheckpointError {
        CheckpointError::Lost { path: self.piece_path(name) }
    }

    /// The number of the next checkpoint.
    pub(super) fn next_number(&self) -> u64 {
        self.number + 1
    }

    /// Writes a file of `rows` rows, which `fill` pushes. If the disk is full, removes older
    /// checkpoints and tries again.
    pub(super) fn write(
        &mut self,
        name: &str,
        (rows, row_bytes): (usize, usize),
        tile_rows: usize,
        mut fill: impl FnMut(&mut CheckpointFileWriter<&File>) -> io::Result<()>,
    ) -> Result<CheckpointFile, CheckpointError> {
        let path = self.piece_path(name);
        let mut write = || {
            let mut written = None;
            put(&path, |file| {
                let mut writer = CheckpointFileWriter::new(file, name, rows, row_bytes, tile_rows);
                fill(&mut writer)?;
                written = Some(writer.finish()?.0);
                Ok(())
            })?;
            written.ok_or_else(|| io::ErrorKind::Other.into())
        };
        self.pending.insert(name.to_owned());
        let written = match write() {
            Err(error) if is_full(&error) && self.drop_older() => write(),
            written => written,
        };
        written.map_err(|source| CheckpointError::Unwritable { path, source })
    }

    /// Writes the file of a panel, whose rows `fill` pushes.
    pub(super) fn write_panel(
        &mut self,
        file: &str,
        rows: usize,
        columns: usize,
        fill: impl FnMut(&mut CheckpointFileWriter<&File>) -> io::Result<()>,
    ) -> Result<CheckpointFile, CheckpointError> {
        self.write(file, (rows, columns * size_of::<f32>()), Tiling::new(rows).tile_rows(), fill)
    }

    /// Writes a checkpoint with the current records and a new one, and removes unused files.
    pub(super) fn commit(&mut self, record: Record) -> Result<(), CheckpointError> {
        let mut records = self.records.clone();
        records.retain(|other| other.work != record.work);
        records.push(record);
        let manifest = Manifest::new(self.next_number(), self.run.clone(), records);
        let path = self.manifest_path(manifest.number);
        let folder = self.folder.clone();
        let write = || {
            synchronize(&folder.join(PIECES))?;
            put(&path, |mut file| file.write_all(manifest.text().as_bytes()))?;
            synchronize(&folder)
        };
        let mut written = write();
        if written.as_ref().is_err_and(is_full) && self.drop_older() {
            written = write();
        }
        written.map_err(|source| CheckpointError::Unwritable { path, source })?;
        self.number = manifest.number;
        self.pending.clear();
        self.records.clone_from(&manifest.records);
        self.kept.push(manifest);
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
        self.prune();
        Ok(())
    }

    /// Removes the files of a checkpoint that could not be written.
    pub(super) fn discard_pending(&mut self) {
        let files: HashSet<String> =
            self.kept.iter().flat_map(Manifest::files).map(|piece| piece.file.clone()).collect();
        for name in std::mem::take(&mut self.pending).difference(&files) {
            let _ = fs::remove_file(self.piece_path(name));
        }
    }

    /// Removes all checkpoints but the newest. Returns whether there were any.
    pub(super) fn drop_older(&mut self) -> bool {
        let is_kept = |number: &u64| self.kept.last().is_some_and(|newest| newest.number == *number);
        if self.kept.is_empty() || numbers_in(&self.folder).unwrap_or_default().iter().all(is_kept) {
            return false;
        }
        self.kept.drain(..self.kept.len() - 1);
        self.prune();
        true
    }

    /// Space that all checkpoints take.
    pub(super) fn taken(&self) -> Space {
        let mut taken = Space { bytes: 0, files: 0 };
        for folder in [&self.folder, &self.folder.join(PIECES)] {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            for file in entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file) {
                taken.bytes += file.len();
                taken.files += 1;
            }
        }
        taken
    }

    /// Free space on the disk, if the system reports it.
    pub(super) fn free(&self) -> Option<Space> {
        #[cfg(unix)]
        {
            let found = rustix::fs::statvfs(&self.folder).ok()?;
            let bytes = found.f_bavail.saturating_mul(found.f_frsize);
            // File systems without a limit report zero files.
            let files = if found.f_files == 0 { u64::MAX } else { found.f_favail };
            Some(Space { bytes, files })
        }
        #[cfg(not(unix))]
        None
    }

    /// Removes files that no checkpoint uses. Failures are retried later.
    fn prune(&self) {
        let numbers: HashSet<u64> = self.kept.iter().map(|manifest| manifest.number).collect();
        for number in
            numbers_in(&self.folder).unwrap_or_default().into_iter().filter(|number| !numbers.contains(number))
        {
            let _ = fs::remove_file(self.manifest_path(number));
        }
        let files = self.kept.iter().flat_map(Manifest::files).map(|piece| piece.file.as_str());
        let files: HashSet<&str> = files.chain(self.pending.iter().map(String::as_str)).collect();
        for name in names_in(&self.folder.join(PIECES)).unwrap_or_default() {
            if !files.contains(name.as_str()) {
                let _ = fs::remove_file(self.piece_path(&name));
            }
        }
    }

    /// Removes all checkpoints, and their folder if it is empty then.
    pub fn remove(&mut self) {
        (self.records, self.kept) = (Vec::new(), Vec::new());
        self.pending.clear();
        self.prune();
        let _ = fs::remove_dir(self.folder.join(PIECES));
        let _ = fs::remove_dir(&self.folder);
    }

    fn manifest_path(&self, number: u64) -> PathBuf {
        self.folder.join(manifest_name(number))
    }

    fn piece_path(&self, name: &str) -> PathBuf {
        self.folder.join(PIECES).join(name)
    }
}

/// Whether a file cannot be written because the disk is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether a folder holds a checkpoint.
pub fn is_there(folder: &Path) -> bool {
    numbers_in(folder).is_ok_and(|numbers| !numbers.is_empty())
}

fn manifest_name(number: u64) -> String {
    format!("{number:06}.json")
}

/// The numbers of the checkpoints in a folder, in any order.
fn numbers_in(folder: &Path) -> io::Result<Vec<u64>> {
    let names = names_in(folder)?;
    let number =
        |name: &String| name.strip_suffix(".json")?.parse().ok().filter(|&found| manifest_name(found) == *name);
    // There is no checkpoint after the last number.
    Ok(names.iter().filter_map(number).filter(|&number| number < u64::MAX).collect())
}

/// The names in a folder; none if it does not exist.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.filter_map(|entry| entry.map(|entry| entry.file_name().into_string().ok()).transpose()).collect()
}

/// Writes a file atomically, and synchronises it.
fn put(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension(UNFINISHED);
    let written = File::create(&unfinished)
        .and_then(|file| {
            write(&file)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // An incomplete file only takes space.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Synchronises a folder. Not every system can open one.
fn synchronize(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a full disk that fails the next checkpoint while an older one could go.
    #[test]
    fn on_a_full_disk_older_checkpoints_are_removed_for_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path(), Identity::default(), false, &|_| ()).unwrap();
        let write = |store: &mut Store, name: &str, is_full: &dyn Fn() -> bool| {
            store.write(name, (1, 8), 1, |writer| match is_full() {
                true => Err(io::ErrorKind::StorageFull.into()),
                false => writer.push(&[7; 8]),
            })
        };
        let record = |numbers: CheckpointFile| Record {
            work: 0,
            label: String::new(),
            is_finished: false,
            numbers,
            panels: Vec::new(),
        };
        for number in 1..=2 {
            let piece = write(&mut store, &format!("0-numbers-{number}"), &|| false).unwrap();
            store.commit(record(piece)).unwrap();
        }
        let path = |name: &str| folder.path().join(PIECES).join(name);
        // The newest checkpoint is never removed for the next.
        assert!(write(&mut store, "0-numbers-3", &|| true).is_err());
        assert_eq!((path("0-numbers-1").exists(), path("0-numbers-2").exists()), (false, true));
        assert_eq!(numbers_in(folder.path()).unwrap(), [2]);
        store.discard_pending();
        let piece = write(&mut store, "0-numbers-3", &|| false).unwrap();
        store.commit(record(piece)).unwrap();
        // There is space once the oldest is gone; earlier files stay.
        write(&mut store, "0-panel", &|| false).unwrap();
        let piece = write(&mut store, "0-numbers-4", &|| path("0-numbers-2").exists()).unwrap();
        assert!(path("0-panel").exists());
        store.commit(record(piece)).unwrap();
        assert_eq!(Store::open(folder.path(), Identity::default(), true, &|_| ()).unwrap().number, 4);
    }

    #[test]
    fn names_that_no_checkpoint_has_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["000007.json", "1000008.json", "+00009.json", "10.json", "x.json", "18446744073709551615.json"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let mut numbers = numbers_in(folder.path()).unwrap();
        numbers.sort_unstable();
        assert_eq!(numbers, [7, 1_000_008]);
    }
}
