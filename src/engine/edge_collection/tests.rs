use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::dataset::EdgeList;
use crate::graph::{Graph, Import};

type Edges = BTreeMap<(u32, u32), f32>;
/// A word on an edge: a weight, or that it is gone.
type Word = ((u32, u32), Option<f32>);

fn graph(nodes: usize, edges: &Edges, directed: bool) -> Graph {
    let weights = edges.values().any(|&weight| weight != 1.0).then(|| edges.values().copied().collect());
    let list = EdgeList { nodes, edges: edges.keys().copied().collect(), weights, directed };
    Graph::from_edges(&list, Import::default()).unwrap()
}

fn called((from, to): (u32, u32), directed: bool) -> (u32, u32) {
    if directed { (from, to) } else { (from.min(to), from.max(to)) }
}

fn word(nodes: u32) -> impl Strategy<Value = Word> {
    let weight =
        prop_oneof![3 => Just(Some(1.0)), 1 => (1u32..9).prop_map(|weight| Some(weight as f32 / 4.0)), 2 => Just(None)];
    ((0..nodes, 0..nodes), weight)
}

/// Batches, the nodes of which become more.
fn batches() -> impl Strategy<Value = Vec<Vec<Word>>> {
    let batch = prop_oneof![word(90), word(90), word(300)];
    prop::collection::vec(prop::collection::vec(batch, 0..80), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Any sequence of batches leaves the graph that is built of the edges that are left.
    #[test]
    fn a_graph_kept_up_to_date_is_the_one_built_anew(
        directed: bool,
        base in prop::collection::vec(word(100), 0..200),
        batches in batches(),
    ) {
        let mut edges = Edges::new();
        let put = |edges: &mut Edges, words: &[Word]| {
            for &(edge, weight) in words {
                match weight {
                    Some(weight) => edges.insert(called(edge, directed), weight),
                    None => edges.remove(&called(edge, directed)),
                };
            }
        };
        put(&mut edges, &base);
        let first = graph(100, &edges, directed);
        let mut kept: Vec<(Graph, EdgeCollection)> = (1..=3)
            .map(|workers| (first.clone(), EdgeCollection::new(&first.adjacency, directed, workers).unwrap()))
            .collect();
        let mut nodes = 100;
        for batch in &batches {
            put(&mut edges, batch);
            nodes = batch.iter().map(|(edge, _)| edge.0.max(edge.1) as usize + 1).fold(nodes, usize::max);
            let anew = graph(nodes, &edges, directed);
            let mut told = Vec::new();
            for (graph, collection) in &mut kept {
                let changes = collection.apply(batch.iter().copied()).unwrap();
                graph.patch(nodes, &changes, directed).unwrap();
                prop_assert!(graph.adjacency.has_same_tiles(&anew.adjacency));
                prop_assert_eq!(&graph.degrees, &anew.degrees);
                prop_assert_eq!(graph.report, anew.report);
                prop_assert_eq!(collection.size().edges, edges.len());
                told.push(changes);
            }
            prop_assert!(told.windows(2).all(|pair| pair[0] == pair[1]), "whatever the number of workers");
        }
    }
}

#[test]
fn nothing_changes_where_nothing_is_new() {
    let edges: Edges = (0..50).map(|node| ((node, node + 1), 1.0)).collect();
    let mut collection = EdgeCollection::new(&graph(51, &edges, false).adjacency, false, 2).unwrap();
    let words = edges.keys().map(|&(from, to)| ((to, from), Some(1.0))).chain([((7, 9), None)]);
    assert_eq!(collection.apply(words).unwrap(), Changes::default());
    let changes = collection.apply([((3, 2), None), ((2, 3), Some(2.5))]).unwrap();
    assert_eq!(changes.edges, [EdgeChange { from: 2, to: 3, before: Some(1.0), after: Some(2.5) }]);
    assert_eq!(changes.nodes, [], "as many edges as before");
    assert!(collection.apply([]).unwrap().edges.is_empty());
}

#[test]
fn no_workers_keep_no_ledger() {
    let empty = graph(1, &Edges::new(), false);
    assert!(matches!(EdgeCollection::new(&empty.adjacency, false, 0), Err(EngineError::NoWorkers)));
}
