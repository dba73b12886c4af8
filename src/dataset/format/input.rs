//! A file that is opened once.
//!
//! The first bytes of a file tell its format, and a pipe gives them only once. They are therefore
//! kept and read again with the rest. A file on disk must not change while it is read.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::error::FormatError;
use super::text::GZIP;
use super::{Format, matrix_market, npy, packed};
use crate::dataset::budget::{Budget, Reservation};
use crate::dataset::progress::CountedReader;

/// Bytes that are inspected to detect the format.
const START: usize = 64;
/// Bytes of the smallest read.
const STEP: usize = 64 << 10;

/// An open file of any kind, unpacked while it is read.
pub(crate) struct Input {
    path: PathBuf,
    /// The first bytes.
    start: Vec<u8>,
    /// All bytes, the first ones too.
    reader: Box<dyn Read + Send>,
    is_packed: bool,
    length: u64,
    original: OpenedFile,
    budget: Budget,
}

/// A file, and its state when it was opened.
pub(crate) struct OpenedFile {
    path: PathBuf,
    file: Arc<File>,
    /// `None` unless it is a regular file.
    stamp: Option<FileStamp>,
}

/// The device and the number of a file; systems without them tell no files apart.
pub(in crate::dataset) fn file_identity(metadata: &Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        (0, 0)
    }
}

/// Metadata that changes with the content of a file.
#[derive(PartialEq)]
struct FileStamp {
    identity: (u64, u64),
    length: u64,
    modified: Option<SystemTime>,
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        Self { identity: file_identity(metadata), length: metadata.len(), modified: metadata.modified().ok() }
    }
}

impl OpenedFile {
    fn new(path: &Path, file: Arc<File>, metadata: &Metadata) -> Self {
        let stamp = metadata.is_file().then(|| FileStamp::of(metadata));
        Self { path: path.to_owned(), file, stamp }
    }

    /// Fails if the file changed since it was opened, or if its path names another file now.
    pub fn check(&self) -> Result<(), FormatError> {
        let Some(stamp) = &self.stamp else { return Ok(()) };
        let same = |now: io::Result<Metadata>| now.is_ok_and(|now| FileStamp::of(&now) == *stamp);
        match same(self.file.metadata()) && same(fs::metadata(&self.path)) {
            true => Ok(()),
            false => Err(FormatError::Changed { path: self.path.clone() }),
        }
    }
}

