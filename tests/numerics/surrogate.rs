//! A surrogate builds the basis. Its error does not affect the measured residuals.

use std::sync::Arc;

use isvd_dist::dataset::{EdgeList, Rmat};
use isvd_dist::engine::{Cluster, Monitor, product};
use isvd_dist::graph::{Duplicates, Graph, Import};
use isvd_dist::matrix::{Dense, Matrix};
use isvd_dist::model::embedding::{self, Normalize, Walks};
use isvd_dist::plan::Side;
use isvd_dist::svd::{self, Completeness, Keep, Method, Prepared, Surrogate, Svd};

use crate::common::{CLUSTERS, within_a_minute};

const TOLERANCE: f64 = 0.03;

fn list() -> EdgeList {
    Rmat::named("rmat-12x4").unwrap().draw(1).unwrap()
}

fn graph() -> Graph {
    Graph::from_edges(&list(), Import { duplicates: Duplicates::Once, ..Import::default() }).unwrap()
}

fn options(window: usize, tolerance: Option<f64>) -> embedding::Options {
    let svd = svd::Options { method: Method::Krylov, tolerance, iterations: 100, ..svd::Options::of_rank(16) };
    let (walks, normalize) = (Walks::Window(window), Normalize::Symmetric);
    embedding::Options { walks, negative: 0.02, normalize, degree_weighted: true, self_loops: false, svd }
}

/// The triplets, which have the same bits on every cluster.
fn found(matrix: &Matrix, surrogate: Option<&Surrogate>, options: &svd::Options) -> Svd {
    let on = |cluster| {
        let (matrix, surrogate, options) = (matrix.clone(), surrogate.cloned(), options.clone());
        within_a_minute(move || {
            svd::decompose_with(&matrix, surrogate.as_ref(), &options, cluster, Monitor::default()).unwrap()
        })
    };
    let first = on(CLUSTERS[0]);
    for cluster in &CLUSTERS[1..] {
        assert!(on(*cluster) == first, "{cluster:?}");
    }
    first
}

/// ‖images − σ·vectors‖/σ of each triplet.
fn distances(images: &Dense, vectors: &Dense, values: &[f64]) -> Vec<f64> {
    let of_triplet = |(column, &value): (usize, &f64)| {
        let square = |row| (f64::from(images.row(row)[column]) - value * f64::from(vectors.row(row)[column])).powi(2);
        (0..images.rows()).map(square).sum::<f64>().sqrt() / value
    };
    values.iter().enumerate().map(of_triplet).collect()
}

/// ‖Mv − σu‖/σ and ‖Mᵀu − σv‖/σ of each triplet, measured by the test with M, and the residuals of
/// the certificate.
fn residuals(matrix: &Matrix, svd: &Svd) -> Vec<(f64, f64, f64)> {
    let image = |side, vectors: &Dense| product(matrix, side, &Arc::new(vectors.clone()), Cluster::threads(2)).unwrap();
    let measured = distances(&image(Side::Plain, &svd.right), &svd.left, &svd.singular_values);
    let back = distances(&image(Side::Transposed, &svd.left), &svd.right, &svd.singular_values);
    assert_eq!(measured.len(), 16);
    let both = measured.into_iter().zip(back).zip(&svd.certificate.relative_residuals);
    both.map(|((measured, back), claimed)| (measured, back, *claimed)).collect()
}

/// Checks that the residuals of both sides meet the tolerance and equal those of the certificate.
fn check(matrix: &Matrix, svd: &Svd) {
    for (measured, back, claimed) in residuals(matrix, svd) {
        let larger = measured.max(back);
        assert!((larger - claimed).abs() <= 1e-3 * claimed + 1e-4, "{measured} and {back}, not {claimed}");
        assert!(larger <= TOLERANCE, "{measured}, {back}");
    }
}

