//! Nearest neighbours, compared with scikit-learn: `cargo bench --bench neighbours`.
//!
//! 10,000 queries for the ten nearest of 170,000 vectors of 100 entries by cosine. The vectors are
//! generated in clusters, as embeddings are. scikit-learn also compares all vectors
//! (`algorithm="brute"`), with its default number of threads, and its answers are compared with
//! ours. The time includes the preparation of the vectors.

mod common;
#[path = "../tests/support/python.rs"]
mod python;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use common::peer::Peer;
use common::timing::{self, Contender, clocked};
use isvd_dist::matrix::Dense;
use isvd_dist::model::neighbours::{By, Neighbour, Neighbours};
use isvd_dist::model::vectors::{Side, Vectors};
use isvd_kernel::random::normal;
use npyz::{NpyFile, WriterBuilder};

const ROWS: usize = 170_000;
const RANK: usize = 100;
const QUESTIONS: usize = 10_000;
const TOP: usize = 10;
const BUNDLES: usize = 500;
const ROUNDS: usize = 3;

const PEER: &str = r#"
import sys, time, numpy as np
from sklearn.neighbors import NearestNeighbors
folder = sys.argv[1]
x = np.load(folder + "/x.npy")
questions = np.load(folder + "/questions.npy")
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    nearest = NearestNeighbors(n_neighbors=int(line) + 1, algorithm="brute", metric="cosine").fit(x)
    distances, rows = nearest.kneighbors(x[questions])
    seconds = time.perf_counter() - start
    np.save(folder + "/rows.npy", rows.astype(np.int64))
    print(seconds, flush=True)
"#;

fn main() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let entry = |place: usize| {
        let (row, column) = (place / RANK, (place % RANK) as u32);
        2.0 * normal(1, 1, (row % BUNDLES) as u64, column) + normal(1, 2, row as u64, column)
    };
    let left = Dense::new(ROWS, RANK, (0..ROWS * RANK).map(entry).collect()).expect("a matrix");
    let questions: Vec<u32> = (0..QUESTIONS).map(|n| (n * 7919 % ROWS) as u32).collect();
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("x.npy"), &[ROWS, RANK], left.data());
    write(&folder.path().join("questions.npy"), &[QUESTIONS], &questions);
    let vectors = Arc::new(Vectors { right: left.clone(), left });
    let mut found = Vec::new();
    let ask = |threads: usize| {
        let ready = Neighbours::new(vectors.clone(), By::Cosine(Side::Left)).expect("a side");
        ready.of(&questions, TOP, threads)
    };
    let python = python::python().inspect_err(|missing| println!("{missing}: skipped")).ok();
    let mut peer = python.and_then(|python| Peer::start_with(python, PEER, folder.path()));
    let all = format!("isvd-dist, {threads} threads");
    let mut contenders: Vec<Contender> =
        vec![(&all, clocked(|| found = ask(threads))), ("isvd-dist, 1 thread", clocked(|| drop(ask(1))))];
    match &mut peer {
        Some(peer) => {
            contenders.push(("scikit-learn", Box::new(|| peer.time(&TOP.to_string()).expect("an answer"))));
        }
        None => println!("scikit-learn is not here: not compared"),
    }
    let times = timing::by_turns(ROUNDS, contenders);
    timing::print(&format!("{QUESTIONS} questions for the {TOP} nearest of {ROWS} × {RANK}"), &times);
    if peer.is_some() {
        compare(&vectors.left, &questions, &found, &folder.path().join("rows.npy"));
    }
}

fn write<T: npyz::AutoSerialize + Copy>(path: &Path, shape: &[usize], values: &[T]) {
    let shape: Vec<u64> = shape.iter().map(|&side| side as u64).collect();
    let file = std::io::BufWriter::new(File::create(path).expect("a file"));
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file).begin_nd().expect("a header");
    writer.extend(values.iter().copied()).and_then(|()| writer.finish()).expect("an array");
}

/// Compares the answers, except where single precision cannot distinguish two nodes.
fn compare(vectors: &Dense, questions: &[u32], ours: &[Vec<Neighbour>], theirs: &Path) {
    let theirs: Vec<i64> =
        NpyFile::new(File::open(theirs).expect("answers")).and_then(NpyFile::into_vec).expect("rows");
    let dot = |a: u32, b: u32| -> f64 {
        let rows = vectors.row(a as usize).iter().zip(vectors.row(b as usize));
        rows.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    let cosine = |a: u32, b: u32| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
    let mut other = 0;
    for ((&question, ours), theirs) in questions.iter().zip(ours).zip(theirs.chunks(TOP + 1)) {
        let theirs = theirs.iter().map(|&row| row as u32).filter(|&row| row != question).take(TOP);
        for (ours, theirs) in ours.iter().zip(theirs) {
            if ours.row != theirs {
                other += 1;
                let difference = (f64::from(ours.score) - cosine(question, theirs)).abs();
                assert!(difference < 1e-6, "node {question}: {ours:?} for {theirs}");
            }
        }
    }
    println!("the same answers, but for {other} of {} that are equal in single precision", TOP * questions.len());
}
