//! Edges held out of a graph, to be found again.

use std::collections::HashSet;

use super::{EdgeList, LinkSplit};
use crate::kernel::random::{pair, stream, uniform};

/// The fractions of edges to hold out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Holdout {
    /// The fraction for validation.
    pub valid: f64,
    /// The fraction for the test.
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

/// A graph without its held-out edges, and the held-out edges with as many non-edges.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// The remaining edges.
    pub graph: EdgeList,
    /// Validation pairs, if any were asked for.
    pub valid: Option<LinkSplit>,
    /// Test pairs, if any were asked for.
    pub test: Option<LinkSplit>,
}

/// Random draws for each non-edge before the graph is refused as too dense.
const MOST_DRAWS: u64 = 100;

/// The part of the split that an edge belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Train,
    Valid,
    Test,
}

/// Holds out random edges. All repetitions of an edge and its reverse, also in a directed graph, go
/// to the same part, so that no held-out pair is joined in the remaining graph. Self-loops are
/// never held out.
pub fn hold_out(list: &EdgeList, holdout: Holdout, seed: u64) -> Result<HeldOut, HoldoutError> {
    let held = hold_out_against(list, holdout, 1, seed);
    for LinkSplit { edges, non_edges } in [&held.valid, &held.test].into_iter().flatten() {
        if non_edges.len() < edges.len() {
            return Err(HoldoutError::TooDense { found: non_edges.len(), wanted: edges.len() });
        }
    }
    Ok(held)
}

/// [`hold_out`] with `negatives` non-edges for each held-out edge, or fewer if the graph is too
/// dense.
pub(crate) fn hold_out_against(list: &EdgeList, holdout: Holdout, negatives: usize, seed: u64) -> HeldOut {
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
    HeldOut { graph, valid, test }
}

/// Bytes that [`hold_out`] needs: the remaining edges, the part of each edge, and a hash set of all
/// listed edges, which exists twice while it grows.
pub(super) fn bytes_to_hold_out(list: &EdgeList) -> u64 {
    const TABLE: u64 = 27;
    let edge = size_of::<(u32, u32)>() + size_of::<Part>() + list.weights.as_ref().map_or(0, |_| size_of::<f32>());
    (edge as u64 + TABLE).saturating_mul(list.edges.len() as u64)
}

/// The key of an edge: the same for both directions of an undirected edge.
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
            let HeldOut { graph, valid, test } = hold_out(&list, Holdout { valid: 0.1, test: 0.2 }, 1).unwrap();
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
