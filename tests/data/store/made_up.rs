//! A store preserves every graph.

use std::path::Path;

use isvd_dist::dataset::store::{MatrixSettings, Numbering, Store, Writer};
use isvd_dist::dataset::{Dataset, EdgeList, Ids, LinkSplit, NodeSplit, Source, SparseFeatures};
use isvd_dist::graph::{Duplicates, Graph, Import, SelfLoops};
use proptest::prelude::*;

/// Stores a dataset and the graph of its edges.
pub fn write(dataset: &Dataset, import: Import, folder: &Path) -> Graph {
    let graph = Graph::from_edges(dataset.graph.list().unwrap(), import).unwrap();
    let mut writer = Writer::create(folder).unwrap();
    writer.dataset(dataset).unwrap();
    let directed = dataset.graph.is_directed();
    let making = MatrixSettings { import, usual_import: Import::default(), directed, numbering: Numbering::Given };
    writer.finish_with(&graph, making, None).unwrap();
    graph
}

/// A few nodes with all kinds of data.
pub fn small() -> Dataset {
    let pairs = |first| vec![(first, 1), (2, first)];
    Dataset {
        name: "small".to_owned(),
        graph: EdgeList {
            nodes: 5,
            edges: vec![(0, 1), (1, 0), (3, 3), (4, 1)],
            weights: Some(vec![1.0, 2.0, 0.5, -1.0]),
            directed: true,
        }
        .into(),
        valid: Some(LinkSplit { edges: pairs(0), non_edges: pairs(3) }),
        test: Some(LinkSplit { edges: pairs(4), non_edges: vec![] }),
        features: None,
        sparse_features: Some(SparseFeatures {
            rows: 5,
            feature_count: 3,
            starts: vec![0, 1, 1, 2, 2, 3],
            columns: vec![2, 0, 1],
            values: vec![1.0, 2.0, 3.0],
        }),
        feature_count: 3,
        labels: Some(vec![0, 1, 0, 1, 1]),
        classes: vec!["cat".to_owned(), "dög".to_owned()],
        node_split: Some(NodeSplit { train: vec![0, 1], valid: vec![2], test: vec![4, 3] }),
        years: Some(vec![1999, 2001, -5, 0, 7]),
        ids: Ids::names(["ann", "", "line\nbreak", "dö,g", "\"e\""]),
        remarks: vec![],
    }
}

fn entries(graph: &Graph) -> Vec<(usize, usize, u32)> {
    let mut entries = vec![];
    graph.adjacency.for_each(|row, column, value| entries.push((row, column, value.to_bits())));
    graph.adjacency.transposed().for_each(|row, column, value| entries.push((row, column, value.to_bits())));
    entries
}

#[test]
fn all_data_of_nodes_are_restored() {
    let folder = tempfile::tempdir().unwrap();
    let dense = Dataset {
        features: Some((0..15).map(|entry| entry as f32).collect()),
        sparse_features: None,
        ids: Ids::numbers(vec![3, 5, 8, 9, u64::MAX]),
        ..small()
    };
    let empty = Dataset { name: "empty".to_owned(), ..Dataset::default() };
    for (number, dataset) in [small(), dense, empty].into_iter().enumerate() {
        let path = folder.path().join(number.to_string());
        write(&dataset, Import::default(), &path);
        assert_eq!(Source::Store(path).load(None, 7).unwrap(), dataset);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_graph_is_restored(
        nodes in 1usize..400,
        drawn in prop::collection::vec((0u32..400, 0u32..400, -3i8..4), 0..600),
        directed: bool,
        weighted: bool,
        once: bool,
        without_loops: bool,
    ) {
        let node = |number: u32| number % nodes as u32;
        let edges = drawn.iter().map(|&(from, to, _)| (node(from), node(to))).collect();
        let weights = weighted.then(|| drawn.iter().map(|&(_, _, weight)| f32::from(weight) / 3.0).collect());
        let list = EdgeList { nodes, edges, weights, directed };
        let dataset = Dataset { graph: list.into(), ids: Ids::counted(1, nodes), ..Dataset::default() };
        let import = Import {
            duplicates: if once { Duplicates::Once } else { Duplicates::Add },
            self_loops: if without_loops { SelfLoops::Drop } else { SelfLoops::Keep },
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let graph = write(&dataset, import, &path);
        let store = Store::open(&path).unwrap();
        store.verify().unwrap();
        let read = store.dataset().unwrap();
        let stored = read.graph.stored_graph(import).unwrap().expect("made in this way");
        stored.ready().unwrap();
        prop_assert_eq!(entries(&stored), entries(&graph));
        prop_assert_eq!(&stored.degrees, &graph.degrees);
        prop_assert_eq!(stored.arriving_degrees(), graph.arriving_degrees());
        prop_assert_eq!(stored.report, graph.report);
        let sizes = |graph: &Graph| {
            let matrix = &graph.adjacency;
            (matrix.nonzeros(), matrix.runs(), matrix.bytes(), matrix.is_weighted(), matrix.is_symmetric())
        };
        prop_assert_eq!(sizes(&stored), sizes(&graph));
        let other = Import { duplicates: if once { Duplicates::Add } else { Duplicates::Once }, ..import };
        prop_assert!(read.graph.stored_graph(other).unwrap().is_none(), "another matrix is made of the edges");
        prop_assert_eq!(read, dataset);
    }
}
