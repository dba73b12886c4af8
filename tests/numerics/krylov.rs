//! The block Krylov method, compared with a dense SVD, its certificate, and subspace iteration.

use std::sync::Arc;
use std::time::Duration;

use isvd_dist::engine::Cluster;
use isvd_dist::engine::checkpoint::{CheckpointPolicy, CheckpointWriter, Every, Identity, Interrupt};
use isvd_dist::graph::Sparse;
use isvd_dist::matrix::{Dense, Matrix};
use isvd_dist::svd::{Completeness, Method, Options, Svd, SvdError, decompose, decompose_with};

use crate::common::{
    CLUSTERS, Numbers, Table, assert_shards_of, decomposed, dense, dense_svd, form, residuals, sparse, with_spectrum,
};

fn options(rank: usize) -> Options {
    Options { method: Method::Krylov, ..Options::of_rank(rank) }
}

/// A tolerance near the rounding level.
fn exact(rank: usize) -> Options {
    Options { tolerance: Some(1e-4), iterations: 100, ..options(rank) }
}

/// The smallest tolerance for block Lanczos.
fn coarse(rank: usize) -> Options {
    Options { tolerance: Some(1e-3), ..exact(rank) }
}

fn random(rows: usize, columns: usize, seed: u64) -> Matrix {
    Matrix::dense("X", dense(rows, columns, &mut Numbers(seed))).unwrap()
}

fn of_spectrum(rows: usize, columns: usize, values: &[f64], seed: u64) -> Matrix {
    Matrix::dense("X", with_spectrum(rows, columns, values, &mut Numbers(seed))).unwrap()
}

fn geometric(ratio: f64, count: i32) -> Vec<f64> {
    (0..count).map(|power| ratio.powi(power)).collect()
}

/// The singular vectors of the short side, as start vectors.
fn start_of(svd: &Svd) -> Arc<Dense> {
    let is_wide = svd.left.rows() < svd.right.rows();
    Arc::new(if is_wide { svd.left.clone() } else { svd.right.clone() })
}

/// Checks orthonormality, signs, and the residuals of the certificate.
fn check_honest(matrix: &Matrix, svd: &Svd) {
    let measured = residuals(&form(matrix, false), svd);
    assert_eq!(svd.certificate.relative_residuals.len(), measured.len());
    for (place, (measured, claimed)) in measured.iter().zip(&svd.certificate.relative_residuals).enumerate() {
        let rounding = 2e-6 * svd.singular_values[0] / svd.singular_values[place];
        assert!((measured - claimed).abs() <= 1e-3 * measured + rounding, "{matrix}: {measured}, not {claimed}");
    }
    for vectors in [Table::of_dense(&svd.left), Table::of_dense(&svd.right)] {
        let kept = svd.effective_rank();
        let identity = Table::new(kept, kept, |row, column| f64::from(u8::from(row == column)));
        let off = vectors.t().times(&vectors).distance(&identity);
        assert!(off < 2e-5, "{matrix}: vectors are {off} off from orthonormal");
    }
    for column in 0..svd.effective_rank() {
        let entries = (0..svd.left.rows()).map(|row| svd.left.row(row)[column]);
        let peak = entries.fold(0.0, |a: f32, b| if b.abs() > a.abs() { b } else { a });
        assert!(peak > 0.0, "{matrix}: the largest entry of left vector {column} is negative");
    }
}

/// Checks the number of triplets, singular values to a relative error of 1e-4, and the certificate.
fn check(matrix: &Matrix, options: &Options) -> Svd {
    let svd = decomposed(matrix, options);
    let expected = dense_svd(&form(matrix, false)).values;
    let positive = expected.iter().filter(|&&value| value > 1e-6 * expected[0]).count();
    assert_eq!(svd.effective_rank(), options.rank.min(positive), "{matrix}: {:?}", svd.singular_values);
    for (column, (value, expected)) in svd.singular_values.iter().zip(&expected).enumerate() {
        assert!((value - expected).abs() <= 1e-4 * expected, "{matrix}: σ{column} = {value}, not {expected}");
    }
    check_honest(matrix, &svd);
    svd
}

/// Catches confused sides, and a basis with more columns than the short side.
#[test]
fn tall_wide_and_square() {
    for (rows, columns) in [(150, 20), (20, 150), (40, 40), (300, 130), (130, 300)] {
        for options in [exact, coarse] {
            check(&random(rows, columns, 1), &options(6));
            check(&random(rows, columns, 2), &options(20));
        }
    }
}

