//! The rows of panels that each process needs, found from its tiles and exchanged before the first
//! product.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::{Cluster, EngineError, Session};
use crate::graph::RowSet;
use crate::plan::needs::{Readers, foreign, pays};
use crate::plan::{Layouts, Program, Runs, Value};

/// The rows of panels that this process needs. Values that the same matrices read share a set.
pub(super) struct RowRequests {
    sets: Vec<RowSet>,
    /// By program and value: the number of the set, if there is one.
    of_values: Vec<BTreeMap<Value, usize>>,
}

impl RowRequests {
    /// The requests of this process; none if there is no other process.
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

    /// The sets of another process, from their words.
    fn with_words(&self, words: Vec<Vec<u64>>) -> Option<Vec<RowSet>> {
        if words.len() != self.sets.len() {
            return None;
        }
        self.sets.iter().zip(words).map(|(own, words)| RowSet::from_words(own.rows(), words)).collect()
    }
}

/// The rows that a worker exchanges with other processes, for one panel.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowExchange {
    /// Rows of the panel.
    pub(super) total_rows: usize,
    pub(super) partners: Vec<Partner>,
}

/// The worker of another process with which a worker exchanges rows: the one with the same
/// position.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Partner {
    pub(super) worker: usize,
    /// The rows that it owns.
    pub(super) owned: Runs,
    /// The rows of this worker that the partner's process needs.
    pub(super) sent: Vec<u32>,
    /// The rows of the partner that this process needs.
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
    /// Exchanges the requests of all processes. Returns, by program, the values of which only
    /// needed rows are sent, since they are few. All processes decide alike.
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
        // The first worker of a process contributes its sets.
        let own: Vec<Vec<u64>> = match self.context().is_first {
            true => wanted.sets.iter().map(|set| set.words().to_vec()).collect(),
            false => Vec::new(),
        };
        let all = self.gather_values(&own)?;
        let processes = all.into_iter().step_by(self.context().transfer.workers);
        let sets: Option<Vec<_>> = processes.map(|words| wanted.with_words(words)).collect();
        sets.ok_or_else(|| self.missing_answer("the needs of other processes"))
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
        fn a_worker_sends_the_rows_that_others_need_and_no_more(
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
