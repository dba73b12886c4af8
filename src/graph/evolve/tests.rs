use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::dataset::EdgeList;
use crate::graph::Import;

type Edges = BTreeMap<(u32, u32), f32>;

fn graph(nodes: usize, edges: &Edges, directed: bool, is_weighted: bool) -> Graph {
    let weights = is_weighted.then(|| edges.values().copied().collect());
    let list = EdgeList { nodes, edges: edges.keys().copied().collect(), weights, directed };
    Graph::from_edges(&list, Import::default()).unwrap()
}

/// What changes from some edges to others.
fn changes(before: &Edges, after: &Edges) -> Changes {
    let mut places: Vec<&(u32, u32)> = before.keys().chain(after.keys()).collect();
    places.sort_unstable();
    places.dedup();
    let change = |&&(from, to): &&(u32, u32)| {
        let (before, after) = (before.get(&(from, to)).copied(), after.get(&(from, to)).copied());
        (before != after).then_some(EdgeChange { from, to, before, after })
    };
    let edges = places.iter().filter_map(change).collect();
    let count = |edges: &Edges, node| edges.keys().filter(|edge| edge.0 == node || edge.1 == node).count() as u32;
    let node = |node| NodeChange { node, before: count(before, node), after: count(after, node) };
    let nodes = (0..400).map(node).filter(|change| change.before != change.after).collect();
    Changes { edges, nodes }
}

fn edge(nodes: u32, directed: bool) -> impl Strategy<Value = (u32, u32)> {
    (0..nodes, 0..nodes).prop_map(move |(a, b)| if directed { (a, b) } else { (a.min(b), a.max(b)) })
}

fn weight(is_weighted: bool) -> impl Strategy<Value = f32> {
    prop_oneof![4 => Just(1.0f32), 1 => if is_weighted { 0.1f32..9.0 } else { 1.0f32..1.0001 }.prop_map(move |w| if is_weighted { w } else { 1.0 })]
}

proptest! {
    #[test]
    fn a_patched_graph_is_the_one_built_anew(
        (directed, is_weighted, before, after) in (any::<bool>(), any::<bool>()).prop_flat_map(|(directed, is_weighted)| {
            let edges = |nodes| prop::collection::btree_map(edge(nodes, directed), weight(is_weighted), 0..300);
            (Just(directed), Just(is_weighted), edges(150), prop_oneof![edges(150), edges(400)])
        }),
        grown in prop_oneof![Just(150usize), Just(400)],
        ask_for_transposed: bool,
    ) {
        let nodes = grown.max(after.keys().map(|edge| edge.0.max(edge.1) as usize + 1).max().unwrap_or(0));
        let mut patched = graph(150, &before, directed, is_weighted);
        if ask_for_transposed {
            let _ = patched.adjacency.transposed();
        }
        let told = changes(&before, &after);
        let done = patched.patch(nodes, &told, directed).unwrap();
        let anew = graph(nodes, &after, directed, is_weighted);
        assert!(patched.adjacency.has_same_tiles(&anew.adjacency));
        assert!(patched.adjacency.transposed().has_same_tiles(&anew.adjacency.transposed()));
        prop_assert!(!patched.adjacency.is_symmetric() || anew.adjacency.is_symmetric());
        prop_assert_eq!(&patched.degrees, &anew.degrees);
        prop_assert_eq!(patched.arriving_degrees(), anew.arriving_degrees());
        prop_assert_eq!(patched.report, anew.report);
        let ends = told.edges.iter().flat_map(|edge| [Some(edge.from), Some(edge.to).filter(|_| !directed)]);
        let rows: std::collections::BTreeSet<u32> = ends.flatten().collect();
        prop_assert_eq!(done.rows, rows.into_iter().collect::<Vec<_>>());
        // And back again.
        patched.patch(nodes, &changes(&after, &before), directed).unwrap();
        patched.shrink(150).unwrap();
        let first = graph(150, &before, directed, is_weighted);
        assert!(patched.adjacency.has_same_tiles(&first.adjacency));
        assert!(patched.adjacency.transposed().has_same_tiles(&first.adjacency.transposed()));
        assert_eq!((patched.degrees, patched.report.isolated), (first.degrees, first.report.isolated));
    }
}

#[test]
fn a_graph_that_outgrows_its_tiles_is_cut_anew() {
    let edges: Edges = (0..8000)
        .map(|node| ((node, (node * 7 + 1) % 8100), 1.0))
        .map(|((a, b), w)| ((a.min(b), a.max(b)), w))
        .collect();
    let mut patched = graph(8100, &edges, false, false);
    let mut more = edges.clone();
    more.insert((3, 8999), 1.0);
    let told = Changes {
        edges: vec![EdgeChange { from: 3, to: 8999, before: None, after: Some(1.0) }],
        nodes: vec![NodeChange { node: 8999, before: 0, after: 1 }],
    };
    patched.patch(9000, &told, false).unwrap();
    let anew = graph(9000, &more, false, false);
    assert!(patched.adjacency.has_same_tiles(&anew.adjacency));
    assert_eq!(patched.report, anew.report);
}

#[test]
fn an_edge_to_a_node_that_is_not_there_is_refused() {
    let told = Changes { edges: vec![EdgeChange { from: 0, to: 9, before: None, after: Some(1.0) }], nodes: vec![] };
    let error = graph(3, &Edges::new(), false, false).patch(3, &told, false).unwrap_err();
    assert!(matches!(error, GraphError::OutOfRange { col: 9, .. }));
}
