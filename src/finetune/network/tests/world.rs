//! Small graphs with made-up features and labels, and their matrices written out.

use std::sync::Arc;

use crate::dataset::{EdgeList, UNLABELLED};
use crate::engine::Cluster;
use crate::finetune::network::pass::Inputs;
use crate::finetune::network::sample::Walk;
use crate::finetune::network::{Network, NetworkShape, Problem, train};
use crate::graph::{Duplicates, Graph, Import, Neighbours, SelfLoops};
use crate::kernel::random::{normal, pair, stream};
use crate::matrix::Dense;
use crate::model::propagation::Propagation;

pub(super) type Rows = Vec<Vec<f64>>;

/// A random number that depends on its place alone.
pub(super) fn draw(row: usize, column: usize) -> f32 {
    normal(11, stream::SYNTHETIC, row as u64, column as u32)
}

pub(super) fn shape(layers: usize, label_reuse: bool) -> NetworkShape {
    NetworkShape { features: 5, classes: 3, layers, label_reuse }
}

/// A weighted graph in which every third node is not known. Features tell something of the class.
pub(super) fn problem(nodes: usize, edges: usize) -> Problem {
    let drawn = (0..edges as u64).map(|edge| pair(5, stream::SYNTHETIC, edge, 0, nodes as u32)).collect();
    let weights = (0..edges).map(|edge| 0.5 + (edge % 4) as f32 / 4.0).collect();
    let list = EdgeList { nodes, edges: drawn, weights: Some(weights), directed: false };
    let import = Import { duplicates: Duplicates::Once, self_loops: SelfLoops::Drop };
    let graph = Graph::from_edges(&list, import).unwrap();
    let labels: Vec<u32> = (0..nodes as u64).map(|node| pair(6, stream::SYNTHETIC, node, 1, 3).0).collect();
    let features = (0..nodes * 5).map(|entry| {
        let (node, column) = (entry / 5, entry % 5);
        draw(node, column) + if labels[node] as usize == column { 3.0 } else { 0.0 }
    });
    Problem {
        propagation: Propagation::new(&graph).unwrap(),
        features: Arc::new(Dense::new(nodes, 5, features.collect()).unwrap()),
        learn: (0..nodes as u32).filter(|node| node % 3 != 0).collect(),
        valid: (0..nodes as u32).filter(|node| node % 6 == 0).collect(),
        labels: labels.into(),
    }
}

/// Weights of a linear classifier.
pub(super) fn linear(shape: NetworkShape) -> Dense {
    let entries = (0..shape.linear_rows() * shape.classes).map(|entry| 0.5 * draw(1000 + entry, 0)).collect();
    Dense::new(shape.linear_rows(), shape.classes, entries).unwrap()
}

/// A network that is no longer linear.
pub(super) fn bent(shape: NetworkShape) -> Network {
    let mut network = Network::from_linear(&linear(shape), shape).unwrap();
    let parameters = network.parameters_mut().iter_mut().enumerate();
    parameters.for_each(|(place, parameter)| *parameter += f64::from(0.3 * draw(5000 + place, 1)));
    network
}

/// What the kernels look into, of a problem with some known nodes.
pub(super) struct Tables {
    pub(super) problem: Problem,
    pub(super) known: Arc<[u32]>,
    pub(super) first: Dense,
    neighbours: Neighbours,
}

impl Tables {
    pub(super) fn new(problem: &Problem, shape: NetworkShape) -> Self {
        let known = problem.classes_of(&problem.learn, shape).unwrap();
        let network = Network::from_linear(&linear(shape), shape).unwrap();
        let first = train::first_layer(problem, &network, known.clone(), Cluster::threads(1)).unwrap();
        let neighbours = Neighbours::of(problem.propagation.adjacency());
        Self { problem: problem.clone(), known, first, neighbours }
    }

    pub(super) fn inputs(&self) -> Inputs<'_> {
        let walk = Walk { neighbours: &self.neighbours, scale: self.problem.propagation.scale() };
        Inputs { walk, features: &self.problem.features, known: &self.known, first: &self.first }
    }
}

/// Z, written out.
pub(super) fn neighbour_rows(propagation: &Propagation) -> Rows {
    let (nodes, scale) = (propagation.nodes(), propagation.scale());
    let mut rows = vec![vec![0.0; nodes]; nodes];
    propagation.adjacency().for_each(|i, j, weight| {
        rows[i][j] = f64::from(weight) * f64::from(scale[i]) * f64::from(scale[j]);
    });
    rows
}

/// Â, written out.
pub(super) fn average_rows(propagation: &Propagation) -> Rows {
    let mut rows = neighbour_rows(propagation);
    for (node, scale) in propagation.scale().iter().enumerate() {
        rows[node][node] += f64::from(*scale) * f64::from(*scale);
    }
    rows
}

pub(super) fn multiply(a: &Rows, b: &Rows) -> Rows {
    let columns = b.first().map_or(0, Vec::len);
    let entry = |row: &Vec<f64>, column: usize| row.iter().zip(b).map(|(x, b)| x * b[column]).sum();
    a.iter().map(|row| (0..columns).map(|column| entry(row, column)).collect()).collect()
}

pub(super) fn rows_of(dense: &Dense) -> Rows {
    (0..dense.rows()).map(|row| dense.row(row).iter().map(|&entry| f64::from(entry)).collect()).collect()
}

/// One-hot rows of the known labels.
pub(super) fn one_hot(known: &[u32], classes: usize) -> Rows {
    let row = |&class: &u32| (0..classes).map(|k| f64::from(class != UNLABELLED && class as usize == k)).collect();
    known.iter().map(row).collect()
}

/// Panics where two numbers are further apart than rounding in f32 explains.
pub(super) fn assert_close(got: f32, expected: f64, place: impl std::fmt::Debug) {
    let error = (f64::from(got) - expected).abs();
    assert!(error < 2e-5 * (1.0 + expected.abs()), "{place:?}: {got} is not {expected}");
}