/// Catches a Krylov space that stops growing before it is complete, and directions that are
/// rounding errors.
#[test]
fn all_the_singular_values_there_are() {
    for (rows, columns) in [(90, 12), (12, 90), (70, 70), (200, 65)] {
        let side = rows.min(columns);
        for options in [exact, coarse, options] {
            check(&random(rows, columns, 3), &options(side));
        }
    }
}

/// Catches blocks that are wider than the matrix.
#[test]
fn tiny() {
    for options in [options(1), exact(1), coarse(1)] {
        check(&Matrix::dense("X", Dense::new(1, 1, vec![-2.5]).unwrap()).unwrap(), &options);
        check(&random(1, 30, 5), &options);
        check(&random(30, 1, 6), &options);
    }
    check(&random(3, 100, 7), &exact(3));
}

/// Catches directions that are rounding errors, and a search that does not end when all triplets
/// are found.
#[test]
fn rank_deficient() {
    for options in [options(10), exact(10), coarse(10)] {
        assert_eq!(check(&(random(120, 4, 8) * random(4, 50, 9)), &options).effective_rank(), 4);
        let diagonal = Matrix::diagonal("d", [vec![3.0, 0.0, 2.0], vec![0.0; 40]].concat()).unwrap();
        assert_eq!(check(&diagonal, &options).effective_rank(), 2);
        assert_eq!(check(&(Matrix::ones(80, 70) * 0.5), &options).effective_rank(), 1);
        let zero = decomposed(&Matrix::zero(90, 70), &options);
        assert_eq!((zero.effective_rank(), zero.left.rows(), zero.right.rows()), (0, 90, 70));
    }
}

/// Catches missing copies of a repeated singular value: a block contains at most one copy per
/// column.
#[test]
fn repeated_and_clustered_singular_values() {
    let steps = Matrix::diagonal("d", [vec![2.0; 25], vec![1.0; 25], vec![0.1; 60]].concat()).unwrap();
    let clustered = of_spectrum(150, 120, &(0..120).map(|i| 1.0 / f64::from(1 + i / 6)).collect::<Vec<_>>(), 10);
    for options in [options(30), exact(30), coarse(30)] {
        check(&steps, &options);
        check(&Matrix::identity(90), &options);
    }
    check(&clustered, &exact(30));
    check(&clustered, &coarse(30));
}

#[test]
fn a_large_first_value_does_not_hide_the_others() {
    let a = Matrix::sparse("A", sparse(200, 200, false, &mut Numbers(11)));
    for options in [exact(5), coarse(5)] {
        let svd = check(&(&a * 0.01 - Matrix::ones(200, 200) * 50.0), &options);
        assert!(svd.singular_values[0] > 1000.0 * svd.singular_values[1]);
    }
}

/// Catches a lossy restart. A basis of the smallest size restarts often.
#[test]
fn restarts_find_the_same() {
    let matrix = of_spectrum(400, 300, &(0..300).map(|i| 1.0 / (1.0 + 0.05 * f64::from(i))).collect::<Vec<_>>(), 12);
    for options in [exact(12), coarse(12)] {
        let whole = check(&matrix, &options);
        let small = check(&matrix, &Options { basis: Some(1), ..options });
        assert!(small.iterations > whole.iterations, "{} and {}", small.iterations, whole.iterations);
        for (a, b) in whole.singular_values.iter().zip(&small.singular_values) {
            assert!((a - b).abs() < 1e-5 * a);
        }
    }
}

/// Catches a run that is refused although it fits with a smaller basis.
#[test]
fn less_memory_means_a_smaller_basis() {
    let matrix = of_spectrum(900, 700, &(0..700).map(|i| 1.0 / (1.0 + 0.3 * f64::from(i))).collect::<Vec<_>>(), 20);
    let within = |options: &Options, memory: u64| {
        decompose(&matrix, options, Cluster { memory: Some(memory), ..Cluster::threads(2) })
    };
    let needed = |result: Result<_, SvdError>| match result {
        Err(SvdError::NoRoom { needed, .. }) => needed,
        other => panic!("{:?}", other.map(|_: Svd| "it fits")),
    };
    let options = Options { tolerance: Some(0.02), iterations: 100, ..options(8) };
    let small = Options { basis: Some(1), ..options.clone() };
    let (most, least) = (needed(within(&options, 1)), needed(within(&small, 1)));
    assert!(least < most, "{least} and {most}");
    let whole = within(&options, most).unwrap();
    for memory in [least, (least + most) / 2] {
        let found = within(&options, memory).unwrap();
        assert!(found.certificate.worst() <= 0.0201, "{}", found.certificate.worst());
        for (a, b) in whole.singular_values.iter().zip(&found.singular_values) {
            assert!((a - b).abs() < 1e-3 * a, "{a} and {b}");
        }
    }
    assert_eq!(needed(within(&options, least - 1)), most, "not even the smallest fits");
    assert!(needed(within(&Options { tolerance: None, ..options }, least)) > least, "its size is how it stops");
}

