//! Least squares by the truncated SVD, compared with the pseudo-inverse of a dense SVD in f64.

use std::sync::Arc;

use isvd_dist::engine::{Cluster, Monitor, run};
use isvd_dist::matrix::{Dense, Mask, Matrix};
use isvd_dist::svd::{Method, Options, Prepared, SvdError, solve_on};

use crate::common::{CLUSTERS, Numbers, Table, dense, dense_svd, form, pseudo_inverse_times, sparse, with_spectrum};

const METHODS: [Method; 4] = [Method::Subspace, Method::Krylov, Method::Gram, Method::Auto];
const TARGETS: usize = 3;

#[derive(Debug, Clone, PartialEq)]
struct Solved {
    weights: Dense,
    singular_values: Vec<f64>,
    relative_residuals: Vec<f64>,
    normal_residual: f64,
    iterations: usize,
}

fn solve_in(cluster: Cluster, matrix: &Matrix, targets: &Arc<Dense>, options: &Options, cut: f64) -> Solved {
    let prepared = Prepared::new(matrix, options, cluster).unwrap();
    let targets = targets.clone();
    let solved: Result<Solved, SvdError> = run(cluster, prepared.programs(), move |session| {
        let panel = session.panel_from(&targets, targets.columns(), 0, 0)?;
        let solution = solve_on(session, &prepared, &panel, cut, &Monitor::default())?;
        Ok(Solved {
            weights: session.collect(&solution.weights)?.unwrap_or_default(),
            singular_values: solution.singular_values,
            relative_residuals: solution.certificate.relative_residuals,
            normal_residual: solution.normal_residual,
            iterations: solution.iterations,
        })
    });
    solved.unwrap()
}

/// The same bits on every cluster.
fn solve(matrix: &Matrix, targets: &Arc<Dense>, options: &Options, cut: f64) -> Solved {
    let first = solve_in(CLUSTERS[0], matrix, targets, options, cut);
    for cluster in &CLUSTERS[1..] {
        assert!(solve_in(*cluster, matrix, targets, options, cut) == first, "{matrix}: other bits on {cluster:?}");
    }
    first
}

/// The Krylov method stops by its residuals only if it has a tolerance.
fn by(method: Method, rank: usize) -> Options {
    let tolerance = (method == Method::Krylov).then_some(1e-6);
    Options { method, tolerance, iterations: 60, ..Options::of_rank(rank) }
}

fn random_targets(rows: usize, seed: u64) -> Arc<Dense> {
    Arc::new(dense(rows, TARGETS, &mut Numbers(seed)))
}

fn random(rows: usize, columns: usize, seed: u64) -> Matrix {
    Matrix::dense("X", dense(rows, columns, &mut Numbers(seed))).unwrap()
}

/// The methods whose errors are rounding errors alone.
const EXACT: [Method; 3] = [Method::Subspace, Method::Gram, Method::Auto];

/// Every method gives the weights of the oracle and uses as many singular values.
fn check(matrix: &Matrix, rank: usize, cut: f64) -> Table {
    let targets = random_targets(matrix.shape().rows, 77);
    let table = form(matrix, false);
    let expected = pseudo_inverse_times(&table, &Table::of_dense(&targets), rank, cut);
    let values = dense_svd(&table).values;
    let used = values.iter().take(rank).filter(|&&value| value > cut * values[0]).count();
    for method in EXACT {
        let solved = solve(matrix, &targets, &by(method, rank), cut);
        assert_eq!(solved.singular_values.len(), used, "{matrix} by {method:?}: {:?}", solved.singular_values);
        assert_eq!(solved.relative_residuals.len(), used);
        let (off, spread) = (Table::of_dense(&solved.weights).distance(&expected), values[0] / values[used - 1]);
        let allowed = 2e-6 * spread * expected.largest();
        assert!(off <= allowed, "{matrix} by {method:?}: {off} off, where {allowed} is allowed");
    }
    expected
}

