//! The classifier, compared with its definition in dense f64 arithmetic.

use std::sync::Arc;

use isvd_dist::config::Experiment;
use isvd_dist::dataset::{Dataset, EdgeList, SparseFeatures, UNLABELLED};
use isvd_dist::engine::{Cluster, EngineError, Monitor, run};
use isvd_dist::finetune::network::{self, Network, NetworkShape, Problem};
use isvd_dist::graph::{Graph, Import, SelfLoops};
use isvd_dist::matrix::{Dense, Mask, Matrix};
use isvd_dist::model::classifier::{
    ClassifierError, Design, Examples, Fitted, Labels, Options, Rows, Scoring, Targets, fit, probabilities, score,
};
use isvd_dist::model::features::{self, FeatureError, Reduced};
use isvd_dist::model::propagation::Propagation;
use isvd_dist::plan::Program;
use isvd_dist::svd::{self, Method};

use crate::common::{CLUSTERS, Numbers, Table, dense, dense_svd, form, pseudo_inverse_times};

const CLASSES: usize = 3;
const FEATURES: usize = 4;

/// A random graph: every ninth node is isolated; some edges are listed twice, and some are
/// self-loops.
fn graph(nodes: usize, is_weighted: bool, seed: u64) -> Graph {
    let numbers = &mut Numbers(seed);
    let mut pick = || loop {
        let node = numbers.below(nodes);
        if node % 9 != 4 || nodes == 1 {
            return node as u32;
        }
    };
    let edges: Vec<(u32, u32)> = (0..3 * nodes).map(|_| (pick(), pick())).collect();
    let weights = is_weighted.then(|| edges.iter().map(|_| numbers.next().abs() as f32 + 0.1).collect());
    let import = Import { self_loops: SelfLoops::Drop, ..Import::default() };
    Graph::from_edges(&EdgeList { nodes, edges, weights, directed: false }, import).unwrap()
}

/// Classes of nodes; every fifth has none.
fn some_labels(nodes: usize, seed: u64) -> Vec<u32> {
    let numbers = &mut Numbers(seed);
    let class = |node: usize, drawn| if node % 5 == 2 { UNLABELLED } else { drawn as u32 };
    (0..nodes).map(|node| class(node, numbers.below(CLASSES))).collect()
}

fn design(graph: &Graph, layers: usize, label_classes: usize, seed: u64) -> Design {
    let features = Matrix::dense("X", dense(graph.nodes(), FEATURES, &mut Numbers(seed))).unwrap();
    Design { propagation: Propagation::new(graph).unwrap(), features, layers, label_classes }
}

/// Ones at the classes of the nodes that are listed.
fn one_hot(labels: &[u32], nodes: &[u32]) -> Table {
    let mut table = Table::new(labels.len(), CLASSES, |_, _| 0.0);
    for &node in nodes.iter().filter(|&&node| labels[node as usize] != UNLABELLED) {
        table.data[node as usize * CLASSES + labels[node as usize] as usize] = 1.0;
    }
    table
}

fn beside(parts: &[Table]) -> Table {
    let rows = parts[0].rows;
    let row = |row: usize| parts.iter().flat_map(move |part| part.data[row * part.columns..][..part.columns].to_vec());
    Table { rows, columns: parts.iter().map(|part| part.columns).sum(), data: (0..rows).flat_map(row).collect() }
}

fn gathered(table: &Table, rows: &[u32]) -> Table {
    Table::new(rows.len(), table.columns, |row, column| table.at(rows[row] as usize, column))
}

fn stacked(parts: &[Table]) -> Table {
    let data: Vec<f64> = parts.iter().flat_map(|part| part.data.clone()).collect();
    Table { rows: data.len() / parts[0].columns, columns: parts[0].columns, data }
}

