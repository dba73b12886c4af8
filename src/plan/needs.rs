//! The rows of a panel that a process needs from the others.
//!
//! A sparse product reads the rows of the panel in whose columns its tiles have entries. On graphs
//! with hubs these are a fraction of all rows. Where they are nearly all, all rows are sent.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::layout::{Layout, Layouts};
use super::program::{Action, Program, Value};
use crate::graph::{RowSet, Sparse};

/// Largest fraction of the rows of other processes for which only the needed rows are sent.
const MOST_NEEDED: f64 = 0.9;

/// The matrices of the sparse products that read a value.
#[derive(Debug, Clone)]
pub struct Readers {
    /// Each once, in the order of their addresses.
    matrices: Vec<Arc<Sparse>>,
}

/// Compares addresses, not entries.
impl PartialEq for Readers {
    fn eq(&self, other: &Self) -> bool {
        self.matrices.iter().map(Arc::as_ptr).eq(other.matrices.iter().map(Arc::as_ptr))
    }
}

impl Program {
    /// The values that are gathered, in order, with the sparse products that read them; `None` for
    /// a value that another step reads, which needs all rows.
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

    /// The rows that consecutive workers need, with their own. Only their own tiles are read.
    pub fn needed(&self, layouts: &Layouts, workers: Range<usize>) -> RowSet {
        let mut needed = RowSet::new(self.rows());
        for matrix in &self.matrices {
            let tiles = layouts.get(matrix.rows()).tiles_of(workers.clone());
            tiles.ranges().iter().for_each(|tiles| needed.add_columns(matrix, tiles.clone()));
        }
        needed
    }

    /// The number of rows of the values.
    pub fn rows(&self) -> usize {
        self.matrices.first().map_or(0, |matrix| matrix.cols())
    }

    /// The rows that cross the network: the needed ones, or all rows to all other processes.
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

/// The number of rows of a set that other workers than these own.
pub fn foreign(needed: &RowSet, layout: &Layout, workers: Range<usize>) -> usize {
    let own = layout.rows_of(workers);
    needed.count() - own.ranges().iter().map(|rows| needed.count_in(rows.clone())).sum::<usize>()
}

/// Whether to send needed rows only, given their number over all processes.
pub fn pays(needed: usize, rows: usize, processes: usize) -> bool {
    needed as f64 <= MOST_NEEDED * ((processes - 1) * rows) as f64
}
