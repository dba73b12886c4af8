//! How far reading has come, for whoever watches.

use std::io::{self, Read};

use crate::graph::Gauge;

/// Bytes of files of data, as they lie on the disk.
pub static BYTES_READ: Gauge = Gauge::new();

/// A file of data whose bytes are counted as they are read.
#[derive(Debug)]
pub(crate) struct Metered<R> {
    reader: R,
    /// Bytes that are ahead.
    left: u64,
}

impl<R> Metered<R> {
    /// A reader of so many bytes.
    pub fn new(reader: R, bytes: u64) -> Self {
        BYTES_READ.expect(bytes);
        Self { reader, left: bytes }
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        // A file may grow while it is read.
        let expected = self.left.min(count as u64);
        self.left -= expected;
        BYTES_READ.advance(expected);
        Ok(count)
    }
}

/// What nobody will read any more is not ahead.
impl<R> Drop for Metered<R> {
    fn drop(&mut self) {
        BYTES_READ.forget(self.left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_counted() {
        let (done, of) = BYTES_READ.now();
        let mut text = Vec::new();
        Metered::new(&b"0 1\n1 2\n"[..], 8).read_to_end(&mut text).unwrap();
        let (done_after, of_after) = BYTES_READ.now();
        // Other tests read meanwhile.
        assert!(done_after >= done + 8 && of_after >= of.min(done) + 8);
    }
}
