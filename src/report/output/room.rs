//! Writing on a disk that may be full.

use std::io::{self, Write};

use crate::engine::checkpoint::{Space, is_full};

/// Asked for room where a disk is full, with what is still to be written; says whether there is more now.
pub type MakeRoom<'a> = dyn Fn(Space) -> bool + 'a;

/// There is nothing that could be removed.
pub(super) fn none(_: Space) -> bool {
    false
}

/// Tries again where a disk is full and room was made for what is still to be written.
pub(super) fn with_room<T>(
    to_come: Space,
    make_room: &MakeRoom<'_>,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match attempt() {
            Err(error) if is_full(&error) && make_room(to_come) => {}
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

/// Writes, and where the disk is full asks for room and goes on.
pub(super) struct RoomWriter<'a, W> {
    writer: W,
    /// What is still to be written, here and after it.
    to_come: Space,
    make_room: &'a MakeRoom<'a>,
}

impl<'a, W: Write> RoomWriter<'a, W> {
    pub(super) fn new(writer: W, to_come: Space, make_room: &'a MakeRoom<'a>) -> Self {
        Self { writer, to_come, make_room }
    }
}

impl<W: Write> Write for RoomWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let to_come = Space { bytes: self.to_come.bytes.max(bytes.len() as u64), ..self.to_come };
        let written = with_room(to_come, self.make_room, || self.writer.write(bytes))?;
        self.to_come.bytes = self.to_come.bytes.saturating_sub(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
