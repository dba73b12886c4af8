//! Edges held out of a graph, to be found again.

use std::collections::HashSet;

use super::{EdgeList, LinkSplit};
use crate::kernel::random::{pair, stream, uniform};

/// Which part of the edges to hold out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Holdout {
    /// The fraction for choosing settings.
    pub valid: f64,
    /// The fraction for the final figure.
    pub test: f64,
}

/// Why no pairs could be held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HoldoutError {
    /// Nearly all pairs are edges.
    #[error("only {found} of {wanted} pairs that are no edges were found: the graph is too dense to hold edges out of")]
    TooDense {
        /// Pairs that were found.
        found: usize,
        /// Pairs that were needed.
        wanted: usize,
    },
}

/// The graph without the edges that were held out, and those, each with as many pairs that are no edges.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The edges that are left.
    pub graph: EdgeList,
    /// For choosing settings, if any were asked for.
    pub valid: Option<LinkSplit>,
    /// For the final figure, if any were asked for.
    pub test: Option<LinkSplit>,
}

/// Draws per pair before a graph counts as too dense.
const MOST_DRAWS: u64 = 100;

/// Where an edge goes.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Train,
    Valid,
    Test,
}

/// Holds out a random part of the edges. An edge goes with all its repetitions and with its
/// reverse, also in a directed graph, so that no pair that is looked for is joined in the graph;
/// self-loops are never held out.
pub fn hold_out(list: &EdgeList, holdout: Holdout, seed: u64) -> Result<Held, HoldoutError> {
    let held = hold_out_against(list, holdout, 1, seed);
    for LinkSplit { edges, non_edges } in [&held.valid, &held.test].into_iter().flatten() {
        if non_edges.len() < edges.len() {
            return Err(HoldoutError::TooDense { found: non_edges.len(), wanted: edges.len() });
        }
    }
    Ok(held)
}

/// As [`hold_out`], against `negatives` pairs that are no edges for each edge, or as many as were
/// found.
pub(crate) fn hold_out_against(list: &EdgeList, holdout: Holdout, negatives: usize, seed: u64) -> Held {
    let part = |&(from, to): &(u32, u32)| {
        let (low, high) = (from.min(to), from.max(to));
        let draw = uniform(seed, stream::SPLIT, u64::from(low), high);
        match draw {
            _ if from == to => Part::Train,
            draw if draw < holdout.valid => Part::Valid,
            draw if draw < holdout.valid + holdout.test => Part::Test,
            _ => Part::Train,
        }
    };
    let parts: Vec<Part> = list.edges.iter().map(part).collect();
    let of =
        |wanted: Part| list.edges.iter().zip(&parts).filter(move |(_, part)| **part == wanted).map(|(edge, _)| *edge);
    let weights = list.weights.as_ref().map(|weights| {
        weights.iter().zip(&parts).filter(|(_, part)| **part == Part::Train).map(|(weight, _)| *weight).collect()
    });
    let graph = EdgeList { nodes: list.nodes, edges: of(Part::Train).collect(), weights, directed: list.directed };
    let mut taken: HashSet<(u32, u32)> = list.edges.iter().map(|&edge| key(list, edge)).collect();
    let mut draws = 0;
    let mut split = |wanted: Part, fraction: f64| -> Option<LinkSplit> {
        if fraction == 0.0 {
            return None;
        }
        let mut seen = HashSet::new();
        let edges: Vec<(u32, u32)> = of(wanted).filter(|&edge| seen.insert(key(list, edge))).collect();
        let count = negatives.saturating_mul(edges.len());
        let mut non_edges = Vec::with_capacity(count);
        let last_draw = draws + MOST_DRAWS.saturating_mul(count as u64);
        while non_edges.len() < count && draws < last_draw {
            let (from, to) = pair(seed, stream::SPLIT, draws, u32::MAX, list.nodes as u32);
            draws += 1;
            if from != to && taken.insert(key(list, (from, to))) {
                non_edges.push((from, to));
            }
        }
        Some(LinkSplit { edges, non_edges })
    };
    let (valid, test) = (split(Part::Valid, holdout.valid), split(Part::Test, holdout.test));
    Held { graph, valid, test }
}

/// Bytes that [`hold_out`] takes: the edges that are left, the part of each edge, and a table of all that were listed, which
/// is there twice while it grows.
pub(super) fn bytes_to_hold_out(list: &EdgeList) -> u64 {
    const TABLE: u64 = 27;
    let edge = size_of::<(u32, u32)>() + size_of::<Part>() + list.weights.as_ref().map_or(0, |_| size_of::<f32>());
    (edge as u64 + TABLE).saturating_mul(list.edges.len() as u64)
}

/// What names an edge: in an undirected graph, whichever way round it is listed.
fn key(list: &EdgeList, (from, to): (u32, u32)) -> (u32, u32) {
    if list.directed { (from, to) } else { (from.min(to), from.max(to)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(directed: bool) -> EdgeList {
        let edges: Vec<(u32, u32)> = (0..3000u32).map(|n| (n * 7 % 200, n * 13 % 199)).collect();
        let weights = Some((0..3000).map(|n| n as f32).collect());
        EdgeList { nodes: 200, edges, weights, directed }
    }

    #[test]
    fn what_is_looked_for_is_not_in_the_graph_in_either_direction() {
        for directed in [false, true] {
            let list = list(directed);
            let Held { graph, valid, test } = hold_out(&list, Holdout { valid: 0.1, test: 0.2 }, 1).unwrap();
            let (valid, test) = (valid.unwrap(), test.unwrap());
            let left: HashSet<_> = graph.edges.iter().map(|&edge| key(&list, edge)).collect();
            let all: HashSet<_> = list.edges.iter().map(|&edge| key(&list, edge)).collect();
            let joined: HashSet<_> = graph.edges.iter().flat_map(|&(from, to)| [(from, to), (to, from)]).collect();
            for split in [&valid, &test] {
                assert!(split.edges.iter().all(|edge| !joined.contains(edge)), "a reverse of a held-out edge is left");
                assert!(split.edges.iter().all(|&edge| !left.contains(&key(&list, edge))));
                assert!(split.non_edges.iter().all(|&edge| edge.0 != edge.1 && !all.contains(&key(&list, edge))));
                assert_eq!(split.edges.len(), split.non_edges.len());
            }
            assert!(valid.edges.iter().all(|edge| !test.edges.contains(edge)));
            let share = test.edges.len() as f64 / all.len() as f64;
            assert!((0.15..0.25).contains(&share), "{share}");
            assert_eq!(graph.weights.as_ref().map(Vec::len), Some(graph.edges.len()));
        }
    }

    #[test]
    fn another_seed_holds_out_others_and_nothing_is_held_out_unasked() {
        let list = list(false);
        let test = |seed| hold_out(&list, Holdout { valid: 0.0, test: 0.2 }, seed).unwrap().test;
        assert_ne!(test(1), test(2));
        assert_eq!(test(1), test(1));
        let held = hold_out(&list, Holdout::default(), 1).unwrap();
        assert_eq!((held.graph, held.valid, held.test), (list, None, None));
    }

    #[test]
    fn a_graph_without_non_edges_is_refused() {
        let edges = (0..9u32).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        let complete = EdgeList { nodes: 9, edges, ..EdgeList::default() };
        let error = hold_out(&complete, Holdout { valid: 0.0, test: 0.5 }, 1).unwrap_err();
        assert!(matches!(error, HoldoutError::TooDense { found: 0, .. }), "{error}");
    }
}