/// Catches estimated residuals that are too small: they equal measured residuals.
#[test]
fn a_tolerance_stops_early_and_is_met() {
    let matrix = of_spectrum(300, 260, &geometric(0.97, 260), 13);
    let mut before = None;
    for tolerance in [0.3, 0.03, 0.003] {
        let svd = decomposed(&matrix, &Options { tolerance: Some(tolerance), iterations: 100, ..options(12) });
        check_honest(&matrix, &svd);
        assert!(svd.certificate.worst() <= 1.001 * tolerance, "{} is above {tolerance}", svd.certificate.worst());
        assert!(before.is_none_or(|columns| columns <= svd.operator_columns));
        before = Some(svd.operator_columns);
    }
}

/// The method needs fewer columns than subspace iteration for the same residuals.
#[test]
fn fewer_columns_than_subspace_iteration() {
    let matrix = of_spectrum(500, 400, &(0..400).map(|i| 1.0 / (1.0 + 0.1 * f64::from(i))).collect::<Vec<_>>(), 14);
    let completeness = Completeness::Off;
    let options = Options { tolerance: Some(0.02), iterations: 200, completeness, ..options(24) };
    let krylov = decomposed(&matrix, &options);
    let subspace = decomposed(&matrix, &Options { method: Method::Subspace, ..options });
    assert!(krylov.certificate.worst() <= 0.0201 && subspace.certificate.worst() <= 0.0201);
    // Without the columns of the certificate: both sides after block Lanczos, one side otherwise.
    let (fewer, more) = (krylov.operator_columns - 2 * 24, subspace.operator_columns - 24);
    assert!(2 * fewer <= more, "{fewer} and {more}");
}

/// Without the certificate and the search for missing triplets, the method takes at most the
/// columns of subspace iteration with the same settings.
#[test]
fn iterations_limit_the_columns() {
    let matrix = of_spectrum(300, 260, &(0..260).map(|i| 1.0 / (1.0 + 0.01 * f64::from(i))).collect::<Vec<_>>(), 15);
    for iterations in [0, 1, 3, 5] {
        let completeness = Completeness::Off;
        let options = Options { tolerance: Some(1e-7), iterations, completeness, ..options(20) };
        let krylov = decomposed(&matrix, &options);
        let subspace = decomposed(&matrix, &Options { method: Method::Subspace, ..options });
        assert!(krylov.operator_columns <= subspace.operator_columns, "{iterations}: {}", krylov.operator_columns);
        assert_eq!(krylov.effective_rank(), 20);
        check_honest(&matrix, &krylov);
    }
}

#[test]
fn a_start_near_the_answer_needs_fewer_columns() {
    let matrix = of_spectrum(300, 260, &geometric(0.98, 260), 16);
    for matrix in [matrix.clone(), matrix.t()] {
        let options = Options { tolerance: Some(0.02), iterations: 100, ..options(24) };
        let cold = decomposed(&matrix, &options);
        let shape = matrix.shape();
        let near = &matrix + &Matrix::ones(shape.rows, shape.columns) * 1e-5;
        let start = Some(start_of(&cold));
        let warm = decomposed(&near, &Options { start: start.clone(), ..options.clone() });
        check_honest(&near, &warm);
        let again = decomposed(&near, &options);
        assert!(warm.certificate.worst() <= 0.0201);
        assert!(warm.operator_columns < again.operator_columns, "{} {}", warm.operator_columns, again.operator_columns);
        let at_once = decomposed(&near, &Options { tolerance: None, iterations: 0, start, ..options });
        assert!(at_once.certificate.worst() < 0.1, "{}", at_once.certificate.worst());
    }
}

/// Catches signs and vectors that differ from those of subspace iteration.
#[test]
fn the_same_triplets_as_by_subspace_iteration() {
    for (rows, columns) in [(200, 130), (130, 200)] {
        let matrix = of_spectrum(rows, columns, &geometric(0.8, 30), 17);
        let (krylov, subspace) = (
            check(&matrix, &exact(6)),
            decomposed(&matrix, &Options { iterations: 40, method: Method::Subspace, ..Options::of_rank(6) }),
        );
        for (a, b) in [(&krylov.left, &subspace.left), (&krylov.right, &subspace.right)] {
            let off = Table::of_dense(a).distance(&Table::of_dense(b));
            assert!(off < 5e-4, "{rows}×{columns}: {off}");
        }
    }
}