#[test]
fn shorter_walks_find_the_triplets_of_longer_ones() {
    let (graph, options) = (graph(), options(10, Some(TOLERANCE)));
    let (matrix, surrogate) = embedding::matrix_and_surrogate(&graph, &options).unwrap();
    let surrogate = surrogate.expect("a surrogate of shorter walks");
    let with_surrogate = found(&matrix, Some(&surrogate), &options.svd);
    check(&matrix, &with_surrogate);
    let without = found(&matrix, None, &options.svd);
    assert!(with_surrogate != without, "the surrogate was used");
    assert!(with_surrogate.operator_columns <= without.operator_columns + 32, "about as many columns");
    for (with_surrogate, without) in with_surrogate.singular_values.iter().zip(&without.singular_values) {
        assert!((with_surrogate - without).abs() < 5e-3 * without, "{with_surrogate}, {without}");
    }
    let prepared = Prepared::new(&matrix, &options.svd, Cluster::threads(1)).unwrap();
    let products = |prepared: &Prepared| prepared.growing()[0].sparse_products();
    assert_eq!((products(&prepared), products(&prepared.with_surrogate(Some(&surrogate)))), (10, 8));
}

/// The difference of the unit vectors of two isolated nodes, scaled to this length.
fn between_isolated(graph: &Graph, length: f64) -> Vec<f32> {
    let isolated: Vec<usize> = (0..graph.nodes()).filter(|&node| graph.degrees[node] == 0.0).take(2).collect();
    let mut difference = vec![0.0f32; graph.nodes()];
    let entry = (length / 2f64.sqrt()) as f32;
    (difference[isolated[0]], difference[isolated[1]]) = (entry, -entry);
    difference
}

/// Catches a residual that is assumed to be zero although it is zero for the surrogate only.
#[test]
fn a_surrogate_with_an_error_on_one_side_is_detected() {
    let (graph, options) = (graph(), options(10, Some(TOLERANCE)));
    let matrix = embedding::matrix(&graph, &options).unwrap();
    let nodes = graph.nodes();
    let without = found(&matrix, None, &options.svd);
    // w is the difference of two isolated nodes, so M·w = 0. With N = M + σ/10·u·wᵀ the right
    // vector v changes by w/10. The residual of M·v is a hundredth of σ, and that of Mᵀ·u a tenth.
    let w = Dense::new(1, nodes, between_isolated(&graph, 0.1 * without.singular_values[15])).unwrap();
    let u = Dense::new(nodes, 1, (0..nodes).map(|row| without.left.row(row)[15]).collect()).unwrap();
    let added = Matrix::dense("u", u).unwrap().try_multiply(&Matrix::dense("w", w).unwrap()).unwrap();
    let surrogate = Surrogate { matrix: matrix.try_add(&added).unwrap(), error: 1e-3 };
    let result = found(&matrix, Some(&surrogate), &options.svd);
    check(&matrix, &result);
    assert!(result.operator_columns > without.operator_columns + 64, "the bases were built again with M");
}

/// Catches a run that trusts estimated residuals.
#[test]
fn an_inaccurate_surrogate_is_detected() {
    let (graph, options) = (graph(), options(10, Some(TOLERANCE)));
    let matrix = embedding::matrix(&graph, &options).unwrap();
    let other = embedding::matrix(&graph, &embedding::Options { walks: Walks::Window(2), ..options.clone() }).unwrap();
    let result = found(&matrix, Some(&Surrogate { matrix: other, error: 1e-3 }), &options.svd);
    check(&matrix, &result);
    let without = found(&matrix, None, &options.svd);
    assert!((&result.left, &result.singular_values) == (&without.left, &without.singular_values));
    assert!(result.operator_columns > without.operator_columns, "the columns of the first attempt are counted");
}

