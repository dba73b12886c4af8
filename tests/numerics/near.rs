//! A matrix that is nearly the one to decompose helps to find its triplets; what it is off never shows in what is said of them, or is counted.

use std::sync::Arc;

use isvd_dist::dataset::{EdgeList, Rmat};
use isvd_dist::engine::{Cluster, Monitor, product};
use isvd_dist::graph::{Duplicates, Graph, Import};
use isvd_dist::matrix::{Dense, Matrix};
use isvd_dist::model::embedding::{self, Normalize, Walks};
use isvd_dist::plan::Side;
use isvd_dist::svd::{self, Beside, Keep, Method, Near, Prepared, Svd};

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
fn found(matrix: &Matrix, near: Option<&Near>, options: &svd::Options) -> Svd {
    found_beside(matrix, &Beside { near: near.cloned(), rough: None }, options)
}

fn found_beside(matrix: &Matrix, beside: &Beside, options: &svd::Options) -> Svd {
    let on = |cluster| {
        let (matrix, beside, options) = (matrix.clone(), beside.clone(), options.clone());
        within_a_minute(move || svd::decompose_beside(&matrix, &beside, &options, cluster, Monitor::default()).unwrap())
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

/// ‖Mv − σu‖/σ and ‖Mᵀu − σv‖/σ of each triplet, measured here with the matrix itself, and what the certificate says.
fn residuals(matrix: &Matrix, svd: &Svd) -> Vec<(f64, f64, f64)> {
    let image = |side, vectors: &Dense| product(matrix, side, &Arc::new(vectors.clone()), Cluster::threads(2)).unwrap();
    let measured = distances(&image(Side::Plain, &svd.right), &svd.left, &svd.singular_values);
    let back = distances(&image(Side::Transposed, &svd.left), &svd.right, &svd.singular_values);
    assert_eq!(measured.len(), 16);
    let both = measured.into_iter().zip(back).zip(&svd.certificate.relative_residuals);
    both.map(|((measured, back), claimed)| (measured, back, *claimed)).collect()
}

/// Residuals are within the tolerance on both sides, and what the certificate says.
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
    let (matrix, near) = embedding::matrix_and_near(&graph, &options).unwrap();
    let near = near.expect("shorter walks that are near enough");
    let helped = found(&matrix, Some(&near), &options.svd);
    check(&matrix, &helped);
    let alone = found(&matrix, None, &options.svd);
    assert!(helped != alone, "it was used");
    assert!(helped.operator_columns <= alone.operator_columns + 32, "and took about as many columns");
    for (helped, alone) in helped.singular_values.iter().zip(&alone.singular_values) {
        assert!((helped - alone).abs() < 5e-3 * alone, "{helped}, {alone}");
    }
    let prepared = Prepared::new(&matrix, &options.svd, Cluster::threads(1)).unwrap();
    let products = |prepared: &Prepared| prepared.growing()[0].sparse_products();
    assert_eq!((products(&prepared), products(&prepared.grown_with(Some(&near)))), (10, 8));
}

/// The difference of two nodes without edges, of this length.
fn between_isolated(graph: &Graph, length: f64) -> Vec<f32> {
    let isolated: Vec<usize> = (0..graph.nodes()).filter(|&node| graph.degrees[node] == 0.0).take(2).collect();
    let mut difference = vec![0.0f32; graph.nodes()];
    let entry = (length / 2f64.sqrt()) as f32;
    (difference[isolated[0]], difference[isolated[1]]) = (entry, -entry);
    difference
}

/// Catches a residual that is taken for zero by construction, when it was another matrix's.
#[test]
fn one_that_is_near_on_one_side_alone_is_found_out() {
    let (graph, options) = (graph(), options(10, Some(TOLERANCE)));
    let matrix = embedding::matrix(&graph, &options).unwrap();
    let nodes = graph.nodes();
    let alone = found(&matrix, None, &options.svd);
    // M maps the difference w of two nodes without edges to zero. So with N = M + σ/10·u·wᵀ the right vector v changes, by a
    // tenth of w; M·v stays as it was but for a hundredth of σ, and Mᵀ·u is off by a tenth.
    let w = Dense::new(1, nodes, between_isolated(&graph, 0.1 * alone.singular_values[15])).unwrap();
    let u = Dense::new(nodes, 1, (0..nodes).map(|row| alone.left.row(row)[15]).collect()).unwrap();
    let added = Matrix::dense("u", u).unwrap().try_multiply(&Matrix::dense("w", w).unwrap()).unwrap();
    let near = Near { matrix: matrix.try_add(&added).unwrap(), off: 1e-3 };
    let misled = found(&matrix, Some(&near), &options.svd);
    check(&matrix, &misled);
    assert!(misled.operator_columns > alone.operator_columns + 64, "the bases were made again");
}

/// Catches a certificate that is believed before it is measured.
#[test]
fn one_that_is_not_near_is_found_out() {
    let (graph, options) = (graph(), options(10, Some(TOLERANCE)));
    let matrix = embedding::matrix(&graph, &options).unwrap();
    let other = embedding::matrix(&graph, &embedding::Options { walks: Walks::Window(2), ..options.clone() }).unwrap();
    let misled = found(&matrix, Some(&Near { matrix: other, off: 1e-3 }), &options.svd);
    check(&matrix, &misled);
    let alone = found(&matrix, None, &options.svd);
    assert!((&misled.left, &misled.singular_values) == (&alone.left, &alone.singular_values));
    assert!(misled.operator_columns > alone.operator_columns, "what was in vain is counted");
}

/// Options to go on from the vectors of the graph as it was before its last edges came.
fn going_on(tolerance: f64) -> embedding::Options {
    let (mut all, mut options) = (list(), options(10, Some(tolerance)));
    all.edges.truncate(all.edges.len() * 9 / 10);
    let before = Graph::from_edges(&all, Import { duplicates: Duplicates::Once, ..Import::default() }).unwrap();
    let found = found(&embedding::matrix(&before, &options).unwrap(), None, &options.svd);
    options.svd.start = Some(Arc::new(found.left));
    options
}

/// Catches a residual that is left out because it is that of another matrix, and products with the matrix itself where those would do.
#[test]
fn from_vectors_what_it_is_off_counts_as_a_residual() {
    let (graph, options) = (graph(), going_on(0.1));
    let (matrix, near) = embedding::matrix_and_near(&graph, &options).unwrap();
    let near = near.expect("shorter walks that are near enough");
    assert!((0.01..0.1 / 3.0).contains(&near.off), "{}", near.off);
    let helped = found(&matrix, Some(&near), &options.svd);
    let mut below = 0;
    for (measured, back, claimed) in residuals(&matrix, &helped) {
        // It is off by a part of the walks, which non-edges take something of.
        assert!(measured <= 1.25 * near.off, "{measured} by construction");
        let both = measured.hypot(back);
        assert!((0.75 * both..3.0 * both + near.off).contains(&claimed), "{both}, not {claimed}");
        assert!(claimed >= near.off && claimed <= 0.1, "{claimed}");
        below += usize::from(claimed < both);
    }
    assert!(below <= 2, "{below}");
    let alone = found(&matrix, None, &options.svd);
    assert!(helped.operator_columns < alone.operator_columns * 4 / 5, "six steps of ten for most of them");
}

/// Catches rounds that go on for ever with a matrix that cannot lead any further.
#[test]
fn from_vectors_one_that_is_not_near_is_given_up() {
    let (graph, options) = (graph(), going_on(TOLERANCE));
    let matrix = embedding::matrix(&graph, &options).unwrap();
    let nodes = graph.nodes();
    let alone = found(&matrix, None, &options.svd);
    // M makes nothing of the difference w of two nodes without edges. So with N = M + σ/5·u·wᵀ the right vector has a fifth of w, of
    // which M·v shows nothing and Mᵀ·u all.
    let w = Dense::new(1, nodes, between_isolated(&graph, 0.2 * alone.singular_values[3])).unwrap();
    let u = Dense::new(nodes, 1, (0..nodes).map(|row| alone.left.row(row)[3]).collect()).unwrap();
    let added = Matrix::dense("u", u).unwrap().try_multiply(&Matrix::dense("w", w).unwrap()).unwrap();
    let near = Near { matrix: matrix.try_add(&added).unwrap(), off: 1e-3 };
    // With a rough matrix there is always one more direction to follow; without, there soon is none.
    let short = embedding::matrix(&graph, &embedding::Options { walks: Walks::Window(3), ..options.clone() }).unwrap();
    for rough in [None, Some(short)] {
        let beside = Beside { near: Some(near.clone()), rough };
        let misled = found_beside(&matrix, &beside, &options.svd);
        for (measured, back, claimed) in residuals(&matrix, &misled) {
            assert!(measured.hypot(back) <= 1.2 * TOLERANCE && claimed <= TOLERANCE, "{measured}, {back}, {claimed}");
        }
        let columns = (misled.operator_columns, alone.operator_columns);
        assert!(columns.0 >= columns.1 + 12, "the vectors were multiplied again: {columns:?}");
    }
}

#[test]
fn it_is_left_alone_where_it_would_not_serve() {
    let graph = graph();
    let with = |options: &embedding::Options| embedding::matrix_and_near(&graph, options).unwrap().1;
    assert!(with(&options(10, None)).is_none(), "nothing says how near");
    assert!(with(&options(10, Some(1e-6))).is_none(), "nothing shorter is so near");
    assert!(with(&options(2, Some(TOLERANCE))).is_none(), "nothing is saved");
    let directed = EdgeList { directed: true, ..list() };
    let directed = Graph::from_edges(&directed, Import::default()).unwrap();
    let of_directed = embedding::matrix_and_near(&directed, &options(10, Some(TOLERANCE))).unwrap().1;
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
    let of_weighted = embedding::matrix_and_near(&weighted, &options(10, Some(TOLERANCE))).unwrap().1;
    assert!(of_weighted.is_none(), "eigenvalues may be more than one");

    let options = options(10, Some(TOLERANCE));
    let (matrix, near) = (embedding::matrix(&graph, &options).unwrap(), with(&options).unwrap());
    let grown = |change: fn(&mut svd::Options)| {
        let mut options = options.svd.clone();
        change(&mut options);
        Prepared::new(&matrix, &options, Cluster::threads(1)).unwrap().grown_with(Some(&near)).has_near()
    };
    assert!(grown(|_| ()));
    assert!(!grown(|options| options.tolerance = None));
    assert!(!grown(|options| options.tolerance = Some(1e-3)), "farther off than the tolerance");
    assert!(!grown(|options| options.method = Method::Subspace));
    assert!(!grown(|options| options.keep = Keep::Energy(0.5)));
}
