//! A worker's rows of a panel, and the buffers that hold them.

use std::ops::Range;
use std::sync::Arc;

use crate::kernel::buffer::Buffer;
use crate::kernel::panel::{Panel, stride};
use crate::plan::Runs;

/// The rows of a panel that one worker owns; by default of a panel without rows.
#[derive(Clone, Default)]
pub struct Shard {
    total_rows: usize,
    rows: Runs,
    cols: usize,
    data: Arc<Buffer>,
}

impl Shard {
    pub(super) fn new(total_rows: usize, rows: Runs, cols: usize, data: Arc<Buffer>) -> Self {
        debug_assert_eq!(data.len(), rows.len() * stride(cols));
        Self { total_rows, rows, cols, data }
    }

    /// The number of rows of the panel.
    pub fn total_rows(&self) -> usize {
        self.total_rows
    }

    /// The row numbers of the shard.
    pub fn rows(&self) -> &Runs {
        &self.rows
    }

    /// Columns of the panel.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All the rows.
    pub fn panel(&self) -> Panel<'_> {
        Panel::new(self.rows.len(), self.cols, &self.data)
    }

    /// Consecutive rows, by their numbers in the panel.
    ///
    /// # Panics
    /// If the worker does not own them all.
    pub fn panel_of(&self, rows: Range<usize>) -> Panel<'_> {
        let (stride, local) = (stride(self.cols), self.rows.place(&rows));
        Panel::new(local.len(), self.cols, &self.data[local.start * stride..local.end * stride])
    }

    pub(super) fn buffer(&self) -> &Arc<Buffer> {
        &self.data
    }

    pub(super) fn into_buffer(self) -> Arc<Buffer> {
        self.data
    }
}

/// Recycled buffers, since a new one costs page faults.
///
/// The pool keeps a reference to each buffer that it lends, and lends it again once no other
/// reference exists.
#[derive(Default)]
pub(super) struct Pool {
    lent: Vec<Lent>,
}

/// A buffer that was lent.
struct Lent {
    buffer: Arc<Buffer>,
    /// Whether other cores read it, and may have it in their caches.
    is_read_elsewhere: bool,
}

impl Lent {
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.buffer) == 1
    }
}

impl Pool {
    /// Idle buffers that are kept.
    const MOST_IDLE: usize = 4;

    /// A buffer of `length` undefined numbers.
    pub(super) fn take(&mut self, length: usize) -> Buffer {
        let fits = |lent: &Lent| {
            let capacity = lent.buffer.capacity();
            lent.is_idle() && capacity >= length && capacity / 2 <= length
        };
        // The buffer written last is most likely in a cache.
        let found = self.lent.iter().rposition(fits).map(|position| self.lent.remove(position));
        if let Some(Lent { buffer, is_read_elsewhere }) = found
            && let Some(mut buffer) = Arc::into_inner(buffer)
        {
            buffer.resize(length);
            if is_read_elsewhere {
                buffer.wash();
            }
            return buffer;
        }
        let mut idle = 0;
        self.lent.retain(|lent| {
            idle += usize::from(lent.is_idle());
            // Smaller buffers belong to an earlier stage.
            !lent.is_idle() || (idle <= Self::MOST_IDLE && lent.buffer.capacity() > length / 2)
        });
        Buffer::zeroed(length)
    }

    /// Lends a filled buffer.
    pub(super) fn lend(&mut self, buffer: Buffer) -> Arc<Buffer> {
        let buffer = Arc::new(buffer);
        self.lent.push(Lent { buffer: buffer.clone(), is_read_elsewhere: false });
        buffer
    }

    /// A lent buffer for writing, or a copy if it has other references.
    pub(super) fn reclaim(&mut self, buffer: Arc<Buffer>) -> Buffer {
        if let Some(position) = self.lent.iter().rposition(|lent| Arc::ptr_eq(&lent.buffer, &buffer)) {
            self.lent.swap_remove(position);
        }
        Arc::try_unwrap(buffer).unwrap_or_else(|held| (*held).clone())
    }

    /// Frees idle buffers, before a large allocation outside of the pool.
    pub(super) fn free_idle(&mut self) {
        self.lent.retain(|lent| !lent.is_idle());
    }

    /// Notes that other workers of this process will read a lent buffer.
    pub(super) fn read_elsewhere(&mut self, buffer: &Arc<Buffer>) {
        if let Some(lent) = self.lent.iter_mut().rfind(|lent| Arc::ptr_eq(&lent.buffer, buffer)) {
            lent.is_read_elsewhere = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_lent_again_when_its_last_reference_is_gone() {
        let mut pool = Pool::default();
        let taken = pool.take(1000);
        let address = taken.as_ptr();
        let held = pool.lend(taken);
        assert_ne!(pool.take(1000).as_ptr(), address, "still held");
        drop(held);
        assert_eq!(pool.take(900).as_ptr(), address, "given up, and large enough");
    }

    #[test]
    fn a_reclaimed_buffer_is_copied_only_if_it_has_other_references() {
        let mut pool = Pool::default();
        let taken = pool.take(1000);
        let address = taken.as_ptr();
        let lent = pool.lend(taken);
        let held = lent.clone();
        let mut copy = pool.reclaim(lent);
        copy.fill(1.0);
        assert!(copy.as_ptr() != address && held.iter().all(|&number| number == 0.0));
        drop(copy);
        let taken = pool.take(1000);
        let address = taken.as_ptr();
        let lent = pool.lend(taken);
        assert_eq!(pool.reclaim(lent).as_ptr(), address);
        assert!(pool.lent.is_empty());
    }

    /// Catches panels of earlier steps that stay in memory during a large allocation.
    #[test]
    fn idle_buffers_are_freed_and_held_ones_stay() {
        let mut pool = Pool::default();
        let [held, idle] = [pool.take(1000), pool.take(1000)];
        let (held, idle) = (pool.lend(held), pool.lend(idle));
        drop(idle);
        pool.free_idle();
        assert!(pool.lent.len() == 1 && Arc::ptr_eq(&pool.lent[0].buffer, &held));
    }

    /// Catches blocks of a basis that stay in memory while panels of twice their width are
    /// computed.
    #[test]
    fn a_buffer_of_half_the_length_is_freed() {
        let mut pool = Pool::default();
        let [small, other] = [pool.take(1000), pool.take(1500)];
        let (small, other) = (pool.lend(small), pool.lend(other));
        drop((small, other));
        pool.take(2000);
        assert_eq!(pool.lent.iter().map(|lent| lent.buffer.capacity()).collect::<Vec<_>>(), [1500]);
    }

    #[test]
    fn the_last_buffer_is_used_first_and_washed_only_if_others_read_it() {
        let mut pool = Pool::default();
        let [mut first, mut second] = [pool.take(1000), pool.take(1000)];
        first.fill(1.0);
        second.fill(2.0);
        let (first, second) = (pool.lend(first), pool.lend(second));
        pool.read_elsewhere(&first);
        drop((first, second));
        assert!(pool.take(1000).iter().all(|&number| number == 2.0));
        assert!(!cfg!(target_arch = "x86_64") || pool.take(1000).iter().all(|&number| number == 0.0));
    }
}
