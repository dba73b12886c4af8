//! Ranks that are chosen by a rule: a fraction of the energy, or a lower limit for singular values.

use isvd_dist::matrix::Matrix;
use isvd_dist::svd::{Keep, Method, Options, SvdError, decompose};

use crate::common::{CLUSTERS, Numbers, Table, decomposed, dense_singular_values, form, with_spectrum};
use crate::krylov::random_graph;
use crate::support::{assert_done, assert_refused, folder, run};

const METHODS: [Method; 4] = [Method::Krylov, Method::Subspace, Method::Gram, Method::Auto];

fn keeping(keep: Keep, method: Method, most: usize) -> Options {
    Options { keep, method, iterations: 20, tolerance: Some(1e-3), ..Options::of_rank(most) }
}

/// One large value, as of a matrix that is not centred, and slowly decreasing others.
fn slow(rows: usize, columns: usize) -> Matrix {
    let others = (0..120).map(|place| 1.0 / (1.0 + 0.05 * f64::from(place)));
    let values: Vec<f64> = [50.0].into_iter().chain(others).collect();
    Matrix::dense("X", with_spectrum(rows, columns, &values, &mut Numbers(1))).unwrap()
}

/// The fraction of Σσ² that the first `count` values hold, both without σ₁².
fn share(values: &[f64], count: usize) -> f64 {
    let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
    squares(&values[1..count]) / squares(&values[1..])
}

/// Catches a wrong estimate of ‖M‖, and one that the first triplet dominates.
#[test]
fn the_energy_rule_keeps_the_fewest_triplets() {
    for matrix in [slow(300, 200), slow(200, 300)] {
        let values = dense_singular_values(&form(&matrix, false));
        for method in METHODS {
            for wanted in [0.3, 0.6, 0.9] {
                let svd = decomposed(&matrix, &keeping(Keep::Energy(wanted), method, 150));
                let held = share(&values, svd.effective_rank());
                assert!((held - wanted).abs() < 0.03, "{method:?}: {held}, not {wanted}");
                assert!((svd.energy.unwrap() - held).abs() < 0.03, "{method:?}: {:?}, not {held}", svd.energy);
                assert!(svd.certificate.worst() <= 1.1e-3, "{method:?}: {}", svd.certificate.worst());
            }
        }
    }
}

/// Catches an estimate of ‖M‖ that is a difference of rounding errors: a dominant first triplet
/// does not change the energy of the others.
#[test]
fn a_dominant_value_does_not_change_the_energy_of_the_others() {
    let (nodes, mut counts) = (600, Vec::new());
    let graph = random_graph(nodes, 10, 3);
    for factor in [1.0, 30.0, 250.0, 1000.0] {
        let matrix = &graph + Matrix::ones(nodes, nodes) * factor;
        let options = keeping(Keep::Energy(0.2), Method::Krylov, 200);
        counts.push(decompose(&matrix, &options, CLUSTERS[1]).unwrap().effective_rank());
    }
    assert!(counts[0] > 10 && counts.iter().all(|count| count.abs_diff(counts[0]) <= 1), "{counts:?}");
}

#[test]
fn the_tolerance_rule_keeps_all_large_values() {
    for matrix in [slow(300, 200), slow(200, 300)] {
        let values = dense_singular_values(&form(&matrix, false));
        for method in METHODS {
            for part in [0.9, 0.51, 0.27] {
                let svd = decomposed(&matrix, &keeping(Keep::Above(part), method, 150));
                let expected = values.iter().filter(|&&value| value >= part * values[1]).count();
                assert_eq!((svd.effective_rank(), svd.energy), (expected, None), "{method:?} {part}");
            }
        }
    }
}

/// Catches a basis that is built for the largest rank before the rule is evaluated.
#[test]
fn the_basis_grows_no_further_than_it_must() {
    let matrix = slow(300, 200);
    let columns = |keep| decomposed(&matrix, &keeping(keep, Method::Krylov, 120)).operator_columns;
    let (few, more, all) = (columns(Keep::Energy(0.2)), columns(Keep::Energy(0.6)), columns(Keep::All));
    assert!(few < more && more < all && 3 * few < 2 * all, "{few} {more} {all}");
    let untold = Options { tolerance: None, ..keeping(Keep::Above(0.5), Method::Krylov, 120) };
    let svd = decomposed(&matrix, &untold);
    assert!(svd.effective_rank() >= 19, "{}", svd.effective_rank());
    assert!(svd.operator_columns < all);
}

/// The rank is at most the limit and at most the number of triplets, which may be small or zero.
#[test]
fn limits() {
    let matrix = slow(300, 200);
    for method in METHODS {
        for keep in [Keep::Energy(0.9), Keep::Above(0.1)] {
            let svd = decomposed(&matrix, &keeping(keep, method, 9));
            assert_eq!(svd.effective_rank(), 9, "{method:?}");
            assert!(svd.energy.is_none_or(|energy| energy < 0.9));
            let one = decomposed(&(Matrix::ones(90, 70) * 2.0), &keeping(keep, method, 256));
            assert_eq!(one.effective_rank(), 1, "{method:?}");
            assert_eq!(decomposed(&Matrix::zero(30, 20), &keeping(keep, method, 256)).effective_rank(), 0);
        }
        let all = decomposed(&matrix, &keeping(Keep::Energy(1.0), method, 256));
        let table = Table::of_dense(&all.left);
        assert!(table.columns >= 100, "{method:?}: {}", table.columns);
    }
}

#[test]
fn an_invalid_fraction_is_an_error() {
    for part in [0.0, -0.5, 1.01, f64::NAN] {
        for keep in [Keep::Energy(part), Keep::Above(part)] {
            let error = decompose(&Matrix::identity(9), &keeping(keep, Method::Krylov, 3), CLUSTERS[1]).unwrap_err();
            assert!(matches!(error, SvdError::BadShare { .. }), "{error}");
        }
    }
}

/// The program: the chosen rank, and all later stages with it.
#[test]
fn every_stage_works_with_a_chosen_rank() {
    let own = folder();
    for (rule, method) in
        [("{energy=0.3,max=40}", "krylov"), ("{tolerance=0.5,max=40}", "krylov"), ("{energy=0.2,max=30}", "subspace")]
    {
        let rank = format!("--set=embedding.rank={rule}");
        let method = format!("--set=embedding.method={method}");
        let stages = ["--set=finetune.batch=20000", "--set=update.warm_start=true"];
        let output = run(own.path(), &[&["--json", "--out=results", &rank, &method][..], &stages].concat());
        assert_done(&output);
        let metrics: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let picked = metrics["stages"][0]["rank"].as_u64().unwrap();
        assert!(picked > 1 && picked <= 40, "{rule}: {picked}");
        assert_eq!(metrics["stages"][0]["energy"].is_number(), rule.contains("energy"));
        assert_eq!(metrics["stages"][2]["rank"], picked, "the update keeps the rank");
        assert!(metrics["stages"][2]["operator_columns"].is_u64());
    }
}

#[test]
fn wrong_rules_are_refused_with_the_key() {
    let own = folder();
    for rule in ["{energy=2}", "{energy=0.9,max=0}", "{tolerance=0}", "{max=5}", "{energy=0.5,tolerance=0.5}", "{}"] {
        let output = run(own.path(), &[&format!("--set=embedding.rank={rule}")]);
        assert_refused(&output, 2, &["`embedding.rank` is", "{ energy = 0.9, max = 256 }"]);
    }
    let output = run(own.path(), &["--set=embedding.rank={energy=0.9,most=5}"]);
    assert_refused(&output, 2, &["most = 5"]);
}