/// Â and Z, from the edges.
fn propagations(graph: &Graph) -> (Table, Table) {
    let nodes = graph.nodes();
    let mut edges = Table::new(nodes, nodes, |_, _| 0.0);
    graph.adjacency.for_each(|row, column, weight| edges.data[row * nodes + column] += f64::from(weight));
    let degree: Vec<f64> = (0..nodes).map(|row| edges.data[row * nodes..][..nodes].iter().sum::<f64>() + 1.0).collect();
    let looped = edges.plus(&Table::new(nodes, nodes, |row, column| f64::from(u8::from(row == column))), 1.0);
    let average =
        Table::new(nodes, nodes, |row, column| looped.at(row, column) / (degree[row] * degree[column]).sqrt());
    let neighbours = Table::new(nodes, nodes, |row, column| if row == column { 0.0 } else { average.at(row, column) });
    (average, neighbours)
}

/// M by its definition, with labels in steps one and two if there are any.
fn oracle(graph: &Graph, features: &Table, layers: usize, labels: Option<&Table>) -> Table {
    let (average, neighbours) = propagations(graph);
    let mut features = features.clone();
    let mut blocks = vec![features.clone()];
    for step in 1..=layers {
        features = average.times(&features);
        blocks.push(features.clone());
        let Some(labels) = labels else { continue };
        let twice = average.times(&neighbours);
        let without_diagonal = Table::new(twice.rows, twice.columns, |i, j| if i == j { 0.0 } else { twice.at(i, j) });
        match step {
            1 => blocks.push(neighbours.times(labels)),
            2 => blocks.push(without_diagonal.times(labels)),
            _ => {}
        }
    }
    beside(&blocks)
}

/// The entries of M as the engine forms them, with the same bits on every cluster.
fn formed(matrix: &Matrix) -> Dense {
    let on = |cluster| {
        let result: Result<_, EngineError> = run(cluster, vec![Arc::new(Program::form(matrix))], |session| {
            let entries = session.form(0)?;
            session.collect(&entries)
        });
        result.unwrap().unwrap()
    };
    let first = on(CLUSTERS[0]);
    assert!(CLUSTERS[1..].iter().all(|cluster| on(*cluster) == first), "{matrix}: other bits");
    first
}

/// Catches a missing or misplaced block, a wrong power, and wrong degrees of weighted and isolated
/// nodes.
#[test]
fn the_matrix_is_its_definition() {
    for (is_weighted, nodes) in [(false, 75), (true, 75), (true, 9)] {
        let graph = graph(nodes, is_weighted, 1);
        let labels = some_labels(nodes, 2);
        let known: Vec<u32> = (0..nodes as u32).filter(|node| node % 3 != 1).collect();
        for layers in 0..=4 {
            for label_classes in [0, CLASSES] {
                let design = design(&graph, layers, label_classes, 3);
                let features = form(&design.features, false);
                let soft = dense(nodes, CLASSES, &mut Numbers(4));
                let kinds = [
                    (Some(Labels::known(&labels, &known, CLASSES)), one_hot(&labels, &known)),
                    (Some(Labels::Soft(Arc::new(soft.clone()))), Table::of_dense(&soft)),
                    (None, Table::new(nodes, CLASSES, |_, _| 0.0)),
                ];
                for (labels, table) in kinds {
                    let matrix = design.matrix(labels.as_ref()).unwrap();
                    let expected = oracle(&graph, &features, layers, (label_classes > 0).then_some(&table));
                    assert_eq!(matrix.shape().columns, design.columns());
                    assert_eq!(design.feature_columns().len(), design.columns());
                    let off = form(&matrix, false).distance(&expected);
                    assert!(off < 1e-6, "{layers} layers, {label_classes} classes: {off} as stated");
                    let off = Table::of_dense(&formed(&matrix)).distance(&expected);
                    assert!(off < 2e-6, "{layers} layers, {label_classes} classes: {off} as formed");
                }
            }
        }
    }
}