/// Catches a wrong side of the matrix, a wrong power of S, and permuted rows.
#[test]
fn over_and_under_determined_systems() {
    for (rows, columns) in [(200, 12), (12, 200), (66, 60), (60, 66), (150, 1), (1, 150), (1, 1)] {
        check(&random(rows, columns, 1), rows.min(columns), 1e-6);
    }
}

/// Catches division by rounding errors: repeated columns and rows, and products of low rank.
#[test]
fn rank_deficient_systems() {
    let x = random(120, 5, 2);
    check(&Matrix::hstack(&[x.clone(), x.clone() * 2.0]), 10, 1e-5);
    check(&Matrix::vstack(&[x.t(), x.t()]), 10, 1e-5);
    check(&(random(90, 4, 3) * random(4, 30, 4)), 30, 1e-5);
    check(&(random(30, 4, 3) * random(4, 90, 4)), 30, 1e-5);
}

/// Catches copies with different weights in the Gram matrix and in the products.
#[test]
fn stacked_copies() {
    let x = random(100, 9, 5);
    let dropped = x.try_dropout(Mask::new(0.5, 4, 1)).unwrap();
    let keep = Matrix::diagonal("K", (0..9).map(|column| f32::from(column < 6)).collect()).unwrap();
    check(&Matrix::vstack(&[x.clone(), &x * &keep, dropped]), 9, 1e-6);
    let numbers = &mut Numbers(6);
    let a = Matrix::sparse("A", sparse(100, 100, true, numbers)) * 0.1;
    check(&Matrix::hstack(&[x.clone(), &a * &x]), 18, 1e-6);
}

/// Catches arithmetic that squares the condition number κ: for every shape, method and rank, the
/// relative error of fitted values and weights is a small multiple of ε₃₂·κ.
#[test]
fn errors_grow_with_the_condition_number_and_not_with_its_square() {
    const SHORT: usize = 12;
    for (rows, columns) in [(150, SHORT), (SHORT, SHORT), (SHORT, 150), (SHORT, 1000)] {
        for power in 1..=6 {
            let ratio = 10f64.powf(-f64::from(power) / (SHORT - 1) as f64);
            let values: Vec<f64> = (0..SHORT as i32).map(|place| ratio.powi(place)).collect();
            let entries = with_spectrum(rows, columns, &values, &mut Numbers(power as u64));
            let (matrix, targets) = (Matrix::dense("X", entries).unwrap(), random_targets(rows, 21));
            for rank in [SHORT, SHORT - 4] {
                check_errors(&matrix, &targets, rank, values[0] / values[rank - 1]);
            }
        }
    }
}

fn check_errors(matrix: &Matrix, targets: &Arc<Dense>, rank: usize, condition: f64) {
    let table = form(matrix, false);
    let expected = pseudo_inverse_times(&table, &Table::of_dense(targets), rank, 0.0);
    let fitted = table.times(&expected);
    for method in METHODS {
        let solved = solve(matrix, targets, &by(method, rank), 0.0);
        // Krylov bases lose some orthogonality, which shows in the residuals.
        let of_triplets = match method {
            Method::Krylov => solved.relative_residuals.iter().copied().fold(0.0, f64::max),
            _ => 0.0,
        };
        let allowed = 10.0 * f64::from(f32::EPSILON) * condition + 2.0 * of_triplets;
        let weights = Table::of_dense(&solved.weights);
        let errors = [(&weights, &expected), (&table.times(&weights), &fitted)]
            .map(|(found, expected)| found.plus(expected, -1.0).norm() / expected.norm());
        let what = format!("{} by {method:?}, rank {rank}, κ = {condition:.0e}", matrix.shape());
        assert!(errors.iter().all(|error| *error <= allowed), "{what}: {errors:?}, not {allowed:e}; {solved:?}");
        let (claimed, measured) = (solved.normal_residual, normal_residual(&table, targets, &weights, rank));
        assert!((claimed - measured).abs() <= allowed, "{what}: certified {claimed}, measured {measured}");
    }
}

