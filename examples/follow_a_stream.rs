//! Follows a changing graph: batches add and remove edges, and each batch is embedded from the
//! previous vectors.
//!
//! Run it with `cargo run --release --example follow_a_stream`.

use std::error::Error;

use isvd_dist::dataset::demo::demo;
use isvd_dist::engine::{Cluster, EdgeCollection, Monitor};
use isvd_dist::graph::{Graph, Import};
use isvd_dist::model::embedding::{Embedding, Normalize, Options, Walks, embed};
use isvd_dist::svd;

/// Embeds a graph, applies three batches, and compares the last embedding with a cold start.
pub fn main() -> Result<(), Box<dyn Error>> {
    let dataset = demo();
    let added = dataset.valid.ok_or("the demo holds edges out")?.edges;
    let mut graph = Graph::from_edges(dataset.graph.list()?, Import::default())?;
    // The collection contains every edge, so a repeated update changes nothing.
    let mut collection = EdgeCollection::new(&graph.adjacency, false, 2)?;
    let mut options = Options {
        walks: Walks::Window(5),
        negative: 0.02,
        normalize: Normalize::Row,
        degree_weighted: false,
        self_loops: false,
        svd: svd::Options { tolerance: Some(0.02), ..svd::Options::of_rank(16) },
    };
    let mut embedding = embedded(&graph, &options)?;
    println!("initial graph: {} columns multiplied", embedding.operator_columns);

    let existing = dataset.graph.list()?.edges.clone();
    for (number, batch) in added.chunks(added.len().div_ceil(3)).enumerate() {
        let additions = batch.iter().map(|&edge| (edge, Some(1.0)));
        let removals = existing[20 * number..20 * (number + 1)].iter().map(|&edge| (edge, None));
        let changes = collection.apply(additions.chain(removals))?;
        graph.patch(graph.nodes(), &changes, false)?;
        options.svd.start = embedding.start();
        embedding = embedded(&graph, &options)?;
        let (changed, columns) = (changes.edges.len(), embedding.operator_columns);
        println!("batch {}: {changed} edges changed, {columns} columns multiplied", number + 1);
    }

    options.svd.start = Default::default();
    let cold = embedded(&graph, &options)?;
    let pairs = embedding.singular_values.iter().zip(&cold.singular_values);
    let difference = pairs.map(|(followed, cold)| (followed / cold - 1.0).abs()).fold(0.0, f32::max);
    println!(
        "cold start: {} columns multiplied; singular values differ by at most {difference:.1e}",
        cold.operator_columns
    );
    if difference < 0.02 { Ok(()) } else { Err("the followed embedding differs from a cold start".into()) }
}

fn embedded(graph: &Graph, options: &Options) -> Result<Embedding, Box<dyn Error>> {
    Ok(embed(graph, options, Cluster::threads(2), Monitor::default())?)
}
