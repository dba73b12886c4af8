//! The Gram method, compared with a dense SVD and with the iteration.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use isvd_dist::engine::{Cluster, Monitor};
use isvd_dist::matrix::{Dense, Mask, Matrix};
use isvd_dist::svd::{Method, Options, Prepared, Svd, SvdError, decompose, decompose_with};

use crate::common::{
    CLUSTERS, Numbers, Table, assert_shards_of, decomposed, dense, dense_svd, form, residuals, sparse, with_spectrum,
};

fn by(method: Method, rank: usize) -> Options {
    Options { method, iterations: 40, ..Options::of_rank(rank) }
}

fn random(rows: usize, columns: usize, seed: u64) -> Matrix {
    Matrix::dense("X", dense(rows, columns, &mut Numbers(seed))).unwrap()
}

fn of_spectrum(rows: usize, columns: usize, values: &[f64], seed: u64) -> Matrix {
    Matrix::dense("X", with_spectrum(rows, columns, values, &mut Numbers(seed))).unwrap()
}

/// A geometric sequence of `count` values.
fn geometric(first: f64, ratio: f64, count: i32) -> Vec<f64> {
    (0..count).map(|power| first * ratio.powi(power)).collect()
}

/// The true residuals are at most about those of the certificate.
fn check_honest(matrix: &Matrix, svd: &Svd) {
    assert_eq!(svd.certificate.relative_residuals.len(), svd.effective_rank());
    let measured = residuals(&form(matrix, false), svd);
    for (place, (measured, claimed)) in measured.iter().zip(&svd.certificate.relative_residuals).enumerate() {
        assert!(*measured <= 2.0 * claimed + 1e-6, "{matrix}: residual {place} is {measured}, not {claimed}");
    }
}

fn check_signs(matrix: &Matrix, svd: &Svd) {
    for column in 0..svd.effective_rank() {
        let entries = (0..svd.left.rows()).map(|row| svd.left.row(row)[column]);
        let peak = entries.fold(0.0, |a: f32, b| if b.abs() > a.abs() { b } else { a });
        assert!(peak > 0.0, "{matrix}: the largest entry of left vector {column} is negative");
    }
}

/// Checks singular values, effective rank, orthonormality, signs, and the certificate.
fn check(matrix: &Matrix, rank: usize) -> Svd {
    let svd = decomposed(matrix, &by(Method::Gram, rank));
    let expected = dense_svd(&form(matrix, false)).values;
    let positive = expected.iter().filter(|&&value| value > 1e-6 * expected[0]).count();
    assert_eq!(svd.effective_rank(), rank.min(positive), "{matrix}: {:?} of {expected:?}", svd.singular_values);
    assert_eq!(svd.iterations, 0, "{matrix} was iterated on");
    for (column, (value, expected)) in svd.singular_values.iter().zip(&expected).enumerate() {
        assert!((value - expected).abs() <= 2e-6 * expected, "{matrix}: σ{column} = {value}, not {expected}");
    }
    let kept = svd.effective_rank();
    // A right vector is rounded to f32, and its image is divided by a small σ.
    let spread = expected[0] / svd.singular_values[kept - 1];
    for vectors in [Table::of_dense(&svd.left), Table::of_dense(&svd.right)] {
        let identity = Table::new(kept, kept, |row, column| f64::from(u8::from(row == column)));
        let off = vectors.t().times(&vectors).distance(&identity);
        assert!(off < 1e-6 * spread, "{matrix}: vectors are {off} off from orthonormal");
    }
    assert!(svd.certificate.worst() < 1e-6 * spread.powi(2), "{matrix}: {:?}", svd.certificate);
    check_signs(matrix, &svd);
    check_honest(matrix, &svd);
    svd
}

/// Catches confused sides: the Gram matrix is that of the shorter side.
#[test]
fn tall_wide_and_square() {
    for (rows, columns) in [(300, 20), (20, 300), (70, 70), (65, 64), (130, 129)] {
        check(&random(rows, columns, 1), 6);
        check(&random(rows, columns, 2), rows.min(columns));
    }
}