/// Catches columns of labels that are used as features, and vice versa.
#[test]
fn feature_columns_are_those_that_labels_do_not_change() {
    let graph = graph(60, false, 5);
    let labels = some_labels(60, 6);
    let all: Vec<u32> = (0..60).collect();
    for layers in 0..=4 {
        let design = design(&graph, layers, CLASSES, 7);
        let known = formed(&design.matrix(Some(&Labels::known(&labels, &all, CLASSES))).unwrap());
        let unknown = formed(&design.matrix(None).unwrap());
        let is_same = |column: usize| (0..60).all(|row| known.row(row)[column] == unknown.row(row)[column]);
        let expected: Vec<f32> = (0..design.columns()).map(|column| f32::from(is_same(column))).collect();
        assert_eq!(design.feature_columns(), expected, "{layers} layers");
    }
}

/// Row i does not depend on label i. Catches a diagonal that is left in Z, and returning walks that
/// are left in the second step. Bits are equal except in the second step, which is a difference and
/// has rounding errors.
#[test]
fn a_row_does_not_depend_on_its_own_label() {
    for is_weighted in [false, true] {
        let nodes = 40;
        let graph = graph(nodes, is_weighted, 8);
        let mut labels = some_labels(nodes, 9);
        labels.iter_mut().filter(|label| **label == UNLABELLED).for_each(|label| *label = 0);
        let all: Vec<u32> = (0..nodes as u32).collect();
        for layers in 1..=4 {
            let design = design(&graph, layers, CLASSES, 10);
            let second = (3 * FEATURES + CLASSES..3 * FEATURES + 2 * CLASSES).filter(|_| layers > 1);
            let second: Vec<usize> = second.collect();
            let rows = |labels: &[u32]| formed(&design.matrix(Some(&Labels::known(labels, &all, CLASSES))).unwrap());
            let before = rows(&labels);
            for node in 0..nodes {
                for other in [(labels[node] + 1) % CLASSES as u32, UNLABELLED] {
                    let mut changed = labels.clone();
                    changed[node] = other;
                    let after = rows(&changed);
                    for (column, (a, b)) in before.row(node).iter().zip(after.row(node)).enumerate() {
                        match second.contains(&column) {
                            false => assert_eq!(a.to_bits(), b.to_bits(), "row {node}, column {column}"),
                            true => assert!((a - b).abs() <= SECOND_STEP, "row {node}, column {column}: {a} and {b}"),
                        }
                    }
                    let is_isolated = graph.degrees[node] == 0.0;
                    assert_eq!(before == after, is_isolated, "node {node}: its neighbours must see its label");
                }
            }
        }
    }
}

/// The rounding error of the second step: a few units in the last place of numbers below one.
const SECOND_STEP: f32 = 4.0 * f32::EPSILON;

fn options(rows: Rows, method: Method) -> Options {
    Options {
        layers: 2,
        label_reuse: true,
        rows,
        rank: Some(1000),
        svd: svd::Options { method, iterations: 80, seed: 5, ..svd::Options::of_rank(1) },
        targets: Targets { hit: 1.0, miss: -0.25 },
        cut: 1e-4,
        label_dropout: false,
        dropout_copies: 0,
        dropout_rate: 0.3,
    }
}

fn fit_nodes(
    design: &Design,
    labels: &[u32],
    learn: &[u32],
    options: &Options,
    cluster: Cluster,
) -> Result<Fitted, ClassifierError> {
    let examples = Examples::new(design, labels, learn, CLASSES, options, cluster)?;
    fit(&examples, options, cluster, Monitor::default())
}

/// The same bits on every cluster.
fn fitted(design: &Design, labels: &[u32], learn: &[u32], options: &Options) -> Fitted {
    let on = |cluster: Cluster| fit_nodes(design, labels, learn, options, cluster).unwrap();
    let first = on(CLUSTERS[0]);
    assert!(CLUSTERS[1..].iter().all(|cluster| on(*cluster) == first), "other bits");
    first
}

/// The targets of some rows: those of the nodes in `learn`, and zero otherwise.
fn target_table(labels: &[u32], learn: &[u32], rows: usize, places: &[u32], targets: Targets) -> Table {
    let mut table = Table::new(rows, CLASSES, |_, _| 0.0);
    for (&node, &place) in learn.iter().zip(places) {
        for class in 0..CLASSES {
            let is_hit = labels[node as usize] as usize == class;
            table.data[place as usize * CLASSES + class] = f64::from(if is_hit { targets.hit } else { targets.miss });
        }
    }
    table
}

