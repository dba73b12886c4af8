//! Opening a store and reading its pieces.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;
use xxhash_rust::xxh3::xxh3_64;

use super::manifest::{Facts, Manifest, PieceEntry};
use super::{MANIFEST, StoreError, TILES, boundary};
use crate::kernel::{Array, Mapped};

/// An open store.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    facts: Facts,
    matrix: serde_json::Value,
    files: BTreeMap<String, StoredFile>,
}

/// A file of the stated length.
#[derive(Debug)]
struct StoredFile {
    path: PathBuf,
    pieces: Vec<PieceEntry>,
    /// Where each piece starts; one more at the end.
    starts: Vec<usize>,
    map: OnceLock<Arc<Mapped>>,
}

/// A part of a file, whose checksum was compared.
#[derive(Debug)]
pub struct Piece {
    map: Arc<Mapped>,
    bytes: Range<usize>,
    path: PathBuf,
    part: String,
}

impl Store {
    /// Whether a folder holds a store, complete or not.
    pub fn is_at(folder: &Path) -> bool {
        folder.join(MANIFEST).is_file()
    }

    /// Opens a store: reads its manifest and compares the lengths of its files.
    pub fn open(folder: &Path) -> Result<Arc<Self>, StoreError> {
        if cfg!(target_endian = "big") {
            return Err(StoreError::BigEndian);
        }
        let Manifest { dataset: facts, matrix, files, .. } = Manifest::read(folder)?;
        let mut store = Self { folder: folder.to_owned(), facts, matrix, files: BTreeMap::new() };
        for (name, pieces) in files {
            if Path::new(&name).file_name() != Some(name.as_ref()) {
                return Err(store.wrong(format!("`{name}` is no name of a file beside it")));
            }
            let file = StoredFile::open(folder.join(&name), pieces)?;
            store.files.insert(name, file);
        }
        Ok(Arc::new(store))
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The description of the matrix.
    pub(super) fn matrix(&self) -> &serde_json::Value {
        &self.matrix
    }

    /// The checksums of all pieces, as they are on record.
    pub fn checksums(&self) -> impl Iterator<Item = &str> {
        self.files.values().flat_map(|file| &file.pieces).map(|piece| piece.xxh3.as_str())
    }

    /// Nodes of the graph.
    pub fn nodes(&self) -> usize {
        self.facts.nodes
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Whether there is such a file.
    pub fn has(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// How many pieces a file has.
    pub fn pieces(&self, file: &str) -> usize {
        self.files.get(file).map_or(0, |file| file.pieces.len())
    }

    /// A piece of a file, compared with its checksum.
    pub fn piece(&self, file: &str, number: usize) -> Result<Piece, StoreError> {
        let entry = self.files.get(file).filter(|file| number < file.pieces.len());
        entry.ok_or_else(|| self.wrong(format!("it names no piece {number} of {file}")))?.piece(number)
    }

    /// A file that is a single array.
    pub fn array<T: Pod>(&self, file: &str) -> Result<Array<T>, StoreError> {
        let piece = self.piece(file, 0)?;
        piece.array(0, piece.bytes.len() / size_of::<T>())
    }

    /// A file that is a single array of `count` entries.
    pub fn array_of<T: Pod>(&self, file: &str, count: usize) -> Result<Array<T>, StoreError> {
        let array = self.array(file)?;
        match array.len() == count {
            true => Ok(array),
            false => Err(self.wrong(format!("{file} has {} entries instead of {count}", array.len()))),
        }
    }

    /// Compares everything with its checksum.
    pub fn verify(&self) -> Result<(), StoreError> {
        let mut pieces = self.files.values().flat_map(|file| (0..file.pieces.len()).map(move |n| (file, n)));
        pieces.try_for_each(|(file, number)| file.piece(number).map(drop))
    }

    /// The offset of the array after one of `count` entries at `start`.
    pub fn after<T>(start: usize, count: usize) -> usize {
        boundary(count.saturating_mul(size_of::<T>()).saturating_add(start))
    }

    /// The manifest is inconsistent.
    pub fn wrong(&self, what: String) -> StoreError {
        StoreError::Content { path: self.folder.join(MANIFEST), part: String::new(), what }
    }
}

impl StoredFile {
    fn open(path: PathBuf, pieces: Vec<PieceEntry>) -> Result<Self, StoreError> {
        let found = fs::metadata(&path).map_err(|source| StoreError::Read { path: path.clone(), source })?.len();
        let mut starts = vec![0usize];
        starts.extend(pieces.iter().scan(0usize, |end, piece| {
            *end = end.saturating_add(piece.bytes);
            Some(*end)
        }));
        let expected = starts[pieces.len()] as u64;
        match found == expected {
            true => Ok(Self { path, pieces, starts, map: OnceLock::new() }),
            false => Err(StoreError::Length { path, found, expected }),
        }
    }

    fn piece(&self, number: usize) -> Result<Piece, StoreError> {
        let (map, path) = (self.map()?, self.path.clone());
        let bytes = self.starts[number]..self.starts[number + 1];
        let is_tile = path.to_string_lossy().ends_with(TILES);
        let part = if is_tile { format!(", tile {number}") } else { String::new() };
        let content = map.get(bytes.clone());
        match content.is_some_and(|content| PieceEntry::new(content.len(), xxh3_64(content)) == self.pieces[number]) {
            true => Ok(Piece { map, bytes, path, part }),
            false => Err(StoreError::Damaged { path, part }),
        }
    }

    fn map(&self) -> Result<Arc<Mapped>, StoreError> {
        if let Some(map) = self.map.get() {
            return Ok(Arc::clone(map));
        }
        let map = File::open(&self.path).and_then(|file| Mapped::new(&file));
        let map = map.map_err(|source| StoreError::Read { path: self.path.clone(), source })?;
        Ok(Arc::clone(self.map.get_or_init(|| Arc::new(map))))
    }
}

impl Piece {
    /// An array of `count` entries at byte `start` of the piece.
    pub fn array<T: Pod>(&self, start: usize, count: usize) -> Result<Array<T>, StoreError> {
        let end = count.saturating_mul(size_of::<T>()).saturating_add(start);
        let piece = self.bytes.clone();
        let bytes = piece.start.saturating_add(start)..piece.start.saturating_add(end);
        let array = if bytes.end <= piece.end { Array::mapped(&self.map, bytes) } else { None };
        array.ok_or_else(|| self.wrong(format!("it ends before {count} entries at byte {start}")))
    }

    /// The content of the piece is inconsistent.
    pub fn wrong(&self, what: String) -> StoreError {
        StoreError::Content { path: self.path.clone(), part: self.part.clone(), what }
    }
}