/// Catches eigenvectors of MᵀM of a square matrix that are used as those of MMᵀ.
#[test]
fn square_with_a_tolerance() {
    let matrix = random(70, 70, 1);
    let svd = decomposed(&matrix, &Options { tolerance: Some(0.01), ..by(Method::Gram, 6) });
    assert!(residuals(&form(&matrix, false), &svd).iter().all(|residual| *residual < 1e-4));
    check_signs(&matrix, &svd);
}

/// Catches wrong loop bounds at padding and tile ends.
#[test]
fn one_row_one_column_one_entry() {
    check(&random(1, 90, 3), 1);
    check(&random(90, 1, 4), 1);
    check(&random(2, 90, 3), 2);
    check(&Matrix::dense("X", Dense::new(1, 1, vec![-2.5]).unwrap()).unwrap(), 1);
}

/// Catches entries that are formed wrongly where nothing is stored: products, sparse leaves, sums,
/// gathers, stacks of them.
#[test]
fn matrices_that_are_formed() {
    let numbers = &mut Numbers(5);
    let a = Matrix::sparse("A", sparse(150, 150, false, numbers)) * 0.02;
    let x = Matrix::dense("X", dense(150, 8, numbers)).unwrap();
    let once = &a * &x;
    let blocks = Matrix::hstack(&[x.clone(), once.clone(), &a * &once]);
    check(&blocks, 5);
    check(&blocks.t(), 5);
    check(&blocks.rows(&(0..100).collect::<Vec<_>>()), 5);
    check(&Matrix::vstack(&[x.clone(), once.clone(), x.clone() - once]), 8);
    check(&Matrix::sparse("W", sparse(200, 30, true, numbers)), 7);
    check(&(&x - Matrix::ones(150, 8) * 0.25), 8);
    check(&Matrix::identity(70), 70);
}

/// Catches dropout masks that differ between Gram matrix and products, and wrongly scaled copies.
#[test]
fn stacked_copies() {
    let x = random(150, 12, 6);
    let copy = |copy| x.try_dropout(Mask::new(0.4, 9, copy)).unwrap();
    let diagonal = |seed: u64| {
        let numbers = &mut Numbers(seed);
        Matrix::diagonal("d", (0..12).map(|place| (place % 3) as f32 * numbers.next() as f32).collect()).unwrap()
    };
    check(&copy(0), 12);
    check(&copy(0).t(), 12);
    check(&Matrix::vstack(&[x.clone(), copy(0), copy(1)]), 12);
    check(&Matrix::vstack(&[x.clone(), &x * &diagonal(7)]), 12);
    check(&Matrix::vstack(&[&x * &diagonal(7), x.clone(), &x * &diagonal(8), copy(1), copy(1)]), 12);
    check(&Matrix::vstack(&[&copy(2) * &diagonal(7), copy(2), x.clone()]), 12);
    let nested = Matrix::vstack(&[x.clone(), copy(0)]);
    check(&Matrix::vstack(&[nested.clone(), nested.clone(), &nested * &diagonal(8)]), 12);
    // The scale is on the other side of the implicit factor.
    check(&Matrix::vstack(&[x.clone(), &Matrix::diagonal("e", vec![0.5; 150]).unwrap() * &x]), 12);
    // A wide matrix is formed completely.
    let wide = random(9, 60, 8);
    check(&Matrix::vstack(&[wide.clone(), wide.try_dropout(Mask::new(0.5, 3, 0)).unwrap()]), 18);
}