/// W* by the oracle: M by its definition, the rows to decompose, and the stacked copies.
fn expected_weights(graph: &Graph, design: &Design, labels: &[u32], learn: &[u32], options: &Options) -> (Table, f64) {
    let learn: Vec<u32> = learn.iter().copied().filter(|&node| labels[node as usize] != UNLABELLED).collect();
    let known = one_hot(labels, &learn);
    let with_labels = (design.label_classes > 0).then_some(&known);
    let all = oracle(graph, &form(&design.features, false), design.layers, with_labels);
    let (one, places) = match options.rows {
        Rows::Labelled => (gathered(&all, &learn), (0..learn.len() as u32).collect()),
        Rows::All => (all, learn.clone()),
    };
    let mut copies = vec![one.clone()];
    if options.label_dropout && design.label_classes > 0 {
        let keep = design.feature_columns();
        copies.push(Table::new(one.rows, one.columns, |i, j| one.at(i, j) * f64::from(keep[j])));
    }
    for copy in 0..options.dropout_copies {
        let mask = Mask::new(options.dropout_rate, options.svd.seed, copy as u32);
        let factor = |i: usize, j: usize| f64::from(mask.factor(i as u64, j as u32));
        copies.push(Table::new(one.rows, one.columns, |i, j| one.at(i, j) * factor(i, j)));
    }
    let targets = target_table(labels, &learn, one.rows, &places, options.targets);
    let matrix = stacked(&copies);
    let values = dense_svd(&matrix).values;
    let used = values.iter().take_while(|value| **value > options.cut * values[0]).count();
    let weights = pseudo_inverse_times(&matrix, &stacked(&vec![targets; copies.len()]), matrix.columns, options.cut);
    (weights, values[0] / values[used - 1])
}

/// Catches rows, targets and copies that do not match, in all combinations.
#[test]
fn the_weights_are_those_of_the_pseudo_inverse() {
    for (nodes, learners) in [(150, 90), (80, 12)] {
        let graph = graph(nodes, true, 11);
        let labels = some_labels(nodes, 12);
        let learn: Vec<u32> = (0..learners as u32).map(|place| (place * 7) % nodes as u32).collect();
        for label_classes in [0, CLASSES] {
            let design = design(&graph, 2, label_classes, 13);
            for rows in [Rows::Labelled, Rows::All] {
                for method in [Method::Gram, Method::Subspace, Method::Auto] {
                    for (label_dropout, dropout_copies) in [(false, 0), (true, 0), (false, 2), (true, 1)] {
                        let options = Options { label_dropout, dropout_copies, ..options(rows, method) };
                        let (expected, spread) = expected_weights(&graph, &design, &labels, &learn, &options);
                        let fitted = fitted(&design, &labels, &learn, &options);
                        let off = Table::of_dense(&fitted.weights).distance(&expected);
                        let allowed = 5e-6 * spread * expected.largest();
                        let case = format!("{learners} of {nodes}, {label_classes} classes, {options:?}");
                        assert!(off <= allowed, "{case}: {off} off, where {allowed} is allowed");
                    }
                }
            }
        }
    }
}

/// Catches labels that are read although they are not training labels.
#[test]
fn labels_outside_the_training_set_are_not_read() {
    let graph = graph(70, false, 14);
    let labels = some_labels(70, 15);
    let learn: Vec<u32> = (0..35).collect();
    let hidden: Vec<u32> =
        labels.iter().enumerate().map(|(node, &label)| if node < 35 { label } else { UNLABELLED }).collect();
    let design = design(&graph, 2, CLASSES, 16);
    for rows in [Rows::Labelled, Rows::All] {
        let options = options(rows, Method::Auto);
        assert!(fitted(&design, &labels, &learn, &options) == fitted(&design, &hidden, &learn, &options));
    }
    let nobody = fit_nodes(&design, &hidden, &[40, 50], &options(Rows::All, Method::Auto), CLUSTERS[1]);
    assert!(matches!(nobody, Err(ClassifierError::NoLabels)));
}

