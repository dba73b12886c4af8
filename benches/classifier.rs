//! ogbn-arxiv from features to a trained network, compared with NumPy:
//! `cargo bench --bench classifier`.
//!
//! The closed form of stage (c), from M with its copies (677,372 × 380) to weights, and one epoch
//! of fine-tuning. The dataset is read from `ISVD_DATA` or `../shared/data`; if its features are
//! missing, generated ones of the same shape replace them. NumPy gets M already formed. It runs the
//! method of the paper (subspace iteration) and the method of `isvd-dist` (one Gram matrix), with
//! its default number of threads.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use common::peer::Peer;
use common::timing::{self, Times};
use isvd_dist::config::{Experiment, NodeTask};
use isvd_dist::dataset::Dataset;
use isvd_dist::dataset::format::{OgbOptions, read_ogb};
use isvd_dist::engine::{Cluster, Monitor, form};
use isvd_dist::experiment::memory;
use isvd_dist::finetune::network::{self, Network, NetworkShape, Phase, Problem};
use isvd_dist::graph::{Graph, Import, SelfLoops};
use isvd_dist::matrix::{Dense, Matrix};
use isvd_dist::model::classifier::{Design, Examples, Fitted, Labels, fit};
use isvd_dist::model::features::{of_dataset, reduce};
use isvd_dist::model::propagation::Propagation;
use isvd_kernel::random::{normal, stream};
use npyz::WriterBuilder;

const ROUNDS: usize = 5;
const CLASSES: usize = 40;
const FEATURES: usize = 128;
/// The distance between the class means of generated features: a linear classifier on them alone
/// predicts about half of the classes.
const SCALE: f32 = 0.21;
/// The seconds of the paper's program on two cores of the same kind.
const PAPER_SVD: f64 = 43.5;
const PAPER_EPOCH: f64 = 80.0;

fn main() {
    let Some(dataset) = dataset() else { return };
    let task =
        Experiment::load("arxiv".as_ref(), &[]).ok().and_then(|experiment| experiment.nodes).expect("a shipped config");
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let both = Cluster::threads(threads);
    let split = dataset.node_split.clone().expect("an official split");
    let labels = dataset.labels.clone().expect("labels");
    let import = Import { self_loops: SelfLoops::Drop, ..Import::default() };
    let graph = Graph::from_edges(dataset.graph.list().expect("a list"), import).expect("citations");
    let components = task.components.clone().expect("the config reduces features");
    let x = of_dataset(&dataset).expect("features");
    let start = Instant::now();
    let reduced = reduce(&x, &components, both, Monitor::default()).expect("components");
    let features = reduced.reduction.apply(&x, both).expect("components");
    println!("{} nodes; features reduced in {:.2} s", dataset.graph.nodes(), start.elapsed().as_secs_f64());
    let design = Design {
        propagation: Propagation::new(&graph).expect("edges both ways"),
        features: Matrix::dense("X", features.clone()).expect("finite features"),
        layers: task.classifier.layers,
        label_classes: CLASSES,
    };

    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let closed = |cluster| closed_form(&design, &labels, &split.train, &task, cluster);
    let fitted = closed(both).2;
    if let Some(bytes) = memory::peak_bytes() {
        println!("peak memory of the closed form, data included: {:.0} MB", bytes as f64 / 1e6);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    write_peer_files(folder.path(), &design, &labels, &split.train, both);
    let mut peer = Peer::start(SCRIPT, folder.path());
    let (mut formed, mut ours, mut alone, mut gram, mut iterated) = (vec![], vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        let (forming, solving, _) = closed(both);
        formed.push(forming);
        ours.push(solving);
        alone.push(closed(Cluster::threads(1)).1);
        if let Some(peer) = &mut peer {
            gram.extend(peer.time("gram"));
            iterated.extend((round == 0).then(|| peer.time("subspace")).flatten());
        }
    }
    drop(peer);
    let best = ours.iter().copied().fold(f64::INFINITY, f64::min);
    let mut times = vec![
        Times::measured(&format!("ours, {threads} workers"), ours),
        Times::measured("ours, one worker", alone),
        Times::measured("  M written down before, once for all stages", formed),
    ];
    if gram.is_empty() {
        println!("numpy is not installed: skipped");
    } else {
        times.push(Times::measured("numpy, Gram matrix, M given", gram));
        times.push(Times::measured("numpy, 5 subspace iterations, M given", iterated));
    }
    timing::print("closed form, stage (c)", &times);
    println!("the paper's program, {PAPER_SVD} s for its SVD: {:.0} times ours", PAPER_SVD / best);

    let problem = Arc::new(Problem {
        propagation: design.propagation.clone(),
        features: Arc::new(features),
        labels: labels.into(),
        learn: split.train.iter().chain(&split.valid).copied().collect(),
        valid: vec![],
    });
    let epoch = |cluster| one_epoch(&design, &fitted, &problem, &task, cluster);
    let (mut ours, mut alone) = (vec![], vec![]);
    for _ in 0..3 {
        ours.push(epoch(both));
        alone.push(epoch(Cluster::threads(1)));
    }
    let best = ours.iter().copied().fold(f64::INFINITY, f64::min);
    let times =
        [Times::measured(&format!("ours, {threads} workers"), ours), Times::measured("ours, one worker", alone)];
    timing::print("one epoch of fine-tuning, 120,740 nodes", &times);
    println!("the paper's program, {PAPER_EPOCH} s: {:.0} times ours", PAPER_EPOCH / best);
}

/// The seconds to form M, the seconds to solve, and the weights.
fn closed_form(
    design: &Design,
    labels: &[u32],
    learn: &[u32],
    task: &NodeTask,
    cluster: Cluster,
) -> (f64, f64, Fitted) {
    let start = Instant::now();
    let options = &task.classifier;
    let examples = Examples::new(design, labels, learn, CLASSES, options, cluster).expect("rows");
    let formed = start.elapsed().as_secs_f64();
    let fitted = fit(&examples, options, cluster, Monitor::default()).expect("weights");
    (formed, start.elapsed().as_secs_f64() - formed, fitted)
}

fn one_epoch(design: &Design, fitted: &Fitted, problem: &Arc<Problem>, task: &NodeTask, cluster: Cluster) -> f64 {
    let shape = NetworkShape {
        features: problem.features.columns(),
        classes: CLASSES,
        layers: design.layers,
        label_reuse: true,
    };
    let weights = design.network_weights(&fitted.weights).expect("weights of the design");
    let network = Network::from_linear(&weights, shape).expect("weights of the shape");
    let schedule = vec![Phase { epochs: 1, learning_rate: 1e-3 }];
    let options = network::Options { schedule, ..task.network.clone().expect("the config has a network") };
    let trained = network::train(problem.clone(), network, &options, cluster, Monitor::default()).expect("an epoch");
    trained.epochs[0].seconds
}

/// The papers, with generated features if there are none.
fn dataset() -> Option<Dataset> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let folder = std::env::var_os("ISVD_DATA").map_or(beside, PathBuf::from);
    let mut dataset = match read_ogb(&folder.join("ogbn_arxiv"), "ogbn-arxiv", &OgbOptions::default()) {
        Ok(dataset) => dataset,
        Err(error) => {
            println!("{error}: skipped");
            return None;
        }
    };
    dataset.graph.forget_direction();
    if dataset.features.is_none() {
        println!("the features of ogbn-arxiv are missing; generated features replace them");
        let labels = dataset.labels.as_ref().expect("labels");
        let feature = |entry: usize| {
            let (node, feature) = (entry / FEATURES, (entry % FEATURES) as u32);
            let mean = SCALE * normal(1, stream::SYNTHETIC, u64::from(labels[node]), feature);
            mean + normal(2, stream::SYNTHETIC, node as u64, feature)
        };
        dataset.features = Some((0..labels.len() * FEATURES).map(feature).collect());
        dataset.feature_count = FEATURES;
    }
    Some(dataset)
}

