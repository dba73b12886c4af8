//! A write-ahead log of accepted batches.
//!
//! A record is a line: a CRC-32 of the record chained with that of the one before, its length, and
//! the record as JSON. The first record identifies the run. Records are only appended, and each is
//! on disk before its batch is applied. A damaged last record was never completed and is dropped; a
//! damaged record before others is an error.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::line::{Action, Update};
use super::{Position, Time};
use crate::dataset::remedy::START_OVER;

/// The version of the format.
const FORMAT: u32 = 1;

/// Settings that identify a run: runs with equal settings have equal results.
type Run = BTreeMap<String, String>;

/// A file that batches are appended to.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
    /// The end and the chained checksum of each record.
    ends: Vec<(u64, u32)>,
}

/// An accepted batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 1.
    pub batch: u64,
    /// Its name in messages.
    pub name: String,
    /// Where it ends.
    pub position: Position,
    /// The number of refused and unusual lines by kind.
    pub counts: BTreeMap<String, u64>,
    /// Its content.
    pub updates: Vec<Entry>,
}

/// An update without its time and line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry(pub Action, pub String, pub String, #[serde(default)] pub Option<String>);

/// A log that was read.
#[derive(Debug)]
pub struct Opened {
    /// To append to.
    pub log: Log,
    /// The settings of its run.
    pub run: BTreeMap<String, String>,
    /// Its content.
    pub records: Vec<Record>,
    /// Bytes of an incomplete record at the end, which were removed.
    pub dropped: usize,
    /// Repeated records, which count once.
    pub repeated: usize,
}

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The system does not let it be read or written.
    #[error("cannot read or write {}: check its permissions and the free space on the disk", path.display())]
    Io {
        /// The log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A record in the middle is not what was written.
    #[error(
        "{}, line {line}: the log of batches is damaged there, before other records: restore the file, or {START_OVER}",
        path.display()
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// The record.
        line: usize,
    },
    /// It was written by another version.
    #[error(
        "{} has version {found}, and this program understands {FORMAT}: {START_OVER}",
        path.display()
    )]
    Version {
        /// The log.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    run: Run,
}

impl From<&Update> for Entry {
    fn from(update: &Update) -> Self {
        let weight = update.weight.map(|weight| weight.to_string());
        Self(update.action, update.from.clone(), update.to.clone(), weight)
    }
}

impl Entry {
    /// The update, with the time of its batch.
    pub fn update(&self, time: Time) -> Update {
        let weight = self.3.as_ref().and_then(|weight| weight.parse().ok());
        Update { time, action: self.0, from: self.1.clone(), to: self.2.clone(), weight, line: 0, like_a_time: None }
    }
}

