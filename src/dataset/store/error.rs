use std::io;
use std::path::PathBuf;

use super::{MANIFEST, VERSION};
use crate::dataset::OverBudget;
use crate::dataset::remedy::CONVERT;
use crate::graph::TileError;

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder is none.
    #[error("{} holds no {MANIFEST}: name a dataset or a store, or {CONVERT}", folder.display())]
    None {
        /// The folder.
        folder: PathBuf,
    },
    /// A file is missing or cannot be read.
    #[error("cannot read {}: {CONVERT} again", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another program wrote it.
    #[error("{}: format {found}, and this program reads format {VERSION}: use the program that wrote it, or {CONVERT} again", path.display())]
    Version {
        /// The manifest.
        path: PathBuf,
        /// The format.
        found: u32,
    },
    /// A file is longer or shorter than it was.
    #[error("{} has {found} bytes, and had {expected} when it was written: {CONVERT} again", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        found: u64,
        /// Its expected size.
        expected: u64,
    },
    /// Bytes are not what they were.
    #[error("{}{part} was damaged, its checksum is another: {CONVERT} again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which part of it, if it has parts: a comma and its name.
        part: String,
    },
    /// Bytes are what they were, but make no sense.
    #[error("{}{part}: {what}: {CONVERT} again", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Which part of it, if it has parts: a comma and its name.
        part: String,
        /// The problem.
        what: String,
    },
    /// It takes more memory than may be used.
    #[error("{}: {over}", folder.display())]
    Memory {
        /// The folder.
        folder: PathBuf,
        /// How much is needed.
        over: OverBudget,
    },
    /// A tile of its matrix cannot be used.
    #[error(transparent)]
    Tile(#[from] TileError),
    /// The arrays are used as they are.
    #[error("stores are little-endian, and this machine is not: use the dataset that the store was made of")]
    BigEndian,
}

/// Why a store cannot be written. Whatever was there before is untouched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The target is something else.
    #[error("{} is there and is no store: choose another path for the store", path.display())]
    Occupied {
        /// The target.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}: no store was made", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The dataset to be written cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}
