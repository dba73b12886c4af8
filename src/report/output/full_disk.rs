//! Writing on a disk that may be full.

use std::io::{self, Write};

use crate::engine::checkpoint::{Space, is_full};

/// Frees space on a full disk, for what is still to be written. Returns whether it freed any.
pub type FreeSpace<'a> = dyn Fn(Space) -> bool + 'a;

/// Frees nothing.
pub(super) fn nothing_to_free(_: Space) -> bool {
    false
}

/// Tries again as long as the disk is full and space can be freed.
pub(super) fn retry_when_full<T>(
    to_come: Space,
    free_space: &FreeSpace<'_>,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match attempt() {
            Err(error) if is_full(&error) && free_space(to_come) => {}
            done => return done,
        }
    }
}

/// Counts what is written to it.
#[derive(Default)]
pub(super) struct Count {
    pub(super) bytes: u64,
}

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that frees space where the disk is full, and goes on.
pub(super) struct RetryingWriter<'a, W> {
    writer: W,
    /// What is still to be written, here and after it.
    to_come: Space,
    free_space: &'a FreeSpace<'a>,
}

impl<'a, W: Write> RetryingWriter<'a, W> {
    pub(super) fn new(writer: W, to_come: Space, free_space: &'a FreeSpace<'a>) -> Self {
        Self { writer, to_come, free_space }
    }
}

impl<W: Write> Write for RetryingWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let to_come = Space { bytes: self.to_come.bytes.max(bytes.len() as u64), ..self.to_come };
        let written = retry_when_full(to_come, self.free_space, || self.writer.write(bytes))?;
        self.to_come.bytes = self.to_come.bytes.saturating_sub(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