impl Log {
    /// Creates a log, and replaces an existing one.
    pub fn create(path: &Path, run: &BTreeMap<String, String>) -> Result<Self, LogError> {
        let failed = |source| LogError::Io { path: path.to_owned(), source };
        let file = File::create(path).map_err(failed)?;
        let mut log = Self { path: path.to_owned(), file, ends: Vec::new() };
        log.write(&Header { format: FORMAT, run: run.clone() })?;
        if let Some(folder) = path.parent().filter(|folder| cfg!(unix) && !folder.as_os_str().is_empty()) {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        Ok(log)
    }

    /// Opens a log; `None` if there is none, or its first record is incomplete.
    pub fn open(path: &Path) -> Result<Option<Opened>, LogError> {
        let failed = |source| LogError::Io { path: path.to_owned(), source };
        let content = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(failed)?,
        };
        let mut rest = &content[..];
        let (mut chain, mut header, mut records, mut line) = (0, None, Vec::<Record>::new(), 0);
        let (mut repeated, mut ends) = (0, Vec::new());
        while let Some(end) = memchr::memchr(b'\n', rest) {
            line += 1;
            let Some((sum, text)) = check(&rest[..end], chain) else {
                // Only the record that was being written when the run ended may be incomplete. A
                // complete record with a damaged line feed is followed by another one.
                let is_whole = |length| rest.get(..length).is_some_and(|record| check(record, chain).is_some());
                let is_last = end + 1 == rest.len() && !length(rest).is_some_and(is_whole);
                match is_last {
                    true => break,
                    false => return Err(LogError::Damaged { path: path.to_owned(), line }),
                }
            };
            let damaged = || LogError::Damaged { path: path.to_owned(), line };
            if header.is_none() {
                header = Some(read::<Header>(text).ok_or_else(damaged)?);
            } else {
                let record = read::<Record>(text).ok_or_else(damaged)?;
                match records.last() {
                    Some(last) if *last == record => repeated += 1,
                    last if record.batch == last.map_or(1, |last| last.batch + 1) => records.push(record),
                    _ => return Err(damaged()),
                }
            }
            chain = sum;
            rest = &rest[end + 1..];
            ends.truncate(records.len());
            ends.push(((content.len() - rest.len()) as u64, chain));
        }
        let Some(header) = header else { return Ok(None) };
        if header.format != FORMAT {
            return Err(LogError::Version { path: path.to_owned(), found: header.format });
        }
        let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        if !rest.is_empty() {
            let whole = (content.len() - rest.len()) as u64;
            file.set_len(whole).and_then(|()| file.sync_all()).map_err(failed)?;
        }
        let log = Self { path: path.to_owned(), file, ends };
        Ok(Some(Opened { log, run: header.run, records, dropped: rest.len(), repeated }))
    }

    /// The batches after the first `batches`, read from disk.
    pub fn records_after(&self, batches: u64) -> Result<Vec<Record>, LogError> {
        let records = Self::open(&self.path)?.map_or(Vec::new(), |opened| opened.records);
        Ok(records.into_iter().filter(|record| record.batch > batches).collect())
    }

    /// Removes a batch and all later ones.
    pub fn cut(&mut self, batch: u64) -> Result<(), LogError> {
        let failed = |source| LogError::Io { path: self.path.clone(), source };
        self.ends.truncate(batch.max(1) as usize);
        let end = self.ends.last().map_or(0, |(end, _)| *end);
        let cut = self.file.set_len(end).and_then(|()| self.file.seek(SeekFrom::End(0)));
        cut.and_then(|_| self.file.sync_data()).map_err(failed)
    }

    /// Appends a batch; it is on disk on return.
    pub fn append(&mut self, record: &Record) -> Result<(), LogError> {
        self.write(record)
    }

    fn write(&mut self, record: &impl Serialize) -> Result<(), LogError> {
        let failed = |source| LogError::Io { path: self.path.clone(), source };
        let text = serde_json::to_string(record).map_err(|error| failed(error.into()))?;
        let (end, chain) = self.ends.last().copied().unwrap_or_default();
        let sum = chained(chain, text.as_bytes());
        let line = format!("{sum:08x} {:08x} {text}\n", text.len());
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data()).map_err(failed)?;
        self.ends.push((end + line.len() as u64, sum));
        Ok(())
    }
}

fn chained(chain: u32, text: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&chain.to_le_bytes());
    sum.update(text);
    sum.finalize()
}

/// Bytes before the JSON of a record: two hexadecimal numbers, each followed by a blank.
const BEFORE: usize = 18;

