//! A user's own nodes, written and read again.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::dataset::format::tests::{self, bytes_of, gzip};
use crate::dataset::format::{EdgeOptions, IdKind};
use crate::dataset::{Dataset, EdgeFile, Holdout, Ids, LoadError, NodeSplit, Source, UNLABELLED};

/// A folder of small files, and what a config would say of them.
struct Own {
    folder: TempDir,
    file: EdgeFile,
}

impl Own {
    /// Five nodes in a row, the last one without edges; only the edges are written.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let split = NodeSplitFrom::Files { train: path("train.txt"), valid: None, test: None };
        let nodes = NodeFiles { features: None, labels: None, split };
        let holdout = Holdout { valid: 0.3, test: 0.3 };
        let file = EdgeFile { path: path("edges.txt"), options: EdgeOptions::default(), holdout, nodes: Some(nodes) };
        let own = Self { folder, file };
        own.write("edges.txt", "0 1\n1 2\n2 3\n");
        own.write("train.txt", "0\n2\n");
        own
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn nodes(&mut self) -> &mut NodeFiles {
        self.file.nodes.as_mut().unwrap()
    }

    fn features(mut self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.nodes().features = Some(self.write(name, bytes));
        self
    }

    fn labels(mut self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.nodes().labels = Some(self.write(name, bytes));
        self
    }

    fn test(mut self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let written = self.write(name, bytes);
        if let NodeSplitFrom::Files { test, .. } = &mut self.nodes().split {
            *test = Some(written);
        }
        self
    }

    fn ids(mut self, ids: IdKind) -> Self {
        self.file.options.ids = ids;
        self
    }

    fn load(&self) -> Result<Dataset, LoadError> {
        Source::Edges(self.file.clone()).load(None, 1)
    }

    #[track_caller]
    fn refused(&self, words: &[&str]) {
        let message = self.load().unwrap_err().to_string();
        for word in words {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
    }
}

fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    tests::npy(1, descr, fortran, shape, data)
}

/// What `scipy.sparse.save_npz` writes of a 5 × 2 matrix with one entry a row, none in the last.
fn scipy() -> Vec<u8> {
    let arrays = [
        ("format", npy("|S3", false, "()", b"csr")),
        ("shape", npy("<i8", false, "(2,)", &bytes_of::<i64>(&[5, 2]))),
        ("indices", npy("<i8", false, "(4,)", &bytes_of::<i64>(&[0, 1, 0, 1]))),
        ("indptr", npy("<i8", false, "(6,)", &bytes_of::<i64>(&[0, 1, 2, 3, 4, 4]))),
        ("data", npy("<f4", false, "(4,)", &bytes_of::<f32>(&[1.0, 2.0, 3.0, 4.0]))),
    ];
    let entries = arrays.map(|(name, bytes)| (format!("{name}.npy"), bytes));
    let entries: Vec<_> = entries.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    tests::zip(&entries, zip::CompressionMethod::Deflated)
}

const VALUES: [f32; 10] = [1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0, 0.0, 0.0];
const TEXT: &str = "1,0\n0,2\n3,0\n0,4\n0,0\n";
const LABELS: &str = "a\nb\nb\na\n?\n";

#[test]
fn dense_features_in_every_form() {
    let columns: Vec<f32> = (0..10).map(|n| VALUES[n % 5 * 2 + n / 5]).collect();
    let whole: Vec<i64> = VALUES.iter().map(|&value| value as i64).collect();
    let files = [
        ("f.npy", npy("<f4", false, "(5, 2)", &bytes_of::<f32>(&VALUES))),
        ("f.npy", npy("<f4", true, "(5, 2)", &bytes_of::<f32>(&columns))),
        ("f.npy", npy("<i8", false, "(5, 2)", &bytes_of::<i64>(&whole))),
        ("f.csv", TEXT.into()),
        ("f.csv.gz", gzip(TEXT.as_bytes())),
        ("f.tsv", TEXT.replace(',', "\t").into()),
        ("f.txt", TEXT.replace(',', "   ").into()),
        ("f.txt", TEXT.replace(',', " ; ").into()),
    ];
    for (name, bytes) in files {
        let read = Own::new().features(name, bytes).labels("l.txt", LABELS).load().unwrap();
        assert_eq!((read.features.as_deref(), read.feature_count), (Some(&VALUES[..]), 2), "{name}");
        // All edges stay, and the node without edges is there.
        assert_eq!((read.graph.nodes(), &read.graph.list().unwrap().edges[..]), (5, &[(0, 1), (1, 2), (2, 3)][..]));
        assert!(read.valid.is_none() && read.test.is_none());
        check_nodes(&Dataset { node_split: Some(NodeSplit { train: vec![0, 1], ..NodeSplit::default() }), ..read })
            .unwrap();
    }
}

