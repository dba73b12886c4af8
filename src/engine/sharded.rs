//! Panels that outlive a run of workers: every process keeps the rows of its workers.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cluster::{Cluster, run_on};
use super::collective::chunk_rows;
use super::error::EngineError;
use super::{Session, Shard};
use crate::graph::Tiling;
use crate::kernel::LANES;
use crate::kernel::buffer::advise_huge_pages;
use crate::kernel::panel::{copy_row, stride};
use crate::matrix::Dense;
use crate::plan::{Layout, Runs, TileWeight};

/// Chunks of messages that are fetched at a time.
const FETCHED_CHUNKS: usize = 16;

/// The rows of a panel that this process owns, without padding: all rows where it is the only one.
///
/// ```
/// use isvd_dist::engine::Sharded;
/// let panel = Sharded::whole(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!((panel.rows(), panel.columns(), panel.row(1)), (2, 3, Some(&[4.0, 5.0, 6.0][..])));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Sharded {
    layout: Arc<Layout>,
    /// The rows that this process owns.
    owned: Runs,
    /// Whether it is the only one that has rows. All processes agree.
    is_whole: bool,
    columns: usize,
    data: Arc<Vec<f32>>,
}

impl Sharded {
    /// A panel of which this process has all rows.
    ///
    /// # Panics
    /// If there are more or fewer entries than `rows * columns`.
    pub fn whole(rows: usize, columns: usize, data: Vec<f32>) -> Self {
        assert_eq!(data.len(), rows * columns, "an entry for every row and column");
        let tiling = Tiling::new(rows);
        let weights = vec![TileWeight::default(); tiling.count()];
        let layout = Layout::balanced(tiling, 1, 1, &weights);
        Self { owned: layout.rows(0).clone(), is_whole: true, layout: layout.into(), columns, data: data.into() }
    }

    /// Rows of the panel, over all processes.
    pub fn rows(&self) -> usize {
        self.layout.tiling().rows()
    }

    /// Columns of the panel.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The rows that this process owns.
    pub fn owned(&self) -> &Runs {
        &self.owned
    }

    /// Who owns which rows.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Whether this process has all rows, by itself or because all were [gathered](Self::gathered).
    /// All processes agree.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The entries of all owned rows, row after row.
    pub fn data(&self) -> &[f32] {
        &self.data
    }

    /// The same, to be changed.
    pub fn data_mut(&mut self) -> &mut [f32] {
        Arc::<Vec<f32>>::make_mut(&mut self.data)
    }

    /// A row, if this process owns it.
    pub fn row(&self, row: usize) -> Option<&[f32]> {
        let place = self.owned.position(row)? * self.columns;
        Some(&self.data[place..place + self.columns])
    }

    /// Where a row is in the [data](Sharded::data).
    ///
    /// # Panics
    /// If another process owns it.
    pub fn position(&self, row: usize) -> Range<usize> {
        let place = self.owned.position(row).expect("this process owns the row") * self.columns;
        place..place + self.columns
    }

    /// All rows of the panel, on every process.
    pub fn gathered(self, cluster: Cluster) -> Result<Dense, EngineError> {
        let panel = self.clone();
        match self.into_dense() {
            Some(dense) => Ok(dense),
            None => run_on(cluster, &[&panel.clone()], move |session| {
                let shard = session.shard_of(&panel)?;
                session.collect(&shard).map(Option::unwrap_or_default)
            }),
        }
    }

