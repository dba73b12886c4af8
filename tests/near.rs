//! A matrix that is nearly the one to decompose helps to find its triplets, and never shows in what is said of them.

mod common;

use std::sync::Arc;

use common::{CLUSTERS, within_a_minute};
use isvd_dist::dataset::Rmat;
use isvd_dist::engine::{Cluster, Watch, product};
use isvd_dist::graph::{Graph, Import};
use isvd_dist::matrix::{Dense, Matrix};
use isvd_dist::model::embedding::{self, Normalize, Walks};
use isvd_dist::plan::Side;
use isvd_dist::svd::{self, Keep, Method, Near, Prepared, Start, Svd};

const TOLERANCE: f64 = 0.03;

fn graph() -> Graph {
    let list = Rmat::named("rmat-12x4").unwrap().draw(1).unwrap();
    Graph::from_edges(&list, Import::default()).unwrap()
}

fn options(window: usize, tolerance: Option<f64>) -> embedding::Options {
    let svd = svd::Options { method: Method::Krylov, tolerance, iterations: 100, ..svd::Options::of_rank(16) };
    let (walks, normalize) = (Walks::Window(window), Normalize::Symmetric);
    embedding::Options { walks, negative: 0.02, normalize, degree_weighted: true, self_loops: false, svd }
}

/// The triplets, which have the same bits on every cluster.
fn found(matrix: &Matrix, near: Option<&Near>, options: &svd::Options) -> Svd {
    let on = |cluster| {
        let (matrix, near, options) = (matrix.clone(), near.cloned(), options.clone());
        within_a_minute(move || {
            svd::decompose_near(&matrix, near.as_ref(), &options, cluster, Watch::default()).unwrap()
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

/// The residuals of both sides, measured here with the matrix itself.
fn measured(matrix: &Matrix, svd: &Svd) -> (Vec<f64>, Vec<f64>) {
    let image = |side, vectors: &Dense| product(matrix, side, &Arc::new(vectors.clone()), Cluster::threads(2)).unwrap();
    let measured = distances(&image(Side::Plain, &svd.right), &svd.left, &svd.singular_values);
    let back = distances(&image(Side::Transposed, &svd.left), &svd.right, &svd.singular_values);
    (measured, back)
}

/// They are within the tolerance, and what the certificate says.
fn check(matrix: &Matrix, svd: &Svd) {
    let (measured, back) = measured(matrix, svd);
    assert_eq!(measured.len(), 16);
    for (place, claimed) in svd.certificate.relative_residuals.iter().enumerate() {
        let (measured, back) = (measured[place], back[place]);
        assert!((measured - claimed).abs() <= 1e-3 * claimed + 1e-4, "{measured}, not {claimed}");
        assert!(measured <= TOLERANCE && back <= TOLERANCE / 5.0, "{place}: {measured}, {back}");
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
    let (_, back) = measured(&matrix, &helped);
    assert!(back.iter().all(|residual| *residual <= 1.5 * near.off), "{back:?} beside {}", near.off);
    let prepared = Prepared::new(&matrix, &options.svd, Cluster::threads(1)).unwrap();
    let products = |prepared: &Prepared| prepared.growing()[0].sparse_products();
    assert_eq!((products(&prepared), products(&prepared.grown_with(Some(&near)))), (10, 8));
}

/// From vectors found before residuals are not measured with the matrix itself, but what is told is never too little.
#[test]
fn from_vectors_found_before_residuals_are_told_with_what_is_left_out() {
    let (graph, options) = (graph(), options(10, Some(TOLERANCE)));
    let (matrix, near) = embedding::matrix_and_near(&graph, &options).unwrap();
    let near = near.unwrap();
    assert!(near.is_plain);
    let rough = svd::Options { tolerance: Some(0.3), ..options.svd.clone() };
    let before = found(&matrix, None, &rough);
    let (left, right) = (Arc::new(before.left), Arc::new(before.right));
    let warm = svd::Options { start: Some(Start { left, right }), ..options.svd.clone() };
    let helped = found(&matrix, Some(&near), &warm);
    assert!(helped != found(&matrix, None, &warm), "it was used");
    assert!(helped.certificate.worst() <= TOLERANCE, "{}", helped.certificate.worst());
    let (measured, back) = measured(&matrix, &helped);
    for (place, told) in helped.certificate.relative_residuals.iter().enumerate() {
        let both = measured[place].hypot(back[place]);
        assert!(both <= told + 1e-4, "{place}: {both}, told {told}");
    }
    let weighed = Near { is_plain: false, ..near };
    assert!(
        found(&matrix, Some(&weighed), &warm) == found(&matrix, None, &warm),
        "what is near in other lengths does not serve"
    );
}

/// Catches a certificate that is believed before it is measured.
#[test]
fn one_that_is_not_near_is_found_out() {
    let (graph, options) = (graph(), options(10, Some(TOLERANCE)));
    let matrix = embedding::matrix(&graph, &options).unwrap();
    let other = embedding::matrix(&graph, &embedding::Options { walks: Walks::Window(2), ..options.clone() }).unwrap();
    let misled = found(&matrix, Some(&Near { matrix: other, off: 1e-3, is_plain: false }), &options.svd);
    check(&matrix, &misled);
    let alone = found(&matrix, None, &options.svd);
    assert!((&misled.left, &misled.singular_values) == (&alone.left, &alone.singular_values));
    assert!(misled.operator_columns > alone.operator_columns, "what was in vain is counted");
}

#[test]
fn it_is_left_alone_where_it_would_not_serve() {
    let graph = graph();
    let with = |options: &embedding::Options| embedding::matrix_and_near(&graph, options).unwrap().1;
    assert!(with(&options(10, None)).is_none(), "nothing says how near");
    assert!(with(&options(10, Some(1e-6))).is_none(), "nothing shorter is so near");
    assert!(with(&options(2, Some(TOLERANCE))).is_none(), "nothing is saved");
    let list = Rmat::named("rmat-12x4").unwrap().draw(1).unwrap();
    let directed = isvd_dist::dataset::EdgeList { directed: true, ..list };
    let directed = Graph::from_edges(&directed, Import::default()).unwrap();
    let of_directed = embedding::matrix_and_near(&directed, &options(10, Some(TOLERANCE))).unwrap().1;
    assert!(of_directed.is_none(), "eigenvalues may be complex");

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