#[test]
fn shards_are_the_rows_of_the_whole() {
    for (rows, columns) in [(300, 150), (150, 300)] {
        let matrix = random(rows, columns, 18);
        for cluster in CLUSTERS {
            let whole = decompose(&matrix, &options(3), cluster).unwrap();
            assert_shards_of(&matrix, &options(3), cluster, whole);
        }
    }
}

#[test]
fn another_seed_gives_the_same_triplets() {
    let matrix = random(100, 60, 19);
    let svds = [1, 2].map(|seed| decompose(&matrix, &Options { seed, ..exact(4) }, Cluster::threads(2)).unwrap());
    assert_ne!(svds[0].left, svds[1].left);
    let off = Table::of_dense(&svds[0].left).distance(&Table::of_dense(&svds[1].left));
    assert!(off < 1e-3, "{off}");
}

/// Catches a warm start whose blocks exceed the basis.
#[test]
fn more_start_vectors_than_the_rank() {
    let matrix = of_spectrum(300, 300, &geometric(0.98, 260), 20);
    let options = Options { tolerance: Some(0.02), iterations: 100, ..options(48) };
    let cold = decomposed(&matrix, &options);
    let near = &matrix + &(random(300, 300, 21) * 2e-3);
    let start = Some(start_of(&cold));
    let at_once = decomposed(&near, &Options { iterations: 0, start, ..options });
    // Products with MᵀM, the left vectors, and their residuals.
    assert_eq!((at_once.operator_columns, at_once.iterations), (4 * 48, 1));
    check_honest(&near, &at_once);
}

/// Catches steps for triplets that meet the tolerance already.
#[test]
fn a_converged_start_takes_one_step() {
    let matrix = of_spectrum(300, 260, &geometric(0.9, 200), 22);
    let options = Options { tolerance: Some(0.05), iterations: 100, ..options(12) };
    let cold = decomposed(&matrix, &options);
    let start = Some(start_of(&cold));
    let warm = decomposed(&matrix, &Options { start, ..options });
    assert_eq!((warm.operator_columns, warm.iterations), (4 * 12, 1));
    check_honest(&matrix, &warm);
}

/// Catches steps that multiply the directions of all residuals if only a few are above the
/// tolerance, and triplets that are missed because of the selection.
#[test]
fn a_few_new_triplets_are_found_by_narrow_steps() {
    let matrix = of_spectrum(300, 260, &geometric(0.98, 260), 23);
    let options = Options { tolerance: Some(0.1), iterations: 100, ..options(24) };
    let cold = decomposed(&matrix, &options);
    let near = &matrix + &of_spectrum(300, 260, &[0.9, 0.85], 24);
    let start = Some(start_of(&cold));
    let warm = decomposed(&near, &Options { start, ..options.clone() });
    check_honest(&near, &warm);
    let again = decomposed(&near, &options);
    assert!(warm.certificate.worst() <= 0.1001);
    assert!(warm.operator_columns < again.operator_columns, "{} {}", warm.operator_columns, again.operator_columns);
    for (a, b) in warm.singular_values.iter().zip(&again.singular_values) {
        assert!((a - b).abs() < 0.1 * b, "{a} {b}");
    }
}

/// Nodes of each of the disjoint graphs.
const NODES: usize = 50;

/// The symmetrically normalised adjacency matrix of disjoint random graphs: its largest singular
/// value is 1, once for every graph.
fn disjoint_graphs(count: usize, seed: u64) -> Matrix {
    let mut numbers = Numbers(seed);
    // A ring keeps the graph connected.
    disjoint(count, |node| vec![(node + 1) % NODES, numbers.below(NODES), numbers.below(NODES)])
}

/// The normalised adjacency matrix of disjoint bipartite graphs, in which each graph has the
/// singular value 1 twice.
fn disjoint_bipartite(count: usize, others: impl FnMut(usize) -> Vec<usize>) -> (Matrix, usize) {
    (disjoint(count, others), 2 * count)
}

/// The normalised adjacency matrix of disjoint random graphs.
fn disjoint(count: usize, mut others: impl FnMut(usize) -> Vec<usize>) -> Matrix {
    let first = |node| node / NODES * NODES;
    normalized(count * NODES, |node| others(node % NODES).into_iter().map(|other| first(node) + other).collect())
}