/// Catches a warm start whose residuals are those of the surrogate.
#[test]
fn a_warm_start_is_certified_with_the_matrix_itself() {
    let (graph, mut options) = (graph(), options(10, Some(TOLERANCE)));
    let (matrix, surrogate) = embedding::matrix_and_surrogate(&graph, &options).unwrap();
    let surrogate = surrogate.expect("a surrogate of shorter walks");
    let cold = found(&matrix, Some(&surrogate), &options.svd);
    // The graph without its last edges.
    let mut all = list();
    all.edges.truncate(all.edges.len() * 99 / 100);
    let before = Graph::from_edges(&all, Import { duplicates: Duplicates::Once, ..Import::default() }).unwrap();
    let start = found(&embedding::matrix(&before, &options).unwrap(), None, &options.svd);
    options.svd.start = Some(Arc::new(start.right));
    let warm = found(&matrix, Some(&surrogate), &options.svd);
    check(&matrix, &warm);
    assert!(warm.operator_columns < cold.operator_columns, "{} of {}", warm.operator_columns, cold.operator_columns);
    for (warm, cold) in warm.singular_values.iter().zip(&cold.singular_values) {
        assert!((warm - cold).abs() < 5e-3 * cold, "{warm}, {cold}");
    }
}

#[test]
fn a_surrogate_that_does_not_help_is_not_used() {
    let graph = graph();
    let with = |options: &embedding::Options| embedding::matrix_and_surrogate(&graph, options).unwrap().1;
    assert!(with(&options(10, None)).is_none(), "no tolerance");
    assert!(with(&options(10, Some(1e-6))).is_none(), "no shorter walk is accurate enough");
    assert!(with(&options(2, Some(TOLERANCE))).is_none(), "no step is saved");
    let directed = EdgeList { directed: true, ..list() };
    let directed = Graph::from_edges(&directed, Import::default()).unwrap();
    let of_directed = embedding::matrix_and_surrogate(&directed, &options(10, Some(TOLERANCE))).unwrap().1;
    assert!(of_directed.is_none(), "eigenvalues may be complex");
    // One negative weight, between nodes whose degrees stay positive.
    let is_between_hubs = |&(source, target): &(u32, u32)| {
        source != target && graph.degrees[source as usize].min(graph.degrees[target as usize]) > 3.0
    };
    let mut weights = vec![1.0; list().edges.len()];
    weights[list().edges.iter().position(is_between_hubs).unwrap()] = -0.5;
    let weights = Some(weights);
    let weighted = EdgeList { weights, ..list() };
    let weighted = Graph::from_edges(&weighted, Import::default()).unwrap();
    let of_weighted = embedding::matrix_and_surrogate(&weighted, &options(10, Some(TOLERANCE))).unwrap().1;
    assert!(of_weighted.is_none(), "eigenvalues may be more than one");

    let options = options(10, Some(TOLERANCE));
    let (matrix, surrogate) = (embedding::matrix(&graph, &options).unwrap(), with(&options).unwrap());
    let grown = |change: fn(&mut svd::Options)| {
        let mut options = options.svd.clone();
        change(&mut options);
        Prepared::new(&matrix, &options, Cluster::threads(1)).unwrap().with_surrogate(Some(&surrogate)).has_surrogate()
    };
    assert!(grown(|_| ()));
    assert!(!grown(|options| options.tolerance = None));
    assert!(!grown(|options| options.tolerance = Some(1e-3)), "the error exceeds the tolerance");
    assert!(!grown(|options| options.method = Method::Subspace));
    assert!(!grown(|options| options.keep = Keep::Energy(0.5)));
}

/// Catches a fallback with a work limit of its own, and one whose answer replaces a better one.
#[test]
fn a_fallback_shares_the_work_limit() {
    let (graph, options) = (graph(), options(10, Some(TOLERANCE)));
    let matrix = embedding::matrix(&graph, &options).unwrap();
    let other = embedding::matrix(&graph, &embedding::Options { walks: Walks::Window(2), ..options.clone() }).unwrap();
    let iterations = 4;
    let svd = svd::Options { iterations, completeness: Completeness::Off, ..options.svd };
    let misled = found(&matrix, Some(&Surrogate { matrix: other, error: 1e-3 }), &svd);
    let (rank, block) = (16, 32);
    // The limit, one step beyond it, and two certificates of three products each.
    let most = 2 * block * (iterations + 1) + 2 * 16 + 2 * 3 * rank;
    assert!(misled.operator_columns <= most, "{} of {most}", misled.operator_columns);
}
