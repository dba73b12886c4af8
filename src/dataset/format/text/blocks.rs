//! A text in blocks of whole lines.
//!
//! One thread at a time takes the next block from the file, unpacked if need be, and parses it
//! while others take more. Where blocks end depends on the text alone, so results and errors do not
//! depend on the number of threads; memory is one block a thread.

use std::io::Read;
use std::ops::Deref;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

use crate::dataset::budget::{Budget, OverBudget, Reservation, bytes_of};
use crate::dataset::format::error::{Fault, FormatError};
use crate::dataset::format::input::Input;

/// Bytes of a block: small enough for the caches of a core.
const BLOCK: usize = if cfg!(test) { 256 } else { 256 << 10 };
/// Bytes of the longest line.
const LONGEST_LINE: usize = 64 << 20;
pub(in crate::dataset) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A text, cut into blocks. Every block ends with a line feed, the last one too.
pub(crate) struct Blocks {
    input: Input,
    /// Bytes of text that were read.
    offset: u64,
    carry: Vec<u8>,
    /// The first block, if it was inspected and not yet taken.
    pending: Option<Block>,
    blocks_taken: usize,
    started: bool,
    ended: bool,
}

/// Complete lines. Its memory is reserved if a long line makes it larger than usual.
#[derive(Default)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    reserved: Reservation,
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Block {
    /// Reserves capacity for another block and for the line that is carried over to the next one.
    fn reserve_within(&mut self, budget: &Budget) -> Result<(), OverBudget> {
        let wanted = self.bytes.len() + BLOCK + 1;
        if wanted > 2 * BLOCK + 1 && wanted > self.bytes.capacity() {
            let capacity = wanted.max(2 * self.bytes.capacity());
            budget.resize(&mut self.reserved, bytes_of::<[u8; 2]>(capacity))?;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.reserve(BLOCK + 1);
        Ok(())
    }

    /// Empties it, and frees the memory of a long line.
    fn clear(&mut self) {
        match self.bytes.capacity() > 4 * BLOCK {
            true => *self = Self::default(),
            false => self.bytes.clear(),
        }
    }
}

impl Blocks {
    /// The text of a file, at whose start it is.
    pub fn of(input: Input) -> Self {
        Self { input, offset: 0, carry: vec![], pending: None, blocks_taken: 0, started: false, ended: false }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// The budget of the file.
    pub fn budget(&self) -> &Budget {
        self.input.budget()
    }

    /// The first block, without taking it; empty if the text is.
    pub fn first(&mut self) -> Result<&[u8], FormatError> {
        if self.pending.is_none() && self.blocks_taken == 0 {
            let mut buffer = Block::default();
            if self.read(&mut buffer)? {
                self.pending = Some(buffer);
            }
        }
        Ok(self.pending.as_deref().unwrap_or(&[]))
    }

    /// The approximate number of lines, estimated from the first block; 0 for compressed texts.
    pub fn lines(&mut self) -> Result<usize, FormatError> {
        if self.input.is_packed() {
            return Ok(0);
        }
        let length = self.input.length();
        let first = self.first()?;
        let lines = memchr::memchr_iter(b'\n', first).count() as u64;
        Ok((lines * length / (first.len() as u64).max(1)) as usize)
    }

    /// The number of the next block, which takes the place of what is in `buffer`; `None` at the
    /// end.
    pub fn next(&mut self, buffer: &mut Block) -> Result<Option<usize>, FormatError> {
        match self.pending.take() {
            Some(block) => *buffer = block,
            None if !self.read(buffer)? => return Ok(None),
            None => {}
        }
        self.blocks_taken += 1;
        Ok(Some(self.blocks_taken - 1))
    }

    fn read(&mut self, buffer: &mut Block) -> Result<bool, FormatError> {
        buffer.clear();
        buffer.bytes.append(&mut self.carry);
        if self.ended {
            return Ok(false);
        }
        let mut end = None;
        while end.is_none() && !self.ended {
            self.read_more(buffer)?;
            end = memchr::memrchr(b'\n', buffer);
            if end.is_none() && buffer.len() > LONGEST_LINE {
                let found = format!("a line of more than {LONGEST_LINE} bytes");
                return Err(FormatError::byte(
                    self.path(),
                    self.offset,
                    found,
                    "shorter lines",
                    "is this a text file?",
                ));
            }
        }
        match end {
            Some(end) if !self.ended => {
                self.carry.extend_from_slice(&buffer[end + 1..]);
                buffer.bytes.truncate(end + 1);
            }
            _ if buffer.last().is_some_and(|&byte| byte != b'\n') => buffer.bytes.push(b'\n'),
            _ => {}
        }
        Ok(!buffer.is_empty())
    }

    /// Appends up to a block of the text.
    fn read_more(&mut self, buffer: &mut Block) -> Result<(), FormatError> {
        let before = buffer.len();
        buffer.reserve_within(self.input.budget()).map_err(|over| over.reading(self.path()))?;
        let read = self.input.by_ref().take(BLOCK as u64).read_to_end(&mut buffer.bytes);
        self.offset += (buffer.len() - before) as u64;
        if let Err(source) = read {
            return Err(self.input.unreadable(self.offset, source));
        }
        self.ended = buffer.len() - before < BLOCK;
        if self.ended {
            self.input.check()?;
        }
        if !self.started {
            self.started = true;
            check_encoding(self.input.path(), &mut buffer.bytes)?;
        }
        Ok(())
    }

    /// Parses all blocks on several threads. Each has a state `S`, to which `parse(state, number,
    /// block)` adds a block; it returns the number of lines. The first error in the order of the
    /// text is returned.
    pub fn parse<S: Default + Send>(
        self,
        threads: usize,
        parse: impl Fn(&mut S, usize, &[u8]) -> Result<u64, Fault> + Sync,
    ) -> Result<Vec<S>, FormatError> {
        let path = self.path().to_owned();
        let source = Mutex::new((self, None));
        let failed = AtomicBool::new(false);
        let work = || {
            let (mut state, mut done, mut buffer) = (S::default(), vec![], Block::default());
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

/// Refuses UTF-16 and binary data, and removes a byte order mark of UTF-8.
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