/// The normalised adjacency matrix of a random graph.
pub fn random_graph(nodes: usize, degree: usize, seed: u64) -> Matrix {
    let mut numbers = Numbers(seed);
    normalized(nodes, |_| (0..degree / 2).map(|_| numbers.below(nodes)).collect())
}

/// The normalised adjacency matrix of a graph with given neighbours of each node.
fn normalized(nodes: usize, mut others: impl FnMut(usize) -> Vec<usize>) -> Matrix {
    let mut pairs = std::collections::BTreeSet::new();
    for node in 0..nodes {
        for other in others(node) {
            let (one, other) = (node as u32, other as u32);
            pairs.extend([(one, other), (other, one)].into_iter().filter(|(one, other)| one != other));
        }
    }
    let mut degrees = vec![0f32; nodes];
    pairs.iter().for_each(|(one, _)| degrees[*one as usize] += 1.0);
    let weights = pairs.iter().map(|&(one, other)| (degrees[one as usize] * degrees[other as usize]).sqrt().recip());
    let weights: Vec<f32> = weights.collect();
    let sparse = Sparse::from_triplets(nodes, nodes, pairs.into_iter().collect(), Some(weights));
    Matrix::sparse("S", Arc::new(sparse.unwrap()))
}

/// Catches missing copies of a repeated singular value. A block Krylov space contains at most as
/// many copies as its blocks have columns, and smaller values with small residuals would replace
/// the others.
#[track_caller]
fn assert_every_copy_is_found(copies: usize, tolerance: Option<f64>, seed: u64) {
    let options = Options { tolerance, iterations: 40, seed, ..options(copies) };
    let svd = decompose(&disjoint_graphs(copies, seed), &options, Cluster::threads(2)).unwrap();
    let found = svd.singular_values.iter().filter(|value| **value > 0.98).count();
    assert_eq!(found, copies, "tolerance {tolerance:?}, seed {seed}: {:?}", svd.singular_values);
    let check = svd.certificate.completeness.expect("it is checked unless switched off");
    assert!(check.gap > 0.0 && check.gap < 0.25 && check.failure_probability <= 1e-3, "{check:?}");
}

#[test]
fn every_copy_of_a_repeated_value_is_found() {
    for (copies, tolerance, seed) in [
        (2, Some(0.1), 1),
        (17, Some(0.1), 2),
        (40, Some(0.1), 3),
        (40, Some(0.01), 4),
        (40, Some(1e-4), 5),
        (40, None, 6),
        (100, Some(0.1), 7),
        (100, Some(1e-4), 8),
    ] {
        assert_every_copy_is_found(copies, tolerance, seed);
    }
}

#[test]
#[ignore = "400 decompositions; the test before takes eight of them"]
fn every_copy_is_found_at_all_multiplicities_tolerances_and_seeds() {
    for copies in [2, 3, 5, 9, 16, 17, 33, 40, 64, 100] {
        for tolerance in [0.1, 0.01, 1e-3, 1e-4] {
            (1..=10).for_each(|seed| assert_every_copy_is_found(copies, Some(tolerance), seed));
        }
    }
}

/// Catches copies that are replaced by the next value, which is within two percent of them, as in
/// small components of real graphs.
#[test]
fn copies_are_found_beside_values_nearly_as_large() {
    let mut numbers = Numbers(9);
    let rings = disjoint_bipartite(40, |node| vec![(node + 1) % NODES]);
    let trees = disjoint_bipartite(40, |node| vec![numbers.below(node.max(1))]);
    for ((matrix, copies), tolerance) in [(rings, 1e-3), (trees, 0.01)] {
        let options = Options { tolerance: Some(tolerance), iterations: 200, ..options(copies) };
        let svd = decompose(&matrix, &options, Cluster::threads(2)).unwrap();
        let last = svd.singular_values[copies - 1];
        assert!(last > 1.0 - tolerance, "{last} for 1, to {tolerance}");
        assert!(svd.certificate.completeness.is_some());
    }
}

/// Catches ranks whose limit of columns leaves none for the check.
#[test]
fn one_or_two_triplets_are_checked() {
    for (rank, seed) in [(1, 1), (2, 2), (2, 3)] {
        let options = Options { tolerance: Some(0.05), seed, ..options(rank) };
        let svd = decompose(&disjoint_graphs(2, seed), &options, Cluster::threads(2)).unwrap();
        assert!(svd.certificate.worst() <= 0.05 && svd.certificate.completeness.is_some(), "{:?}", svd.certificate);
        assert!(svd.singular_values.iter().all(|value| *value > 0.99), "{:?}", svd.singular_values);
    }
}

