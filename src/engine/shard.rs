//! A worker's rows of a panel, and the buffers that hold them.

use std::ops::Range;
use std::sync::Arc;

use crate::kernel::buffer::Buffer;
use crate::kernel::panel::{Panel, stride};

/// The rows of a panel that one worker owns.
#[derive(Clone)]
pub struct Shard {
    total_rows: usize,
    rows: Range<usize>,
    cols: usize,
    data: Arc<Buffer>,
}

impl Shard {
    pub(super) fn new(total_rows: usize, rows: Range<usize>, cols: usize, data: Arc<Buffer>) -> Self {
        debug_assert_eq!(data.len(), rows.len() * stride(cols));
        Self { total_rows, rows, cols, data }
    }

    /// Rows of the whole panel.
    pub fn total_rows(&self) -> usize {
        self.total_rows
    }

    /// Which rows of the panel these are.
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Columns of the panel.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All the rows.
    pub fn panel(&self) -> Panel<'_> {
        Panel::new(self.rows.len(), self.cols, &self.data)
    }

    /// Some of the rows, by their numbers in the whole panel.
    pub fn panel_of(&self, rows: Range<usize>) -> Panel<'_> {
        let stride = stride(self.cols);
        let local = rows.start - self.rows.start..rows.end - self.rows.start;
        Panel::new(local.len(), self.cols, &self.data[local.start * stride..local.end * stride])
    }

    pub(super) fn buffer(&self) -> &Arc<Buffer> {
        &self.data
    }
}

/// Buffers to use again: a fresh one costs page faults, the more the larger it is.
///
/// The pool remembers every buffer that it handed out, and hands it out again as soon as nobody else holds it.
#[derive(Default)]
pub(super) struct Pool {
    buffers: Vec<Arc<Buffer>>,
}

impl Pool {
    /// Idle buffers that are kept beyond those in use.
    const MOST_IDLE: usize = 4;

    /// A buffer of `length` numbers of any value.
    pub(super) fn take(&mut self, length: usize) -> Buffer {
        let fits = |buffer: &Arc<Buffer>| {
            let is_idle = Arc::strong_count(buffer) == 1;
            is_idle && buffer.capacity() >= length && buffer.capacity() / 2 <= length
        };
        let found = self.buffers.iter().position(fits).map(|position| self.buffers.swap_remove(position));
        if let Some(mut buffer) = found.and_then(Arc::into_inner) {
            buffer.resize(length);
            return buffer;
        }
        let mut idle = 0;
        self.buffers.retain(|buffer| {
            idle += usize::from(Arc::strong_count(buffer) == 1);
            Arc::strong_count(buffer) > 1 || idle <= Self::MOST_IDLE
        });
        Buffer::zeroed(length)
    }

    /// Shares a filled buffer, and remembers it until nobody else holds it.
    pub(super) fn lend(&mut self, buffer: Buffer) -> Arc<Buffer> {
        let buffer = Arc::new(buffer);
        self.buffers.push(buffer.clone());
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_only_when_nobody_holds_it() {
        let mut pool = Pool::default();
        let taken = pool.take(1000);
        let address = taken.as_ptr();
        let held = pool.lend(taken);
        assert_ne!(pool.take(1000).as_ptr(), address, "still held");
        drop(held);
        assert_eq!(pool.take(900).as_ptr(), address, "given up, and large enough");
    }
}
