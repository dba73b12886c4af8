//! The folder of checkpoints.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use super::manifest::{Identity, Manifest, Record, differences};
use super::notice::{CheckpointError, Notice};
use super::piece::{Damage, Piece, PieceWriter};

/// How many checkpoints are kept: the newest, and one to fall back on.
const KEPT: usize = 2;
/// The folder of the pieces, within that of the checkpoints.
const PIECES: &str = "pieces";
/// The ending of files that are not whole yet.
const UNFINISHED: &str = "tmp";

/// The checkpoints of one run, and the files that hold them.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    run: Identity,
    /// That of the newest checkpoint, usable or not.
    number: u64,
    /// What is known of the work so far: that of the newest usable checkpoint.
    records: Vec<Record>,
    /// The usable checkpoints, the newest last.
    kept: Vec<Manifest>,
}

impl Store {
    /// Looks into a folder, which need not be there. To resume is to go on from the newest checkpoint that is whole; one of
    /// another run is an error then.
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
        let mut store = Self { folder: folder.to_owned(), run, number, records: Vec::new(), kept: Vec::new() };
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

    /// A manifest, if it and all its pieces are whole. Those of another run are not looked at.
    fn load(&self, path: &Path) -> Result<Manifest, String> {
        let text = fs::read(path).map_err(|error| error.to_string())?;
        let manifest = Manifest::parse(&text).map_err(|error| error.to_string())?;
        let mut seen = HashSet::new();
        for piece in manifest.pieces().filter(|piece| manifest.run == self.run && seen.insert(&piece.file)) {
            self.read_tiles(piece, |_| ()).map_err(|damage| damage.to_string())?;
        }
        Ok(manifest)
    }

    fn read_tiles(&self, piece: &Piece, take: impl FnMut(&[u8])) -> Result<(), Damage> {
        let unreadable = |source| Damage::Unreadable { file: piece.file.clone(), source };
        let file = File::open(self.piece_path(&piece.file)).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        piece.read(BufReader::new(file), length, take)
    }

    /// What there is of a piece of work.
    pub(super) fn record(&self, work: usize) -> Option<&Record> {
        self.records.iter().find(|record| record.work == work)
    }

    /// The bytes of a piece.
    pub(super) fn read(&self, piece: &Piece) -> Result<Vec<u8>, CheckpointError> {
        let mut bytes = Vec::new();
        self.read_tiles(piece, |tile| bytes.extend_from_slice(tile)).map_err(|_| self.lost(&piece.file))?;
        Ok(bytes)
    }

    /// The numbers of a panel, row after row.
    pub(super) fn read_panel(&self, piece: &Piece) -> Result<Vec<f32>, CheckpointError> {
        let mut numbers = Vec::new();
        let take = |tile: &[u8]| numbers.extend(tile.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        self.read_tiles(piece, take).map_err(|_| self.lost(&piece.file))?;
        Ok(numbers)
    }

    /// A piece was whole when the run began, and is not any more.
    pub(super) fn lost(&self, name: &str) -> CheckpointError {
        CheckpointError::Lost { path: self.piece_path(name) }
    }

    /// The number that the next checkpoint has.
    pub(super) fn next_number(&self) -> u64 {
        self.number + 1
    }

    /// Writes a piece of so many rows, which `fill` pushes.
    pub(super) fn write(
        &self,
        name: &str,
        (rows, row_bytes): (usize, usize),
        tile_rows: usize,
        fill: impl FnOnce(&mut PieceWriter<&File>) -> io::Result<()>,
    ) -> Result<Piece, CheckpointError> {
        let path = self.piece_path(name);
        let mut written = None;
        put(&path, |file| {
            let mut writer = PieceWriter::new(file, name, rows, row_bytes, tile_rows);
            fill(&mut writer)?;
            written = Some(writer.finish()?.0);
            Ok(())
        })
        .and_then(|()| written.ok_or_else(|| io::ErrorKind::Other.into()))
        .map_err(|source| CheckpointError::Unwritable { path, source })
    }

    /// Makes a checkpoint of what is known with a record that is new, and removes what no checkpoint needs any more.
    pub(super) fn commit(&mut self, record: Record) -> Result<(), CheckpointError> {
        let mut records = self.records.clone();
        records.retain(|other| other.work != record.work);
        records.push(record);
        let manifest = Manifest::new(self.next_number(), self.run.clone(), records);
        let path = self.manifest_path(manifest.number);
        let written = synchronize(&self.folder.join(PIECES))
            .and_then(|()| put(&path, |mut file| file.write_all(manifest.text().as_bytes())))
            .and_then(|()| synchronize(&self.folder));
        written.map_err(|source| CheckpointError::Unwritable { path, source })?;
        self.number = manifest.number;
        self.records.clone_from(&manifest.records);
        self.kept.push(manifest);
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
        self.prune();
        Ok(())
    }

    /// Removes what no checkpoint needs. What cannot be removed now is removed later.
    fn prune(&self) {
        let numbers: HashSet<u64> = self.kept.iter().map(|manifest| manifest.number).collect();
        for number in
            numbers_in(&self.folder).unwrap_or_default().into_iter().filter(|number| !numbers.contains(number))
        {
            let _ = fs::remove_file(self.manifest_path(number));
        }
        let pieces: HashSet<&str> =
            self.kept.iter().flat_map(Manifest::pieces).map(|piece| piece.file.as_str()).collect();
        for name in names_in(&self.folder.join(PIECES)).unwrap_or_default() {
            if !pieces.contains(name.as_str()) {
                let _ = fs::remove_file(self.piece_path(&name));
            }
        }
    }

    /// Removes all checkpoints, and their folder if nothing else is in it.
    pub fn remove(&mut self) {
        (self.records, self.kept) = (Vec::new(), Vec::new());
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
    // There is none after the last number.
    Ok(names.iter().filter_map(number).filter(|&number| number < u64::MAX).collect())
}

/// The names in a folder; none if it is not there.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    entries.filter_map(|entry| entry.map(|entry| entry.file_name().into_string().ok()).transpose()).collect()
}

/// Writes a file whole or not at all, and brings it to the disk.
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
        // It would only take room that is missing.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Brings the names in a folder to the disk. Not every system can open a folder.
fn synchronize(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
