//! Real files, checked against the counts that their sources publish.

mod support;

use std::collections::HashSet;

use isvd_dist::dataset::format::{
    EdgeOptions, Format, OgbOptions, UnknownIds, read_asymproj, read_edges, read_ogb, read_pairs, read_planetoid,
    read_torch,
};
use isvd_dist::dataset::{Ids, NodeDataError, UNLABELLED, check_nodes};
use isvd_dist::graph::{Graph, Import};
use support::data_part;

#[test]
fn link_prediction_of_asymproj() {
    for (name, nodes, train, test) in
        [("ppi", 3_852, 19_349, 19_356), ("soc-facebook", 4_039, 44_113, 44_121), ("ca-HepTh", 8_638, 13_330, 11_496)]
    {
        let Some(folder) = data_part(&format!("asymproj/{name}")) else { continue };
        let dataset = read_asymproj(&folder, name).unwrap();
        assert_eq!((dataset.graph.nodes(), dataset.graph.len(), dataset.graph.is_directed()), (nodes, train, false));
        let pairs = dataset.test.unwrap();
        assert_eq!((pairs.edges.len(), pairs.non_edges.len()), (test, test));
        assert_eq!(dataset.ids, Ids::counted(0, nodes));

        let alone = read_edges(&folder.join("train.txt.npy"), &EdgeOptions::default()).unwrap();
        assert_eq!((alone.format, alone.edges.edges.len()), (Format::NumpyPairs, train));
        let read = read_pairs(&folder.join("test.txt.npy"), &dataset.ids, &EdgeOptions::default(), UnknownIds::Refuse);
        assert_eq!(read.unwrap().pairs, pairs.edges);
    }
}

#[test]
fn citation_networks_of_planetoid() {
    for (name, nodes, features, classes, edges) in
        [("cora", 2_708, 1_433, 7, 5_278), ("pubmed", 19_717, 500, 3, 44_327)]
    {
        let Some(folder) = data_part("planetoid") else { continue };
        let dataset = read_planetoid(&folder, name).unwrap();
        check_nodes(&dataset).unwrap();
        assert_eq!(dataset.classes.len(), classes);
        assert_eq!((dataset.graph.nodes(), dataset.feature_count, dataset.graph.len()), (nodes, features, edges));
        let sparse = dataset.sparse_features.unwrap();
        assert_eq!((sparse.rows, sparse.feature_count, sparse.starts.len()), (nodes, features, nodes + 1));
        assert!(sparse.starts.windows(2).all(|pair| pair[0] < pair[1]), "every paper has words");
        let labels = dataset.labels.unwrap();
        let found: HashSet<u32> = labels.iter().copied().collect();
        assert!(labels.len() == nodes && found.len() == classes && !found.contains(&UNLABELLED));
        let split = dataset.node_split.unwrap();
        assert_eq!((split.train.len(), split.valid.len(), split.test.len()), (20 * classes, 500, 1_000));
        // Twenty of each class.
        let of = |class| split.train.iter().filter(|&&node| labels[node as usize] == class).count();
        assert!((0..classes as u32).all(|class| of(class) == 20));
        // Neighbours mostly share a class, which wrong rows of test nodes would break.
        let test: HashSet<u32> = split.test.iter().copied().collect();
        let touching = dataset.graph.list().unwrap().edges.iter().filter(|(a, b)| test.contains(a) || test.contains(b));
        let (mut alike, mut all) = (0, 0);
        for &(a, b) in touching {
            alike += usize::from(labels[a as usize] == labels[b as usize]);
            all += 1;
        }
        assert!(alike * 10 > all * 7, "{name}: {alike} of {all}");
    }
}

#[test]
fn ogbl_ddi() {
    let Some(folder) = data_part("ogbl_ddi") else { return };
    let dataset = read_ogb(&folder, "ogbl-ddi", &OgbOptions::default()).unwrap();
    assert_eq!((dataset.graph.nodes(), dataset.graph.len()), (4_267, 1_067_911));
    assert!(
        !dataset.graph.is_directed() && dataset.graph.list().unwrap().weights.is_none() && dataset.node_split.is_none()
    );
    let (valid, test) = (dataset.valid.unwrap(), dataset.test.unwrap());
    assert_eq!((valid.edges.len(), valid.non_edges.len()), (133_489, 101_882));
    assert_eq!((test.edges.len(), test.non_edges.len()), (133_489, 95_599));
    // The splits are of one graph: no pair is in two of them.
    let mut seen: HashSet<(u32, u32)> = HashSet::new();
    for &(a, b) in dataset.graph.list().unwrap().edges.iter().chain(&valid.edges).chain(&test.edges) {
        assert!(seen.insert((a.min(b), a.max(b))));
    }
    assert!(valid.non_edges.iter().chain(&test.non_edges).all(|&(a, b)| !seen.contains(&(a.min(b), a.max(b)))));
    let graph = Graph::from_edges(dataset.graph.list().unwrap(), Import::default()).unwrap();
    assert_eq!((graph.report.duplicates, graph.report.self_loops), (0, 0));

    let pickle = read_torch(&folder.join("split/target/valid.pt")).unwrap();
    let shape = |name: &str| pickle.value().get(name).unwrap().as_array().unwrap().shape;
    assert_eq!((shape("edge"), shape("edge_neg")), (vec![133_489, 2], vec![101_882, 2]));
}

#[test]
fn ogbn_arxiv() {
    let Some(folder) = data_part("ogbn_arxiv") else { return };
    let dataset = read_ogb(&folder, "ogbn-arxiv", &OgbOptions::default()).unwrap();
    assert_eq!((dataset.graph.nodes(), dataset.graph.len()), (169_343, 1_166_243));
    assert!(dataset.graph.is_directed() && dataset.valid.is_none());
    assert_eq!((dataset.classes.len(), dataset.classes[39].as_str()), (40, "39"));
    match &dataset.features {
        Some(features) => {
            assert_eq!((features.len(), dataset.feature_count), (169_343 * 128, 128));
            check_nodes(&dataset).unwrap();
        }
        None => {
            let missing = NodeDataError::NoFeatures { dataset: "ogbn-arxiv".into() };
            assert_eq!(check_nodes(&dataset), Err(missing));
        }
    }
    let labels = dataset.labels.unwrap();
    assert_eq!(labels.iter().collect::<HashSet<_>>().len(), 40);
    let split = dataset.node_split.unwrap();
    assert_eq!((split.train.len(), split.valid.len(), split.test.len()), (90_941, 29_799, 48_603));
    // The split is by year.
    let years = dataset.years.unwrap();
    let within = |rows: &[u32], first, last| rows.iter().all(|&row| (first..=last).contains(&years[row as usize]));
    assert!(within(&split.train, 0, 2017) && within(&split.valid, 2018, 2018) && within(&split.test, 2019, 9999));
}
