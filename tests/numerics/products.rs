//! `M·G` and `Mᵀ·G` of every kind of matrix and of random expressions, compared with dense
//! arithmetic, with the same bits on any number of workers. Catches a wrong plan, a wrong kernel, a
//! misplaced block and a wrong order of sums.

use std::sync::Arc;

use isvd_dist::engine::{Cluster, EngineError, run};
use isvd_dist::graph::Sparse;
use isvd_dist::matrix::{Dense, Matrix};
use isvd_dist::plan::{Program, Side};
use proptest::prelude::*;

use crate::common::{CLUSTERS, Numbers, Table, dense, expression, form, pooled_expression, sparse};

const COLUMNS: usize = 5;

/// A random panel and the matrix times it.
fn multiply(matrix: &Matrix, side: Side, cluster: Cluster) -> (Dense, Dense) {
    let program = Arc::new(Program::compile(matrix, side));
    let rows = program.input_rows();
    let result: Result<_, EngineError> = run(cluster, vec![program], move |session| {
        let panel = session.random_normal(rows, COLUMNS, 7, 0)?;
        let product = session.multiply(0, &panel)?;
        Ok((session.collect(&panel)?, session.collect(&product)?))
    });
    let (panel, product) = result.unwrap();
    (panel.unwrap(), product.unwrap())
}

/// The entries of a matrix, as the engine forms them.
fn formed(matrix: &Matrix, cluster: Cluster) -> Dense {
    let program = Arc::new(Program::form(matrix));
    let result: Result<_, EngineError> = run(cluster, vec![program], |session| {
        let entries = session.form(0)?;
        session.collect(&entries)
    });
    result.unwrap().unwrap()
}

fn check_formed(matrix: &Matrix) {
    let (expected, bound) = (form(matrix, false), form(matrix, true));
    let entries = formed(matrix, CLUSTERS[0]);
    assert_eq!(entries.shape(), matrix.shape(), "{matrix}");
    for row in 0..expected.rows {
        for (column, &got) in entries.row(row).iter().enumerate() {
            let (want, allowed) = (expected.at(row, column), 2e-5 * bound.at(row, column) + 1e-12);
            assert!((f64::from(got) - want).abs() <= allowed, "{matrix} at {row},{column}: {got}, not {want}");
        }
    }
    for cluster in &CLUSTERS[1..] {
        assert!(formed(matrix, *cluster) == entries, "{matrix} formed: other bits on {cluster:?}");
    }
}

fn check(matrix: &Matrix) {
    check_formed(matrix);
    for side in [Side::Plain, Side::Transposed] {
        let (formed, magnitude) = match side {
            Side::Plain => (form(matrix, false), form(matrix, true)),
            Side::Transposed => (form(matrix, false).t(), form(matrix, true).t()),
        };
        let (panel, product) = multiply(matrix, side, CLUSTERS[0]);
        let panel = Table::of_dense(&panel);
        let (expected, bound) = (formed.times(&panel), magnitude.times(&panel.absolute()));
        let product_table = Table::of_dense(&product);
        for row in 0..expected.rows {
            for column in 0..COLUMNS {
                let (got, want) = (product_table.at(row, column), expected.at(row, column));
                let allowed = 2e-5 * bound.at(row, column) + 1e-12;
                assert!((got - want).abs() <= allowed, "{matrix} {side:?} at {row},{column}: {got}, not {want}");
            }
        }
        for cluster in &CLUSTERS[1..] {
            let (_, other) = multiply(matrix, side, *cluster);
            assert!(other == product, "{matrix} {side:?}: other bits on {cluster:?}");
        }
    }
}

#[test]
fn every_kind_of_leaf() {
    let numbers = &mut Numbers(1);
    check(&Matrix::sparse("P", sparse(150, 90, false, numbers)));
    check(&Matrix::sparse("W", sparse(90, 150, true, numbers)));
    check(&Matrix::dense("X", dense(150, 9, numbers)).unwrap());
    check(&Matrix::dense("X", dense(9, 150, numbers)).unwrap());
    check(&Matrix::diagonal("d", vec![0.5, 0.0, -3.0]).unwrap());
    check(&Matrix::identity(130));
    check(&Matrix::ones(70, 140));
    check(&Matrix::zero(70, 140));
}

