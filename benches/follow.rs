//! Changing graphs: `cargo bench --bench follow`.
//!
//! First, a batch of 1,000 edges on an R-MAT graph of four million edges: shards that are patched,
//! and shards that are built again. Then the citations of ogbn-arxiv by year, if its files are
//! found (`ISVD_DATA`): a warm start from the vectors of the previous year, and a cold start that
//! may stop at the same residual. Columns are weighted by their work: a product with a surrogate of
//! six steps in place of ten counts as 0.6.

mod common;

use std::path::PathBuf;
use std::time::Instant;

use common::timing::{self, Times};
use isvd_dist::config::Experiment;
use isvd_dist::dataset::{EdgeList, Rmat};
use isvd_dist::engine::{Cluster, EdgeCollection, Monitor};
use isvd_dist::graph::evolve::Operation;
use isvd_dist::graph::{Duplicates, Graph, Import};
use isvd_dist::model::embedding::{Embedding, Normalize, Options, Walks, embed};
use isvd_dist::model::follow::Follower;
use isvd_dist::svd;
use isvd_kernel::random::{self, stream};

const ROUNDS: usize = 9;
const BATCH: u64 = 1000;
/// Steps at the end of a stream.
const STEPS: usize = 10;
/// Citations of a step that is not a year.
const COUNT: usize = 5000;
const CLUSTER: Cluster = Cluster::threads(2);

fn main() {
    patching();
    years();
}

fn options(rank: usize, tolerance: f64) -> Options {
    let svd = svd::Options { tolerance: Some(tolerance), iterations: 40, ..svd::Options::of_rank(rank) };
    let (walks, normalize) = (Walks::Window(10), Normalize::Symmetric);
    Options { walks, negative: 0.02, normalize, degree_weighted: true, self_loops: false, svd }
}

