//! Writing a store: completely or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use tempfile::TempDir;
use xxhash_rust::xxh3::Xxh3Default;

use super::manifest::{Facts, Manifest, PieceEntry};
use super::{MANIFEST, MANIFEST_SUM, Store, StoreError, VERSION, WriteError, boundary, sum_line};
use crate::dataset::catalog::sha256;

/// Writes the files of a store into a temporary folder next to its path, and renames it when all of
/// it is on disk.
#[derive(Debug)]
pub struct Writer {
    target: PathBuf,
    folder: TempDir,
    pub(super) facts: Facts,
    files: BTreeMap<String, Vec<PieceEntry>>,
}

/// A file that is written piece after piece.
pub struct PieceWriter {
    file: BufWriter<File>,
    checksum: Xxh3Default,
    /// Bytes of the piece so far.
    bytes: usize,
    pieces: Vec<PieceEntry>,
}

impl Writer {
    /// Makes a folder beside `target`, unless `target` is there and is something else than a store.
    pub fn create(target: &Path) -> Result<Self, WriteError> {
        if cfg!(target_endian = "big") {
            return Err(StoreError::BigEndian.into());
        }
        if !is_free(target) && !Store::is_at(target) {
            return Err(WriteError::Occupied { path: target.to_owned() });
        }
        let refused = |source| WriteError::Write { path: target.to_owned(), source };
        let target = std::path::absolute(target).map_err(refused)?;
        let Some((parent, name)) = target.parent().zip(target.file_name()) else {
            return Err(WriteError::Occupied { path: target });
        };
        fs::create_dir_all(parent).map_err(refused)?;
        let folder = beside(parent, name, "partial").map_err(refused)?;
        Ok(Self { target, folder, facts: Facts::default(), files: BTreeMap::new() })
    }

    /// The folder that becomes the store.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file of pieces; returns what `write` does.
    pub fn file<T>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut PieceWriter) -> io::Result<T>,
    ) -> Result<T, WriteError> {
        let path = self.folder.path().join(name);
        let written = PieceWriter::create(&path).and_then(|mut file| {
            let result = write(&mut file)?;
            Ok((result, file.finish()?))
        });
        let (result, pieces) = written.map_err(|source| WriteError::Write { path: self.target.join(name), source })?;
        self.files.insert(name.to_owned(), pieces);
        Ok(result)
    }

    /// Writes a file that is a single array.
    pub fn array<T: Pod>(&mut self, name: &str, entries: &[T]) -> Result<(), WriteError> {
        self.file(name, |file| file.array(entries))
    }

    /// Writes the manifest, verifies all checksums, and moves the store to its path.
    pub(super) fn finish(self, matrix: serde_json::Value) -> Result<(), WriteError> {
        let Self { target, folder, facts, files } = self;
        let manifest = Manifest { version: VERSION, dataset: facts, matrix, files };
        let failed = |source| WriteError::Write { path: target.clone(), source };
        let path = |name: &str| folder.path().join(name);
        let text = serde_json::to_string_pretty(&manifest).map_err(|error| failed(error.into()))?;
        write_whole(&path(MANIFEST), &(text + "\n")).map_err(failed)?;
        let sum = sha256(&path(MANIFEST)).map_err(failed)?;
        write_whole(&path(MANIFEST_SUM), &sum_line(&sum)).map_err(failed)?;
        synchronize(folder.path()).map_err(failed)?;
        Store::open(folder.path())?.verify()?;
        place(folder, &target).map_err(failed)
    }
}

/// Moves a finished folder to its path. An earlier store is renamed first, and removed afterwards.
fn place(folder: TempDir, target: &Path) -> io::Result<()> {
    let Some((parent, name)) = target.parent().zip(target.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let earlier = match is_free(target) {
        true => None,
        false => Some(beside(parent, name, "earlier")?),
    };
    if let Some(earlier) = &earlier {
        fs::rename(target, earlier.path().join(name))?;
    }
    if let Err(error) = fs::rename(folder.path(), target) {
        if let Some(earlier) = earlier {
            fs::rename(earlier.path().join(name), target)?;
        }
        return Err(error);
    }
    // It was renamed, so it must not be removed.
    let _ = folder.keep();
    synchronize(parent)
}

/// Whether nothing is there, or an empty folder.
fn is_free(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// A hidden temporary folder next to the store, removed on drop.
fn beside(parent: &Path, name: &std::ffi::OsStr, state: &str) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755));
    builder.prefix(&format!(".{}.{state}-", name.to_string_lossy())).tempdir_in(parent)
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Synchronises the entries of a folder with the disk. Only Unix can open a folder.
fn synchronize(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

impl PieceWriter {
    fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, File::create_new(path)?);
        Ok(Self { file, checksum: Xxh3Default::new(), bytes: 0, pieces: Vec::new() })
    }

    /// Writes an array at the next boundary.
    pub fn array<T: Pod>(&mut self, entries: &[T]) -> io::Result<()> {
        self.align()?;
        self.write(bytemuck::cast_slice(entries))
    }

    /// Writes bytes next to those before.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.update(bytes);
        self.bytes += bytes.len();
        self.file.write_all(bytes)
    }

    /// Ends a piece; another may follow.
    pub fn end_piece(&mut self) -> io::Result<()> {
        self.align()?;
        self.record();
        Ok(())
    }

    fn align(&mut self) -> io::Result<()> {
        const ZEROS: [u8; super::ALIGNMENT] = [0; super::ALIGNMENT];
        self.write(&ZEROS[..boundary(self.bytes) - self.bytes])
    }

    fn record(&mut self) {
        self.pieces.push(PieceEntry::new(self.bytes, self.checksum.digest()));
        self.checksum.reset();
        self.bytes = 0;
    }

    fn finish(mut self) -> io::Result<Vec<PieceEntry>> {
        if self.bytes > 0 || self.pieces.is_empty() {
            self.record();
        }
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Ok(self.pieces)
    }
}