#[test]
fn sparse_features_stay_sparse() {
    let read = Own::new().features("f.npz", scipy()).labels("l.txt", LABELS).load().unwrap();
    let sparse = read.sparse_features.as_ref().unwrap();
    assert_eq!((sparse.rows, sparse.feature_count, &sparse.starts[..]), (5, 2, &[0, 1, 2, 3, 4, 4][..]));
    assert_eq!((&sparse.columns[..], &sparse.values[..]), (&[0, 1, 0, 1][..], &[1.0, 2.0, 3.0, 4.0][..]));
    assert_eq!((read.features.is_none(), read.feature_count), (true, 2));
    check_nodes(&read).unwrap();
}

#[test]
fn labels_in_every_form() {
    let none = UNLABELLED;
    type Case<'a> = (&'a str, Vec<u8>, [u32; 5], &'a [&'a str]);
    let cases: [Case<'_>; 8] = [
        ("l.txt", "tea\ncocoa\n\nte\u{301}\ntea\n".into(), [1, 0, none, 2, 1], &["cocoa", "tea", "te\u{301}"]),
        ("l.txt", "10\n9\n-1\nNaN\n 10 \r\n".into(), [1, 0, none, none, 1], &["9", "10"]),
        ("l.txt", "10\n9\n?\nten\n-5".into(), [1, 2, none, 3, 0], &["-5", "10", "9", "ten"]),
        ("l.txt", "2.0\n0\n02\nnan\n7\n".into(), [1, 0, 1, none, 2], &["0", "2", "7"]),
        ("l.txt.gz", gzip("x\ny\nx\ny\n?\n".as_bytes()), [0, 1, 0, 1, none], &["x", "y"]),
        ("l.npy", npy("<i8", false, "(5,)", &bytes_of::<i64>(&[4, -1, 0, 4, -9])), [1, none, 0, 1, none], &["0", "4"]),
        (
            "l.npy",
            npy("<f4", false, "(5, 1)", &bytes_of::<f32>(&[4.0, f32::NAN, 0.0, 4.0, 1.0])),
            [2, none, 0, 2, 1],
            &["0", "1", "4"],
        ),
        ("l.npy", npy("|b1", false, "(5,)", &[1, 0, 0, 1, 1]), [1, 0, 0, 1, 1], &["0", "1"]),
    ];
    for (name, bytes, labels, classes) in cases {
        let read = Own::new().labels(name, bytes).load().unwrap();
        assert_eq!((read.labels.as_deref(), read.classes.len()), (Some(&labels[..]), classes.len()), "{classes:?}");
        assert!(read.classes.iter().zip(classes).all(|(found, class)| found == class), "{:?}", read.classes);
    }
}

#[test]
fn splits_in_every_form() {
    let files = [
        ("t.txt", b"# a comment\n3\n\n1\n".to_vec()),
        ("t.txt.gz", gzip("3\n1".as_bytes())),
        ("t.npy", npy("<i8", false, "(2,)", &bytes_of::<i64>(&[3, 1]))),
        ("t.npy", npy("|b1", false, "(5,)", &[0, 1, 0, 1, 0])),
    ];
    for (name, bytes) in files {
        let read = Own::new().labels("l.txt", LABELS).test(name, bytes).load().unwrap();
        let split = read.node_split.unwrap();
        let mut test = split.test;
        test.sort_unstable();
        assert_eq!((split.train, split.valid, test), (vec![0, 2], vec![], vec![1, 3]), "{name}");
    }
}

#[test]
fn fractions_are_of_the_labelled_nodes() {
    let mut own = Own::new().labels("l.txt", LABELS);
    own.nodes().split = NodeSplitFrom::Fractions { train: 0.5, valid: 0.25, test: 0.25 };
    let split = own.load().unwrap().node_split.unwrap();
    let mut all = [&split.train[..], &split.valid, &split.test].concat();
    all.sort_unstable();
    assert_eq!((split.train.len(), all), (2, vec![0, 1, 2, 3]));
    own.nodes().split = NodeSplitFrom::Fractions { train: 0.5, valid: 0.5, test: 0.25 };
    assert!(matches!(own.load().unwrap_err(), LoadError::Fractions(_)));
    own.nodes().labels = None;
    assert_eq!(own.load().unwrap().node_split, None);
}

