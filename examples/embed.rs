//! Embeds a graph, evaluates the embedding on held-out edges, and lists the likeliest neighbours of
//! a node.
//!
//! Run it with `cargo run --release --example embed`.

use std::error::Error;

use isvd_dist::dataset::demo::demo;
use isvd_dist::engine::{Cluster, Monitor};
use isvd_dist::evaluate::roc_auc;
use isvd_dist::graph::{Graph, Import};
use isvd_dist::model::embedding::{Normalize, Options, Walks, embed};
use isvd_dist::svd;

/// Loads, embeds, scores.
pub fn main() -> Result<(), Box<dyn Error>> {
    // For your own edges, `dataset::format::read_edges` reads a file.
    let dataset = demo();
    let graph = Graph::from_edges(dataset.graph.list()?, Import::default())?;
    let options = Options {
        walks: Walks::Window(5),
        negative: 0.02,
        normalize: Normalize::Row,
        degree_weighted: false,
        self_loops: false,
        svd: svd::Options { tolerance: Some(0.02), ..svd::Options::of_rank(32) },
    };
    let embedding = embed(&graph, &options, Cluster::threads(2), Monitor::default())?;

    let weights = embedding.plain_weights();
    let test = dataset.test.ok_or("the demo holds edges out")?;
    let edges = embedding.score(&test.edges, false, &weights);
    let non_edges = embedding.score(&test.non_edges, false, &weights);
    let auc = roc_auc(&edges, &non_edges)?;
    println!("{} nodes, rank {}: test ROC-AUC {auc:.4}", embedding.nodes, embedding.rank);

    let node = 0;
    let pairs: Vec<(u32, u32)> = (1..embedding.nodes as u32).map(|other| (node, other)).collect();
    let scores = embedding.score(&pairs, false, &weights);
    let mut best: Vec<_> = pairs.iter().zip(&scores).collect();
    best.sort_by(|a, b| b.1.total_cmp(a.1));
    for ((_, other), score) in best.iter().take(3) {
        println!("{} is close to {} ({score:.3})", name(&dataset.ids, node), name(&dataset.ids, *other));
    }
    if auc < 0.9 { Err("the ROC-AUC is below 0.9".into()) } else { Ok(()) }
}

fn name(ids: &isvd_dist::dataset::Ids, node: u32) -> String {
    ids.get(node as usize).map_or_else(|| node.to_string(), |id| id.to_string())
}
