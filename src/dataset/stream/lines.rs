//! The lines of a stream, with their positions.

use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use serde::{Deserialize, Serialize};

use super::error::StreamError;
use super::text::{ReadOutcome, Text};
use crate::dataset::format::{FormatError, check_encoding};

/// Bytes of the longest line.
const LONGEST_LINE: usize = 1 << 20;

/// A position between two lines of a text, and checksums of the text before it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Place {
    /// Lines before it.
    pub lines: u64,
    /// Bytes before it.
    pub bytes: u64,
    /// CRC-32 of the bytes before it.
    pub checksum: u32,
    /// CRC-32 of the first line: a stream that starts with the same line is the same stream, sent
    /// again.
    pub first: Option<u32>,
    /// Whether the line before it has no line feed.
    pub is_unfinished: bool,
    /// The latest time before it.
    pub time: Option<String>,
}

/// The result of reading a line.
pub(super) enum Read {
    /// A line, without its end.
    Line(Vec<u8>),
    /// No complete line has arrived yet.
    Nothing,
    /// No more lines.
    End,
}

/// The lines of a text.
pub(super) struct Lines {
    path: PathBuf,
    text: Text,
    buffer: Vec<u8>,
    /// Bytes at the start of the buffer that were returned.
    taken: usize,
    is_checked: bool,
    is_at_end: bool,
    at: Place,
    sum: Hasher,
}

impl Lines {
    pub fn new(path: &Path, text: Text) -> Self {
        let (at, sum) = (Place::default(), Hasher::new());
        let (buffer, taken, is_checked, is_at_end) = (Vec::new(), 0, false, false);
        Self { path: path.to_owned(), text, buffer, taken, is_checked, is_at_end, at, sum }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The position of the next line, without the latest time.
    pub fn place(&self) -> Place {
        Place { checksum: self.sum.clone().finalize(), ..self.at.clone() }
    }

    /// The next line. The last line of a text that cannot grow may lack a line feed.
    pub fn next(&mut self) -> Result<Read, StreamError> {
        loop {
            let rest = &self.buffer[self.taken..];
            if let Some(end) = memchr::memchr(b'\n', rest) {
                let line = rest[..end].to_vec();
                self.take(end + 1);
                return Ok(Read::Line(line));
            }
            if rest.len() > LONGEST_LINE {
                let found = format!("a line of more than {LONGEST_LINE} bytes");
                let error = FormatError::byte(&self.path, self.at.bytes, found, "shorter lines", "is this a text?");
                return Err(error.into());
            }
            if self.is_at_end {
                if rest.is_empty() {
                    return Ok(Read::End);
                }
                let line = rest.to_vec();
                self.take(line.len());
                self.at.is_unfinished = true;
                return Ok(Read::Line(line));
            }
            match self.read_more()? {
                ReadOutcome::Some => {}
                ReadOutcome::Nothing => return Ok(Read::Nothing),
                ReadOutcome::End => self.is_at_end = true,
            }
        }
    }

    fn read_more(&mut self) -> Result<ReadOutcome, StreamError> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let got = self.text.read(&mut self.buffer)?;
        // A byte order mark has at most three bytes.
        if !self.is_checked && (self.buffer.len() > 3 || got == ReadOutcome::End) {
            self.is_checked = true;
            check_encoding(&self.path, &mut self.buffer)?;
        }
        Ok(if got == ReadOutcome::End && self.text.is_open() { ReadOutcome::Nothing } else { got })
    }

    /// Marks a line of `bytes` bytes as returned.
    fn take(&mut self, bytes: usize) {
        let line = &self.buffer[self.taken..self.taken + bytes];
        self.sum.update(line);
        self.at.first.get_or_insert_with(|| crc32fast::hash(line.strip_suffix(b"\n").unwrap_or(line)));
        self.at.bytes += bytes as u64;
        self.at.lines += 1;
        self.at.is_unfinished = false;
        self.taken += bytes;
    }

    /// Skips to a position, and compares the text before it with the checksum. Returns false if
    /// more text has to arrive first. A text that `may_be_new` and starts with another line is read
    /// from its start, as the continuation of the old one.
    pub fn skip_to(&mut self, place: &Place, may_be_new: bool) -> Result<bool, StreamError> {
        let path = self.path.clone();
        let other = || StreamError::OtherText { path: path.clone(), bytes: place.bytes };
        loop {
            let rest = &self.buffer[self.taken..];
            if self.at.bytes == 0 && place.bytes > 0 {
                // The first line identifies the stream.
                match memchr::memchr(b'\n', rest).or((self.is_at_end).then_some(rest.len())) {
                    Some(end) if place.first != Some(crc32fast::hash(&rest[..end])) => {
                        return if may_be_new { Ok(true) } else { Err(other()) };
                    }
                    Some(_) => {}
                    None => match self.read_more()? {
                        ReadOutcome::Some => continue,
                        ReadOutcome::Nothing => return Ok(false),
                        ReadOutcome::End => {
                            self.is_at_end = true;
                            continue;
                        }
                    },
                }
            }
            let missing = place.bytes - self.at.bytes;
            let (rest, there) = (&self.buffer[self.taken..], (self.buffer.len() - self.taken) as u64);
            let bytes = missing.min(there) as usize;
            self.sum.update(&rest[..bytes]);
            self.at.bytes += bytes as u64;
            self.taken += bytes;
            if self.at.bytes == place.bytes {
                break;
            }
            match self.read_more()? {
                ReadOutcome::Some => {}
                ReadOutcome::Nothing => return Ok(false),
                ReadOutcome::End => return Err(other()),
            }
        }
        if self.sum.clone().finalize() != place.checksum {
            return Err(other());
        }
        self.at = Place { time: None, ..place.clone() };
        Ok(true)
    }

    /// Fails if a line without a line feed, which was taken as complete, has grown.
    pub fn check_end(&mut self) -> Result<bool, StreamError> {
        while self.at.is_unfinished {
            match self.buffer.get(self.taken) {
                Some(b'\n') => {
                    // It ends the line that was counted.
                    self.take(1);
                    self.at.lines -= 1;
                }
                Some(_) => return Err(StreamError::TakenEarly { path: self.path.clone(), line: self.at.lines }),
                None if self.is_at_end => break,
                None => match self.read_more()? {
                    ReadOutcome::Some => {}
                    ReadOutcome::Nothing => return Ok(false),
                    ReadOutcome::End => self.is_at_end = true,
                },
            }
        }
        Ok(true)
    }
}
