//! Values that workers share: those of all workers, and those of the leader, which is worker 0.

use std::fmt::Display;

use bincode::Options as _;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::shard::Shard;
use super::{EngineError, Session};
use crate::kernel::panel::stride;

impl Session<'_> {
    /// Whether each condition holds on any worker, on every worker.
    pub fn any<const N: usize>(&mut self, own: [bool; N]) -> Result<[bool; N], EngineError> {
        let all: Vec<Vec<bool>> = self.gather_values(&own.to_vec())?;
        Ok(std::array::from_fn(|position| all.iter().any(|own| own.get(position) == Some(&true))))
    }

    /// The value of every worker, on every worker, in the order of workers.
    pub fn gather_values<T: Serialize + DeserializeOwned>(&mut self, own: &T) -> Result<Vec<T>, EngineError> {
        let values = self.gather_bytes(Some(encode(own)))?;
        let values: Option<Vec<T>> = values.iter().map(|bytes| decode(bytes)).collect();
        values.ok_or_else(|| EngineError::DamagedBlock { reason: "it is not the value of a worker".into() })
    }

    /// A panel of which the leader has all entries, row-major. The others give its size only.
    ///
    /// # Panics
    /// If the leader has another number of entries.
    pub fn scatter(&mut self, rows: usize, cols: usize, entries: &[f32]) -> Result<Shard, EngineError> {
        let is_leader = self.worker() == 0;
        assert!(!is_leader || entries.len() == rows * cols, "the leader has all entries");
        let own = if is_leader { 0..rows } else { 0..0 };
        let mut buffer = self.context().pool.borrow_mut().take(own.len() * stride(cols));
        for (to, from) in buffer.chunks_exact_mut(stride(cols).max(1)).zip(entries.chunks_exact(cols.max(1))) {
            to[..cols].copy_from_slice(from);
        }
        let buffer = self.context().pool.borrow_mut().lend(buffer);
        let gathered = self.gathered(&Shard::new(rows, own.into(), cols, buffer))?;
        let (mut from, mut next) = (gathered.rows_in_order(), 0);
        self.context().shard_by_tiles(rows, cols, |tile, mut out| {
            if tile.start > next {
                from.nth(tile.start - next - 1);
            }
            next = tile.end;
            let width = out.stride().max(1);
            for (to, from) in out.data_mut().chunks_exact_mut(width).zip(&mut from) {
                to[..cols].copy_from_slice(from);
                to[cols..].fill(0.0);
            }
            Ok(())
        })
    }

    /// A result that the leader computes, on every worker with the same bits: for work that is
    /// bound by memory, or that another kind of machine may round differently. An error of the
    /// leader ends the run on all workers.
    ///
    /// ```
    /// use isvd_dist::engine::{Cluster, EngineError, run};
    ///
    /// let answer = run(Cluster::threads(2), vec![], |session| {
    ///     let leader = session.worker();
    ///     session.on_leader(|| Ok::<_, EngineError>((leader, vec![0.5; 3])))
    /// });
    /// assert_eq!(answer, Ok((0, vec![0.5; 3])));
    /// ```
    pub fn on_leader<T, E>(&mut self, compute: impl FnOnce() -> Result<T, E>) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<EngineError> + Display,
    {
        if self.worker() == 0 {
            let computed = compute();
            // An error is sent as well: the others wait for a message.
            let message = encode(&computed.as_ref().map_err(E::to_string));
            self.gather_bytes(Some(message))?;
            return computed;
        }
        let values = self.gather_bytes(None)?;
        match decode::<Result<T, String>>(&values[0]) {
            Some(Ok(computed)) => Ok(computed),
            Some(Err(message)) => Err(self.stopped_by_leader(message).into()),
            None => Err(EngineError::DamagedBlock { reason: "it is not the result of the leader".into() }.into()),
        }
    }
}

pub(super) fn coding() -> impl bincode::Options {
    bincode::DefaultOptions::new().with_fixint_encoding()
}

/// Serialises plain data. Floats keep all their bits.
pub(super) fn encode(data: &impl Serialize) -> Vec<u8> {
    coding().serialize(data).expect("plain data can be serialised")
}

/// Deserialises plain data; `None` if the bytes hold something else.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    coding().with_limit(bytes.len() as u64).deserialize(bytes).ok()
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
                let shard = session.scatter(rows, cols, own)?;
                for (place, row) in shard.rows().iter().enumerate() {
                    assert_eq!(shard.panel().row(place), &entries[row * cols..(row + 1) * cols]);
                }
                let padding = |row: &[f32]| row[cols..].iter().all(|&number| number == 0.0);
                assert!(shard.panel().data().chunks_exact(stride(cols).max(1)).all(padding));
            }
            Ok(())
        });
    }

    #[test]
    fn results_of_the_leader_arrive_with_all_their_bits() {
        on_every_cluster(|session| {
            for length in [0, 1, 4096, 300_000] {
                // Infinities and NaN with payloads, too.
                let computed = || (0..length).map(|place| f64::from_bits(u64::MAX << (place % 64) | place)).collect();
                let worker = session.worker();
                let (leader, numbers) =
                    session.on_leader(|| Ok::<(usize, Vec<f64>), EngineError>((worker, computed())))?;
                let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
                assert!(leader == 0 && bits(&numbers) == bits(&computed()));
            }
            // Another type, from the same dataflow.
            let word: Option<String> = session.on_leader(|| Ok::<_, EngineError>(Some("σ".into())))?;
            assert_eq!(word.as_deref(), Some("σ"));
            Ok(())
        });
    }

    #[test]
    fn only_the_leader_computes_and_its_error_is_the_one_reported() {
        for workers in [1, 2, 3] {
            let result = run(Cluster::threads(workers), Vec::new(), |session| {
                let worker = session.worker();
                session.on_leader(|| {
                    assert_eq!(worker, 0);
                    Err::<(), _>(EngineError::NotFinite { step: "on purpose".into() })
                })
            });
            assert_eq!(result, Err(EngineError::NotFinite { step: "on purpose".into() }));
        }
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
