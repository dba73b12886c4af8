//! A text in blocks of whole lines.
//!
//! One thread at a time takes the next block from the file, unpacked if need be, and parses it while others take more. Where
//! blocks end depends on the text alone, so results and errors do not depend on the number of threads; memory is one
//! block a thread.

use std::fs::File;
use std::io::{Cursor, Read};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use flate2::read::MultiGzDecoder;

use crate::dataset::format::error::{Fault, FormatError};
use crate::dataset::gauge::Metered;

/// Bytes of a block, which the caches of a core should keep while it is parsed.
const BLOCK: usize = if cfg!(test) { 256 } else { 256 << 10 };
/// Bytes of the longest line.
const LONGEST_LINE: usize = 64 << 20;
pub(in crate::dataset) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A text, cut into blocks. Every block ends with a line feed, the last one too.
pub(crate) struct Blocks {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    packed: bool,
    /// Bytes of the file.
    length: u64,
    /// Bytes of text that were read.
    offset: u64,
    carry: Vec<u8>,
    /// A block that was looked at and not yet taken.
    pending: Option<Vec<u8>>,
    taken: usize,
    started: bool,
    ended: bool,
}

impl Blocks {
    /// Opens a text; gzip is told by its first bytes.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let failed = |source| FormatError::io(path, source);
        let mut file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(FormatError::Folder { path: path.to_owned() });
        }
        let mut head = Vec::with_capacity(2);
        file.by_ref().take(2).read_to_end(&mut head).map_err(failed)?;
        let packed = head == GZIP;
        let whole = Metered::new(Cursor::new(head).chain(file), metadata.len());
        let reader: Box<dyn Read + Send> = if packed { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) };
        Ok(Self {
            path: path.to_owned(),
            reader,
            packed,
            length: metadata.len(),
            offset: 0,
            carry: vec![],
            pending: None,
            taken: 0,
            started: false,
            ended: false,
        })
    }

    /// The first bytes of a file, unpacked if need be.
    pub fn start(path: &Path) -> Result<Vec<u8>, FormatError> {
        let mut blocks = Self::open(path)?;
        let mut start = vec![];
        let read = blocks.reader.by_ref().take(64).read_to_end(&mut start);
        read.map_err(|source| FormatError::Compressed { path: path.to_owned(), offset: start.len() as u64, source })?;
        Ok(start)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first block, which stays to be taken; empty when the text is.
    pub fn first(&mut self) -> Result<&[u8], FormatError> {
        if self.pending.is_none() && self.taken == 0 {
            let mut buffer = vec![];
            if self.read(&mut buffer)? {
                self.pending = Some(buffer);
            }
        }
        Ok(self.pending.as_deref().unwrap_or(&[]))
    }

    /// About how many lines the text has, judged by its first block; none are promised of a packed text.
    pub fn lines(&mut self) -> Result<usize, FormatError> {
        if self.packed {
            return Ok(0);
        }
        let length = self.length;
        let first = self.first()?;
        let lines = memchr::memchr_iter(b'\n', first).count() as u64;
        Ok((lines * length / (first.len() as u64).max(1)) as usize)
    }

    /// The number of the next block, which takes the place of what is in `buffer`; `None` at the end.
    pub fn next(&mut self, buffer: &mut Vec<u8>) -> Result<Option<usize>, FormatError> {
        match self.pending.take() {
            Some(block) => *buffer = block,
            None if !self.read(buffer)? => return Ok(None),
            None => {}
        }
        self.taken += 1;
        Ok(Some(self.taken - 1))
    }

    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool, FormatError> {
        buffer.clear();
        buffer.append(&mut self.carry);
        if self.ended {
            return Ok(false);
        }
        let mut end = None;
        while end.is_none() && !self.ended {
            self.read_more(buffer)?;
            end = memchr::memrchr(b'\n', buffer);
            if end.is_none() && buffer.len() > LONGEST_LINE {
                let found = format!("a line of more than {LONGEST_LINE} bytes");
                return Err(FormatError::byte(&self.path, self.offset, found, "shorter lines", "is this a text file?"));
            }
        }
        match end {
            Some(end) if !self.ended => {
                self.carry.extend_from_slice(&buffer[end + 1..]);
                buffer.truncate(end + 1);
            }
            _ if buffer.last().is_some_and(|&byte| byte != b'\n') => buffer.push(b'\n'),
            _ => {}
        }
        Ok(!buffer.is_empty())
    }

    /// Appends up to a block of the text.
    fn read_more(&mut self, buffer: &mut Vec<u8>) -> Result<(), FormatError> {
        let before = buffer.len();
        buffer.reserve(BLOCK + 1);
        let read = self.reader.by_ref().take(BLOCK as u64).read_to_end(buffer);
        self.offset += (buffer.len() - before) as u64;
        if let Err(source) = read {
            let (path, offset) = (self.path.clone(), self.offset);
            return Err(if self.packed {
                FormatError::Compressed { path, offset, source }
            } else {
                FormatError::io(&path, source)
            });
        }
        self.ended = buffer.len() - before < BLOCK;
        if !self.started {
            self.started = true;
            check_encoding(&self.path, buffer)?;
        }
        Ok(())
    }

    /// Parses all blocks with some threads. Each has an `S` of its own to which `parse(state, number, block)` adds what the block
    /// of that number holds, and says how many lines that was. The first error in the text wins.
    pub fn parse<S: Default + Send>(
        self,
        threads: usize,
        parse: impl Fn(&mut S, usize, &[u8]) -> Result<u64, Fault> + Sync,
    ) -> Result<Vec<S>, FormatError> {
        let path = self.path.clone();
        let source = Mutex::new((self, None));
        let failed = AtomicBool::new(false);
        let work = || {
            let (mut state, mut done, mut buffer) = (S::default(), vec![], vec![]);
            while !failed.load(Ordering::Relaxed) {
                let number = {
                    let Ok(mut source) = source.lock() else { break };
                    match source.0.next(&mut buffer) {
                        Ok(Some(number)) => number,
                        Ok(None) => break,
                        Err(error) => {
                            failed.store(true, Ordering::Relaxed);
                            source.1.get_or_insert(error);
                            break;
                        }
                    }
                };
                let lines = parse(&mut state, number, &buffer);
                failed.fetch_or(lines.is_err(), Ordering::Relaxed);
                done.push((number, lines));
            }
            (state, done)
        };
        let (states, done): (Vec<S>, Vec<_>) = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mine = work();
            let join = |other: ScopedJoinHandle<'_, _>| other.join().unwrap_or_else(|panic| resume_unwind(panic));
            std::iter::once(mine).chain(others.into_iter().map(join)).unzip()
        });
        // Blocks are taken in order, so all before the first wrong one are here.
        let mut done: Vec<_> = done.into_iter().flatten().collect();
        done.sort_unstable_by_key(|(number, _)| *number);
        let mut before = 0;
        for (_, lines) in done {
            before += lines.map_err(|fault: Fault| fault.in_file(&path, before))?;
        }
        match source.into_inner().map(|(_, error)| error) {
            Ok(Some(error)) => Err(error),
            _ => Ok(states),
        }
    }
}

/// Refuses what is no text in UTF-8, and forgets the mark that some programs put before it.
pub(in crate::dataset) fn check_encoding(path: &Path, buffer: &mut Vec<u8>) -> Result<(), FormatError> {
    let sixteen = buffer.starts_with(&[0xff, 0xfe]) || buffer.starts_with(&[0xfe, 0xff]);
    if sixteen {
        let remedy = "convert it, for instance with `iconv -f UTF-16 -t UTF-8`";
        return Err(FormatError::byte(path, 0, "the mark of UTF-16 text", "text in UTF-8", remedy));
    }
    if let Some(at) = memchr::memchr(0, buffer) {
        let remedy = "convert it to UTF-8 if it is UTF-16, else give the file the ending of its format";
        return Err(FormatError::byte(path, at as u64, "a zero byte", "text in UTF-8", remedy));
    }
    if buffer.starts_with(&[0xef, 0xbb, 0xbf]) {
        buffer.drain(..3);
    }
    Ok(())
}