fn softmax(table: &Table) -> Table {
    let total = |row| (0..table.columns).map(|column| table.at(row, column).exp()).sum::<f64>();
    Table::new(table.rows, table.columns, |row, column| table.at(row, column).exp() / total(row))
}

/// Theorem 2, end to end: for every node with an unknown label, the initial network and the linear
/// classifier give the same scores. (For a known label, the linear classifier removes returning
/// walks.)
#[test]
fn a_network_starts_as_the_linear_classifier() {
    let graph = graph(130, true, 30);
    let labels = some_labels(130, 31);
    let known: Vec<u32> = (0..130).filter(|&node| node % 2 == 0 && labels[node as usize] != UNLABELLED).collect();
    let features = Arc::new(dense(130, FEATURES, &mut Numbers(32)));
    for (layers, label_classes) in [(0, 0), (1, 0), (3, 0), (1, CLASSES), (2, CLASSES), (3, CLASSES)] {
        let matrix = Matrix::dense("X", features.clone()).unwrap();
        let propagation = Propagation::new(&graph).unwrap();
        let design = Design { propagation: propagation.clone(), features: matrix, layers, label_classes };
        let weights = Arc::new(dense(design.columns(), CLASSES, &mut Numbers(33)));
        let shape = NetworkShape { features: FEATURES, classes: CLASSES, layers, label_reuse: label_classes > 0 };
        let network = Network::from_linear(&design.network_weights(&weights).unwrap(), shape).unwrap();
        let (features, all) = (features.clone(), labels.clone().into());
        let problem = Problem { propagation, features, labels: all, learn: known.clone(), valid: vec![] };
        for cluster in CLUSTERS {
            let deep = network::score(&problem, &network, &known, 1, cluster).unwrap();
            let scoring = Scoring { labels: &labels, known: &known, passes: 1 };
            let linear = score(&design, &weights, &scoring, cluster).unwrap();
            let largest = linear.data().iter().fold(1.0f32, |largest, entry| largest.max(entry.abs()));
            for node in (0..130).filter(|node| label_classes == 0 || !known.contains(&(*node as u32))) {
                for (got, want) in deep.row(node).iter().zip(linear.row(node)) {
                    assert!((got - want).abs() < 1e-5 * largest, "{layers} layers, node {node}: {got}, not {want}");
                }
            }
        }
    }
}

/// Catches labels of the first pass that are missing in the second, and probabilities in place of
/// known labels.
#[test]
fn scores_are_the_matrix_times_the_weights() {
    let graph = graph(130, true, 17);
    let labels = some_labels(130, 18);
    let known: Vec<u32> = (0..130).filter(|node| node % 2 == 0).collect();
    let known_table = one_hot(&labels, &known);
    for (layers, label_classes) in [(0, 0), (1, CLASSES), (2, CLASSES), (3, CLASSES), (2, 0)] {
        let design = design(&graph, layers, label_classes, 19);
        let weights = Arc::new(dense(design.columns(), CLASSES, &mut Numbers(20)));
        let features = form(&design.features, false);
        let scored = |labels: &Table| {
            let with_labels = (label_classes > 0).then_some(labels);
            oracle(&graph, &features, layers, with_labels).times(&Table::of_dense(&weights))
        };
        let first = scored(&known_table);
        let thought = softmax(&first);
        let is_known = |row: usize| known_table.data[row * CLASSES..][..CLASSES].iter().any(|&entry| entry > 0.0);
        let mixed = Table::new(130, CLASSES, |row, column| match is_known(row) {
            true => known_table.at(row, column),
            false => thought.at(row, column),
        });
        for (passes, expected) in [(1, first.clone()), (2, scored(&mixed))] {
            let on = |cluster| {
                score(&design, &weights, &Scoring { labels: &labels, known: &known, passes }, cluster).unwrap()
            };
            let scores = on(CLUSTERS[0]);
            assert!(CLUSTERS[1..].iter().all(|cluster| on(*cluster) == scores), "other bits");
            let off = Table::of_dense(&scores).distance(&expected);
            assert!(off < 1e-5, "{layers} layers, {label_classes} classes, {passes} passes: {off}");
            let off = Table::of_dense(&probabilities(&scores)).distance(&softmax(&expected));
            assert!(off < 1e-5, "probabilities are {off} off");
        }
    }
    let design = design(&graph, 2, CLASSES, 19);
    let weights = Arc::new(dense(design.columns() + 1, CLASSES, &mut Numbers(20)));
    let error = score(&design, &weights, &Scoring { labels: &labels, known: &known, passes: 1 }, CLUSTERS[0]);
    assert!(matches!(error, Err(ClassifierError::OtherColumns { .. })));
}

