//! A file of a checkpoint: rows of bytes in tiles, with a checksum for each tile.
//!
//! CRC-32 detects disk errors and interrupted writes at the speed of memory. It does not detect
//! forgery.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::graph::Tiling;

/// The shape and the checksums of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CheckpointFile {
    /// Its name.
    pub(super) file: String,
    pub(super) rows: u64,
    pub(super) row_bytes: u64,
    /// Rows of a tile; the last tile may have fewer.
    pub(super) tile_rows: u64,
    /// One checksum a tile.
    pub(super) checksums: Vec<u32>,
}

/// The difference between a file and its description.
#[derive(Debug, thiserror::Error)]
pub(super) enum Damage {
    #[error("{file} cannot be read: {source}")]
    Unreadable { file: String, source: io::Error },
    #[error("{file} has {found} bytes in place of {expected}")]
    Length { file: String, found: u64, expected: u64 },
    #[error("tile {tile} of {file} has another checksum")]
    Checksum { file: String, tile: usize },
}

impl CheckpointFile {
    /// Whether the description is consistent, and the name stays in the folder.
    pub(super) fn is_sound(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !self.file.is_empty()
            && self.file.bytes().all(is_plain)
            && self.bytes().is_some()
            && self.tile_rows > 0
            && self.rows.div_ceil(self.tile_rows) == self.checksums.len() as u64
    }

    /// Bytes of the file.
    fn bytes(&self) -> Option<u64> {
        self.rows.checked_mul(self.row_bytes).filter(|&bytes| usize::try_from(bytes).is_ok())
    }

    /// Whether it can hold a panel. The tiling bounds the rows by the number of checksums, even if
    /// a row has no bytes.
    pub(super) fn is_of_panel(&self) -> bool {
        let tile_rows = |rows| Tiling::new(rows).tile_rows() as u64;
        self.row_bytes.is_multiple_of(size_of::<f32>() as u64)
            && usize::try_from(self.rows).is_ok_and(|rows| tile_rows(rows) == self.tile_rows)
    }

    /// The columns of a panel.
    pub(super) fn columns(&self) -> usize {
        self.row_bytes as usize / size_of::<f32>()
    }

    /// Calls `take` with each tile of a file of `length` bytes, after its checksum was verified.
    /// Memory use is bounded by the length of the file.
    pub(super) fn read(&self, mut from: impl Read, length: u64, mut take: impl FnMut(&[u8])) -> Result<(), Damage> {
        let file = || self.file.clone();
        let expected = self.bytes().unwrap_or(u64::MAX);
        if length != expected {
            return Err(Damage::Length { file: file(), found: length, expected });
        }
        let mut buffer = vec![0; (self.tile_rows.min(self.rows) * self.row_bytes) as usize];
        let mut rows = self.rows;
        for (tile, &checksum) in self.checksums.iter().enumerate() {
            let of_tile = &mut buffer[..(self.tile_rows.min(rows) * self.row_bytes) as usize];
            from.read_exact(of_tile).map_err(|source| Damage::Unreadable { file: file(), source })?;
            if crc32fast::hash(of_tile) != checksum {
                return Err(Damage::Checksum { file: file(), tile });
            }
            take(of_tile);
            rows = rows.saturating_sub(self.tile_rows);
        }
        Ok(())
    }
}

/// Writes rows and their checksums.
pub(super) struct CheckpointFileWriter<W> {
    to: W,
    file: CheckpointFile,
    tile: Vec<u8>,
    /// Rows in the tile so far.
    rows: u64,
}

impl<W: Write> CheckpointFileWriter<W> {
    pub(super) fn new(to: W, name: &str, rows: usize, row_bytes: usize, tile_rows: usize) -> Self {
        let file = CheckpointFile {
            file: name.to_owned(),
            rows: rows as u64,
            row_bytes: row_bytes as u64,
            tile_rows: tile_rows as u64,
            checksums: Vec::new(),
        };
        Self { to, file, tile: Vec::with_capacity(tile_rows.min(rows) * row_bytes), rows: 0 }
    }

    /// The next row.
    pub(super) fn push(&mut self, row: &[u8]) -> io::Result<()> {
        debug_assert_eq!(row.len() as u64, self.file.row_bytes);
        self.tile.extend_from_slice(row);
        self.rows += 1;
        if self.rows == self.file.tile_rows { self.end_tile() } else { Ok(()) }
    }

    fn end_tile(&mut self) -> io::Result<()> {
        self.file.checksums.push(crc32fast::hash(&self.tile));
        self.to.write_all(&self.tile)?;
        self.tile.clear();
        self.rows = 0;
        Ok(())
    }

    /// The description of what was written, and the writer.
    pub(super) fn finish(mut self) -> io::Result<(CheckpointFile, W)> {
        if self.rows > 0 {
            self.end_tile()?;
        }
        debug_assert!(self.file.is_sound(), "as many rows as were announced");
        Ok((self.file, self.to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        for name in ["", "..", "a/b", "a\\b", "a.json", "ä"] {
            let file = CheckpointFile { file: name.into(), rows: 0, row_bytes: 1, tile_rows: 1, checksums: Vec::new() };
            assert!(!file.is_sound(), "{name}");
            assert!(CheckpointFile { file: "left-3".into(), ..file }.is_sound());
        }
    }
}