/// A batch on a large graph.
fn patching() {
    let list = Rmat::new(17, 32).expect("a size").draw(1).expect("edges");
    let nodes = list.nodes;
    let mut graph = Graph::from_edges(&list, Import::default()).expect("a graph");
    let start = Instant::now();
    let mut collection = EdgeCollection::new(&graph.adjacency, false, CLUSTER.workers).expect("a collection");
    let seconds = start.elapsed().as_secs_f64();
    println!("{nodes} nodes, {} edges listed; {seconds:.2} s to build the edge collection", list.edges.len());
    let (mut updated, mut patched, mut both, mut rebuilt) = (vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS as u64 {
        let edge = |number| random::pair(round, stream::SYNTHETIC, number, 0, nodes as u32);
        let batch: Vec<_> = (0..BATCH).map(|number| (edge(number), Some(1.0))).collect();
        let start = Instant::now();
        let changes = collection.apply(batch.iter().copied()).expect("a batch");
        updated.push(start.elapsed().as_secs_f64());
        let patching = Instant::now();
        graph.patch(nodes, &changes, false).expect("a patch");
        patched.push(patching.elapsed().as_secs_f64());
        both.push(start.elapsed().as_secs_f64());
        let mut list = list.clone();
        list.edges.extend(batch.iter().map(|(edge, _)| *edge));
        let start = Instant::now();
        Graph::from_edges(&list, Import::default()).expect("a graph");
        rebuilt.push(start.elapsed().as_secs_f64());
    }
    timing::print(
        &format!("a batch of {BATCH} edges"),
        &[
            Times::measured("shards patched", patched),
            Times::measured("edge collection", updated),
            Times::measured("edge collection and shards", both),
            Times::measured("shards built again", rebuilt),
        ],
    );
    let size = collection.size();
    println!(
        "the edge collection takes {:.1} bytes per edge ({} edges)",
        size.bytes as f64 / size.edges as f64,
        size.edges
    );
}

/// Citations in the order of the year of the later paper, in steps of a year and in steps of a
/// fixed number.
fn years() {
    let folder = std::env::var_os("ISVD_DATA").map_or_else(|| PathBuf::from("../shared/data"), PathBuf::from);
    let experiment = Experiment::load(&PathBuf::from("arxiv"), &[]).expect("a shipped config");
    let dataset = match experiment.dataset.load(Some(&folder), 1) {
        Ok(dataset) => dataset,
        Err(error) => return println!("skipped: {error}"),
    };
    let (Some(years), Ok(list)) = (&dataset.years, dataset.graph.list()) else {
        return println!("skipped: ogbn-arxiv has no years here");
    };
    // Papers get rows in the order in which they appear.
    let mut order: Vec<u32> = (0..years.len() as u32).collect();
    order.sort_by_key(|&node| years[node as usize]);
    let mut row = vec![0; years.len()];
    order.iter().enumerate().for_each(|(place, &node)| row[node as usize] = place as u32);
    let mut citations: Vec<(u32, u32)> =
        list.edges.iter().map(|&(from, to)| (row[from as usize], row[to as usize])).collect();
    citations.sort_by_key(|&(from, to)| from.max(to));
    let year_of = |&(from, to): &(u32, u32)| years[order[from.max(to) as usize] as usize];
    let last = years.iter().copied().max().unwrap_or(0);
    let until = |year: i32| citations.partition_point(|citation| year_of(citation) <= year);
    let by_year: Vec<usize> = (last - STEPS as i32..=last).map(until).collect();
    for tolerance in [0.2, 0.15, 0.05] {
        follow(&citations, &by_year, "a year a step", tolerance);
    }
    let by_count = (0..=STEPS).map(|step| citations.len() - (STEPS - step) * COUNT).collect::<Vec<_>>();
    follow(&citations, &by_count, &format!("{COUNT} citations a step"), 0.05);
}

/// Embeds the stream up to the first of some positions, and then follows it from each position to
/// the next.
fn follow(citations: &[(u32, u32)], ends: &[usize], what: &str, tolerance: f64) {
    let nodes = |end: usize| citations[..end].last().map_or(0, |&(from, to)| from.max(to) as usize + 1);
    let base = EdgeList { nodes: nodes(ends[0]), edges: citations[..ends[0]].to_vec(), ..EdgeList::default() };
    let import = Import { duplicates: Duplicates::Once, ..Import::default() };
    let graph = Graph::from_edges(&base, import).expect("a graph");
    let options = options(32, tolerance);
    let mut follower = Follower::new(graph, false, options.clone(), CLUSTER).expect("a follower");
    follower.embed(Monitor::default()).expect("an embedding");
    println!(
        "\nogbn-arxiv, {what}, rank 32, window 10, to a residual of {tolerance}; a cold start may stop where the warm one did"
    );
    println!(
        "   nodes  new edges  patch s |  warm s  columns  residual |  cold s  columns  residual | seconds  columns | values"
    );
    for step in ends.windows(2) {
        let added = &citations[step[0]..step[1]];
        let operations: Vec<_> = added.iter().map(|&edge| (edge, Operation::Add(1.0))).collect();
        let start = Instant::now();
        follower.apply(nodes(step[1]), &operations).expect("a batch");
        let patch = start.elapsed().as_secs_f64();
        let graph = follower.graph().clone();
        let start = Instant::now();
        follower.embed(Monitor::default()).expect("an embedding");
        let warm_seconds = start.elapsed().as_secs_f64();
        let warm = follower.embedding().expect("an embedding").clone();
        let mut cold_options = options.clone();
        cold_options.svd.tolerance = Some(worst(&warm));
        let start = Instant::now();
        let cold = embed(&graph, &cold_options, CLUSTER, Monitor::default()).expect("an embedding");
        let cold_seconds = start.elapsed().as_secs_f64();
        let off = warm.singular_values.iter().zip(&cold.singular_values).map(|(a, b)| (a - b).abs() / b);
        println!(
            "{:>8} {:>10} {patch:>8.3} | {warm_seconds:>7.3} {:>8} {:>9.4} | {cold_seconds:>7.3} {:>8} {:>9.4} | {:>7.2} {:>8.2} | {:.3}",
            graph.nodes(),
            added.len(),
            warm.operator_columns,
            worst(&warm),
            cold.operator_columns,
            worst(&cold),
            warm_seconds / cold_seconds,
            warm.operator_columns as f64 / cold.operator_columns as f64,
            off.fold(0.0, f32::max)
        );
    }
}

fn worst(embedding: &Embedding) -> f64 {
    embedding.certificate.relative_residuals.iter().copied().fold(0.0, f64::max)
}
