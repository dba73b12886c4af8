//! Folders of benchmarks, small ones.

use super::*;
use crate::dataset::{NodeSplit, UNLABELLED, check_nodes};

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let bytes = if name.ends_with(".gz") { gzip(content.as_bytes()) } else { content.as_bytes().to_vec() };
        fs::write(path, bytes).unwrap();
    }
    folder
}

const RAW: [(&str, &str); 3] =
    [("raw/edge.csv.gz", "0,1\n1,2\n2,3\n"), ("raw/num-node-list.csv.gz", "5\n"), ("raw/num-edge-list.csv.gz", "3\n")];

#[test]
fn nodes_to_classify() {
    let more = [
        ("raw/node-feat.csv.gz", "0.5,1\n0,1e-3\n1,1\n2,2\n-3,4\n"),
        ("raw/node-label.csv.gz", "0\n1\nnan\n2.0\n1\n"),
        ("raw/node_year.csv", "2001\n2002\n2003\n2004\n2005\n"),
        ("split/time/train.csv.gz", "0\n3\n"),
        ("split/time/valid.csv.gz", "1\n"),
        ("split/time/test.csv.gz", "4\n2\n"),
    ];
    let folder = folder(&[&RAW[..], &more].concat());
    let read = read_ogb(folder.path(), "mine", &OgbOptions::default()).unwrap();
    assert!(
        read.graph.is_directed()
            && read.graph.nodes() == 5
            && read.graph.list().unwrap().edges == [(0, 1), (1, 2), (2, 3)]
    );
    assert_eq!((read.feature_count, read.features.unwrap()[3]), (2, 1e-3));
    assert_eq!((read.labels.unwrap(), read.classes.join(" ")), (vec![0, 1, UNLABELLED, 2, 1], "0 1 2".to_owned()));
    assert_eq!(read.years.unwrap()[4], 2005);
    assert_eq!(read.node_split.unwrap(), NodeSplit { train: vec![0, 3], valid: vec![1], test: vec![4, 2] });
}

#[test]
fn pairs_to_score() {
    let more = [
        ("split/target/train.csv.gz", "0,1\n1,2\n"),
        ("split/target/valid.csv.gz", "2,3\n"),
        ("split/target/valid_neg.csv.gz", "0,3\n4,0\n"),
        ("split/target/test.csv", "3,4\n"),
    ];
    let folder = folder(&[&RAW[..], &more].concat());
    let read = read_ogb(folder.path(), "mine", &OgbOptions::default()).unwrap();
    assert_eq!((&read.graph.list().unwrap().edges[..], read.graph.is_directed()), (&[(0, 1), (1, 2)][..], false));
    let (valid, test) = (read.valid.unwrap(), read.test.unwrap());
    assert_eq!((valid.edges, valid.non_edges), (vec![(2, 3)], vec![(0, 3), (4, 0)]));
    assert_eq!((test.edges, test.non_edges), (vec![(3, 4)], vec![]));
}

#[test]
fn counts_and_ids_are_checked() {
    let refused = |files: &[(&str, &str)], words: &[&str]| {
        let folder = folder(files);
        let message = read_ogb(folder.path(), "mine", &OgbOptions::default()).unwrap_err().to_string();
        for word in words {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
    };
    let changed = |name: &str, content: &'static str| {
        let mut files = RAW.to_vec();
        files.retain(|(other, _)| *other != name);
        files.push((RAW.iter().find(|(other, _)| *other == name).unwrap().0, content));
        files
    };
    refused(&changed("raw/num-edge-list.csv.gz", "4\n"), &["edge.csv.gz", "3 edges", "4 as", "num-edge-list"]);
    refused(&changed("raw/num-node-list.csv.gz", "3\n"), &["edge.csv.gz, line 3", "the id 3", "below 3"]);
    refused(&changed("raw/num-node-list.csv.gz", "3\n4\n"), &["2 numbers", "a single graph"]);
    refused(&[], &["num-node-list.csv.gz is missing", "fetch"]);
    refused(&RAW[1..], &["edge.csv.gz is missing"]);
    let with = |more: (&'static str, &'static str)| [&RAW[..], &[more]].concat();
    refused(&with(("split/x/test.csv", "0,9\n")), &["test.csv", "pair 0", "`9`", "a node of the graph"]);
    refused(&with(("raw/node-label.csv.gz", "0\n1\n")), &["node-label.csv.gz", "2 rows", "5, one a node"]);
    refused(
        &with(("raw/node-feat.csv.gz", "1,2\n3\n")),
        &["node-feat.csv.gz, line 2", "1 columns", "2 as in the first"],
    );
    refused(&with(("raw/node-feat.csv.gz", "1,nan\n")), &["line 1", "`nan`", "a finite number"]);
    let labels = "0\n1\n4000000000\n0\n0\n";
    refused(&with(("raw/node-label.csv.gz", labels)), &["node-label.csv.gz", "the label 4000000000 in row 2"]);
}

