//! Reading a large edge list into tiles, compared with pandas and SciPy:
//! `cargo bench --bench import`.
//!
//! Both read the same file in turns: `isvd-dist` into a directed `Graph`, pandas into two columns
//! and SciPy into compressed rows.

mod common;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use common::peer::Peer;
use common::timing::{self, Times};
use isvd_dist::dataset::format::{EdgeOptions, read_edges};
use isvd_dist::experiment::memory;
use isvd_dist::graph::{Graph, Import};
use isvd_kernel::random::{bits, stream};

const EDGES: usize = 10_000_000;
const LEVELS: u32 = 20;
const ROUNDS: usize = 5;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("edges.txt");
    write_edges(&path);
    let bytes = fs::metadata(&path).expect("the file that was written").len();
    println!("{EDGES} edges of an R-MAT graph as text, {} MB; best of {ROUNDS} by turns", bytes / 1_000_000);

    let mut peer = Peer::start(SCRIPT, &path);
    let (mut read, mut built, mut undirected, mut one, mut theirs) = (vec![], vec![], vec![], vec![], vec![]);
    let (mut directed_peak, mut undirected_peak) = (0, 0);
    for _ in 0..ROUNDS {
        let run = import(&path, true, None);
        read.push(run.read);
        built.push(run.total);
        directed_peak = directed_peak.max(run.peak);
        if let Some(seconds) = peer.as_mut().and_then(|peer| peer.time("")) {
            theirs.push(seconds);
        }
        let run = import(&path, false, None);
        undirected.push(run.total);
        undirected_peak = undirected_peak.max(run.peak);
        one.push(import(&path, true, Some(1)).total);
    }
    let mut times = vec![
        Times::measured("ours, text to tiles", built),
        Times::measured("  its reading alone", read),
        Times::measured("ours, edges both ways", undirected),
        Times::measured("ours, text by one thread", one),
    ];
    if theirs.is_empty() {
        println!("pandas and scipy are not installed: skipped");
    } else {
        times.push(Times::measured("pandas.read_csv, scipy coo_matrix.tocsr", theirs));
    }
    timing::print("text to shards", &times);
    for (name, peak) in [("directed", directed_peak), ("edges both ways", undirected_peak)] {
        match peak {
            0 => println!("peak memory, {name}: this system does not tell"),
            _ => println!("peak memory, {name}: {:.1} bytes an edge", peak as f64 / EDGES as f64),
        }
    }
}

struct Run {
    read: f64,
    total: f64,
    /// The peak memory above the initial memory; 0 if unknown.
    peak: u64,
}

fn import(path: &Path, directed: bool, threads: Option<usize>) -> Run {
    // Resets the peak of earlier runs, if the system supports it.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let before = memory::peak_bytes();
    let start = Instant::now();
    let options = EdgeOptions { directed: Some(directed), threads, ..EdgeOptions::default() };
    let edges = read_edges(path, &options).expect("a file of numbers");
    let read = start.elapsed().as_secs_f64();
    let graph = Graph::from_edges(&edges.edges, Import::default()).expect("edges of the file");
    let total = start.elapsed().as_secs_f64();
    assert!(graph.report.listed == EDGES && graph.nodes() == edges.ids.len());
    let peak = memory::peak_bytes().zip(before).map_or(0, |(after, before)| after - before);
    Run { read, total, peak }
}

fn write_edges(path: &Path) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).expect("a file in the temporary folder"));
    for n in 0..EDGES as u64 {
        let (mut row, mut col) = (0u32, 0u32);
        for level in 0..LEVELS / 4 {
            let word = bits(1, stream::SYNTHETIC, n, level);
            for part in 0..4 {
                let u = (word >> (16 * part) & 0xffff) as f64 / 65536.0;
                (row, col) =
                    (row << 1 | u32::from(u >= 0.76), col << 1 | u32::from((0.57..0.76).contains(&u) || u >= 0.95));
            }
        }
        // The bits of an R-MAT node determine its degree. The permutation makes ids independent of
        // degrees.
        let spread = |node: u32| node.wrapping_mul(0x9E37_79B1) & ((1 << LEVELS) - 1);
        writeln!(file, "{} {}", spread(row), spread(col)).expect("room for the file");
    }
    file.flush().expect("room for the file");
}

/// Reads the file on command.
const SCRIPT: &str = "import sys, time, numpy as np, pandas as pd, scipy.sparse as sp\n\
    print('ready', flush=True)\n\
    for _ in sys.stdin:\n\
    \x20   t = time.perf_counter()\n\
    \x20   d = pd.read_csv(sys.argv[1], sep=' ', header=None, names=['a', 'b'])\n\
    \x20   n = max(d.a.max(), d.b.max()) + 1\n\
    \x20   m = sp.coo_matrix((np.ones(len(d), np.float32), (d.a.to_numpy(), d.b.to_numpy())), shape=(n, n)).tocsr()\n\
    \x20   print(time.perf_counter() - t, flush=True)\n\
    \x20   del d, m\n";