/// The larger of `‖MᵀM·w − M_kᵀ·t‖ / ‖M_kᵀ·t‖` and `‖M·w − U Uᵀt‖ / ‖Uᵀt‖`, in f64, over all
/// columns.
fn normal_residual(table: &Table, targets: &Dense, weights: &Table, rank: usize) -> f64 {
    let svd = dense_svd(table);
    let projected = svd.left.t().times(&Table::of_dense(targets));
    let scaled = |scale: &dyn Fn(usize) -> f64| {
        let kept = |row| if row < rank { scale(row) } else { 0.0 };
        Table::new(projected.rows, TARGETS, |row, column| kept(row) * projected.at(row, column))
    };
    let (images, projection) = (svd.right.times(&scaled(&|row| svd.values[row])), svd.left.times(&scaled(&|_| 1.0)));
    let fitted = table.times(weights);
    let pairs = [(table.t().times(&fitted), images), (fitted, projection)];
    let worst = |(found, wanted): &(Table, Table)| {
        let off = found.plus(wanted, -1.0);
        (0..TARGETS).map(|column| off.column_norm(column) / wanted.column_norm(column)).fold(0.0, f64::max)
    };
    pairs.iter().map(worst).fold(0.0, f64::max)
}

/// Catches an `Auto` that keeps weights whose residual is above the tolerance, or the worse of two
/// results.
#[test]
fn auto_falls_back_if_the_residual_of_the_weights_is_too_large() {
    let values: Vec<f64> = (0..11).map(|place| 0.1f64.powf(f64::from(place) / 2.0)).collect();
    for (rows, columns) in [(400, 11), (11, 400)] {
        let matrix = Matrix::dense("X", with_spectrum(rows, columns, &values, &mut Numbers(17))).unwrap();
        let targets = random_targets(rows, 18);
        let auto = |tolerance| solve(&matrix, &targets, &Options { tolerance, ..by(Method::Auto, 11) }, 0.0);
        let gram = solve(&matrix, &targets, &by(Method::Gram, 11), 0.0);
        assert!(gram.normal_residual > 0.0 && gram.iterations == 0);
        let trusted = auto(Some(2.0 * gram.normal_residual.max(gram.relative_residuals[10])));
        assert_eq!((trusted.iterations, trusted.normal_residual), (0, gram.normal_residual));
        let doubted = auto(Some(0.5 * gram.normal_residual));
        assert!(
            doubted.normal_residual <= gram.normal_residual,
            "{} {}",
            doubted.normal_residual,
            gram.normal_residual
        );
    }
}

/// Catches eigenvectors of MᵀM of a square matrix that are used as those of MMᵀ.
#[test]
fn a_square_system_with_a_tolerance() {
    let (matrix, targets) = (random(60, 60, 30), random_targets(60, 31));
    let expected = pseudo_inverse_times(&form(&matrix, false), &Table::of_dense(&targets), 40, 0.0);
    for method in [Method::Gram, Method::Auto] {
        let options = Options { tolerance: Some(0.01), ..by(method, 40) };
        let off = Table::of_dense(&solve(&matrix, &targets, &options, 0.0).weights).plus(&expected, -1.0).norm();
        assert!(off < 1e-4 * expected.norm(), "{method:?}: {off}");
    }
}

/// Catches a rank that differs from that of the truncated SVD: the rest of the spectrum is dropped,
/// not approximated.
#[test]
fn a_truncated_system() {
    let values: Vec<f64> = (0..20).map(|power| 0.7f64.powi(power)).collect();
    for (rows, columns) in [(150, 20), (20, 150)] {
        let matrix = Matrix::dense("X", with_spectrum(rows, columns, &values, &mut Numbers(7))).unwrap();
        check(&matrix, 6, 0.0);
    }
}