/// Catches an overflow of large scores.
#[test]
fn probabilities_of_large_scores_are_finite() {
    let scores = Dense::new(2, 3, vec![1000.0, 999.0, -1000.0, -500.0, -500.0, -500.0]).unwrap();
    let shares = Table::of_dense(&probabilities(&scores));
    let expected = [1.0 / (1.0 + (-1f64).exp()), 1.0 / (1.0 + 1f64.exp()), 0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0];
    assert!(shares.distance(&Table { rows: 2, columns: 3, data: expected.to_vec() }) < 1e-6);
}

/// Catches weights in the rows of another block or step.
#[test]
fn weights_of_a_network() {
    let graph = graph(20, false, 21);
    for layers in 1..=4 {
        for label_classes in [0, CLASSES] {
            let design = design(&graph, layers, label_classes, 22);
            let weights = dense(design.columns(), CLASSES, &mut Numbers(23));
            let network = design.network_weights(&weights).unwrap();
            assert_eq!((network.rows(), network.columns()), (FEATURES + layers * (FEATURES + label_classes), CLASSES));
            let mut of_matrix = 0;
            for row in 0..network.rows() {
                let step = if row < FEATURES { 0 } else { 1 + (row - FEATURES) / (FEATURES + label_classes) };
                let is_label = row >= FEATURES && (row - FEATURES) % (FEATURES + label_classes) >= FEATURES;
                if is_label && step > 2 {
                    assert_eq!(network.row(row), [0.0; CLASSES]);
                } else {
                    assert_eq!(network.row(row), weights.row(of_matrix), "{layers} layers, row {row}");
                    of_matrix += 1;
                }
            }
            assert_eq!(of_matrix, weights.rows());
        }
    }
}

/// The same bits on every cluster.
fn reduced(features: &Matrix, options: &svd::Options) -> Reduced {
    let on = |cluster| features::reduce(features, options, cluster, Monitor::default()).unwrap();
    let first = on(CLUSTERS[0]);
    assert!(CLUSTERS[1..].iter().all(|cluster| on(*cluster) == first), "other bits");
    first
}

/// Features that are mostly zero, as dense and as sparse matrices.
fn both_forms(nodes: usize, columns: usize, seed: u64) -> [Dataset; 2] {
    let numbers = &mut Numbers(seed);
    let mut dense = vec![0.0; nodes * columns];
    let mut sparse =
        SparseFeatures { rows: nodes, feature_count: columns, starts: vec![0], ..SparseFeatures::default() };
    for row in 0..nodes {
        for column in 0..columns {
            if numbers.below(4) == 0 {
                let value = (numbers.next() + 1.0) as f32 * (1.0 + column as f32);
                dense[row * columns + column] = value;
                sparse.columns.push(column as u32);
                sparse.values.push(value);
            }
        }
        sparse.starts.push(sparse.columns.len());
    }
    let graph = EdgeList { nodes, ..EdgeList::default() }.into();
    let base = Dataset { graph, feature_count: columns, ..Dataset::default() };
    [Dataset { features: Some(dense), ..base.clone() }, Dataset { sparse_features: Some(sparse), ..base }]
}