    /// Passes all rows, in order, to `take` on the leader, a few at a time. All processes call this.
    /// After an error of `take` the remaining rows are dropped.
    pub fn stream<E: Send>(
        &self,
        cluster: Cluster,
        mut take: impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<Result<(), E>, EngineError> {
        let rows = |data: &[f32], take: &mut dyn FnMut(&[f32]) -> Result<(), E>| {
            data.chunks_exact(self.columns.max(1)).try_for_each(take)
        };
        if self.is_whole {
            return Ok(if cluster.is_leader() { rows(&self.data, &mut take) } else { Ok(()) });
        }
        // Workers fetch the next rows while these are taken.
        let (sender, receiver) = sync_channel::<Vec<f32>>(1);
        let panel = self.clone();
        thread::scope(|scope| {
            let running = scope.spawn(move || {
                run_on(cluster, &[self], move |session| {
                    let shard = session.shard_of(&panel)?;
                    session.stream_rows(&shard, |rows| {
                        // The receiver lives until all senders are gone.
                        let _ = sender.send(rows);
                    })
                })
            });
            let mut taken = Ok(());
            for data in receiver {
                if taken.is_ok() {
                    taken = rows(&data, &mut take);
                }
            }
            running.join().unwrap_or_else(|panic| resume_unwind(panic)).map(|()| taken)
        })
    }

    /// Some rows of the panel, one after the other, on every process. All processes call this with
    /// the same rows.
    pub fn rows_at(&self, cluster: Cluster, rows: &[u32]) -> Result<Vec<f32>, EngineError> {
        if self.is_whole {
            return Ok(rows.iter().flat_map(|&row| &self.data[self.position(row as usize)]).copied().collect());
        }
        let (panel, rows) = (self.clone(), rows.to_vec());
        run_on(cluster, &[self], move |session| {
            let shard = session.shard_of(&panel)?;
            let wanted = if session.is_first_of_process() { &rows[..] } else { &[] };
            session.fetch_rows(&shard, wanted)
        })
    }

    /// The panel whose rows are those of this one, in the order of `rows`. All processes call this
    /// with the same rows.
    pub fn permuted(&self, rows: &Arc<[u32]>, cluster: Cluster) -> Result<Self, EngineError> {
        if self.is_whole {
            let permuted = rows.iter().flat_map(|&row| &self.data[self.position(row as usize)]).copied();
            return Ok(Self::whole(rows.len(), self.columns, permuted.collect()));
        }
        let (panel, rows, collected) = (self.clone(), rows.clone(), Collected::default());
        let permuted = collected.clone();
        run_on(cluster, &[self], move |session| {
            let shard = session.shard_of(&panel)?;
            let own = session.fetched(&shard, &rows)?;
            session.keep(&own, &permuted);
            Ok::<_, EngineError>(())
        })?;
        Ok(collected.take().expect("all workers have kept their rows"))
    }

    /// The panel as a matrix, if this process owns all rows.
    pub fn into_dense(self) -> Option<Dense> {
        let rows = self.rows();
        self.is_whole.then(|| Dense::new(rows, self.columns, Arc::unwrap_or_clone(self.data)).ok()).flatten()
    }
}

/// Rows, columns and entries of a panel of which this process has all rows.
impl Serialize for Sharded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.is_whole {
            true => (self.rows(), self.columns, &*self.data).serialize(serializer),
            false => Err(S::Error::custom("other processes have some of the rows")),
        }
    }
}

impl<'de> Deserialize<'de> for Sharded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (rows, columns, data) = <(usize, usize, Vec<f32>)>::deserialize(deserializer)?;
        match rows.checked_mul(columns) == Some(data.len()) {
            true => Ok(Self::whole(rows, columns, data)),
            false => Err(D::Error::custom("a panel has an entry for every row and column")),
        }
    }
}

impl Default for Sharded {
    fn default() -> Self {
        Self::whole(0, 0, Vec::new())
    }
}

impl From<Dense> for Sharded {
    fn from(dense: Dense) -> Self {
        let (rows, columns) = (dense.rows(), dense.columns());
        Self::whole(rows, columns, dense.into_data())
    }
}

/// Collects the rows of a panel from the workers of this process.
#[derive(Clone, Default)]
pub struct Collected(Arc<Mutex<Option<Sharded>>>);

impl Collected {
    /// The panel, once all workers have [kept](Session::keep) their rows.
    pub fn take(&self) -> Option<Sharded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Session<'_> {
    /// Adds the rows of this worker to those of its process.
    pub fn keep(&mut self, panel: &Shard, collected: &Collected) {
        let layout = self.context().layouts.get(panel.total_rows());
        let (workers, columns) = (self.context().transfer.workers_of_process(self.worker()), panel.cols());
        let (first, is_whole) = (workers.start, !self.has_other_processes());
        // Free idle buffers first: they would add to the peak.
        self.context().pool.borrow_mut().free_idle();
        let mut collected = collected.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sharded = collected.get_or_insert_with(|| {
            let owned = layout.rows_of(workers.clone());
            let mut data = Vec::with_capacity(owned.len() * columns);
            advise_huge_pages(&data);
            data.resize(owned.len() * columns, 0.0);
            Sharded { layout: layout.clone(), owned, is_whole, columns, data: data.into() }
        });
        let start = layout.rows_of(first..self.worker()).len() * columns;
        let rows = panel.panel().data().chunks_exact(stride(columns).max(1));
        let to = sharded.data_mut()[start..].chunks_exact_mut(columns.max(1));
        to.zip(rows).for_each(|(to, row)| to.copy_from_slice(&row[..columns]));
    }

