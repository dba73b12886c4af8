//! The size of the directory of a zip archive, before the directory is read.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::FormatError;
use super::input::ReadSeek;

/// No archive of arrays has more entries, and the plain form of the end record counts no further.
const MOST_ENTRIES: u64 = 65_535;
/// Memory of a parsed entry, its name and its offset, in addition to its record.
const ENTRY_BYTES: u64 = 512;
/// Copies of the records: a raw and a decoded name, the other fields, and the name once more.
const COPIES: u64 = 4;

/// The end record: its signature, its length without the comment, and the longest comment.
const END: (&[u8], usize, usize) = (b"PK\x05\x06", 22, 65_535);
/// The locator right before the end record of a zip64 archive, and the zip64 end record: signatures
/// and lengths.
const LOCATOR: (&[u8], usize) = (b"PK\x06\x07", 20);
const LONG_END: (&[u8], usize) = (b"PK\x06\x06", 56);

/// The directory as the end record describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Directory {
    entries: u64,
    bytes: u64,
}

impl Directory {
    /// Reads the end record; `None` if there is none.
    pub fn of(reader: &mut (impl Read + Seek)) -> io::Result<Option<Self>> {
        let length = reader.seek(SeekFrom::End(0))?;
        let tail = length.min((LOCATOR.1 + END.1 + END.2) as u64);
        let bytes = read_at(reader, length - tail, tail)?;
        let Some(at) = memchr::memmem::rfind(&bytes, END.0).filter(|at| at + END.1 <= bytes.len()) else {
            return Ok(None);
        };
        let end = &bytes[at..];
        let short = Self { entries: number(end, 10, 2), bytes: number(end, 12, 4) };
        let before = &bytes[at.saturating_sub(LOCATOR.1)..at];
        let is_short = short.entries < 0xffff && short.bytes < 0xffff_ffff && number(end, 16, 4) < 0xffff_ffff;
        if is_short || !before.starts_with(LOCATOR.0) {
            return Ok(Some(short));
        }
        let long = read_at(reader, number(before, 8, 8), LONG_END.1 as u64)?;
        if long.len() < LONG_END.1 || !long.starts_with(LONG_END.0) {
            return Ok(None);
        }
        Ok(Some(Self { entries: number(&long, 32, 8), bytes: number(&long, 40, 8) }))
    }

    /// Refuses a directory of more entries than any archive of arrays has.
    pub fn check(self, path: &Path) -> Result<(), FormatError> {
        if self.entries <= MOST_ENTRIES {
            return Ok(());
        }
        let found = format!("a zip archive of {} entries", self.entries);
        let remedy = "save fewer arrays, with `numpy.savez` or `torch.save`";
        Err(FormatError::content(path, found, format!("at most {MOST_ENTRIES}"), remedy))
    }

    /// Memory of the directory once it is read.
    pub fn memory(self) -> u64 {
        self.entries.saturating_mul(ENTRY_BYTES).saturating_add(self.bytes.saturating_mul(COPIES))
    }

    /// Bytes that are enough to find the directory and to read it.
    pub fn allowance(self) -> u64 {
        self.bytes.saturating_mul(COPIES).saturating_add(4 * END.2 as u64)
    }
}

fn read_at(reader: &mut (impl Read + Seek), start: u64, count: u64) -> io::Result<Vec<u8>> {
    reader.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![];
    reader.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The little-endian number of `count` bytes at a place of a record.
fn number(record: &[u8], at: usize, count: usize) -> u64 {
    record[at..at + count].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// A reader of at most `allowance` bytes. The zip library searches for a directory in several
/// places, and one that the end record does not describe could have any size.
pub(super) struct Allowed {
    pub reader: Box<dyn ReadSeek>,
    pub allowance: Arc<AtomicU64>,
}

impl Read for Allowed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.allowance.load(Relaxed);
        if left == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the directory is not where its end record says"));
        }
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.reader.read(&mut buffer[..most])?;
        // An unlimited allowance is not used up.
        if left < u64::MAX {
            self.allowance.store(left - read as u64, Relaxed);
        }
        Ok(read)
    }
}

impl Seek for Allowed {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}
