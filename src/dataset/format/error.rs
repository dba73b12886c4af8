//! Errors of reading files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use thiserror::Error;

use crate::dataset::budget::{OverBudget, amount};
use crate::dataset::remedy::MORE_MEMORY;

/// Why a file cannot be read. Every message says which file, where in it, what was found there,
/// what was expected, and the way out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The system does not let it be read.
    #[error("cannot read {}: check the path and its permissions", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A folder where a file belongs.
    #[error("{} is a folder, expected a file: name one of the files in it", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// A file that a folder of this kind must have is not there.
    #[error("{} is missing, expected {expected}: fetch the dataset again, or name another folder", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// Its expected content.
        expected: String,
    },
    /// Nothing is in it.
    #[error("{} is empty, expected {expected}: name another file, or write this one again", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Its expected content.
        expected: &'static str,
    },
    /// Compressed data that breaks off or is damaged.
    #[error("{}: the compressed data breaks off or is damaged after {offset} bytes of text, expected more: fetch the file again", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// How many bytes could be unpacked before.
        offset: u64,
        /// The error of the decompressor.
        source: io::Error,
    },
    /// It was written to, or replaced, while it was read.
    #[error("{} changed while it was read, expected a file that is finished: read it again when nothing writes to it", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Its content, or claimed content, takes more memory than may be used.
    #[error(
        "{}: found what takes at least {} of memory to read, expected at most {}: {MORE_MEMORY}, or read a smaller file",
        path.display(), amount(*needed), amount(*limit)
    )]
    Memory {
        /// The file.
        path: PathBuf,
        /// Bytes that are needed in all.
        needed: u64,
        /// Bytes that may be used.
        limit: u64,
    },
    /// A file, or a place in it, holds something else than is expected there.
    #[error("{}{place}: found {found}, expected {expected}: {remedy}", path.display())]
    Invalid {
        /// The file; for a file in an archive, the archive and the name in it.
        path: PathBuf,
        /// Where in the file.
        place: Location,
        /// The value found.
        found: String,
        /// The value expected.
        expected: Cow<'static, str>,
        /// The way out.
        remedy: Cow<'static, str>,
    },
    /// A pickle wants something made that this reader does not make.
    #[error(
        "{}, byte {offset}: found the class `{class}`, expected numpy arrays, scipy matrices, torch tensors, dicts, lists, numbers or text: \
         nothing in a pickle is ever run; save the data as .npy or .npz instead", path.display()
    )]
    UnknownClass {
        /// The file.
        path: PathBuf,
        /// Where it is asked for, from 0.
        offset: u64,
        /// Module and name.
        class: String,
    },
    /// A pair names a node that the graph does not have.
    #[error("{}, {place}: found the id `{id}`, expected a node of the graph: add an edge that has it, or remove the pair", path.display())]
    UnknownId {
        /// The file.
        path: PathBuf,
        /// The line or the entry.
        place: String,
        /// The id.
        id: String,
    },
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// The content as a whole.
    File,
    /// A line of a text, from 1.
    Line(u64),
    /// A byte, from 0.
    Byte(u64),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Line(line) => write!(f, ", line {line}"),
            Self::Byte(byte) => write!(f, ", byte {byte}"),
        }
    }
}

impl FormatError {
    /// The whole content of a file is wrong.
    pub(crate) fn content(
        path: &Path,
        found: impl Into<String>,
        expected: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::invalid(path, Location::File, found, expected, remedy)
    }

    /// A line of a text is wrong; lines count from 1.
    pub(crate) fn line(
        path: &Path,
        line: u64,
        found: impl Into<String>,
        expected: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::invalid(path, Location::Line(line), found, expected, remedy)
    }

    /// A byte of a binary file is wrong.
    pub(crate) fn byte(
        path: &Path,
        offset: u64,
        found: impl Into<String>,
        expected: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::invalid(path, Location::Byte(offset), found, expected, remedy)
    }

    fn invalid(
        path: &Path,
        place: Location,
        found: impl Into<String>,
        expected: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (path, found) = (path.to_owned(), found.into());
        Self::Invalid { path, place, found, expected: expected.into(), remedy: remedy.into() }
    }

    /// An error of the system; a folder has a variant of its own.
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::IsADirectory || path.is_dir() {
            return Self::Folder { path: path.to_owned() };
        }
        Self::Io { path: path.to_owned(), source }
    }
}

impl OverBudget {
    /// The error of reading a file.
    pub(crate) fn reading(self, path: &Path) -> FormatError {
        let Self { needed, limit } = self;
        FormatError::Memory { path: path.to_owned(), needed, limit }
    }
}

/// The fault of a line of a block, before the file and the position of the block are known.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The number of the line in the block, from 0.
    line: u64,
    kind: FaultKind,
}

#[derive(Debug)]
enum FaultKind {
    Invalid {
        found: String,
        expected: Cow<'static, str>,
        remedy: Cow<'static, str>,
    },
    UnknownId(String),
    /// There is no memory for the line.
    OverBudget(OverBudget),
}

impl From<OverBudget> for Fault {
    fn from(over: OverBudget) -> Self {
        Self { line: 0, kind: FaultKind::OverBudget(over) }
    }
}

impl Fault {
    pub fn new(
        found: impl Into<String>,
        expected: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        let kind = FaultKind::Invalid { found: found.into(), expected: expected.into(), remedy: remedy.into() };
        Self { line: 0, kind }
    }

    /// The line names a node that the graph does not have.
    pub fn unknown_id(id: &[u8]) -> Self {
        Self { line: 0, kind: FaultKind::UnknownId(String::from_utf8_lossy(id).into_owned()) }
    }

    /// The fault at another line of its block.
    pub fn at(self, line: u64) -> Self {
        Self { line, ..self }
    }

    /// The error of a file whose block starts after `before` lines.
    pub fn in_file(self, path: &Path, before: u64) -> FormatError {
        let line = before + self.line + 1;
        match self.kind {
            FaultKind::Invalid { found, expected, remedy } => FormatError::line(path, line, found, expected, remedy),
            FaultKind::UnknownId(id) => {
                FormatError::UnknownId { path: path.to_owned(), place: format!("line {line}"), id }
            }
            FaultKind::OverBudget(over) => over.reading(path),
        }
    }
}

/// What a weight of a graph must be.
pub(crate) const NOT_NEGATIVE: &str = "a weight of 0 or more";
/// The way out where a weight is negative.
pub(crate) const SIGNED: &str = "drop such edges or take absolute values; negative weights are read for a matrix of your own \
                                 only (matrix = \"A\")";

/// A quoted piece of a file, short and printable.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 60;
    let cut = &bytes[..bytes.len().min(LONGEST)];
    let text: String = String::from_utf8_lossy(cut).chars().flat_map(shown).collect();
    let rest = if bytes.len() > LONGEST { "…" } else { "" };
    format!("`{text}{rest}`")
}

fn shown(c: char) -> impl Iterator<Item = char> {
    let control = c.is_control();
    let escaped = control.then(|| c.escape_default());
    escaped.into_iter().flatten().chain((!control).then_some(c))
}