/// A number of a record, by its place.
fn number(line: &[u8], place: usize) -> Option<u32> {
    let digits = line.get(place..place + 8).filter(|_| line.get(place + 8) == Some(&b' '))?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// How long a record says that it is, without its line feed.
fn length(line: &[u8]) -> Option<usize> {
    Some(BEFORE + number(line, 9)? as usize)
}

/// The checksum and the text of a record, if both its numbers fit.
fn check(line: &[u8], chain: u32) -> Option<(u32, &[u8])> {
    let (sum, text) = (number(line, 0)?, line.get(BEFORE..)?);
    (length(line) == Some(line.len()) && chained(chain, text) == sum).then_some((sum, text))
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dataset::stream::Place;

    fn record(batch: u64) -> Record {
        let entry = Entry(Action::Add, "ann".into(), "bob \"b\"".into(), Some("0.1".into()));
        let position = Position::Text(Place { lines: batch, bytes: 10 * batch, ..Place::default() });
        let counts = BTreeMap::from([("lines".to_owned(), batch)]);
        Record { batch, name: "updates.txt".into(), position, counts, updates: vec![entry; batch as usize] }
    }

    fn written(folder: &Path) -> PathBuf {
        let path = folder.join("follow.log");
        let run = BTreeMap::from([("seed".to_owned(), "1".to_owned())]);
        let mut log = Log::create(&path, &run).unwrap();
        (1..=3).for_each(|batch| log.append(&record(batch)).unwrap());
        path
    }

    #[test]
    fn records_come_back_and_more_can_follow() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let mut opened = Log::open(&path).unwrap().unwrap();
        assert_eq!((opened.dropped, opened.run["seed"].as_str()), (0, "1"));
        opened.log.append(&record(4)).unwrap();
        let records = Log::open(&path).unwrap().unwrap().records;
        assert_eq!(records, (1..=4).map(record).collect::<Vec<_>>());
        assert!(Log::open(&folder.path().join("none")).unwrap().is_none());
    }

    #[test]
    fn batches_can_be_taken_out_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let before = std::fs::read(&path).unwrap();
        let mut made = Log::open(&path).unwrap().unwrap().log;
        for batches in 0..=3 {
            assert_eq!(made.records_after(batches).unwrap(), (batches + 1..=3).map(record).collect::<Vec<_>>());
        }
        for batch in [3, 2] {
            made.cut(batch).unwrap();
            assert_eq!(made.records_after(1).unwrap(), (2..batch).map(record).collect::<Vec<_>>());
            assert_eq!(Log::open(&path).unwrap().unwrap().records, (1..batch).map(record).collect::<Vec<_>>());
        }
        (2..=3).for_each(|batch| made.append(&record(batch)).unwrap());
        assert!(std::fs::read(&path).unwrap() == before);
        // One that was just begun writes on from there, too.
        let mut begun = Log::create(&path, &BTreeMap::new()).unwrap();
        begun.append(&record(1)).unwrap();
        begun.cut(1).unwrap();
        begun.append(&Record { updates: Vec::new(), ..record(1) }).unwrap();
        assert!(Log::open(&path).unwrap().unwrap().records[0].updates.is_empty());
    }

    #[test]
    fn whatever_is_cut_off_at_the_end_is_dropped_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let whole = std::fs::read(written(folder.path())).unwrap();
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &whole).map(|at| at + 1).collect();
        let path = folder.path().join("cut");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let records = ends.iter().filter(|end| **end <= length).count();
            match Log::open(&path).unwrap() {
                None => assert_eq!(records, 0),
                Some(mut opened) => {
                    assert_eq!(opened.records.len() + 1, records);
                    opened.log.append(&record(records as u64)).unwrap();
                    assert_eq!(Log::open(&path).unwrap().unwrap().records.len(), records);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_found(place in 0usize..1000, flip in 1u8..=255) {
            let folder = tempfile::tempdir().unwrap();
            let path = written(folder.path());
            let mut content = std::fs::read(&path).unwrap();
            let place = place % content.len();
            content[place] ^= flip;
            std::fs::write(&path, &content).unwrap();
            match Log::open(&path) {
                // Damage before the last record is an error.
                Err(LogError::Damaged { .. }) => {}
                Ok(Some(opened)) => {
                    // The last record is as if it had never been written, or the change says the
                    // same.
                    let kept: Vec<Record> = (1..=opened.records.len() as u64).map(record).collect();
                    prop_assert!(opened.records.len() >= 2 && opened.records == kept);
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