fn write_peer_files(folder: &Path, design: &Design, labels: &[u32], learn: &[u32], cluster: Cluster) {
    let known = Labels::known(labels, learn, CLASSES);
    let m = form(&design.matrix(Some(&known)).expect("M"), cluster).expect("M");
    let rows = learn.iter().map(|&node| node as f32);
    let classes = learn.iter().map(|&node| labels[node as usize] as f32);
    let learn = Dense::new(2, learn.len(), rows.chain(classes).collect()).expect("two rows");
    let kept = Dense::new(1, design.columns(), design.feature_columns()).expect("one row");
    for (name, array) in [("m.npy", &m), ("learn.npy", &learn), ("kept.npy", &kept)] {
        let file = std::io::BufWriter::new(std::fs::File::create(folder.join(name)).expect("a file"));
        let shape = [array.rows() as u64, array.columns() as u64];
        let mut writer =
            npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file).begin_nd().expect("a header");
        writer.extend(array.data().iter().copied()).expect("room for the file");
        writer.finish().expect("room for the file");
    }
}

/// Solves on command.
const SCRIPT: &str = r"
import sys, time, os, numpy as np
f = sys.argv[1]
m, learn, kept = (np.load(os.path.join(f, n + '.npy')) for n in ('m', 'learn', 'kept'))
rows, classes = learn.astype(int)
t = np.full((len(rows), 40), -5, np.float32); t[np.arange(len(rows)), classes] = 5
def copies():
    rng = np.random.default_rng(1)
    yield m
    yield m * kept
    for _ in range(2): yield m * ((rng.random(m.shape, dtype=np.float32) < .5) * np.float32(2))
def gram():
    g = 0; c = 0
    for a in copies():
        for i in range(0, len(a), 4096):
            b = a[i:i + 4096].astype(np.float64); g = g + b.T @ b
        c = c + a[rows].T @ t
    w, v = np.linalg.eigh(g); w, v = w[-250:], v[:, -250:]
    return v @ ((v.T @ c) / w[:, None])
def subspace():
    a = np.vstack(list(copies())); n = len(m)
    q = np.random.default_rng(1).standard_normal((a.shape[1], 280)).astype(np.float32)
    def orth(x):
        l = np.linalg.cholesky(x.T @ x); return x @ np.linalg.inv(l).T.astype(np.float32)
    for _ in range(5): q = orth(a.T @ orth(a @ q))
    q = orth(a @ q); u, s, v = np.linalg.svd((a.T @ q).T, full_matrices=False)
    u = (q @ u)[:, :250]; p = sum(u[i * n + rows].T @ t for i in range(4))
    return v[:250].T @ (p / s[:250, None])
print('ready', flush=True)
for order in sys.stdin:
    b = time.perf_counter(); {'gram': gram, 'subspace': subspace}[order.strip()](); print(time.perf_counter() - b, flush=True)
";