#[test]
fn every_kind_of_node() {
    let numbers = &mut Numbers(2);
    let square = Matrix::sparse("A", sparse(140, 140, false, numbers));
    let weighted = Matrix::sparse("W", sparse(140, 140, true, numbers));
    let features = Matrix::dense("X", dense(140, 6, numbers)).unwrap();
    let scale = Matrix::diagonal("d", (0..140).map(|i| 1.0 / (1.0 + i as f32)).collect()).unwrap();
    check(&(&square + &weighted));
    check(&(&square - &weighted * 0.5));
    check(&(&scale * &square * &scale));
    check(&square.t());
    check(&(&scale * &square * 0.1).pow(3));
    check(&(&scale * &square).polynomial(&[0.5, 0.3, 0.0, 0.2]));
    check(&(&scale * &square * &features));
    check(&Matrix::hstack(&[features.clone(), &scale * &square * &features]));
    check(&Matrix::vstack(&[features.t(), Matrix::ones(1, 140), Matrix::zero(2, 140)]));
    check(&square.rows(&[139, 3, 3, 0, 70]));
    check(&weighted.columns(&[0, 139, 139, 1]));
    check(&features.rows(&(0..140).rev().collect::<Vec<_>>()).columns(&[5, 5, 0]));
    check(&square.rows(&[]));
}

#[test]
fn the_embedding_matrix_of_a_directed_graph() {
    let numbers = &mut Numbers(3);
    let a = Matrix::sparse("A", sparse(300, 300, false, numbers));
    let inverse = Matrix::diagonal("D⁻¹", (0..300).map(|i| 0.01 + (i % 9) as f32 * 0.01).collect()).unwrap();
    let t = &inverse * &a;
    check(&(t.polynomial(&[0.0, 0.5, 0.3, 0.2]) - (Matrix::ones(300, 300) - &a) * 0.02));
}

/// A matrix of many tiles and several column strips.
#[test]
fn a_graph_of_many_tiles() {
    let nodes = 70_000;
    let numbers = &mut Numbers(4);
    let pairs: Vec<(u32, u32)> =
        (0..200_000).map(|_| (numbers.below(nodes) as u32, numbers.below(nodes) as u32)).collect();
    let a = Matrix::sparse("A", Arc::new(Sparse::from_triplets(nodes, nodes, pairs, None).unwrap()));
    for side in [Side::Plain, Side::Transposed] {
        let (panel, product) = multiply(&a, side, CLUSTERS[0]);
        let mut expected = vec![0.0_f64; nodes * COLUMNS];
        let isvd_dist::matrix::Kind::Sparse { data, .. } = a.kind() else { unreachable!() };
        data.for_each(|row, column, value| {
            let (row, column) = if side == Side::Plain { (row, column) } else { (column, row) };
            for (sum, x) in expected[row * COLUMNS..][..COLUMNS].iter_mut().zip(panel.row(column)) {
                *sum += f64::from(value) * f64::from(*x);
            }
        });
        for (got, want) in product.data().iter().zip(&expected) {
            assert!((f64::from(*got) - want).abs() < 1e-4);
        }
        for cluster in &CLUSTERS[1..] {
            assert!(multiply(&a, side, *cluster).1 == product, "other bits on {cluster:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    /// Shapes of every kind, up to a few tiles high and wide.
    #[test]
    fn random_expressions(seed in any::<u64>(), rows in 1usize..150, columns in 1usize..150, depth in 0usize..4) {
        check(&expression(rows, columns, depth, &mut Numbers(seed)));
    }

    /// Square matrices built of each other, two or three tiles high.
    #[test]
    fn random_shared_expressions(seed in any::<u64>(), size in 65usize..140, nodes in 1usize..8) {
        check(&pooled_expression(size, nodes, &mut Numbers(seed)));
    }
}
