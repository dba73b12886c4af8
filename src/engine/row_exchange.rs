//! Which rows each process needs of panels: found from its tiles, and exchanged before the first
//! product.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::{Cluster, EngineError, Session, Shard};
use crate::graph::RowSet;
use crate::kernel::panel::stride;
use crate::plan::needs::{Readers, foreign, pays};
use crate::plan::{Layouts, Program, Runs, Value};

/// A bit set is sent as a panel: 64-bit words in a row, and f32 entries in a row.
const ROW_WORDS: usize = 32;
const ROW_NUMBERS: usize = 2 * ROW_WORDS;

/// The rows that this process needs of panels, one set for all values that are read through the
/// same matrices.
pub(super) struct RowRequests {
    sets: Vec<RowSet>,
    /// By program: the number of the set of each value that has one.
    of_values: Vec<BTreeMap<Value, usize>>,
}

impl RowRequests {
    /// The requests of this process; none if it is the only one.
    pub(super) fn new(programs: &[Arc<Program>], layouts: &Layouts, cluster: Cluster) -> Self {
        let mut known: Vec<Readers> = Vec::new();
        let mut number_of = |(value, readers): (Value, Option<Readers>)| {
            let readers = readers?;
            let number = known.iter().position(|other| *other == readers).unwrap_or_else(|| {
                known.push(readers);
                known.len() - 1
            });
            Some((value, number))
        };
        let programs = if cluster.processes() > 1 { programs } else { &[] };
        let of_program = |program: &Arc<Program>| program.readers().into_iter().filter_map(&mut number_of).collect();
        let of_values = programs.iter().map(of_program).collect();
        let sets = known.iter().map(|readers| readers.needed(layouts, cluster.own_workers())).collect();
        Self { sets, of_values }
    }

    fn words(&self) -> impl Iterator<Item = u64> {
        self.sets.iter().flat_map(|set| set.words()).copied()
    }

    /// Sets of the same sizes, from their words.
    fn with_words(&self, mut words: impl Iterator<Item = u64>) -> Option<Vec<RowSet>> {
        let set = |own: &RowSet| RowSet::from_words(own.rows(), words.by_ref().take(own.words().len()).collect());
        self.sets.iter().map(set).collect()
    }
}

/// The rows that a worker exchanges with other processes, for one panel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowExchange {
    /// Rows of the panel.
    pub(super) total_rows: usize,
    pub(super) partners: Vec<Partner>,
}

/// The worker of another process with which a worker exchanges rows: that of the same place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Partner {
    pub(super) worker: usize,
    /// The rows that it owns.
    pub(super) owned: Runs,
    /// Which of this worker's rows it gets for its process.
    pub(super) sent: Vec<u32>,
    /// Which of its rows this process needs.
    pub(super) received: Vec<u32>,
}

impl RowExchange {
    /// The exchange of a worker, from the needs of each process.
    fn new(needed: &[&RowSet], layouts: &Layouts, worker: usize, workers: usize) -> Self {
        let total_rows = needed[0].rows();
        let layout = layouts.get(total_rows);
        let (process, place) = (worker / workers, worker % workers);
        let common = |set: &RowSet, rows: &Runs| {
            rows.ranges().iter().flat_map(|rows| set.rows_in(rows.clone())).map(|row| row as u32).collect::<Vec<u32>>()
        };
        let partner = |other: usize| {
            let partner = other * workers + place;
            let owned = layout.rows(partner).clone();
            let (sent, received) = (common(needed[other], layout.rows(worker)), common(needed[process], &owned));
            Partner { worker: partner, owned, sent, received }
        };
        let others = (0..needed.len()).filter(|other| *other != process);
        Self { total_rows, partners: others.map(partner).collect() }
    }
}

