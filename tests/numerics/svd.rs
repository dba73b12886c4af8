//! Subspace iteration, compared with a dense SVD, and its certificate, compared with dense
//! residuals.

use std::sync::Arc;

use isvd_dist::engine::Cluster;
use isvd_dist::matrix::{Dense, Matrix};
use isvd_dist::svd::{Method, Options, Svd, decompose};

use crate::common::{
    CLUSTERS, Numbers, Table, assert_shards_of, decomposed, dense, dense_singular_values, form, sparse,
};

/// Checks singular values to 1e-4, orthonormality, and the residuals of the certificate.
fn check(matrix: &Matrix, options: &Options) -> Svd {
    let svd = decomposed(matrix, options);
    let table = form(matrix, false);
    let expected = dense_singular_values(&table);
    let positive = expected.iter().filter(|&&value| value > 1e-6 * expected[0]).count();
    assert_eq!(svd.effective_rank(), options.rank.min(positive), "{matrix}");
    let (left, right) = (Table::of_dense(&svd.left), Table::of_dense(&svd.right));
    let images = table.times(&right);
    for (column, (&value, &expected)) in svd.singular_values.iter().zip(&expected).enumerate() {
        assert!((value - expected).abs() <= 1e-4 * expected, "{matrix}: σ{column} = {value}, not {expected}");
        let residual = (0..table.rows)
            .map(|row| (images.at(row, column) - value * left.at(row, column)).powi(2))
            .sum::<f64>()
            .sqrt()
            / value;
        let claimed = svd.certificate.relative_residuals[column];
        // The rounding error of a product, relative to a singular value that may be far below the
        // largest.
        let rounding = 2e-6 * svd.singular_values[0] / value;
        assert!((residual - claimed).abs() <= 1e-3 * residual + rounding, "{matrix}: {residual}, not {claimed}");
    }
    for vectors in [&left, &right] {
        let gram = vectors.t().times(vectors);
        let identity = Table::new(gram.rows, gram.columns, |row, column| f64::from(u8::from(row == column)));
        assert!(gram.plus(&identity, -1.0).largest() < 2e-5, "{matrix}: vectors are not orthonormal");
    }
    for column in 0..svd.effective_rank() {
        let peak =
            (0..left.rows).map(|row| left.at(row, column)).fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        assert!(peak > 0.0, "{matrix}: the largest entry of left vector {column} is negative");
    }
    svd
}

fn subspace(rank: usize) -> Options {
    Options { method: Method::Subspace, ..Options::of_rank(rank) }
}

fn thirty(rank: usize) -> Options {
    Options { iterations: 30, ..subspace(rank) }
}

fn random(rows: usize, columns: usize, seed: u64) -> Matrix {
    Matrix::dense("X", dense(rows, columns, &mut Numbers(seed))).unwrap()
}

#[test]
fn tall_wide_and_square() {
    let options = thirty(6);
    for (rows, columns) in [(150, 20), (20, 150), (40, 40)] {
        check(&random(rows, columns, 5), &options);
    }
}

#[test]
fn all_the_singular_values_there_are() {
    let options = thirty(12);
    check(&random(90, 12, 6), &options);
    check(&random(12, 90, 6), &options);
}

#[test]
fn tiny() {
    let options = thirty(1);
    check(&Matrix::dense("X", Dense::new(1, 1, vec![-2.5]).unwrap()).unwrap(), &options);
    check(&random(1, 30, 7), &options);
    check(&random(30, 1, 8), &options);
}

#[test]
fn rank_deficient() {
    let options = thirty(10);
    let product = random(120, 4, 9) * random(4, 50, 10);
    assert_eq!(check(&product, &options).effective_rank(), 4);
    let diagonal = Matrix::diagonal("d", [vec![3.0, 0.0, 2.0], vec![0.0; 40]].concat()).unwrap();
    assert_eq!(check(&diagonal, &options).effective_rank(), 2);
    assert_eq!(check(&(Matrix::ones(80, 70) * 0.5), &options).effective_rank(), 1);
}

#[test]
fn repeated_singular_values() {
    let options = thirty(8);
    let diagonal = Matrix::diagonal("d", [vec![2.0; 5], vec![1.0; 5], vec![0.1; 60]].concat()).unwrap();
    check(&diagonal, &options);
    check(&Matrix::identity(30), &options);
}

