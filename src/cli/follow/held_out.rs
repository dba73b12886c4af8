//! Pairs that are held out, and how many of them a stream has put into the graph.

use crate::dataset::Dataset;
use crate::graph::Graph;
use crate::graph::evolve::EdgeChange;

/// Distinct held-out pairs.
#[derive(Debug, Default)]
pub(super) struct HeldOut {
    /// Ascending; a pair without direction by its smaller end first.
    pairs: Vec<(u32, u32)>,
    /// How many of them are edges of the graph.
    in_graph: usize,
}

impl HeldOut {
    pub(super) fn new(dataset: &Dataset, graph: &Graph) -> Self {
        let mut held = Self { pairs: dataset.held_out_pairs(), in_graph: 0 };
        if !held.pairs.is_empty() {
            let mut found = 0;
            graph.adjacency.for_each(|from, to, _| {
                found +=
                    usize::from((dataset.graph.is_directed() || from <= to) && held.contains((from as u32, to as u32)));
            });
            held.in_graph = found;
        }
        held
    }

    fn contains(&self, pair: (u32, u32)) -> bool {
        self.pairs.binary_search(&pair).is_ok()
    }

    /// How many are not in the graph.
    pub(super) fn count(&self) -> usize {
        self.pairs.len() - self.in_graph
    }

    /// Takes note of a batch that was applied.
    pub(super) fn apply(&mut self, changes: &[EdgeChange]) {
        let (added, removed) = self.crossings(changes);
        self.in_graph = self.in_graph + added - removed;
    }

    /// Takes note of a batch that was taken back.
    pub(super) fn undo(&mut self, changes: &[EdgeChange]) {
        let (added, removed) = self.crossings(changes);
        self.in_graph = self.in_graph + removed - added;
    }

    /// How many of the pairs a batch adds to the graph and removes from it.
    fn crossings(&self, changes: &[EdgeChange]) -> (usize, usize) {
        let held = || changes.iter().filter(|change| self.contains((change.from, change.to)));
        (
            held().filter(|change| change.before.is_none()).count(),
            held().filter(|change| change.after.is_none()).count(),
        )
    }
}
