//! Real files, compared with the counts that their sources publish; and files of every edge format,
//! in which no pair may be both a training edge and a held-out edge.

mod hostile;

use std::collections::HashSet;
use std::io::{Cursor, Write};
use std::path::Path;

use isvd_dist::dataset::catalog::ENTRIES;
use isvd_dist::dataset::format::{
    EdgeOptions, Format, OgbOptions, UnknownIds, read_asymproj, read_edges, read_ogb, read_pairs, read_planetoid,
    read_torch,
};
use isvd_dist::dataset::{Dataset, EdgeFile, Holdout, Ids, NodeDataError, Source, UNLABELLED, check_nodes};
use isvd_dist::graph::{Graph, Import, SelfLoops};
use npyz::WriterBuilder;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::support::{assert_done, data_part, folder, run};

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
        let import = Import { self_loops: SelfLoops::Drop, ..Import::default() };
        let graph = Graph::from_edges(dataset.graph.list().unwrap(), import).unwrap();
        let entry = ENTRIES.iter().find(|entry| entry.name == name).unwrap();
        assert_eq!(graph.report.edges, entry.counts.edges, "the catalog counts distinct edges");
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
        // Most neighbours have the same class. Wrong rows of test nodes would change that.
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
    // The splits are disjoint.
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

/// The edges of a graph: each node with the next three, and some distant ones.
fn made_up() -> Vec<(u32, u32)> {
    let near = (0..200u32).flat_map(|node| (1..4).map(move |step| (node, (node + step) % 200)));
    near.chain((0..200).map(|node| (node, (node * 37 + 50) % 200))).filter(|(from, to)| from != to).collect()
}

fn both_ways(edges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    edges.iter().flat_map(|&(from, to)| [(from, to), (to, from)]).collect()
}