impl Input {
    /// Opens a file; gzip is detected by its first bytes.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let failed = |source| FormatError::io(path, source);
        let file = Arc::new(File::open(path).map_err(failed)?);
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(FormatError::Folder { path: path.to_owned() });
        }
        let original = OpenedFile::new(path, Arc::clone(&file), &metadata);
        let length = metadata.len();
        let mut whole = CountedReader::new(file, length);
        let magic = peek(&mut whole, GZIP.len()).map_err(failed)?;
        let is_packed = magic == GZIP;
        let whole = Cursor::new(magic).chain(whole);
        let mut reader: Box<dyn Read + Send> = if is_packed { packed::gzip(whole) } else { Box::new(whole) };
        let start = peek(&mut reader, START).map_err(|source| unreadable(path, is_packed, 0, source))?;
        let reader = Box::new(Cursor::new(start.clone()).chain(reader));
        let path = path.to_owned();
        Ok(Self { path, start, reader, is_packed, length, original, budget: Budget::current() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The budget in which readers of this file reserve memory.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The first bytes, unpacked if need be.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// Whether it is unpacked while it is read.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Size of the file on disk; 0 if it is unknown.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The format, by the ending of the name, or else by the first bytes. Arrays of numpy and scipy
    /// may hold something else than edges.
    pub fn format(&self) -> Format {
        let ending = self.path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        let begins =
            |magic: &[u8]| self.start.get(..magic.len()).is_some_and(|start| start.eq_ignore_ascii_case(magic));
        match ending.as_deref() {
            Some("npy") => Format::NumpyPairs,
            Some("npz") => Format::ScipySparse,
            Some("mtx" | "mm") => Format::MatrixMarket,
            _ if self.start.starts_with(npy::MAGIC) => Format::NumpyPairs,
            _ if self.start.starts_with(packed::MAGIC) => Format::ScipySparse,
            _ if begins(matrix_market::MAGIC) => Format::MatrixMarket,
            _ => Format::Text,
        }
    }

    /// An error at some byte of it.
    pub fn unreadable(&self, offset: u64, source: io::Error) -> FormatError {
        unreadable(&self.path, self.is_packed, offset, source)
    }

    /// Refuses a file that changed since it was opened.
    pub fn check(&self) -> Result<(), FormatError> {
        self.original.check()
    }

    /// All of it.
    pub fn bytes(mut self) -> Result<(Vec<u8>, Reservation), FormatError> {
        let (path, budget) = (self.path.clone(), self.budget.clone());
        let (bytes, reserved, ended) = read_up_to(&mut self, u64::MAX, &path, &budget)?;
        if let Err(source) = ended {
            return Err(self.unreadable(bytes.len() as u64, source));
        }
        self.check()?;
        Ok((bytes, reserved))
    }

    /// The bytes for random access: the file itself, or a copy in memory if it cannot be read
    /// twice.
    #[cfg_attr(not(feature = "formats"), expect(dead_code, reason = "zip archives are read so"))]
    pub fn seekable(self) -> Result<Seekable, FormatError> {
        if self.original.stamp.is_none() || self.is_packed {
            let path = self.path.clone();
            let OpenedFile { file, .. } = &self.original;
            let original = OpenedFile { path, file: Arc::clone(file), stamp: None };
            let (bytes, reserved) = self.bytes()?;
            return Ok(Seekable { reader: Box::new(Cursor::new(bytes)), original, _reserved: reserved });
        }
        let mut file = Arc::clone(&self.original.file);
        file.rewind().map_err(|source| FormatError::io(&self.path, source))?;
        let reader = Box::new(BufReader::new(file));
        Ok(Seekable { reader, original: self.original, _reserved: Reservation::default() })
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

/// A reader with random access.
pub(crate) trait ReadSeek: Read + Seek + Send {}

impl<R: Read + Seek + Send> ReadSeek for R {}

/// A file for random access.
#[cfg_attr(not(feature = "formats"), expect(dead_code, reason = "zip archives are read so"))]
pub(crate) struct Seekable {
    pub reader: Box<dyn ReadSeek>,
    pub original: OpenedFile,
    /// Memory of the copy.
    pub _reserved: Reservation,
}

/// The next `count` bytes, or fewer at the end.
fn peek(reader: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(count);
    reader.take(count as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(path: &Path, is_packed: bool, offset: u64, source: io::Error) -> FormatError {
    match is_packed {
        true => FormatError::Compressed { path: path.to_owned(), offset, source },
        false => FormatError::io(path, source),
    }
}

/// Reads up to `most` bytes. Returns the bytes before the end or before an error of the reader, and
/// that error. Memory is reserved in steps that grow with the bytes that were read.
pub(crate) fn read_up_to(
    reader: &mut impl Read,
    most: u64,
    path: &Path,
    budget: &Budget,
) -> Result<(Vec<u8>, Reservation, io::Result<()>), FormatError> {
    let (mut bytes, mut reserved) = (vec![], Reservation::default());
    loop {
        let step = bytes.len().max(STEP).min(usize::try_from(most).unwrap_or(usize::MAX) - bytes.len());
        if step == 0 {
            return Ok((bytes, reserved, Ok(())));
        }
        let before = bytes.len();
        budget.resize(&mut reserved, (before + step) as u64).map_err(|over| over.reading(path))?;
        bytes.reserve_exact(step);
        let ended = reader.take(step as u64).read_to_end(&mut bytes);
        if ended.is_err() || bytes.len() - before < step {
            return Ok((bytes, reserved, ended.map(drop)));
        }
    }
}

/// Reads a text of at most `most` bytes, such as a config.
#[cfg(feature = "experiment")]
pub(crate) fn read_short_text(path: &Path, most: usize) -> io::Result<String> {
    let bytes = read_short(path, most)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads a file of at most `most` bytes.
#[cfg(feature = "experiment")]
pub(crate) fn read_short(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    File::open(path)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        let message = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}
