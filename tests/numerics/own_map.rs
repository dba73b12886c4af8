//! A `LinearMap` is multiplied like a stored matrix. Catches misplaced rows, confused sides, and a
//! plan that loses or repeats a product.

use std::ops::Range;
use std::sync::Arc;

use isvd_dist::engine::{Cluster, EngineError, Transport, form, product};
use isvd_dist::matrix::{Dense, LinearMap, Matrix, Shape};
use isvd_dist::matrix::{Panel, PanelMut};
use isvd_dist::plan::{Program, Side};
use isvd_dist::svd::{Options, decompose};

use crate::common::{CLUSTERS, Numbers, Table, dense, sparse};

/// The product with a stored matrix as a `LinearMap`.
struct ByHand(Arc<Dense>);

impl LinearMap for ByHand {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn apply(&self, rows: Range<usize>, x: Panel<'_>, mut product: PanelMut<'_>) {
        assert_eq!((x.rows(), product.rows()), (self.0.columns(), rows.len()), "all of x, and room for the rows");
        for (place, row) in rows.enumerate() {
            for (k, &entry) in self.0.row(row).iter().enumerate() {
                product.row_mut(place).iter_mut().zip(x.row(k)).for_each(|(out, other)| *out += entry * other);
            }
        }
    }

    fn apply_transposed(&self, rows: Range<usize>, x: Panel<'_>, mut product: PanelMut<'_>) {
        assert_eq!((x.rows(), product.rows()), (self.0.rows(), rows.len()), "all of x, and room for the rows");
        for (place, column) in rows.enumerate() {
            for k in 0..self.0.rows() {
                let entry = self.0.row(k)[column];
                product.row_mut(place).iter_mut().zip(x.row(k)).for_each(|(out, other)| *out += entry * other);
            }
        }
    }
}

/// The same matrix as a `LinearMap` and as stored entries.
fn both(rows: usize, columns: usize, numbers: &mut Numbers) -> (Matrix, Matrix) {
    let data = Arc::new(dense(rows, columns, numbers));
    (Matrix::own("F", ByHand(data.clone())), Matrix::dense("F", data).unwrap())
}

/// Compares the products of two equally stated matrices with a panel.
fn compare(own: &Matrix, stored: &Matrix) {
    for side in [Side::Plain, Side::Transposed] {
        let rows = if side == Side::Plain { own.shape().columns } else { own.shape().rows };
        let panel = Arc::new(dense(rows, 5, &mut Numbers(9)));
        let expected = Table::of_dense(&product(stored, side, &panel, CLUSTERS[0]).unwrap());
        let first = product(own, side, &panel, CLUSTERS[0]).unwrap();
        let off = Table::of_dense(&first).distance(&expected);
        assert!(off <= 1e-4 * expected.largest().max(1.0), "{own} {side:?}: {off} off");
        for cluster in &CLUSTERS[1..] {
            assert!(
                product(own, side, &panel, *cluster).unwrap() == first,
                "{own} {side:?}: other bits on {cluster:?}"
            );
        }
    }
    let (formed, expected) = (form(own, CLUSTERS[0]).unwrap(), form(stored, CLUSTERS[0]).unwrap());
    assert!(Table::of_dense(&formed).distance(&Table::of_dense(&expected)) <= 1e-4, "{own} formed");
}

#[test]
fn a_map_multiplies_like_its_entries_alone_and_within_expressions() {
    let numbers = &mut Numbers(1);
    let (own, stored) = both(150, 90, numbers);
    compare(&own, &stored);
    compare(&own.t(), &stored.t());
    let a = Matrix::sparse("A", sparse(150, 150, true, numbers));
    let d = Matrix::diagonal("d", (0..90).map(|i| 1.0 / (1.0 + i as f32)).collect()).unwrap();
    let around = |f: &Matrix| &a * f * &d * 0.5 + f * 2.0 - Matrix::ones(150, 90);
    compare(&around(&own), &around(&stored));
    let (own, stored) = both(140, 140, numbers);
    compare(&(&own * 0.1).polynomial(&[0.5, 0.3, 0.2]), &(&stored * 0.1).polynomial(&[0.5, 0.3, 0.2]));
    compare(&Matrix::hstack(&[own.clone(), own.t()]), &Matrix::hstack(&[stored.clone(), stored.t()]));
    compare(&own.rows(&[139, 3, 3, 0]), &stored.rows(&[139, 3, 3, 0]));
}

#[test]
fn a_repeated_product_is_computed_once() {
    let (own, _) = both(20, 20, &mut Numbers(2));
    let program = Program::compile(&(&own + &own * 2.0), Side::Plain);
    assert_eq!(program.to_string(), "v1 = map 3·F·G\nanswer v1");
    let program = Program::compile(&own, Side::Transposed);
    assert_eq!(program.to_string(), "v1 = map Fᵀ·G\nanswer v1");
}

#[test]
fn the_svd_is_that_of_the_entries_with_the_same_bits_on_any_number_of_workers() {
    let (own, stored) = both(300, 200, &mut Numbers(3));
    let options = Options { tolerance: Some(1e-4), ..Options::of_rank(5) };
    let first = decompose(&own, &options, Cluster::threads(1)).unwrap();
    let expected = decompose(&stored, &options, Cluster::threads(1)).unwrap();
    for (value, other) in first.singular_values.iter().zip(&expected.singular_values) {
        assert!((value / other - 1.0).abs() < 1e-5, "{value}, not {other}");
    }
    for workers in [2, 3] {
        let svd = decompose(&own, &options, Cluster::threads(workers)).unwrap();
        assert_eq!(svd.singular_values, first.singular_values, "{workers} workers");
        assert!(svd.left == first.left && svd.right == first.right, "{workers} workers");
    }
}

/// A map that writes NaN.
struct Broken;

impl LinearMap for Broken {
    fn shape(&self) -> Shape {
        Shape::new(10, 10)
    }

    fn apply(&self, _: Range<usize>, _: Panel<'_>, mut product: PanelMut<'_>) {
        product.row_mut(0)[0] = f32::NAN;
    }

    fn apply_transposed(&self, _: Range<usize>, _: Panel<'_>, _: PanelMut<'_>) {
        panic!("not written yet");
    }
}

#[test]
fn a_map_that_fails_is_an_error_with_its_name() {
    let matrix = Matrix::own("F", Broken);
    let panel = Arc::new(dense(10, 2, &mut Numbers(4)));
    let threads = [1, 2, 3].map(Cluster::threads);
    let bytes = threads.map(|cluster| Cluster { transport: Transport::Bytes, ..cluster });
    for cluster in threads.into_iter().chain(bytes) {
        let error = product(&matrix, Side::Plain, &panel, cluster).unwrap_err();
        assert!(matches!(&error, EngineError::NotFinite { step } if step.contains("F·G")), "{error}");
        let error = product(&matrix, Side::Transposed, &panel, cluster).unwrap_err();
        assert!(
            matches!(&error, EngineError::Panicked { message, .. } if message.contains("not written yet")),
            "{error}"
        );
    }
}