/// Catches a cut that is not relative to the largest singular value.
#[test]
fn singular_values_below_the_cut_are_ignored() {
    let values = [100.0, 50.0, 20.0, 5.0, 2.0, 1.0, 0.5];
    for (rows, columns) in [(150, 7), (150, 20), (20, 150)] {
        let matrix = Matrix::dense("X", with_spectrum(rows, columns, &values, &mut Numbers(8))).unwrap();
        let norms = [0.3, 0.1, 0.03, 0.015, 0.001].map(|cut| check(&matrix, 7, cut).largest());
        assert!(norms.is_sorted() && norms[0] < norms[4], "{norms:?}");
    }
    let matrix = random(50, 4, 9);
    let solved = solve(&matrix, &random_targets(50, 10), &by(Method::Gram, 4), 1.0);
    assert_eq!((solved.singular_values.len(), Table::of_dense(&solved.weights).largest()), (0, 0.0));
}

/// Theorem 1: of all solutions of an under-determined system, W* is the shortest. Catches any part
/// of W* outside of the row space.
#[test]
fn the_least_of_all_solutions() {
    let numbers = &mut Numbers(11);
    for (rows, columns) in [(12, 70), (40, 130), (1, 65)] {
        let matrix = random(rows, columns, 12);
        let (table, targets) = (form(&matrix, false), random_targets(rows, 13));
        let right = dense_svd(&table).right;
        for method in METHODS {
            let weights = Table::of_dense(&solve(&matrix, &targets, &by(method, rows), 1e-6).weights);
            let off = table.times(&weights).distance(&Table::of_dense(&targets));
            assert!(off < 1e-4, "{rows}×{columns} by {method:?} is not solved: {off}");
            for _ in 0..20 {
                let any = Table::new(columns, TARGETS, |_, _| 0.0);
                let any = Table { data: any.data.iter().map(|_| numbers.next()).collect(), ..any };
                let null = any.plus(&right.times(&right.t().times(&any)), -1.0);
                assert!(table.times(&null).largest() < 1e-10, "the oracle's null space");
                for scale in [1e-2, 1.0, -1.0, -1e-2] {
                    let other = weights.plus(&null, scale);
                    for column in 0..TARGETS {
                        let (least, longer) = (weights.column_norm(column), other.column_norm(column));
                        assert!(least < longer, "{rows}×{columns} by {method:?}: {least} is not below {longer}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_system_of_zeros_has_weights_of_zero() {
    for (rows, columns) in [(90, 7), (7, 90)] {
        for method in METHODS {
            let zeros = Matrix::dense("O", Dense::new(rows, columns, vec![0.0; rows * columns]).unwrap()).unwrap();
            let solved = solve(&zeros, &random_targets(rows, 14), &by(method, 5), 0.0);
            assert_eq!(solved.weights, Dense::new(columns, TARGETS, vec![0.0; columns * TARGETS]).unwrap());
            assert!(solved.singular_values.is_empty());
        }
    }
}

/// Catches estimates for the Gram matrix that leave out the errors of forming M in 32 bits: those of a small singular
/// value are ε·σ₁, and the sums of products alone would leave 1e-16·σ₁²/σ.
#[test]
fn estimates_include_the_errors_of_a_formed_matrix() {
    let values: Vec<f64> = (0..12).map(|place| 0.45f64.powi(place)).collect();
    let left = Matrix::dense("L", with_spectrum(300, 12, &values, &mut Numbers(31))).unwrap();
    let right = Matrix::dense("R", with_spectrum(12, 12, &[1.0; 12], &mut Numbers(32))).unwrap();
    let matrix = &left * &right;
    let exact = dense_svd(&form(&matrix, false)).values;
    let solved = solve(&matrix, &random_targets(300, 33), &by(Method::Gram, 12), 0.0);
    for ((found, exact), claimed) in solved.singular_values.iter().zip(&exact).zip(&solved.relative_residuals) {
        assert!((found - exact).abs() <= claimed * exact, "{found} for {exact}, to {claimed}");
    }
}

/// Catches a wide matrix whose columns are scaled, which is formed without the scales for its Gram matrix.
#[test]
fn a_wide_matrix_with_scaled_rows() {
    let scales = Matrix::diagonal("d", (0..20).map(|row| 1.0 + row as f32).collect()).unwrap();
    check(&(&scales * random(20, 150, 34)), 20, 0.0);
}