/// Catches triplets that are rounding errors, both of stored entries and of entries formed by long
/// sums.
#[test]
fn rank_deficient() {
    let twice = random(90, 5, 9);
    assert_eq!(check(&Matrix::hstack(&[twice.clone(), twice.clone()]), 10).effective_rank(), 5);
    assert_eq!(check(&(random(120, 4, 10) * random(4, 50, 11)), 50).effective_rank(), 4);
    let long = random(40, 400, 12) * random(400, 4, 13) * random(4, 40, 14);
    assert_eq!(check(&long, 40).effective_rank(), 4);
    let sums = Matrix::ones(300, 300) * random(300, 40, 15);
    assert_eq!(check(&sums, 40).effective_rank(), 1);
    let diagonal = Matrix::diagonal("d", [vec![3.0, 0.0, 2.0], vec![0.0; 40]].concat()).unwrap();
    assert_eq!(check(&diagonal, 10).effective_rank(), 2);
    let zeros = Matrix::dense("X", Dense::new(100, 6, (0..600).map(|i| f32::from(i % 6 == 4)).collect()).unwrap());
    assert_eq!(check(&zeros.unwrap(), 6).effective_rank(), 1);
}

#[test]
fn the_zero_matrix_has_no_triplets() {
    let stored = Matrix::dense("O", Dense::new(90, 7, vec![0.0; 630]).unwrap()).unwrap();
    for matrix in [Matrix::zero(90, 7), Matrix::zero(7, 90), stored.clone(), Matrix::vstack(&[stored.clone(), stored])]
    {
        for method in [Method::Gram, Method::Auto] {
            let svd = decomposed(&matrix, &by(method, 3));
            assert_eq!((svd.effective_rank(), svd.certificate.worst()), (0, 0.0));
            assert_eq!((svd.left.rows(), svd.right.rows()), (matrix.shape().rows, matrix.shape().columns));
        }
    }
}

/// Catches vectors and signs that differ from those of the iteration.
#[test]
fn the_same_triplets_as_by_iteration() {
    for (rows, columns) in [(200, 30), (30, 200), (80, 80)] {
        let matrix = of_spectrum(rows, columns, &geometric(3.0, 0.7, 12), 16);
        let (gram, subspace) = (check(&matrix, 6), decomposed(&matrix, &by(Method::Subspace, 6)));
        for (a, b) in [(&gram.left, &subspace.left), (&gram.right, &subspace.right)] {
            let off = Table::of_dense(a).distance(&Table::of_dense(b));
            assert!(off < 1e-4, "{rows}×{columns}: {off}");
        }
    }
}

/// Catches a certificate that ignores the loss by squaring. The singular values range from 1 to
/// 1e-5.
#[test]
fn tiny_singular_values_are_certified_honestly() {
    let values = geometric(1.0, 0.1f64.sqrt(), 11);
    for (rows, columns) in [(200, 11), (200, 30), (30, 200)] {
        let matrix = of_spectrum(rows, columns, &values, 17);
        let svd = decomposed(&matrix, &by(Method::Gram, 11));
        let expected = dense_svd(&form(&matrix, false)).values;
        assert_eq!(svd.effective_rank(), 11);
        for (value, expected) in svd.singular_values.iter().zip(&expected) {
            assert!((value - expected).abs() <= 1e-4 * expected, "{value}, not {expected}");
        }
        check_honest(&matrix, &svd);
        check_signs(&matrix, &svd);
    }
}

/// Catches an `Auto` that keeps the result of the Gram method although its residual is above the
/// tolerance, or above the default limit.
#[test]
fn auto_falls_back_if_the_gram_residuals_are_too_large() {
    let steep = of_spectrum(400, 11, &geometric(1.0, 0.1f64.sqrt(), 11), 17);
    let gentle = of_spectrum(400, 11, &geometric(1.0, 0.8, 11), 18);
    let auto = |matrix: &Matrix, rank, tolerance| {
        let options = Options { tolerance, ..by(Method::Auto, rank) };
        assert!(Prepared::new(matrix, &options, Cluster::threads(1)).unwrap().is_gram());
        let svd = decomposed(matrix, &options);
        check_honest(matrix, &svd);
        (svd.iterations, svd.certificate.worst())
    };
    let (iterations, worst) = auto(&gentle, 11, None);
    assert!(iterations == 0 && worst < 1e-5, "{iterations} {worst}");
    let (iterations, worst) = auto(&gentle, 11, Some(1e-4));
    assert!(iterations == 0 && worst <= 1e-4, "{iterations} {worst}");
    // A tolerance that f32 vectors cannot meet.
    let (iterations, _) = auto(&gentle, 11, Some(1e-12));
    assert!(iterations > 0, "{iterations}");
    // The first few triplets are not affected by the loss.
    let (iterations, worst) = auto(&steep, 3, None);
    assert!(iterations == 0 && worst < 1e-3, "{iterations} {worst}");
    let gram = decomposed(&steep, &by(Method::Gram, 11)).certificate.worst();
    let (iterations, worst) = auto(&steep, 11, None);
    assert!(gram <= 1e-3 || iterations > 0, "a residual of {gram} was trusted");
    assert!(worst <= gram, "{worst} by iteration, {gram} by the Gram matrix");
}