/// Catches a separate search although the run itself shows that nothing is missing, and a missing
/// search if it does not: twenty copies exceed a block of sixteen columns.
#[test]
fn close_values_are_searched_separately() {
    let spread: Vec<f64> = (0..60).map(|place| 0.9f64.powi(place)).collect();
    let close: Vec<f64> = (0..60).map(|place| if place < 20 { 1.0 } else { 0.8f64.powi(place - 19) }).collect();
    for (values, rank, is_searched) in [(spread, 20, false), (close, 24, true)] {
        let matrix = of_spectrum(400, 300, &values, 5);
        let options = Options { tolerance: Some(0.02), iterations: 40, ..options(rank) };
        let [checked, unchecked] = [Completeness::default(), Completeness::Off]
            .map(|completeness| decomposed(&matrix, &Options { completeness, ..options.clone() }));
        assert!(checked.certificate.completeness.is_some() && unchecked.certificate.completeness.is_none());
        assert_eq!(checked.operator_columns > unchecked.operator_columns, is_searched, "{is_searched}");
        for (found, value) in checked.singular_values.iter().zip(&values) {
            assert!((found - value).abs() < 1e-3 * value, "{found} for {value}");
        }
    }
}

/// Catches a check that runs, or is reported, although it is disabled.
#[test]
fn a_disabled_check_is_not_certified() {
    let options = Options { completeness: Completeness::Off, tolerance: Some(0.1), ..options(40) };
    let matrix = disjoint_graphs(40, 1);
    let unchecked = decompose(&matrix, &options, Cluster::threads(1)).unwrap();
    assert_eq!(unchecked.certificate.completeness, None);
    let checked =
        decompose(&matrix, &Options { completeness: Completeness::default(), ..options }, Cluster::threads(1));
    assert!(checked.unwrap().operator_columns > unchecked.operator_columns);
}

/// Residuals are below the tolerance, or below the effect of rounding vectors to f32 relative to
/// σ₁.
#[track_caller]
fn assert_met(svd: &Svd, tolerance: f64, what: &str) {
    let values = &svd.singular_values;
    let rounding = 2.0 * f64::from(f32::EPSILON) * values[0] / values[values.len() - 1];
    assert!(svd.certificate.worst() <= tolerance.max(rounding), "{what}: {:?}", svd.certificate);
}

/// Catches triplets that are dropped because they look like rounding errors of a dominant singular
/// value. σ₁ is 2·10⁶, the value of the term λJ on 10⁸ nodes with λ = 0.02.
#[test]
fn small_values_beside_a_dominant_one_are_found() {
    let (nodes, rank) = (2_000, 10);
    let graphs = disjoint_graphs(nodes / 50, 3);
    for factor in [400.0, 1000.0] {
        let matrix = &graphs + Matrix::ones(nodes, nodes) * factor;
        for tolerance in [Some(0.1), Some(0.01), Some(1e-3), None] {
            let options = Options { tolerance, iterations: 40, ..options(rank) };
            let svd = decompose(&matrix, &options, Cluster::threads(2)).unwrap();
            let (first, others) = svd.singular_values.split_first().unwrap();
            let dominant = factor * nodes as f64 + 1.0;
            assert!((first / dominant - 1.0).abs() < 1e-6, "{first}, not {dominant}");
            assert_eq!(others.len(), rank - 1, "{factor}, {tolerance:?}: {others:?}");
            assert!(others.iter().all(|value| (value - 1.0).abs() < 0.02), "{factor}, {tolerance:?}: {others:?}");
            if let Some(tolerance @ (0.1 | 1e-3)) = tolerance {
                assert_met(&svd, tolerance, &format!("{factor}, {tolerance}"));
            }
        }
    }
}

/// The largest values of 40 disjoint graphs, of a random graph and of one with hubs.
fn beside_ones() -> [(Matrix, Vec<f64>); 3] {
    let nodes = 2_000;
    let mut numbers = Numbers(4);
    let hubs = normalized(nodes, |node| (0..4).map(|_| numbers.below(node.max(1))).collect());
    [disjoint_graphs(nodes / 50, 3), random_graph(nodes, 10, 2), hubs].map(|graph| {
        // Orthogonal to the vector of ones, which is nearly the first singular vector of a random
        // graph.
        let ones = Matrix::ones(nodes, nodes) * (1.0 / nodes as f64);
        let rest = Options { tolerance: Some(1e-3), iterations: 200, ..Options::of_rank(60) };
        let centred = &graph + ones * 1e3;
        let values = decompose(&centred, &rest, Cluster::threads(2)).unwrap().singular_values;
        (graph, values[1..].to_vec())
    })
}

