//! A file that is opened once.
//!
//! What a file is can be told from its first bytes, and a pipe gives those once. So they are kept, and come again when the
//! file is read. A file on the disk must be the same before and after it was read.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::error::FormatError;
use super::text::GZIP;
use super::{Format, matrix_market, npy, packed};
use crate::dataset::budget::{Budget, Taken};
use crate::dataset::gauge::Metered;

/// Bytes that are looked at to tell what a file is.
const START: usize = 64;
/// Bytes that are read at once at the least.
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
    original: Original,
    budget: Budget,
}

/// The file itself, and what it was when it was opened.
pub(crate) struct Original {
    path: PathBuf,
    file: Arc<File>,
    /// `None` for what is no regular file.
    stamp: Option<Stamp>,
}

/// What changes with the content of a file.
#[derive(PartialEq)]
struct Stamp {
    identity: (u64, u64),
    length: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let identity = (0, 0);
        Self { identity, length: metadata.len(), modified: metadata.modified().ok() }
    }
}

impl Original {
    fn new(path: &Path, file: Arc<File>, metadata: &Metadata) -> Self {
        let stamp = metadata.is_file().then(|| Stamp::of(metadata));
        Self { path: path.to_owned(), file, stamp }
    }

    /// Refuses what was read of a file that changed meanwhile, or whose name is that of another file by now.
    pub fn check(&self) -> Result<(), FormatError> {
        let Some(stamp) = &self.stamp else { return Ok(()) };
        let same = |now: io::Result<Metadata>| now.is_ok_and(|now| Stamp::of(&now) == *stamp);
        match same(self.file.metadata()) && same(fs::metadata(&self.path)) {
            true => Ok(()),
            false => Err(FormatError::Changed { path: self.path.clone() }),
        }
    }
}

impl Input {
    /// Opens a file; gzip is told by its first bytes.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let failed = |source| FormatError::io(path, source);
        let file = Arc::new(File::open(path).map_err(failed)?);
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(FormatError::Folder { path: path.to_owned() });
        }
        let original = Original::new(path, Arc::clone(&file), &metadata);
        let length = metadata.len();
        let mut whole = Metered::new(file, length);
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

    /// Where memory is taken from.
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

    /// Bytes of the file as it is; 0 where that is not known.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// What it is; numpy's and scipy's may hold something else than edges. The ending counts, and the first bytes where it
    /// says nothing.
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
    pub fn bytes(mut self) -> Result<(Vec<u8>, Taken), FormatError> {
        let (path, budget) = (self.path.clone(), self.budget.clone());
        let (bytes, taken, ended) = read_up_to(&mut self, u64::MAX, &path, &budget)?;
        if let Err(source) = ended {
            return Err(self.unreadable(bytes.len() as u64, source));
        }
        self.check()?;
        Ok((bytes, taken))
    }

    /// The same bytes for somebody who reads them in any order: the file itself, or a copy of what cannot be read twice.
    #[cfg_attr(not(feature = "formats"), expect(dead_code, reason = "zip archives are read so"))]
    pub fn seekable(self) -> Result<Seekable, FormatError> {
        if self.original.stamp.is_none() || self.is_packed {
            let path = self.path.clone();
            let Original { file, .. } = &self.original;
            let original = Original { path, file: Arc::clone(file), stamp: None };
            let (bytes, taken) = self.bytes()?;
            return Ok(Seekable { reader: Box::new(Cursor::new(bytes)), original, _taken: taken });
        }
        let mut file = Arc::clone(&self.original.file);
        file.rewind().map_err(|source| FormatError::io(&self.path, source))?;
        let reader = Box::new(BufReader::new(file));
        Ok(Seekable { reader, original: self.original, _taken: Taken::default() })
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

/// A reader that can go back.
pub(crate) trait ReadSeek: Read + Seek + Send {}

impl<R: Read + Seek + Send> ReadSeek for R {}

/// Bytes that can be read in any order.
#[cfg_attr(not(feature = "formats"), expect(dead_code, reason = "zip archives are read so"))]
pub(crate) struct Seekable {
    pub reader: Box<dyn ReadSeek>,
    pub original: Original,
    /// What a copy takes.
    pub _taken: Taken,
}

/// Up to so many bytes; fewer at the end.
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

/// What a reader gives before `most` bytes, its end or an error, and which of them it was. Memory is taken in steps that
/// grow with what is there.
pub(crate) fn read_up_to(
    reader: &mut impl Read,
    most: u64,
    path: &Path,
    budget: &Budget,
) -> Result<(Vec<u8>, Taken, io::Result<()>), FormatError> {
    let (mut bytes, mut taken) = (vec![], Taken::default());
    loop {
        let step = bytes.len().max(STEP).min(usize::try_from(most).unwrap_or(usize::MAX) - bytes.len());
        if step == 0 {
            return Ok((bytes, taken, Ok(())));
        }
        let before = bytes.len();
        budget.resize(&mut taken, (before + step) as u64).map_err(|over| over.reading(path))?;
        bytes.reserve_exact(step);
        let ended = reader.take(step as u64).read_to_end(&mut bytes);
        if ended.is_err() || bytes.len() - before < step {
            return Ok((bytes, taken, ended.map(drop)));
        }
    }
}

/// Reads a text that a person wrote, such as a config: what is longer than `most` bytes is none, and may never end.
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
