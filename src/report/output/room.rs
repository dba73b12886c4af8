//! Writing on a disk that may be full.

use std::io::{self, Write};

use crate::engine::checkpoint::is_full;

/// Asked for room where a disk is full, with how many bytes are still to be written; says whether there is more now.
pub type MakeRoom<'a> = dyn Fn(u64) -> bool + 'a;

/// There is nothing that could be removed.
pub(super) fn none(_: u64) -> bool {
    false
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
    /// Bytes to be written.
    to_come: u64,
    make_room: &'a MakeRoom<'a>,
}

impl<'a, W: Write> RoomWriter<'a, W> {
    pub(super) fn new(writer: W, to_come: u64, make_room: &'a MakeRoom<'a>) -> Self {
        Self { writer, to_come, make_room }
    }
}

impl<W: Write> Write for RoomWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.writer.write(bytes) {
                Err(error) if is_full(&error) && (self.make_room)(self.to_come.max(bytes.len() as u64)) => {}
                written => {
                    self.to_come = self.to_come.saturating_sub(*written.as_ref().unwrap_or(&0) as u64);
                    return written;
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