#[test]
fn a_large_first_value_does_not_hide_the_others() {
    let a = Matrix::sparse("A", sparse(200, 200, false, &mut Numbers(11)));
    let options = thirty(5);
    let svd = check(&(&a * 0.01 - Matrix::ones(200, 200) * 50.0), &Options { iterations: 60, ..options });
    assert!(svd.singular_values[0] > 1000.0 * svd.singular_values[1]);
}

#[test]
fn the_zero_matrix_has_no_triplets() {
    let options = thirty(3);
    let svd = decomposed(&Matrix::zero(90, 70), &options);
    assert_eq!(svd.effective_rank(), 0);
    assert_eq!((svd.left.rows(), svd.right.rows()), (90, 70));
    assert_eq!(svd.certificate.worst(), 0.0);
}

#[test]
fn a_tolerance_stops_early_and_is_met() {
    let matrix = Matrix::diagonal("d", (0..200).map(|i| 0.8f32.powi(i)).collect()).unwrap();
    let options = Options { iterations: 100, tolerance: Some(0.01), ..subspace(5) };
    let svd = check(&matrix, &options);
    assert!(svd.iterations < 20, "{} iterations", svd.iterations);
    assert!(svd.certificate.worst() <= 0.01);
    let loose = decomposed(&matrix, &Options { tolerance: Some(0.5), ..options });
    assert!(loose.iterations <= svd.iterations && loose.operator_columns <= svd.operator_columns);
}

/// Triplets beyond the rank, which are rounding errors, do not count against the tolerance.
#[test]
fn a_tolerance_stops_a_rank_deficient_matrix_too() {
    let options = Options { iterations: 30, tolerance: Some(0.02), ..subspace(10) };
    let svd = check(&(random(120, 4, 9) * random(4, 50, 10)), &options);
    assert!(svd.iterations < 10, "{} of 30 iterations", svd.iterations);
}

#[test]
fn a_start_near_the_answer_needs_no_iterations() {
    let matrix = Matrix::diagonal("d", (0..200).map(|i| 0.9f32.powi(i)).collect()).unwrap();
    let cold = check(&matrix, &Options { iterations: 40, ..subspace(5) });
    let start = Arc::new(cold.right.clone());
    let near = &matrix + &Matrix::ones(200, 200) * 1e-5;
    let options = Options { iterations: 0, start: Some(start), ..subspace(5) };
    let warm = decomposed(&near, &options);
    let random = decomposed(&near, &Options { start: None, ..options.clone() });
    assert!(warm.certificate.worst() < 0.01 && random.certificate.worst() > 0.1);
    let error = decompose(&Matrix::identity(9), &options, CLUSTERS[1]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the vectors to start from have 200 rows, and the matrix is 9×9: they must have as many as its short side"
    );
}

#[test]
fn columns_are_counted() {
    let options = Options { iterations: 3, oversample: Some(2), ..subspace(4) };
    let svd = decomposed(&random(50, 40, 12), &options);
    // Four products in each direction with six columns, and two products of the certificate with
    // four.
    assert_eq!(svd.operator_columns, 2 * 4 * 6 + 2 * 4);
}

#[test]
fn another_seed_gives_the_same_triplets_by_another_way() {
    let matrix = random(100, 60, 13);
    let options = thirty(4);
    let one = check(&matrix, &options);
    let other = check(&matrix, &Options { seed: 2, ..options });
    assert_ne!(one.left, other.left);
    for (a, b) in one.left.data().iter().zip(other.left.data()) {
        assert!((a - b).abs() < 1e-3);
    }
}

#[test]
fn too_large_or_no_rank_is_an_error() {
    let matrix = random(5, 3, 14);
    let message = decompose(&matrix, &subspace(4), Cluster::threads(2)).unwrap_err().to_string();
    assert_eq!(message, "rank 4 is more than the 3 singular values of a 5×3 matrix: ask for at most 3");
    assert!(decompose(&matrix, &subspace(0), Cluster::threads(2)).is_err());
    let nan = Options { tolerance: Some(f64::NAN), ..subspace(1) };
    assert!(decompose(&matrix, &nan, Cluster::threads(2)).is_err());
}

/// Every worker keeps its own rows of the result.
#[test]
fn shards_are_the_rows_of_the_whole() {
    for (rows, columns) in [(300, 150), (150, 300)] {
        let matrix = random(rows, columns, 15);
        let options = subspace(3);
        for cluster in CLUSTERS {
            let whole = decompose(&matrix, &options, cluster).unwrap();
            assert_shards_of(&matrix, &options, cluster, whole);
        }
    }
}