    /// The panel whose rows are those of another, in the order of `rows`.
    fn fetched(&mut self, panel: &Shard, rows: &[u32]) -> Result<Shard, EngineError> {
        let (cols, at_once) = (panel.cols(), chunk_rows(panel.cols()) * FETCHED_CHUNKS);
        let layout = self.context().layouts.get(rows.len());
        let own: Vec<u32> = layout.rows(self.worker()).iter().map(|row| rows[row]).collect();
        let mut fetched = vec![0.0; own.len() * cols];
        // All workers fetch as often as the one with the most rows.
        let most = (0..layout.workers()).map(|worker| layout.rows(worker).len()).max().unwrap_or(0);
        for first in (0..most).step_by(at_once) {
            let some = first.min(own.len())..own.len().min(first + at_once);
            let rows = self.fetch_rows(panel, &own[some.clone()])?;
            fetched[some.start * cols..some.end * cols].copy_from_slice(&rows);
        }
        let mut rows = fetched.chunks_exact(cols.max(1));
        self.context().shard_by_tiles(layout.tiling().rows(), cols, |_, mut out| {
            let stride = out.stride();
            out.data_mut().fill(0.0);
            let to = out.data_mut().chunks_exact_mut(stride.max(1));
            to.zip(rows.by_ref()).for_each(|(to, row)| copy_row(&mut to[..cols], row));
            Ok(())
        })
    }

    /// One number for each of `count` items, on every worker. Workers share the items, and each
    /// passes about `at_once` of its own at a time to `compute`. All of them call it equally often,
    /// some with no items.
    pub fn compute_shared(
        &mut self,
        count: usize,
        at_once: usize,
        mut compute: impl FnMut(&mut Self, &[usize]) -> Result<Vec<f32>, EngineError>,
    ) -> Result<Vec<f32>, EngineError> {
        // The numbers are a panel of full rows.
        let (rows, rows_at_once) = (count.div_ceil(LANES), at_once.div_ceil(LANES));
        let layout = self.context().layouts.get(rows);
        let own: Vec<usize> = layout.rows(self.worker()).iter().collect();
        let most = (0..layout.workers()).map(|worker| layout.rows(worker).len()).max().unwrap_or(0);
        let mut found = Vec::with_capacity(own.len() * LANES);
        for first in (0..most).step_by(rows_at_once) {
            let some = &own[first.min(own.len())..own.len().min(first + rows_at_once)];
            let items: Vec<usize> = some.iter().flat_map(|row| row * LANES..count.min((row + 1) * LANES)).collect();
            found.extend(compute(self, &items)?);
        }
        // Only the last row of all may have fewer items.
        found.resize(own.len() * LANES, 0.0);
        let mut found = found.chunks_exact(LANES);
        let shard = self.context().shard_by_tiles(rows, LANES, |_, mut out| {
            let to = out.data_mut().chunks_exact_mut(LANES);
            to.zip(found.by_ref()).for_each(|(row, numbers)| row.copy_from_slice(numbers));
            Ok(())
        })?;
        let mut all: Vec<f32> = self.gathered(&shard)?.rows_in_order().flatten().copied().collect();
        all.truncate(count);
        Ok(all)
    }

    /// Passes all rows of a panel, in order and without padding, to `take` on the leader, some at a
    /// time.
    pub(super) fn stream_rows(&mut self, panel: &Shard, mut take: impl FnMut(Vec<f32>)) -> Result<(), EngineError> {
        let (rows, is_leader) = (panel.total_rows(), self.worker() == 0);
        let at_once = chunk_rows(panel.cols()) * FETCHED_CHUNKS;
        for first in (0..rows).step_by(at_once) {
            let some = first..if is_leader { rows.min(first + at_once) } else { first };
            let fetched = self.fetch_rows(panel, &some.map(|row| row as u32).collect::<Vec<_>>())?;
            if is_leader {
                take(fetched);
            }
        }
        Ok(())
    }

    /// Whether this is the first worker of its process, whose result [`run`](super::run) returns.
    fn is_first_of_process(&self) -> bool {
        self.context().is_first
    }

    /// Whether there are workers in other processes.
    pub(super) fn has_other_processes(&self) -> bool {
        self.context().transfer.workers < self.workers()
    }

    /// This worker's rows of a panel, in a run [on it](super::run_on).
    ///
    /// # Panics
    /// If other processes own some of them.
    pub fn shard_of(&mut self, panel: &Sharded) -> Result<Shard, EngineError> {
        let cols = panel.columns;
        self.context().shard_by_tiles(panel.rows(), cols, |rows, mut out| {
            let place = panel.owned.place(&rows);
            let stride = out.stride();
            out.data_mut().fill(0.0);
            let to = out.data_mut().chunks_exact_mut(stride.max(1));
            let rows = panel.data[place.start * cols..place.end * cols].chunks_exact(cols.max(1));
            to.zip(rows).for_each(|(to, row)| copy_row(&mut to[..cols], row));
            Ok(())
        })
    }
}