/// Catches means over the wrong axis, features that are not centred, and wrong principal
/// directions.
#[test]
fn reduced_features_are_principal_components() {
    let rank = 5;
    for (nodes, columns) in [(140, 12), (12, 70)] {
        for method in [Method::Auto, Method::Gram, Method::Subspace] {
            let options = svd::Options { method, iterations: 80, ..svd::Options::of_rank(rank) };
            let forms = both_forms(nodes, columns, 24).map(|dataset| features::of_dataset(&dataset).unwrap());
            let table = form(&forms[0], false);
            assert_eq!(form(&forms[1], false), table);
            let mean = |column| (0..nodes).map(|row| table.at(row, column)).sum::<f64>() / nodes as f64;
            let centred = Table::new(nodes, columns, |row, column| table.at(row, column) - mean(column));
            let oracle = dense_svd(&centred);
            let both = forms.map(|features| {
                let reduced = reduced(&features, &options);
                (reduced.reduction.apply(&features, CLUSTERS[0]).unwrap(), reduced, features)
            });
            for (components, reduced, features) in &both {
                for column in 0..columns {
                    assert!((f64::from(reduced.reduction.mean.row(0)[column]) - mean(column)).abs() < 1e-5);
                }
                let (got, directions) = (Table::of_dense(components), Table::of_dense(&reduced.reduction.directions));
                assert_eq!((got.rows, got.columns, directions.rows), (nodes, rank, columns));
                for component in 0..rank {
                    let dot: f64 =
                        (0..columns).map(|row| directions.at(row, component) * oracle.right.at(row, component)).sum();
                    assert!((dot.abs() - 1.0).abs() < 1e-5, "{method:?}: direction {component} is off: {dot}");
                    for row in 0..nodes {
                        let want = dot.signum() * oracle.left.at(row, component) * oracle.values[component];
                        let off = (got.at(row, component) - want).abs();
                        assert!(
                            off < 1e-4 * oracle.values[0],
                            "{method:?}: component {component} of {row} is {off} off"
                        );
                    }
                }
                let again = reduced.reduction.apply(features, CLUSTERS[1]).unwrap();
                assert!(again == *components, "the same features are reduced to something else");
            }
            let off = Table::of_dense(&both[0].0).distance(&Table::of_dense(&both[1].0));
            assert!(off < 1e-4 * oracle.values[0], "{method:?}: dense and sparse forms are {off} apart");
        }
    }
}

/// Catches inaccurate principal components. With the settings of a config they hold as much of the
/// variance as those of a dense SVD in f64, and span the same subspace up to Wedin's bound.
#[test]
fn the_components_of_a_config_are_those_of_exact_principal_component_analysis() {
    const COMPONENTS: usize = 20;
    let (nodes, columns) = (500, 300);
    let features = features::of_dataset(&both_forms(nodes, columns, 40)[1]).unwrap();
    let table = form(&features, false);
    let mean = |column| (0..nodes).map(|row| table.at(row, column)).sum::<f64>() / nodes as f64;
    let means: Vec<f64> = (0..columns).map(mean).collect();
    let oracle = dense_svd(&Table::new(nodes, columns, |row, column| table.at(row, column) - means[column]));
    for (set, tolerance) in [(None, 1e-3), (Some("features.tolerance=1e-5"), 1e-5)] {
        let text = format!("dataset = \"cora\"\n[features]\ncomponents = {COMPONENTS}\n[classifier]\n");
        let set: Vec<String> = set.into_iter().map(str::to_owned).collect();
        let options = Experiment::parse("mine", "mine.toml", &text, &set).unwrap().nodes.unwrap().components.unwrap();
        let reduced = reduced(&features, &options);
        let worst = reduced.certificate.relative_residuals.iter().copied().fold(0.0, f64::max);
        assert!(reduced.iterations > 0 && worst <= tolerance, "{worst} after {} iterations", reduced.iterations);
        let variance = |values: &[f64]| values[..COMPONENTS].iter().map(|value| value * value).sum::<f64>();
        let share = variance(&reduced.singular_values) / variance(&oracle.values);
        assert!((share - 1.0).abs() <= tolerance, "{share} of the variance");
        let found = Table::of_dense(&reduced.reduction.directions);
        let first = Table::new(columns, COMPONENTS, |row, column| oracle.right.at(row, column));
        let beyond = found.plus(&first.times(&first.t().times(&found)), -1.0).norm();
        let [last, next] = [COMPONENTS - 1, COMPONENTS].map(|place| oracle.values[place]);
        let bound = (COMPONENTS as f64).sqrt() * tolerance * oracle.values[0] / (last - next);
        assert!(beyond <= bound, "the sine of the largest angle is {beyond}, not {bound}");
    }
}