/// Catches dropped or missed triplets, and a false completeness check, for a loose tolerance and a
/// dominant value: products round by ε·σ₁, which is up to half of the other values here.
#[test]
fn no_triplet_is_missing_beside_a_dominant_value() {
    let nodes = 2_000;
    for (place, (graph, expected)) in beside_ones().into_iter().enumerate() {
        for (factor, seeds) in [(400.0, 1..3), (1000.0, 1..5), (1500.0, 17..20)] {
            let matrix = &graph + Matrix::ones(nodes, nodes) * factor;
            for (rank, tolerance) in [(5, 0.1), (10, 0.1), (30, 0.1), (10, 0.02)] {
                for seed in seeds.clone() {
                    let options = Options { tolerance: Some(tolerance), iterations: 40, seed, ..options(rank) };
                    let svd = decompose(&matrix, &options, Cluster::threads(2)).unwrap();
                    let what = format!("graph {place}, {factor}, rank {rank}, tolerance {tolerance}, seed {seed}");
                    assert_eq!(svd.effective_rank(), rank, "{what}: {:?}", svd.singular_values);
                    // Up to the rounding level of the values.
                    let margin = 0.05 + 4.0 * f64::from(f32::EPSILON).powi(2) * svd.singular_values[0].powi(2);
                    for (value, expected) in svd.singular_values[1..].iter().zip(&expected) {
                        assert!((value - expected).abs() < margin * expected, "{what}: {value} for {expected}");
                    }
                }
            }
        }
    }
}

/// Catches an iteration that stops early or cannot continue because rounding errors exceed the
/// small triplets: products with MᵀM round by ε·σ₁², which is far above their σ² here.
#[test]
fn a_tolerance_is_met_beside_a_dominant_value() {
    let (nodes, rank) = (1_500, 10);
    let graph = random_graph(nodes, 30, 5);
    for (factor, method, tolerance) in [
        (30.0, Method::Krylov, 1e-3),
        (300.0, Method::Krylov, 1e-3),
        (1000.0, Method::Krylov, 1e-3),
        (1000.0, Method::Subspace, 0.1),
    ] {
        let matrix = &graph + Matrix::ones(nodes, nodes) * factor;
        let options = Options { tolerance: Some(tolerance), iterations: 100, method, ..options(rank) };
        let svd = decompose(&matrix, &options, Cluster::threads(2)).unwrap();
        assert_eq!(svd.effective_rank(), rank, "{factor}, {method:?}");
        assert_met(&svd, tolerance, &format!("{factor}, {method:?}"));
    }
}

/// Catches squared singular values that overflow or underflow in f32.
#[test]
fn singular_values_are_right_over_the_whole_range_of_f32() {
    let matrix = disjoint_graphs(3, 3);
    for (factor, method) in [
        (1e-44, Method::Krylov),
        (1e-25, Method::Krylov),
        (1e-25, Method::Subspace),
        (1e-25, Method::Gram),
        (1e-42, Method::Gram),
        (1e19, Method::Krylov),
        (1e19, Method::Subspace),
        (1e19, Method::Gram),
        (1e37, Method::Krylov),
    ] {
        let options = Options { tolerance: Some(1e-3), iterations: 100, method, ..Options::of_rank(3) };
        let of_workers = [1, 2, 3].map(|workers| decompose(&(&matrix * factor), &options, Cluster::threads(workers)));
        let [one, two, three] = of_workers.map(Result::unwrap);
        assert!(one == two && two == three, "{factor}, {method:?}");
        assert_eq!(one.singular_values.len(), 3, "{factor}, {method:?}");
        for value in &one.singular_values {
            assert!((value / factor - 1.0).abs() < 1e-5, "{factor}, {method:?}: {value}");
        }
        assert!(one.certificate.worst() <= 1e-3, "{factor}, {method:?}");
    }
    // A product within the matrix overflows. No scale of the matrix helps, and the search for one
    // ends.
    let large = Matrix::dense("X", Dense::new(60, 60, vec![1e30; 3600]).unwrap()).unwrap();
    let error = decompose(&(&large * &large), &options(3), Cluster::threads(2)).unwrap_err();
    assert!(error.to_string().contains("not finite"), "{error}");
    let zero = decompose(&(&matrix * 0.0), &options(3), Cluster::threads(2)).unwrap();
    assert_eq!(zero.effective_rank(), 0);
}

