//! Files that numpy and scipy write, where they are installed.

use std::process::Command;

use super::*;
use crate::dataset::UNLABELLED;

/// Runs a script that writes into a folder; `None` with a line that says so where it cannot run.
fn python(script: &str) -> Option<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let preamble = "import sys, os, pickle, collections\nimport numpy as np, scipy.sparse as sp, scipy.io\nos.chdir(sys.argv[1])\n";
    let output = Command::new("python3").args(["-c", &format!("{preamble}{script}")]).arg(folder.path()).output();
    let done = output.is_ok_and(|output| output.status.success());
    if !done {
        println!("python3 with numpy and scipy is not installed: skipped");
    }
    done.then_some(folder)
}

#[test]
fn matrices_and_pairs() {
    let script = "
m = sp.csr_matrix(np.array([[0, 2, 0], [0, 0, 0.5], [1, 0, 0]], np.float32))
sp.save_npz('csr.npz', m); sp.save_npz('csc.npz', m.tocsc(), compressed=False); sp.save_npz('coo.npz', m.tocoo())
sp.save_npz('array.npz', sp.csr_array(m))
scipy.io.mmwrite('m.mtx', m)
np.save('pairs.npy', np.array([[0, 1], [1, 2], [2, 0]])); np.save('turned.npy', np.array([[0, 1], [1, 2], [2, 0]]).T)
";
    let Some(folder) = python(script) else { return };
    for name in ["csr.npz", "csc.npz", "coo.npz", "array.npz", "m.mtx", "pairs.npy", "turned.npy"] {
        let read = read_edges(&folder.path().join(name), &EdgeOptions::default()).unwrap();
        // Pairs have no weights.
        let weights = read.edges.weights.unwrap_or(vec![2.0, 0.5, 1.0]);
        let mut edges: Vec<_> = read.edges.edges.iter().copied().zip(weights).collect();
        edges.sort_by_key(|&(edge, _)| edge);
        assert_eq!(edges, [((0, 1), 2.0), ((1, 2), 0.5), ((2, 0), 1.0)], "{name}");
    }
}

/// As in Citeseer, the test index leaves out an id that has no row in `tx`.
#[test]
fn planetoid_with_an_isolated_test_node() {
    let script = "
def dump(part, value): pickle.dump(value, open('ind.tiny.' + part, 'wb'), protocol=2)
one = np.eye(2, dtype=np.int32)
x = sp.csr_matrix(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32))
tx = sp.csr_matrix(np.array([[5, 0, 5], [0, 7, 0]], np.float32))
dump('x', x[:1]); dump('allx', x); dump('tx', tx)
dump('y', one[[0]]); dump('ally', one[[0, 1, 1]]); dump('ty', one[[1, 0]])
g = collections.defaultdict(list, {0: [1, 5, 1], 1: [0, 0], 2: [2], 3: [5], 4: [], 5: [0, 3]})
dump('graph', g)
open('ind.tiny.test.index', 'w').write('5\\n3\\n')
";
    let Some(folder) = python(script) else { return };
    let read = read_planetoid(folder.path(), "tiny").unwrap();
    assert_eq!((read.graph.nodes(), read.feature_count), (6, 3));
    assert_eq!(read.graph.list().unwrap().edges, [(0, 1), (0, 5), (2, 2), (3, 5)]);
    assert_eq!(read.labels.unwrap(), [0, 1, 1, 0, UNLABELLED, 1]);
    assert_eq!(read.classes, ["0", "1"]);
    let features = read.sparse_features.unwrap();
    assert_eq!(features.starts, [0, 1, 2, 3, 4, 4, 6]);
    assert_eq!((&features.columns[..], &features.values[3..]), (&[0, 1, 2, 1, 0, 2][..], &[7.0, 5.0, 5.0][..]));
    let split = read.node_split.unwrap();
    assert_eq!((split.train, split.valid, split.test), (vec![0], vec![1, 2], vec![3, 5]));

    fs::write(folder.path().join("ind.tiny.test.index"), "5\n2\n").unwrap();
    let error = read_planetoid(folder.path(), "tiny").unwrap_err();
    assert_words(&error, Path::new("ind.tiny.test.index"), &["line 2", "the id 2", "from 3"]);
    fs::remove_file(folder.path().join("ind.tiny.ty")).unwrap();
    fs::write(folder.path().join("ind.tiny.test.index"), "5\n3\n").unwrap();
    let error = read_planetoid(folder.path(), "tiny").unwrap_err();
    assert_words(&error, Path::new("ind.tiny.ty"), &["is missing", "the part `ty`"]);
}
