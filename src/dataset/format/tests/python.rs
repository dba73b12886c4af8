//! Files that numpy and scipy write, where they are installed.

use std::process::Command;

use super::*;

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
