//! Which rows of a panel a process needs of the others.
//!
//! A sparse product picks the rows for which its matrix has entries, so a process needs those for which its own tiles have
//! some. On graphs with hubs that is a part of all rows; where it is nearly all of them, sending all is simpler.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::layout::{Layout, Layouts};
use super::program::{Action, Program, Value};
use crate::graph::{RowSet, Sparse};

/// Only needed rows are sent where they are at most this part of all rows of others.
const MOST_NEEDED: f64 = 0.9;

/// The matrices through which a value is read, where only sparse products read the rows of others.
#[derive(Debug, Clone)]
pub struct Readers {
    /// Each once, in the order of their addresses.
    matrices: Vec<Arc<Sparse>>,
}

/// Two are the same when they are the same matrices, not equal ones.
impl PartialEq for Readers {
    fn eq(&self, other: &Self) -> bool {
        self.matrices.iter().map(Arc::as_ptr).eq(other.matrices.iter().map(Arc::as_ptr))
    }
}

impl Program {
    /// The values of which steps read rows of others, in order, and by what: `None` where a step reads all rows.
    pub fn readers(&self) -> BTreeMap<Value, Option<Readers>> {
        let mut readers: BTreeMap<Value, Option<Readers>> = BTreeMap::new();
        for step in self.steps() {
            for value in step.action.gathered() {
                let of_value = readers.entry(value).or_insert_with(|| Some(Readers { matrices: Vec::new() }));
                match (&step.action, of_value) {
                    (Action::Sparse { matrix, .. }, Some(of_value)) => of_value.add(matrix),
                    (_, of_value) => *of_value = None,
                }
            }
        }
        readers
    }
}

impl Readers {
    fn add(&mut self, matrix: &Arc<Sparse>) {
        if let Err(place) = self.matrices.binary_search_by_key(&Arc::as_ptr(matrix), Arc::as_ptr) {
            self.matrices.insert(place, matrix.clone());
        }
    }

    /// The rows that consecutive workers need, their own among them. Only their own tiles are looked at.
    pub fn needed(&self, layouts: &Layouts, workers: Range<usize>) -> RowSet {
        let mut needed = RowSet::new(self.rows());
        for matrix in &self.matrices {
            needed.add_columns(matrix, layouts.get(matrix.rows()).tiles_of(workers.clone()));
        }
        needed
    }

    /// How many rows the values have.
    pub fn rows(&self) -> usize {
        self.matrices.first().map_or(0, |matrix| matrix.cols())
    }

    /// How many rows cross the network: of each process those that others need, or all of them to each other.
    pub(super) fn rows_sent(&self, layouts: &Layouts, processes: usize) -> usize {
        let (layout, all) = (layouts.get(self.rows()), (processes - 1) * self.rows());
        let workers = layout.workers() / processes;
        let needed = (0..processes).map(|process| {
            let own = process * workers..(process + 1) * workers;
            foreign(&self.needed(layouts, own.clone()), &layout, own)
        });
        Some(needed.sum()).filter(|&needed| pays(needed, self.rows(), processes)).unwrap_or(all)
    }
}

/// How many rows of a set other workers than these have.
pub fn foreign(needed: &RowSet, layout: &Layout, workers: Range<usize>) -> usize {
    needed.count() - needed.count_in(layout.rows_of(workers))
}

/// Whether to send only the rows of a panel that are needed, all processes together.
pub fn pays(needed: usize, rows: usize, processes: usize) -> bool {
    needed as f64 <= MOST_NEEDED * ((processes - 1) * rows) as f64
}
