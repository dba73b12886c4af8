//! Progress of reading.

use std::io::{self, Read};

use crate::graph::ProgressCounter;

/// Bytes read of data files, as they are stored on disk: compressed where the file is.
pub static BYTES_READ: ProgressCounter = ProgressCounter::new();

/// A reader that counts its bytes in [`BYTES_READ`].
#[derive(Debug)]
pub(crate) struct CountedReader<R> {
    reader: R,
    /// Expected bytes that were not read yet.
    left: u64,
}

impl<R> CountedReader<R> {
    /// A reader of `bytes` bytes.
    pub fn new(reader: R, bytes: u64) -> Self {
        BYTES_READ.expect(bytes);
        Self { reader, left: bytes }
    }
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        // A file may grow while it is read.
        let expected = self.left.min(count as u64);
        self.left -= expected;
        BYTES_READ.advance(expected);
        Ok(count)
    }
}

/// Bytes that were not read will not be.
impl<R> Drop for CountedReader<R> {
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
        CountedReader::new(&b"0 1\n1 2\n"[..], 8).read_to_end(&mut text).unwrap();
        let (done_after, of_after) = BYTES_READ.now();
        // Other tests read meanwhile.
        assert!(done_after >= done + 8 && of_after >= of.min(done) + 8);
    }
}
