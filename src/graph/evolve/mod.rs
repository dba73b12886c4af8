//! Graphs that change.
//!
//! The changes of an epoch are a set of [`EdgeChange`]s, at most one an edge, and the
//! [`NodeChange`]s that follow from them; the collection of edges determines them. [`Graph::patch`]
//! writes them into the tiles: rows without a change stay as they are, and the result equals, bit
//! for bit, the graph built anew from all edges.

mod stream;

pub use stream::{Effect, Operation, Verdicts, judge};

use std::sync::Arc;

use super::sparse::Change;
use super::{Graph, GraphError};

/// An edge whose weight was, or is, another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeChange {
    /// Where it starts. Of an edge without direction this is the smaller end.
    pub from: u32,
    /// Where it ends.
    pub to: u32,
    /// Its weight before, if it was there.
    pub before: Option<f32>,
    /// Its weight from now on, if it is there.
    pub after: Option<f32>,
}

/// A node that has another number of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeChange {
    /// The node.
    pub node: u32,
    /// Edges that started or ended there, each once.
    pub before: u32,
    /// Edges that do from now on.
    pub after: u32,
}

/// All that changes with an epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// By their ends, ascending.
    pub edges: Vec<EdgeChange>,
    /// By node, ascending.
    pub nodes: Vec<NodeChange>,
}

/// The effect of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patched {
    /// The rows whose entries are others, ascending.
    pub rows: Vec<u32>,
    /// Nodes that lost their last edge.
    pub isolated: Vec<u32>,
}

impl Graph {
    /// Whether some edges are edges of a graph of `nodes` nodes that this one can become.
    pub fn check(&self, nodes: usize, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<(), GraphError> {
        if nodes > u32::MAX as usize {
            return Err(GraphError::TooLarge { rows: nodes, cols: nodes });
        }
        let nodes = nodes.max(self.nodes());
        let outside = |(entry, (from, to)): (usize, (u32, u32))| match from.max(to) as usize >= nodes {
            true => {
                Err(GraphError::OutOfRange { entry, row: from as usize, col: to as usize, rows: nodes, cols: nodes })
            }
            false => Ok(()),
        };
        edges.into_iter().enumerate().try_for_each(outside)
    }

    /// Writes an epoch's changes into the matrix, which has a row for each of `nodes` nodes from
    /// now on.
    pub fn patch(&mut self, nodes: usize, changes: &Changes, is_directed: bool) -> Result<Patched, GraphError> {
        let before = self.nodes();
        let nodes = nodes.max(before);
        self.check(nodes, changes.edges.iter().map(|change| (change.from, change.to)))?;
        let mut entries = Vec::with_capacity(2 * changes.edges.len());
        for &EdgeChange { from, to, after: value, .. } in &changes.edges {
            entries.push(Change { row: from, col: to, value });
            if !is_directed && from != to {
                entries.push(Change { row: to, col: from, value });
            }
        }
        let mut rows: Vec<u32> = entries.iter().map(|entry| entry.row).collect();
        rows.sort_unstable();
        rows.dedup();
        Arc::make_mut(&mut self.adjacency).patch((nodes, nodes), entries, !is_directed)?;
        self.arriving = None;
        self.degrees.resize(nodes, 0.0);
        for (&row, sum) in rows.iter().zip(self.adjacency.sums_of_rows(&rows)) {
            self.degrees[row as usize] = sum as f32;
        }
        self.count(nodes - before, changes);
        let isolated = changes.nodes.iter().filter(|change| change.after == 0).map(|change| change.node).collect();
        Ok(Patched { rows, isolated })
    }

    /// Forgets nodes after the first `nodes`, which must have no edges.
    pub fn shrink(&mut self, nodes: usize) -> Result<(), GraphError> {
        let dropped = self.nodes().saturating_sub(nodes);
        if dropped > 0 {
            Arc::make_mut(&mut self.adjacency).shrink(nodes, nodes)?;
            self.arriving = None;
            self.degrees.truncate(nodes);
            self.report.isolated = self.report.isolated.saturating_sub(dropped);
        }
        Ok(())
    }

    /// Keeps the report up to date: edges are listed once from now on.
    fn count(&mut self, new_nodes: usize, changes: &Changes) {
        let report = &mut self.report;
        for change in &changes.edges {
            let (more, fewer) = match (change.before, change.after) {
                (None, Some(_)) => (1, 0),
                (Some(_), None) => (0, 1),
                _ => (0, 0),
            };
            report.listed = report.listed + more - fewer;
            report.edges = report.edges + more - fewer;
            if change.from == change.to {
                report.self_loops = report.self_loops + more - fewer;
            }
        }
        report.isolated += new_nodes;
        for change in &changes.nodes {
            match (change.before, change.after) {
                (0, 1..) => report.isolated -= 1,
                (1.., 0) => report.isolated += 1,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