#[test]
fn rows_follow_ids_that_are_asked_for() {
    let four = "1,0\n0,2\n3,0\n0,4\n";
    let own = Own::new().features("f.csv", four).ids(IdKind::Names);
    own.write("edges.txt", "n9 n7\nn7 n8\nn8 n1\n");
    own.write("train.txt", "n7\nn1\n");
    let read = own.load().unwrap();
    assert_eq!((read.ids, read.node_split.unwrap().train), (Ids::names(["n9", "n7", "n8", "n1"]), vec![1, 3]));
    let own = Own::new().features("f.csv", four).ids(IdKind::Numbers);
    own.write("edges.txt", "90 70\n70 80\n80 10\n");
    own.write("train.txt", "70\n10\n");
    let own = own.test("t.npy", npy("<i8", false, "(1,)", &bytes_of::<i64>(&[90])));
    let split = own.load().unwrap().node_split.unwrap();
    assert_eq!((split.train, split.test), (vec![1, 0], vec![3]));
    let own = Own::new().features("f.csv", TEXT).ids(IdKind::Numbers);
    own.refused(&["f.csv", "5 rows", "expected 4, one for each node in", "edges.txt", "ids = \"rows\""]);
}

#[test]
fn files_that_do_not_fit_each_other() {
    let own = Own::new().features("f.csv", TEXT).labels("l.txt", "a\nb\n");
    own.refused(&["l.txt", "2 rows", "5, as many as", "f.csv"]);
    let own = Own::new().features("f.csv", "1,0\n0,2\n3,0\n");
    own.refused(&["edges.txt, line 3", "the id 3", "below 3", "remove the edge"]);
    let mut own = Own::new().features("f.csv", "1,0\n0,2\n3,0\n");
    own.file.path = own.write("edges.npy", npy("<i8", false, "(2, 2)", &bytes_of::<i64>(&[0, 1, 2, 3])));
    own.refused(&["edges.npy", "the id 3 in pair 1", "below 3", "remove the edge"]);
    let mut own = Own::new().features("f.csv", TEXT);
    own.file.path = own.write("e.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n4 4 1\n2 1\n");
    own.refused(&["f.csv", "5 rows", "expected 4", "e.mtx", "order of the matrix"]);
    let own = Own::new().features("f.csv", TEXT);
    own.write("edges.txt", "ann bob\nbob eve\n");
    own.refused(&["edges.txt, line", "ids = \"names\""]);
}

#[test]
fn files_that_are_wrong() {
    let labelled = || Own::new().labels("l.txt", LABELS);
    labelled().test("t.txt", "1\n5\n").refused(&["t.txt, line 2", "the id `5`", "0 to 4"]);
    labelled().test("t.txt", "\n").refused(&["t.txt", "is empty"]);
    let array = |numbers: &[i64]| npy("<i8", false, &format!("({},)", numbers.len()), &bytes_of::<i64>(numbers));
    labelled().test("t.npy", array(&[1, -2])).refused(&["t.npy", "the id -2 in entry 1", "0 to 4"]);
    labelled().test("t.npy", npy("|b1", false, "(3,)", &[1, 0, 1])).refused(&["t.npy", "3 times", "5, one for each"]);
    labelled()
        .test("t.npy", npy("<i8", false, "(2, 2)", &bytes_of::<i64>(&[0; 4])))
        .refused(&["t.npy", "[2, 2]", "[n]"]);
    labelled().test("t.npz", scipy()).refused(&["t.npz", "a matrix", "a list of nodes"]);
    let features = |name: &str, bytes: Vec<u8>| Own::new().features(name, bytes);
    features("f.npy", npy("<f4", false, "(5,)", &bytes_of::<f32>(&[0.0; 5]))).refused(&[
        "f.npy",
        "[5]",
        "[nodes, features]",
    ]);
    let mut values = VALUES;
    values[3] = f32::NAN;
    features("f.npy", npy("<f4", false, "(5, 2)", &bytes_of::<f32>(&values)))
        .refused(&["f.npy", "NaN in row 1, column 1"]);
    features("f.npy", npy("<f4", true, "(5, 2)", &bytes_of::<f32>(&values))).refused(&["NaN in row 3, column 0"]);
    features("f.csv", TEXT.replace('4', "inf").into()).refused(&["f.csv, line 4", "`inf`", "finite"]);
    features("f.csv", TEXT.replace(",4", "").into()).refused(&["f.csv, line 4", "1 columns", "2 as in the first"]);
    features("f.txt", b"\n1 2\n".to_vec()).refused(&["f.txt, line 1", "an empty line"]);
    features("f.mtx", b"%%MatrixMarket".to_vec()).refused(&["f.mtx", "save_npz"]);
    Own::new().labels("l.txt", "").refused(&["l.txt", "is empty", "one label a line"]);
    Own::new().labels("l.txt", b"a\n\xff\n").refused(&["l.txt, line 2", "not UTF-8"]);
    Own::new().labels("l.npz", scipy()).refused(&["l.npz", "a matrix", "one label a node"]);
    Own::new()
        .labels("l.npy", npy("<f4", false, "(2,)", &bytes_of::<f32>(&[1.0, 0.5])))
        .refused(&["l.npy", "0.5", "whole"]);
}
