//! What one worker knows, brought to all.

use std::sync::Arc;

use super::parcel::Whole;
use super::shard::Shard;
use super::{EngineError, Session};
use crate::kernel::panel::stride;

/// Numbers in a row of bytes that travel as a panel.
const BYTES_ROW: usize = 1024;

impl Session<'_> {
    /// Whether something holds on any worker, on every worker.
    pub fn any<const N: usize>(&mut self, own: [bool; N]) -> Result<[bool; N], EngineError> {
        // One piece a worker: whole numbers add up to the same in any order.
        let counts = self.sum_over(self.workers(), N, |_, sums| {
            sums.iter_mut().zip(own).for_each(|(sum, holds)| *sum = f64::from(u8::from(holds)));
        })?;
        Ok(std::array::from_fn(|place| counts[place] > 0.0))
    }

    /// A panel of which the first worker has all rows, without padding. The others need not have anything but its size.
    ///
    /// # Panics
    /// If the first worker has another number of entries.
    pub fn spread(&mut self, rows: usize, cols: usize, entries: &[f32]) -> Result<Shard, EngineError> {
        let whole = self.of_first(rows, cols, entries)?;
        let stride = stride(cols);
        let all = whole.one_block().filter(|all| all.len() == rows * stride);
        let all = all.ok_or_else(|| self.nothing_came("a panel"))?;
        self.context().shard_by_tiles(rows, cols, |rows, mut out| {
            out.data_mut().copy_from_slice(&all[rows.start * stride..rows.end * stride]);
            Ok(())
        })
    }

    /// The bytes that the first worker has, on every worker.
    pub(super) fn spread_bytes(&mut self, bytes: &[u8]) -> Result<Vec<u8>, EngineError> {
        let own = if self.worker() == 0 { bytes } else { &[] };
        let length = self.sum_over(self.workers(), 1, |_, sums| sums[0] = own.len() as f64)?[0] as usize;
        let rows = length.div_ceil(BYTES_ROW * size_of::<f32>());
        // Numbers are never looked at on their way, so any bits pass.
        let mut numbers = vec![0f32; if self.worker() == 0 { rows * BYTES_ROW } else { 0 }];
        bytemuck::cast_slice_mut(&mut numbers)[..own.len()].copy_from_slice(own);
        let whole = self.of_first(rows, BYTES_ROW, &numbers)?;
        let all = whole.one_block().and_then(|all| bytemuck::cast_slice(all).get(..length));
        all.map(<[u8]>::to_vec).ok_or_else(|| self.nothing_came("a message"))
    }

    /// Gathers a panel to which only the first worker contributes.
    fn of_first(&mut self, rows: usize, cols: usize, entries: &[f32]) -> Result<Arc<Whole>, EngineError> {
        let is_first = self.worker() == 0;
        assert!(!is_first || entries.len() == rows * cols, "the first worker has all entries");
        let own = if is_first { 0..rows } else { 0..0 };
        let mut buffer = self.context().pool.borrow_mut().take(own.len() * stride(cols));
        for (to, from) in buffer.chunks_exact_mut(stride(cols).max(1)).zip(entries.chunks_exact(cols.max(1))) {
            to[..cols].copy_from_slice(from);
            to[cols..].fill(0.0);
        }
        let buffer = self.context().pool.borrow_mut().lend(buffer);
        self.gathered(&Shard::new(rows, own, cols, buffer))
    }
}

impl Whole {
    /// All numbers, where they came from one worker: as its one block, or put together as one.
    fn one_block(&self) -> Option<&[f32]> {
        let mut blocks = self.blocks.iter().filter(|block| block.rows > 0).map(|block| block.numbers());
        let first = blocks.next().unwrap_or_default();
        blocks.next().is_none().then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, Transport, run};

    fn on_every_cluster(check: impl Fn(&mut Session<'_>) -> Result<(), EngineError> + Copy + Send + Sync + 'static) {
        for (workers, transport) in
            [1, 2, 3].into_iter().flat_map(|n| [(n, Transport::Pointers), (n, Transport::Bytes)])
        {
            run(Cluster { transport, ..Cluster::threads(workers) }, Vec::new(), check).unwrap();
        }
    }

    #[test]
    fn every_worker_gets_its_rows_of_what_the_first_has() {
        on_every_cluster(|session| {
            for (rows, cols) in [(1001, 5), (70, 16), (3, 0), (0, 4)] {
                let entries: Vec<f32> = (0..rows * cols).map(|place| place as f32 - 0.5).collect();
                let own = if session.worker() == 0 { &entries[..] } else { &[] };
                let shard = session.spread(rows, cols, own)?;
                for (place, row) in shard.rows().enumerate() {
                    assert_eq!(shard.panel().row(place), &entries[row * cols..(row + 1) * cols]);
                }
                let padding = |row: &[f32]| row[cols..].iter().all(|&number| number == 0.0);
                assert!(shard.panel().data().chunks_exact(stride(cols).max(1)).all(padding));
            }
            Ok(())
        });
    }

    #[test]
    fn bytes_arrive_with_all_their_bits() {
        on_every_cluster(|session| {
            for length in [0, 1, 4096, 600_000] {
                // All bits set are a number that is none.
                let bytes: Vec<u8> = (0..length).map(|place| if place % 7 < 5 { 0xff } else { place as u8 }).collect();
                let own = if session.worker() == 0 { &bytes[..] } else { &[] };
                assert!(session.spread_bytes(own)? == bytes);
            }
            Ok(())
        });
    }

    #[test]
    fn what_holds_on_one_worker_is_known_to_all() {
        on_every_cluster(|session| {
            let is_last = session.worker() + 1 == session.workers();
            assert_eq!(session.any([is_last, false, true])?, [true, false, true]);
            Ok(())
        });
    }
}