/// Catches a basis that is taken as complete too early: V may span its space before U spans the
/// range of M.
#[test]
fn all_values_are_found_at_full_rank_without_a_tolerance() {
    for (nodes, seeds) in [(27, 1..9), (28, 1..21), (31, 1..9), (33, 1..9), (63, 1..5), (66, 1..5)] {
        let identity = Matrix::identity(nodes);
        let stacked = Matrix::vstack(&[identity.clone(), Matrix::ones(nodes, nodes)]);
        let mut of_stacked = vec![1.0; nodes];
        of_stacked[0] = ((nodes * nodes + 1) as f64).sqrt();
        let mut cases = vec![(stacked, of_stacked)];
        if nodes % 3 == 0 {
            // Disjoint triangles have the eigenvalues 1 and twice -1/2.
            let triangles = normalized(nodes, |node| vec![node / 3 * 3 + (node + 1) % 3]);
            let square = |place: usize| if place < nodes / 3 { 5.0f64 } else { 4.25 };
            let beside = Matrix::hstack(&[&identity * 2.0, triangles]);
            cases.push((beside, (0..nodes).map(|place| square(place).sqrt()).collect()));
        }
        for (matrix, expected) in cases {
            for seed in seeds.clone() {
                let svd = decompose(&matrix, &Options { seed, ..options(nodes) }, Cluster::threads(2)).unwrap();
                assert_eq!(svd.effective_rank(), nodes, "{matrix}, {nodes}, seed {seed}");
                // The residual bounds the error of the value (Weyl).
                let pairs = svd.singular_values.iter().zip(&expected).zip(&svd.certificate.relative_residuals);
                for ((value, expected), residual) in pairs {
                    let error = (value - expected).abs() / expected;
                    assert!(error < 1e-5 + residual, "{matrix}, {nodes}, seed {seed}: {value}, {residual}");
                }
                assert!(svd.certificate.worst() < 5e-3, "{matrix}, {nodes}, seed {seed}");
            }
        }
    }
}

/// Catches ‖Mv − σu‖ that is taken for zero where u is made of M·v: rounding leaves ε·σ₁, which is a good part of σ here.
#[test]
fn both_residuals_are_measured_beside_a_dominant_value() {
    let nodes = 400;
    for factor in [100.0, 3000.0] {
        let matrix = random_graph(nodes, 10, 7) + Matrix::ones(nodes, nodes) * factor;
        let options = Options { tolerance: Some(0.1), iterations: 40, ..options(6) };
        let svd = decompose(&matrix, &options, Cluster::threads(2)).unwrap();
        for (measured, claimed) in
            residuals(&form(&matrix, false), &svd).iter().zip(&svd.certificate.relative_residuals)
        {
            assert!((measured - claimed).abs() <= 0.1 * measured + 0.01, "{factor}: {measured}, not {claimed}");
        }
    }
}

/// Catches a checkpoint of another matrix of the same name that a run goes on from.
#[test]
fn a_checkpoint_is_of_a_matrix_and_not_of_its_name() {
    type Told = dyn Fn(usize, usize, Option<f64>) + Send + Sync;
    let folder = tempfile::tempdir().unwrap();
    let matrices = [1, 2].map(|seed| of_spectrum(300, 260, &geometric(0.97, 260), seed));
    let options = exact(12);
    let writer = |resume, interrupt: &Interrupt| {
        let policy = CheckpointPolicy { every: Some(Every::Time(Duration::ZERO)), resume };
        CheckpointWriter::new(Some(folder.path()), Identity::new(), policy, interrupt.clone(), |_| ()).unwrap()
    };
    let interrupt = Interrupt::default();
    let asking = interrupt.clone();
    let ask: Arc<Told> = Arc::new(move |_, _, _| {
        asking.ask();
    });
    let first = writer(false, &interrupt).watch(ask);
    decompose_with(&matrices[0], None, &options, CLUSTERS[1], first).unwrap_err();
    let silent: Arc<Told> = Arc::new(|_, _, _| ());
    let second = writer(true, &Interrupt::default()).watch(silent);
    let resumed = decompose_with(&matrices[1], None, &options, CLUSTERS[1], second).unwrap();
    assert!(resumed == decompose(&matrices[1], &options, CLUSTERS[1]).unwrap());
}
