//! A folder whose files are batches, in the order of their names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::batch_builder::BatchBuilder;
use super::batches::{Batch, LineChecker, Next};
use super::error::StreamError;
use super::text::{CHUNK, ReadOutcome, Text};
use super::{Notice, Position};
use crate::dataset::budget::{BudgetedVec, Reservation};
use crate::dataset::format::{FormatError, check_encoding, lines};

/// Bytes of the largest file.
const LARGEST: usize = 4 << 30;

/// The files of a folder, and those that were applied.
pub(super) struct Folder {
    path: PathBuf,
    is_watched: bool,
    /// Names of files that were not read yet, in order.
    queue: BTreeSet<String>,
    done: BTreeMap<String, Content>,
    by_content: HashMap<Content, String>,
    waiting_for: Option<String>,
    is_begun: bool,
}

/// Size and checksum.
type Content = (u64, u64);

impl Folder {
    pub fn new(path: &Path, is_watched: bool) -> Self {
        let (queue, done, by_content) = (BTreeSet::new(), BTreeMap::new(), HashMap::new());
        Self { path: path.to_owned(), is_watched, queue, done, by_content, waiting_for: None, is_begun: false }
    }

    /// Notes a file that was applied; if it still exists it must have the same content.
    pub fn has_done(&mut self, name: &str, bytes: u64, checksum: u64) -> Result<(), StreamError> {
        let path = self.path.join(name);
        if path.is_file() && self.content(&path)?.is_some_and(|(text, _)| content_of(&text) != (bytes, checksum)) {
            return Err(StreamError::OtherBatch { path });
        }
        self.note(name, (bytes, checksum));
        Ok(())
    }

    fn note(&mut self, name: &str, content: Content) {
        self.done.insert(name.to_owned(), content);
        if content.0 > 0 {
            self.by_content.entry(content).or_insert_with(|| name.to_owned());
        }
        self.is_begun = true;
    }

    pub fn next(&mut self, checker: &mut LineChecker, notices: &mut Vec<Notice>) -> Result<Next, StreamError> {
        loop {
            if self.queue.is_empty() {
                self.look()?;
            }
            let Some(name) = self.queue.first().cloned() else {
                if self.is_watched {
                    return Ok(Next::Nothing);
                }
                if !self.is_begun {
                    notices.push(Notice::Empty { path: self.path.clone() });
                    self.is_begun = true;
                }
                return Ok(Next::End(Vec::new()));
            };
            let path = self.path.join(&name);
            let Some((mut text, _reserved)) = self.content(&path)? else {
                // The file was removed before it was read.
                self.queue.remove(&name);
                continue;
            };
            let is_unfinished = text.last().is_some_and(|&byte| byte != b'\n');
            if is_unfinished && self.is_watched {
                if self.waiting_for.as_ref() != Some(&name) {
                    notices.push(Notice::Waiting { path });
                    self.waiting_for = Some(name);
                }
                return Ok(Next::Nothing);
            }
            self.queue.remove(&name);
            let content = content_of(&text);
            if let Some(was) = self.by_content.get(&content) {
                notices.push(Notice::Duplicate { path, was: was.clone() });
                self.note(&name, content);
                continue;
            }
            if let Some((last, _)) = self.done.last_key_value().filter(|(last, _)| **last > name) {
                notices.push(Notice::Late { path: path.clone(), last: last.clone() });
            }
            check_encoding(&path, &mut text)?;
            let mut builder = BatchBuilder::default();
            for (number, line) in (1..).zip(lines(&text)) {
                let may_be_header = builder.updates.is_empty();
                let update = checker.read(line, (&path, number), may_be_header, &mut builder.refused)?;
                builder.add(update, &path)?;
            }
            let (updates, refused, memory) = builder.take();
            if is_unfinished {
                notices.push(Notice::Unfinished { path: path.clone(), line: lines(&text).count() as u64 });
            }
            if updates.is_empty() {
                notices.push(Notice::Empty { path: path.clone() });
            }
            self.note(&name, content);
            let position = Position::File { name, bytes: content.0, checksum: content.1, time: checker.kept_time() };
            let name = path.display().to_string();
            return Ok(Next::Batch(Batch { name, path, updates, refused, position, memory }));
        }
    }

    /// Finds new complete files. Names of incomplete ones start with a dot, or end in `.tmp` or
    /// `.part`.
    fn look(&mut self) -> Result<(), StreamError> {
        let failed = |source| FormatError::Io { path: self.path.clone(), source };
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_on_its_way = name.starts_with('.') || name.ends_with(".tmp") || name.ends_with(".part");
            if !is_on_its_way && !self.done.contains_key(&name) && entry.path().is_file() {
                self.queue.insert(name);
            }
        }
        Ok(())
    }

    /// The decompressed text of a file; `None` if it was removed.
    fn content(&self, path: &Path) -> Result<Option<(Vec<u8>, Reservation)>, StreamError> {
        let mut text = match Text::open(path, false) {
            Ok(text) => text,
            Err(StreamError::Format(FormatError::Io { source, .. }))
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let mut content = BudgetedVec::default();
        loop {
            if text.read(content.reserve(CHUNK).map_err(|over| over.reading(path))?)? != ReadOutcome::Some {
                return Ok(Some(content.into_parts()));
            }
            if content.len() > LARGEST {
                let (found, remedy) = (format!("more than {LARGEST} bytes"), "cut it into several files");
                return Err(FormatError::content(path, found, "a batch that fits into memory", remedy).into());
            }
        }
    }
}

fn content_of(text: &[u8]) -> Content {
    (text.len() as u64, xxh3_64(text))
}