fn lines(edges: &[(u32, u32)], separator: &str, first: u32) -> String {
    edges.iter().map(|(from, to)| format!("{}{separator}{}\n", from + first, to + first)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn npy(numbers: &[i64], shape: &[u64]) -> Vec<u8> {
    let mut bytes = vec![];
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut bytes).begin_nd().unwrap();
    writer.extend(numbers.iter().copied()).unwrap();
    writer.finish().unwrap();
    bytes
}

/// The file that `scipy.sparse.save_npz` writes for a COO matrix; the name of its format is a NumPy
/// string.
fn scipy(edges: &[(u32, u32)], nodes: i64) -> Vec<u8> {
    let column = |of: fn(&(u32, u32)) -> u32| edges.iter().map(|edge| i64::from(of(edge))).collect::<Vec<_>>();
    let (rows, columns, ones) = (column(|edge| edge.0), column(|edge| edge.1), vec![1; edges.len()]);
    let count = [edges.len() as u64];
    let format = b"\x93NUMPY\x01\x00\x36\x00{'descr': '|S3', 'fortran_order': False, 'shape': ()}\ncoo".to_vec();
    let arrays = [
        ("format", format),
        ("shape", npy(&[nodes, nodes], &[2])),
        ("row", npy(&rows, &count)),
        ("col", npy(&columns, &count)),
        ("data", npy(&ones, &count)),
    ];
    let mut archive = ZipWriter::new(Cursor::new(vec![]));
    for (name, bytes) in arrays {
        archive.start_file(format!("{name}.npy"), SimpleFileOptions::default()).unwrap();
        archive.write_all(&bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// One graph in every format, some of them with each edge listed in both directions.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let (once, twice) = (made_up(), both_ways(&made_up()));
    let numbers: Vec<i64> = twice.iter().flat_map(|&(from, to)| [from.into(), to.into()]).collect();
    let market = |symmetry: &str, edges: &[(u32, u32)]| {
        let head = format!("%%MatrixMarket matrix coordinate pattern {symmetry}\n200 200 {}\n", edges.len());
        (head + &lines(edges, " ", 1)).into_bytes()
    };
    let mut sorted = twice.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let lower: Vec<_> = sorted.iter().copied().filter(|(row, column)| row > column).collect();
    vec![
        ("once.txt", lines(&once, " ", 0).into_bytes()),
        ("twice.txt", lines(&twice, "\t", 0).into_bytes()),
        ("twice.txt.gz", gzip(lines(&twice, " ", 0).as_bytes())),
        ("twice.csv", format!("from,to\n{}", lines(&twice, ",", 0)).into_bytes()),
        ("names.csv", lines(&twice, ",n", 0).replace('\n', "\nn").trim_end_matches('n').as_bytes().to_vec()),
        ("pairs.npy", npy(&numbers, &[twice.len() as u64, 2])),
        ("matrix.npz", scipy(&sorted, 200)),
        ("unsorted.npz", scipy(&twice, 200)),
        ("general.mtx", market("general", &sorted)),
        ("general.mtx.gz", gzip(&market("general", &sorted))),
        ("symmetric.mtx", market("symmetric", &lower)),
        ("symmetric.mtx.gz", gzip(&market("symmetric", &lower))),
    ]
}

/// Catches a held-out edge whose reverse, or whose second listing, is a training edge.
#[track_caller]
fn assert_no_leak(dataset: &Dataset, what: &str) {
    let joined: HashSet<(u32, u32)> = both_ways(&dataset.graph.list().unwrap().edges).into_iter().collect();
    let (valid, test) = (dataset.valid.as_ref().unwrap(), dataset.test.as_ref().unwrap());
    let looked_for = valid.edges.iter().chain(&test.edges);
    assert!(valid.edges.len() > 20 && test.edges.len() > 20, "{what}");
    let leaks = looked_for.filter(|edge| joined.contains(edge)).count();
    assert_eq!(leaks, 0, "{what}: pairs that are learnt from and looked for");
    let valid: HashSet<(u32, u32)> = both_ways(&valid.edges).into_iter().collect();
    assert!(test.edges.iter().all(|edge| !valid.contains(edge)), "{what}: in valid and in test");
}

#[test]
fn no_held_out_pair_is_a_training_edge_in_any_format() {
    let folder = folder();
    let holdout = Holdout { valid: 0.1, test: 0.1 };
    for (name, bytes) in files() {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        for directed in [None, Some(false), Some(true)] {
            let options = EdgeOptions { directed, ..EdgeOptions::default() };
            let file = EdgeFile { path: path.clone(), options, holdout, nodes: None };
            let dataset = Source::Edges(file).load(None, 1).unwrap();
            let what = format!("{name}, directed: {directed:?}");
            assert_eq!(dataset.graph.is_directed(), directed == Some(true), "{what}");
            assert_no_leak(&dataset, &what);
        }
    }
}

#[test]
fn no_held_out_pair_of_a_store_is_a_training_edge() {
    let folder = folder();
    for (name, bytes) in files() {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let (path, out) = (format!("--set=data.path={name}"), format!("--out=stores/{name}"));
        let arguments = ["convert", "--config=links", &path, &out, "--set=data.valid=0.1", "--set=data.test=0.1"];
        assert_done(&run(folder.path(), &arguments));
        let store = Source::Store(folder.path().join("stores").join(Path::new(name)));
        assert_no_leak(&store.load(None, 1).unwrap(), name);
    }
}

/// Catches a symmetric matrix whose edges count twice: A is the stored matrix.
#[test]
fn a_symmetric_matrix_is_its_own_adjacency_matrix() {
    let folder = folder();
    for (name, bytes) in files().into_iter().filter(|(name, _)| name.contains(".mtx") || *name == "matrix.npz") {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        for directed in [None, Some(false)] {
            let read = read_edges(&path, &EdgeOptions { directed, ..EdgeOptions::default() }).unwrap();
            let graph = Graph::from_edges(&read.edges, Import::default()).unwrap();
            let distinct = both_ways(&made_up()).into_iter().collect::<HashSet<_>>().len();
            assert!(graph.adjacency.is_symmetric() && !graph.adjacency.is_weighted(), "{name}");
            assert_eq!((graph.adjacency.nonzeros(), graph.report.duplicates), (distinct, 0), "{name}");
        }
    }
}
