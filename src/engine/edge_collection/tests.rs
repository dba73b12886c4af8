use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::dataset::EdgeList;
use crate::graph::{Graph, Import};

type Edges = BTreeMap<(u32, u32), f32>;
/// An update of an edge: a weight, or its removal.
type Update = ((u32, u32), Option<f32>);

fn graph(nodes: usize, edges: &Edges, directed: bool) -> Graph {
    let weights = edges.values().any(|&weight| weight != 1.0).then(|| edges.values().copied().collect());
    let list = EdgeList { nodes, edges: edges.keys().copied().collect(), weights, directed };
    Graph::from_edges(&list, Import::default()).unwrap()
}

fn key((from, to): (u32, u32), directed: bool) -> (u32, u32) {
    if directed { (from, to) } else { (from.min(to), from.max(to)) }
}

fn update(nodes: u32) -> impl Strategy<Value = Update> {
    let weight =
        prop_oneof![3 => Just(Some(1.0)), 1 => (1u32..9).prop_map(|weight| Some(weight as f32 / 4.0)), 2 => Just(None)];
    ((0..nodes, 0..nodes), weight)
}

/// Batches that add nodes.
fn batches() -> impl Strategy<Value = Vec<Vec<Update>>> {
    let batch = prop_oneof![update(90), update(90), update(300)];
    prop::collection::vec(prop::collection::vec(batch, 0..80), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// After any sequence of batches the graph equals one built from the current edges.
    #[test]
    fn a_patched_graph_equals_a_new_one(
        directed: bool,
        base in prop::collection::vec(update(100), 0..200),
        batches in batches(),
    ) {
        let mut edges = Edges::new();
        let put = |edges: &mut Edges, updates: &[Update]| {
            for &(edge, weight) in updates {
                match weight {
                    Some(weight) => edges.insert(key(edge, directed), weight),
                    None => edges.remove(&key(edge, directed)),
                };
            }
        };
        put(&mut edges, &base);
        let first = graph(100, &edges, directed);
        let mut patched: Vec<(Graph, EdgeCollection)> = (1..=3)
            .map(|workers| (first.clone(), EdgeCollection::new(&first.adjacency, directed, workers).unwrap()))
            .collect();
        let mut nodes = 100;
        for batch in &batches {
            put(&mut edges, batch);
            nodes = batch.iter().map(|(edge, _)| edge.0.max(edge.1) as usize + 1).fold(nodes, usize::max);
            let anew = graph(nodes, &edges, directed);
            let mut all = Vec::new();
            for (graph, collection) in &mut patched {
                let changes = collection.apply(batch.iter().copied()).unwrap();
                graph.patch(nodes, &changes, directed).unwrap();
                prop_assert!(graph.adjacency.has_same_tiles(&anew.adjacency));
                prop_assert_eq!(&graph.degrees, &anew.degrees);
                prop_assert_eq!(graph.report, anew.report);
                prop_assert_eq!(collection.size().edges, edges.len());
                all.push(changes);
            }
            prop_assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "on any number of workers");
        }
    }
}

#[test]
fn updates_without_effect_change_nothing() {
    let edges: Edges = (0..50).map(|node| ((node, node + 1), 1.0)).collect();
    let mut collection = EdgeCollection::new(&graph(51, &edges, false).adjacency, false, 2).unwrap();
    let updates = edges.keys().map(|&(from, to)| ((to, from), Some(1.0))).chain([((7, 9), None)]);
    assert_eq!(collection.apply(updates).unwrap(), Changes::default());
    let changes = collection.apply([((3, 2), None), ((2, 3), Some(2.5))]).unwrap();
    assert_eq!(changes.edges, [EdgeChange { from: 2, to: 3, before: Some(1.0), after: Some(2.5) }]);
    assert_eq!(changes.nodes, [], "as many edges as before");
    assert!(collection.apply([]).unwrap().edges.is_empty());
}

#[test]
fn no_workers_are_an_error() {
    let empty = graph(1, &Edges::new(), false);
    assert!(matches!(EdgeCollection::new(&empty.adjacency, false, 0), Err(EngineError::NoWorkers)));
}
