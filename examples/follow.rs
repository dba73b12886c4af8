//! An embedding that keeps up with a graph: a ring of ten friends, two of whom make up after a quarrel.

use isvd_dist::dataset::EdgeList;
use isvd_dist::engine::{Cluster, Watch};
use isvd_dist::graph::evolve::Operation;
use isvd_dist::graph::{Graph, Import};
use isvd_dist::model::embedding::{Normalize, Options, Walks};
use isvd_dist::model::follow::Follower;
use isvd_dist::svd;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let edges = (0..10).map(|node| (node, (node + 1) % 10)).collect();
    let graph = Graph::from_edges(&EdgeList { nodes: 10, edges, ..EdgeList::default() }, Import::default())?;
    let options = Options {
        walks: Walks::Window(3),
        negative: 0.02,
        normalize: Normalize::Symmetric,
        degree_weighted: false,
        self_loops: false,
        svd: svd::Options::of_rank(3),
    };
    let mut follower = Follower::new(graph, false, options, Cluster::threads(2))?;
    follower.embed(Watch::default())?;

    // An edge goes, comes back stronger, and somebody new is met.
    let operations = [((3, 4), Operation::Remove), ((3, 4), Operation::Add(2.0)), ((4, 10), Operation::Add(1.0))];
    let applied = follower.apply(11, &operations)?;
    println!("{} edges are others, and so are {} rows", applied.changes.edges.len(), applied.patched.rows.len());
    let embedding = follower.embed(Watch::default())?;
    println!(
        "{} nodes, {} columns, σ₁ = {:.3}",
        embedding.nodes, embedding.operator_columns, embedding.singular_values[0]
    );
    for (node, by) in follower.moved(0.1) {
        println!("node {node} moved by {by:.2}");
    }
    Ok(())
}