#[test]
fn features_may_be_an_archive_of_their_own_or_missing() {
    let folder =
        folder(&[&RAW[..], &[("raw/node-label.csv.gz", "0\n1\n0\n1\n0\n"), ("split/x/train.csv", "0\n1\n")]].concat());
    let read = || read_ogb(folder.path(), "mine", &OgbOptions::default()).unwrap();
    let without = read();
    assert_eq!((&without.features, without.feature_count), (&None, 0));
    let message = check_nodes(&without).unwrap_err().to_string();
    assert!(message.contains("`mine` has no features") && message.contains("raw/node-feat.csv.gz"), "{message}");
    let feat = npy(1, "<f4", false, "(5, 1)", &bytes_of::<f32>(&[5.0, 4.0, 3.0, 2.0, 1.0]));
    let archive = zip(&[("node_feat.npy", feat)], zip::CompressionMethod::Deflated);
    fs::write(folder.path().join("raw/node-feat.npz"), archive).unwrap();
    assert_eq!((read().features, read().feature_count), (Some(vec![5.0, 4.0, 3.0, 2.0, 1.0]), 1));
    check_nodes(&read()).unwrap();
}

#[test]
fn the_binary_layout() {
    let entries = [
        ("edge_index.npy", npy(1, "<i8", false, "(2, 3)", &bytes_of::<i64>(&[0, 1, 2, 1, 2, 3]))),
        ("num_nodes_list.npy", npy(1, "<i8", false, "(1,)", &bytes_of::<i64>(&[5]))),
        ("num_edges_list.npy", npy(1, "<i8", false, "(1,)", &bytes_of::<i64>(&[3]))),
        (
            "node_feat.npy",
            npy(1, "<f4", false, "(5, 2)", &bytes_of::<f32>(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])),
        ),
        ("node_year.npy", npy(1, "<i8", false, "(5, 1)", &bytes_of::<i64>(&[1, 2, 3, 4, 5]))),
    ];
    let folder = folder(&[("split/time/train.csv.gz", "0\n"), ("raw/x", "")]);
    fs::write(folder.path().join("raw/data.npz"), zip(&entries, zip::CompressionMethod::Deflated)).unwrap();
    let label = npy(1, "<f4", false, "(5, 1)", &bytes_of::<f32>(&[1.0, f32::NAN, 0.0, 2.0, 1.0]));
    let labels = zip(&[("node_label.npy", label)], zip::CompressionMethod::Stored);
    fs::write(folder.path().join("raw/node-label.npz"), labels).unwrap();
    let read = read_ogb(folder.path(), "mine", &OgbOptions::default()).unwrap();
    assert_eq!((&read.graph.list().unwrap().edges[..], read.graph.nodes()), (&[(0, 1), (1, 2), (2, 3)][..], 5));
    assert_eq!((read.feature_count, read.features.unwrap()[9]), (2, 9.0));
    assert_eq!(read.labels.unwrap(), [1, UNLABELLED, 0, 2, 1]);
    assert_eq!(read.years.unwrap(), [1, 2, 3, 4, 5]);
    assert_eq!(read.node_split.unwrap().train, [0]);
}
