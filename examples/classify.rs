//! Classifies nodes in closed form: features and known labels are propagated along the edges, and a
//! least-squares problem gives the weights.
//!
//! Run it with `cargo run --release --example classify`.

use std::error::Error;

use isvd_dist::dataset::demo::demo;
use isvd_dist::engine::{Cluster, Monitor};
use isvd_dist::evaluate::accuracy;
use isvd_dist::graph::{Graph, Import, SelfLoops};
use isvd_dist::model::classifier::{Design, Examples, Options, Rows, Scoring, Targets, fit, score};
use isvd_dist::model::features::of_dataset;
use isvd_dist::model::propagation::Propagation;
use isvd_dist::svd;

/// Loads, fits, scores.
pub fn main() -> Result<(), Box<dyn Error>> {
    let dataset = demo();
    let cluster = Cluster::threads(2);
    // The propagation adds self-loops.
    let graph = Graph::from_edges(dataset.graph.list()?, Import { self_loops: SelfLoops::Drop, ..Import::default() })?;
    let labels = dataset.labels.as_deref().ok_or("the demo has labels")?;
    let split = dataset.node_split.as_ref().ok_or("the demo has a split")?;
    let classes = dataset.classes.len();

    let features = of_dataset(&dataset)?;
    let design = Design { propagation: Propagation::new(&graph)?, features, layers: 2, label_classes: classes };
    let options = Options {
        layers: design.layers,
        label_reuse: true,
        rows: Rows::Labelled,
        rank: None,
        svd: svd::Options::of_rank(100),
        targets: Targets { hit: 1.0, miss: 0.0 },
        cut: 1e-6,
        label_dropout: false,
        dropout_copies: 0,
        dropout_rate: 0.0,
    };
    let examples = Examples::new(&design, labels, &split.train, classes, &options, cluster)?;
    let fitted = fit(&examples, &options, cluster, Monitor::default())?;
    let scoring = Scoring { labels, known: &split.train, passes: 1 };
    let scores = score(&design, &fitted.weights, &scoring, cluster)?;

    let test = accuracy(&scores, labels, &split.test).ok_or("the demo has test nodes")?;
    println!("{classes} classes, {} training labels: test accuracy {test:.4}", split.train.len());
    if test < 0.5 { Err("the accuracy is below 0.5".into()) } else { Ok(()) }
}
