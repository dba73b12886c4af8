//! The names of a graph mean the matrices of the models.

use isvd_dist::dataset::{Dataset, EdgeList, NodeSplit, UNLABELLED};
use isvd_dist::engine::{Cluster, form};
use isvd_dist::graph::{Graph, Import};
use isvd_dist::matrix::text::{Formula, Problem, Refusal, TextError};
use isvd_dist::matrix::{Mask, Matrix};
use isvd_dist::model::classifier::{Design, Labels};
use isvd_dist::model::embedding::{self, Normalize, Walks};
use isvd_dist::model::features;
use isvd_dist::model::names::GraphNames;
use isvd_dist::model::propagation::Propagation;
use isvd_dist::svd;

const NODES: usize = 40;
const SEED: u64 = 7;

/// A ring with chords, three features, two classes, and an isolated node.
fn dataset(directed: bool) -> Dataset {
    let nodes = NODES as u32;
    let edges = (0..nodes - 1).flat_map(|i| [(i, (i + 1) % (nodes - 1)), (i, (i * 5 + 2) % (nodes - 1))]);
    let edges = edges.filter(|(from, to)| from != to).collect();
    Dataset {
        name: "ring".to_owned(),
        graph: EdgeList { nodes: NODES, edges, weights: None, directed }.into(),
        features: Some((0..NODES * 3).map(|i| ((i * 37) % 11) as f32 / 7.0).collect()),
        feature_count: 3,
        labels: Some((0..nodes).map(|i| if i % 9 == 4 { UNLABELLED } else { i % 2 }).collect()),
        classes: vec!["even".to_owned(), "odd".to_owned()],
        node_split: Some(NodeSplit { train: (0..20).collect(), valid: (20..30).collect(), test: vec![] }),
        ..Dataset::default()
    }
}

fn graph(dataset: &Dataset) -> Graph {
    Graph::from_edges(dataset.graph.list().unwrap(), Import::default()).unwrap()
}

fn read(dataset: &Dataset, text: &str) -> Result<Matrix, TextError> {
    Formula::parse(text)?.evaluate(&mut GraphNames::new(&graph(dataset), dataset, Cluster::threads(2), SEED))
}

/// Checks that both matrices have the same text and the same entries, bit for bit.
#[track_caller]
fn assert_same(one: &Matrix, other: &Matrix) {
    assert_eq!(one.to_string(), other.to_string());
    let formed = |matrix: &Matrix| form(matrix, Cluster::threads(1)).unwrap();
    assert!(formed(one) == formed(other), "{one}");
}

#[test]
fn the_matrices_of_embeddings() {
    for directed in [false, true] {
        let dataset = dataset(directed);
        let of = |normalize, degree_weighted| {
            let walks = Walks::Window(10);
            let svd = svd::Options::of_rank(1);
            let options =
                embedding::Options { walks, negative: 0.02, normalize, degree_weighted, self_loops: false, svd };
            embedding::matrix(&graph(&dataset), &options).unwrap()
        };
        let read = |text| read(&dataset, text).unwrap();
        assert_same(&read("walk(T, 10) - 0.02 * (J - A)"), &of(Normalize::Row, false));
        assert_same(&read("walk(S, 10) - 0.02 * (J - A)"), &of(Normalize::Symmetric, false));
        if !directed {
            assert_same(&read("walk(T, 10) @ diag(degree) - 0.02 * (J - A)"), &of(Normalize::Row, true));
            let text = "walk(S, 10) @ diag(sqrt(degree)) - 0.02 * (J - A)";
            assert_same(&read(text), &of(Normalize::Symmetric, true));
            assert_same(&read("walk(diag(inv(degree)) @ A, 10) - 0.02 * (J - A)"), &of(Normalize::Row, false));
        }
    }
}