/// Catches an `Auto` that never or always chooses the Gram method.
#[test]
fn auto_chooses_by_the_work() {
    let is_gram = |matrix: &Matrix, method, rank| {
        Prepared::new(matrix, &by(method, rank), Cluster::threads(1)).unwrap().is_gram()
    };
    let (tall, wide) = (random(3000, 12, 19), random(12, 3000, 19));
    let square = Matrix::sparse("A", sparse(2000, 2000, false, &mut Numbers(20)));
    let pairs = (0..3999).map(|i| (i, i + 1)).collect();
    let path = isvd_dist::graph::Sparse::symmetric_from_pairs(4000, pairs, None).unwrap();
    let path = Matrix::sparse("P", Arc::new(path));
    assert!(is_gram(&tall, Method::Auto, 6) && is_gram(&wide, Method::Auto, 6));
    assert!(!is_gram(&square, Method::Auto, 6) && !is_gram(&path, Method::Auto, 6));
    assert!(is_gram(&square, Method::Gram, 6) && is_gram(&path, Method::Gram, 6));
    assert!(!is_gram(&tall, Method::Subspace, 6));
    // Unused programs are not compiled for the workers.
    assert_eq!(Prepared::new(&square, &by(Method::Auto, 6), Cluster::threads(1)).unwrap().programs().len(), 2);
    let svd = decomposed(&tall, &by(Method::Auto, 6));
    assert!(svd == decomposed(&tall, &by(Method::Gram, 6)));
}

#[test]
fn a_short_side_that_is_too_long_is_an_error() {
    let matrix = Matrix::identity(5000);
    let error = decompose(&matrix, &by(Method::Gram, 3), CLUSTERS[1]).unwrap_err();
    assert_eq!(error, SvdError::NoGram { shape: matrix.shape() });
    let message = "a 5000×5000 matrix is too large for the Gram matrix of its short side: use the method \"krylov\"";
    assert_eq!(error.to_string(), message);
    assert!(!Prepared::new(&matrix, &by(Method::Auto, 3), Cluster::threads(1)).unwrap().is_gram());
    // It would take 4 GiB.
    let long = Matrix::ones(1 << 20, 1) * random(1, 1024, 21);
    assert!(matches!(Prepared::new(&long, &by(Method::Gram, 1), Cluster::threads(1)), Err(SvdError::NoGram { .. })));
}

/// Catches wrong rows in shards, and progress that is reported by all workers or by none.
#[test]
fn shards_are_the_rows_of_the_whole() {
    for (rows, columns) in [(300, 15), (15, 300)] {
        let matrix = random(rows, columns, 22);
        let options = by(Method::Gram, 3);
        for cluster in CLUSTERS {
            let calls = Arc::new(AtomicUsize::new(0));
            let counter = calls.clone();
            let count = Arc::new(move |_, _, _| {
                counter.fetch_add(1, Ordering::Relaxed);
            });
            let whole = decompose_with(&matrix, None, &options, cluster, Monitor::new(count)).unwrap();
            assert_eq!(calls.load(Ordering::Relaxed), 1);
            assert_shards_of(&matrix, &options, cluster, whole);
        }
    }
}