/// Catches means that are summed in f32, which would be inaccurate for many nodes.
#[test]
fn means_of_many_nodes() {
    let nodes = 40_000;
    let [dense, sparse] = both_forms(nodes, 3, 29).map(|dataset| features::of_dataset(&dataset).unwrap());
    let table = form(&dense, false);
    let beside = Matrix::hstack(&[sparse.clone(), dense.clone()]);
    for features in [dense, sparse, beside] {
        let mean = reduced(&features, &svd::Options::of_rank(1)).reduction.mean;
        for (column, &got) in mean.data().iter().enumerate() {
            let want = (0..nodes).map(|row| table.at(row, column % 3)).sum::<f64>() / nodes as f64;
            assert!((f64::from(got) - want).abs() <= 1e-7 * want, "column {column} of {features}: {got}, not {want}");
        }
    }
}

/// Catches rounding errors that are used as a direction if all rows are equal, and features of
/// another kind.
#[test]
fn features_that_cannot_be_reduced() {
    let nodes = 130;
    let row = [0.1, 3.7, -12.3, 0.0];
    let same = Matrix::dense("X", Dense::new(nodes, 4, row.repeat(nodes)).unwrap()).unwrap();
    for method in [Method::Auto, Method::Gram, Method::Subspace] {
        let options = svd::Options { method, ..svd::Options::of_rank(3) };
        for features in [&same, &Matrix::ones(nodes, 4), &Matrix::zero(nodes, 4)] {
            for cluster in CLUSTERS {
                let error = features::reduce(features, &options, cluster, Monitor::default());
                let error = error.map(|reduced| reduced.certificate.relative_residuals);
                assert!(matches!(error, Err(FeatureError::Constant)), "{features} by {method:?}: {error:?}");
            }
        }
    }
    let one = Matrix::dense("X", dense(nodes, 4, &mut Numbers(25))).unwrap();
    let reduction = reduced(&one, &svd::Options::of_rank(2)).reduction;
    let error = reduction.apply(&Matrix::ones(nodes, 5), CLUSTERS[1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the nodes carry 5 features, and the model was made for 4: give features of the same kind"
    );
    assert!(matches!(features::of_dataset(&Dataset::default()), Err(FeatureError::None)));
}

/// Catches bits that depend on the number of workers, from the features to the scores.
#[test]
fn the_same_bits_from_fit_to_score() {
    let graph = graph(400, true, 26);
    let labels = some_labels(400, 27);
    let learn: Vec<u32> = (0..200).collect();
    let design = design(&graph, 3, CLASSES, 28);
    for rows in [Rows::Labelled, Rows::All] {
        let options = Options { label_dropout: true, dropout_copies: 1, layers: 3, ..options(rows, Method::Auto) };
        let on = |cluster| {
            let fitted = fit_nodes(&design, &labels, &learn, &options, cluster).unwrap();
            let scoring = Scoring { labels: &labels, known: &learn, passes: 2 };
            let scores = score(&design, &fitted.weights, &scoring, cluster).unwrap();
            scores.into_data().into_iter().map(f32::to_bits).collect::<Vec<_>>()
        };
        let first = on(CLUSTERS[0]);
        assert!(CLUSTERS[1..].iter().all(|cluster| on(*cluster) == first), "{rows:?}: other bits");
    }
}
