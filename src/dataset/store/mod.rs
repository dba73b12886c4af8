//! Datasets in a folder of memory-mapped arrays, which open fast at any size.
//!
//! A store holds a [`Dataset`](super::Dataset) and its matrix, as little-endian arrays that are
//! mapped into memory and used there. `store.json` says what there is; every other file is a
//! sequence of pieces, each with its length and checksum on record, and together they make up the
//! file. Opening a store reads `store.json` and compares lengths, no more; a piece is compared with
//! its checksum when it is asked for. So who needs a part of a store reads that part, and damage is
//! found before it is used.
//!
//! [`graph`](crate::graph) defines the content of tiles, and reads each when it is first used.

mod content;
mod error;
mod manifest;
mod matrix;
mod read;
mod write;

pub use error::{StoreError, WriteError};
pub use matrix::{MatrixSettings, Numbering};
pub use read::{Piece, Store};
pub use write::{PieceWriter, Writer};

/// The file that says what a store holds, and makes a folder a store.
pub const MANIFEST: &str = "store.json";
/// The SHA-256 of [`MANIFEST`], as `sha256sum` writes it.
pub const MANIFEST_SUM: &str = "store.sum";
/// The format that this program writes, and the newest that it reads.
pub const VERSION: u32 = 2;
/// Arrays within a piece, and pieces within a file, start at multiples of this: at cache lines.
const ALIGNMENT: usize = 64;
/// The ending of files whose pieces are tiles.
pub const TILES: &str = ".tiles";

/// The next aligned offset from `bytes` on.
fn boundary(bytes: usize) -> usize {
    bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX)
}

/// The line of [`MANIFEST_SUM`].
fn sum_line(sha256: &str) -> String {
    format!("{sha256}  {MANIFEST}\n")
}