#[test]
fn the_matrix_of_a_classifier() {
    let dataset = dataset(false);
    let propagation = Propagation::new(&graph(&dataset)).unwrap();
    let features = features::of_dataset(&dataset).unwrap();
    let design = |layers, label_classes| {
        let (propagation, features) = (propagation.clone(), features.clone());
        Design { propagation, features, layers, label_classes }
    };
    let plain = design(2, 0).matrix(None).unwrap();
    let text = read(&dataset, "[X, Ahat@X, Ahat@(Ahat@X)]").unwrap();
    assert_same(&text, &plain);
    let (labels, split) = (dataset.labels.as_ref().unwrap(), dataset.node_split.as_ref().unwrap());
    let known = Labels::known(labels, &split.train, 2);
    assert_same(&read(&dataset, "[X, Ahat @ X, Z @ Y]").unwrap(), &design(1, 2).matrix(Some(&known)).unwrap());
    let text = "[X, Ahat@X, Z@Y, Ahat@(Ahat@X), Ahat@(Z@Y) - diag(returns)@Y]";
    assert_same(&read(&dataset, text).unwrap(), &design(2, 2).matrix(Some(&known)).unwrap());
    let rows: Vec<usize> = (0..20).collect();
    let text = read(&dataset, "rows([X, Ahat@X, Ahat@(Ahat@X)], train)").unwrap();
    assert_same(&text, &plain.rows(&rows));
}

#[test]
fn center_and_dropout() {
    let dataset = dataset(false);
    let centred = form(&read(&dataset, "center(X)").unwrap(), Cluster::threads(1)).unwrap();
    for column in 0..3 {
        let sum: f32 = (0..NODES).map(|row| centred.row(row)[column]).sum();
        assert!(sum.abs() < 1e-4, "{sum}");
    }
    let x = features::of_dataset(&dataset).unwrap();
    let dropped = |copy| x.try_dropout(Mask::new(0.25, SEED, copy)).unwrap();
    assert_same(&read(&dataset, "dropout(X, 0.25)").unwrap(), &dropped(0));
    assert_same(&read(&dataset, "dropout(X, 0.25, 3)").unwrap(), &dropped(3));
    // An implicit matrix is formed first.
    let product = Matrix::dense("M", form(&read(&dataset, "Ahat@X").unwrap(), Cluster::threads(1)).unwrap()).unwrap();
    let product = product.try_dropout(Mask::new(0.25, SEED, 0)).unwrap();
    assert_same(&read(&dataset, "dropout(Ahat@X, 0.25)").unwrap(), &product);
    let shape = read(&dataset, "[I, J; A, T]");
    assert!(shape.is_err());
    assert_eq!(read(&dataset, "[I; J(2 * n, n)]").unwrap().shape().rows, 3 * NODES);
}

#[test]
fn what_a_dataset_lacks_is_refused_with_the_reason() {
    let whole = dataset(false);
    let bare = Dataset { name: "bare".to_owned(), graph: whole.graph.clone(), ..Dataset::default() };
    let refused = |dataset: &Dataset, text: &str, word: &str| {
        let error = read(dataset, text).unwrap_err();
        assert!(matches!(error.problem(), Problem::Refused { refusal: Refusal::Absent(_), .. }), "{error}");
        assert!(error.to_string().contains(word), "{error}");
    };
    refused(&bare, "X", "`X` cannot be used here: the nodes carry no features");
    refused(&bare, "Z @ Y", "the nodes of `bare` have no labels");
    refused(&bare, "rows(A, train)", "`train` cannot be used here: the nodes of `bare` are not split");
    refused(&whole, "rows(A, test)", "no node of `ring` is in that part");
    refused(&dataset(true), "Ahat @ X", "edges have a direction");
    let mut looped = whole.clone();
    let mut edges = looped.graph.list().unwrap().clone();
    edges.edges.push((3, 3));
    looped.graph = edges.into();
    refused(&looped, "Z", "node 3 has an edge to itself");
    let mut other = whole.clone();
    other.labels.as_mut().unwrap().pop();
    refused(&other, "Y", "not those of the 40 nodes");
}

#[test]
fn directed_degrees_differ() {
    let dataset = dataset(true);
    assert_eq!(read(&dataset, "diag(in_degree)").unwrap().to_string(), "E");
    assert_eq!(read(&dataset, "S").unwrap().to_string(), "D^-½·A·E^-½");
    let by_hand = read(&dataset, "diag(inv(sqrt(degree))) @ A @ diag(inv(sqrt(in_degree)))").unwrap();
    assert_same(&by_hand, &read(&dataset, "S").unwrap());
}