impl Session<'_> {
    /// Exchanges the requests of all processes. By program: the values of which only needed rows
    /// are sent, because they are few. All processes agree.
    pub(super) fn plan_row_exchanges(
        &mut self,
        wanted: &RowRequests,
    ) -> Result<Vec<BTreeMap<Value, Rc<RowExchange>>>, EngineError> {
        let needed = if wanted.sets.is_empty() { Vec::new() } else { self.all_needs(wanted)? };
        let (worker, workers) = (self.worker(), self.context().transfer.workers);
        let layouts = &self.context().layouts;
        let needs = |number: usize| {
            let of_processes: Vec<&RowSet> = needed.iter().map(|sets| &sets[number]).collect();
            let rows = of_processes[0].rows();
            let remote = of_processes
                .iter()
                .enumerate()
                .map(|(process, set)| foreign(set, &layouts.get(rows), process * workers..(process + 1) * workers));
            let pays = pays(remote.sum(), rows, of_processes.len());
            pays.then(|| Rc::new(RowExchange::new(&of_processes, layouts, worker, workers)))
        };
        let needs: Vec<Option<Rc<RowExchange>>> = (0..wanted.sets.len()).map(needs).collect();
        let of_program = |values: &BTreeMap<Value, usize>| {
            values.iter().filter_map(|(value, number)| Some((*value, needs[*number].clone()?))).collect()
        };
        Ok(wanted.of_values.iter().map(of_program).collect())
    }

    /// The sets of every process.
    fn all_needs(&mut self, wanted: &RowRequests) -> Result<Vec<Vec<RowSet>>, EngineError> {
        let (worker, workers) = (self.worker(), self.context().transfer.workers);
        let (process, processes) = (worker / workers, self.workers() / workers);
        let words: Vec<[u8; 8]> = wanted.words().map(u64::to_le_bytes).collect();
        let rows = words.len().div_ceil(ROW_WORDS).max(1);
        // The first worker of a process contributes its sets.
        let own = process * rows + if self.context().is_first { 0 } else { rows }..(process + 1) * rows;
        let mut buffer = self.context().pool.borrow_mut().take(own.len() * stride(ROW_NUMBERS));
        // The entries are never interpreted as numbers, so any bits pass.
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut buffer);
        bytes.iter_mut().zip(words.as_flattened()).for_each(|(to, from)| *to = *from);
        let buffer = self.context().pool.borrow_mut().lend(buffer);
        let whole = self.gathered(&Shard::new(processes * rows, own.into(), ROW_NUMBERS, buffer))?;
        let words = whole.rows_in_order().flat_map(|row| bytemuck::cast_slice(row).as_chunks().0);
        let words: Vec<u64> = words.map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let of_process = |words: &[u64]| wanted.with_words(words.iter().copied());
        let sets: Option<Vec<_>> = words.chunks_exact(rows * ROW_WORDS).map(of_process).collect();
        sets.filter(|sets| sets.len() == processes).ok_or_else(|| self.missing_answer("what others need"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Sparse;
    use crate::matrix::Matrix;
    use crate::plan::Side;
    use proptest::prelude::*;

    proptest! {
        /// Against an obvious count: a process needs a row if one of its workers has an entry in
        /// that column.
        #[test]
        fn everybody_sends_what_others_need_and_no_more(
            n in 1usize..700,
            entries in proptest::collection::vec((0u32..700, 0u32..700), 0..300),
            processes in 2usize..5,
            workers in 1usize..4,
        ) {
            let entries: Vec<_> = entries.into_iter().map(|(r, c)| (r % n as u32, c % n as u32)).collect();
            let matrix = Matrix::sparse("A", Arc::new(Sparse::from_triplets(n, n, entries.clone(), None).unwrap()));
            let program = Program::compile(&matrix, Side::Plain);
            let layouts = Layouts::new([&program], processes, workers);
            let layout = layouts.get(n);
            let readers = program.readers().remove(&Value::INPUT).unwrap().unwrap();
            let needed: Vec<RowSet> = (0..processes)
                .map(|process| readers.needed(&layouts, process * workers..(process + 1) * workers))
                .collect();
            let needed: Vec<&RowSet> = needed.iter().collect();
            let owner = |row: u32| (0..processes * workers).find(|&w| layout.rows(w).position(row as usize).is_some()).unwrap();
            let rows = |from: usize, to_process: usize| {
                let mut rows: Vec<u32> = entries
                    .iter()
                    .filter(|(row, column)| owner(*row) / workers == to_process && owner(*column) == from)
                    .map(|(_, column)| *column)
                    .collect();
                rows.sort_unstable();
                rows.dedup();
                rows
            };
            for worker in 0..processes * workers {
                let needs = RowExchange::new(&needed, &layouts, worker, workers);
                let process = worker / workers;
                let others = (0..processes).filter(|other| *other != process);
                let partners = others.map(|other| other * workers + worker % workers).map(|partner| Partner {
                    worker: partner,
                    owned: layout.rows(partner).clone(),
                    sent: rows(worker, partner / workers),
                    received: rows(partner, process),
                });
                prop_assert_eq!(needs, RowExchange { total_rows: n, partners: partners.collect() });
            }
        }
    }
}
