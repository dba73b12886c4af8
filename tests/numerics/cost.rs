//! The cost model of plans: outlines, estimates, and the choice of parts to form.

use std::collections::HashMap;

use isvd_dist::dataset::EdgeList;
use isvd_dist::engine::{Cluster, EngineError, with_formed};
use isvd_dist::graph::{Graph, Import};
use isvd_dist::matrix::{Dense, Matrix};
use isvd_dist::model::embedding::{self, Normalize, Walks};
use isvd_dist::plan::cost::{Machine, Picking, Rates};
use isvd_dist::plan::forming::{self, Forming, Work, bytes_to_form};
use isvd_dist::plan::{Effort, Program, Side};
use isvd_dist::svd::{self, Completeness, Prepared, SvdError, decompose};
use proptest::prelude::*;

use crate::common::{CLUSTERS, Numbers, Table, expression, form as dense_of};

const SIDES: [Side; 2] = [Side::Plain, Side::Transposed];

fn ring(nodes: u32, directed: bool) -> Graph {
    let edges = (0..nodes).flat_map(|node| [(node, (node + 1) % nodes), (node, node * node % nodes), (node, node % 3)]);
    let edges = edges.filter(|(from, to)| from != to).collect();
    let list = EdgeList { nodes: nodes as usize, edges, directed, ..EdgeList::default() };
    Graph::from_edges(&list, Import::default()).unwrap()
}

fn embedding_of(graph: &Graph, normalize: Normalize, degree_weighted: bool, self_loops: bool, window: usize) -> Matrix {
    let svd = svd::Options::of_rank(4);
    let walks = Walks::Window(window);
    embedding::matrix(graph, &embedding::Options { walks, negative: 0.02, normalize, degree_weighted, self_loops, svd })
        .unwrap()
}

#[test]
fn an_outline_is_planned_as_the_graph_itself() {
    for directed in [false, true] {
        let (real, outline) = (ring(50, directed), Graph::outline(111_059_956, 1_615_685_872, directed).unwrap());
        for normalize in [Normalize::Row, Normalize::Symmetric] {
            for (weighted, loops) in [(false, false), (true, false), (false, true), (true, true)] {
                let [real, outline] =
                    [&real, &outline].map(|graph| embedding_of(graph, normalize, weighted, loops, 10));
                assert_eq!(real.to_string(), outline.to_string());
                for side in SIDES {
                    let [real, outline] = [&real, &outline].map(|matrix| Program::compile(matrix, side));
                    assert_eq!(real.to_string(), outline.to_string(), "{directed} {normalize:?} {weighted} {loops}");
                }
            }
        }
    }
}

#[test]
fn an_outline_counts_by_its_size_and_is_never_multiplied_with() {
    let outline = Matrix::sparse("A", Graph::outline(1000, 8000, false).unwrap().adjacency);
    let program = Program::compile(&outline, Side::Plain);
    assert_eq!(program.count(8).flops, 2 * 16_000 * 8);
    assert_eq!(program.outline(), Some("A"));
    let refused = decompose(&outline, &svd::Options::of_rank(2), Cluster::threads(2)).unwrap_err();
    assert_eq!(refused, SvdError::Engine(EngineError::Outline { name: "A".to_owned() }));
    let dense = Matrix::dense("X", Dense::outline(1000, 7)).unwrap();
    assert_eq!(Program::compile(&dense, Side::Transposed).outline(), Some("Xᵀ"));
}

#[test]
fn the_bytes_of_an_outline_are_those_of_a_graph_without_structure() {
    let mut numbers = Numbers(5);
    let (nodes, edges) = (3000usize, 40_000usize);
    let mut node = || numbers.below(nodes);
    let mut drawn: Vec<(u32, u32)> =
        (0..edges).map(|_| (node() as u32, node() as u32)).filter(|(a, b)| a < b).collect();
    drawn.sort_unstable();
    drawn.dedup();
    let list = EdgeList { nodes, edges: drawn.clone(), ..EdgeList::default() };
    let real = Graph::from_edges(&list, Import::default()).unwrap().adjacency.bytes() as f64;
    let outline = Graph::outline(nodes, drawn.len(), false).unwrap().adjacency.bytes() as f64;
    assert!((outline / real - 1.0).abs() < 0.1, "{outline} and {real}");
}

#[test]
fn more_workers_take_less_time_and_more_processes_more_traffic() {
    let matrix = embedding_of(&Graph::outline(1 << 22, 1 << 26, false).unwrap(), Normalize::Row, false, false, 5);
    for side in SIDES {
        let program = Program::compile(&matrix, side);
        let on = |workers, processes| {
            let machine = Machine { workers, processes, rates: Rates::REFERENCE };
            (program.estimate(16, &machine), program.product_memory(16, &machine))
        };
        let ((one, alone), (eight, _), (spread, share)) = (on(1, 1), on(8, 1), on(8, 4));
        assert!(eight.seconds < one.seconds / 6.0 && spread.seconds < eight.seconds / 3.0);
        assert_eq!((one.network_bytes, eight.network_bytes), (0, 0));
        // Every product gathers a panel, and each row of it is sent to three other processes.
        let panel = (1u64 << 22) * 16 * 4;
        let panels = spread.network_bytes as f64 / (3 * panel) as f64;
        assert!((panels - 5.0).abs() < 0.01, "{panels} panels");
        assert!(share.panels < alone.panels && share.gathered == panel / 4 * 3);
    }
}

#[test]
fn a_faster_machine_is_estimated_to_be_faster() {
    let matrix = embedding_of(&ring(500, false), Normalize::Row, false, false, 3);
    let program = Program::compile(&matrix, Side::Plain);
    let slow = Machine::REFERENCE;
    let Rates { sparse_near, sparse_far, dense, near, far, step_overhead, network } = Rates::REFERENCE;
    let half = |picking: Picking| Picking { entry: 0.5 * picking.entry, column: 0.5 * picking.column };
    let fast = Rates {
        sparse_near: half(sparse_near),
        sparse_far: half(sparse_far),
        dense: 2.0 * dense,
        near: 2.0 * near,
        far: 2.0 * far,
        step_overhead,
        network,
    };
    let seconds = |rates| program.estimate(32, &Machine { rates, ..slow }).seconds;
    assert!(seconds(fast) < seconds(slow.rates));
}

/// By the estimates, a planned product takes at most as long as a shared one, and a shared one at
/// most as long as a written-out one.
#[test]
fn planning_lowers_the_estimates() {
    for directed in [false, true] {
        let matrix = embedding_of(&ring(200, directed), Normalize::Symmetric, true, false, 6);
        for side in SIDES {
            let seconds = [Effort::Planned, Effort::Shared, Effort::Written].map(|effort| {
                let estimate = Program::compile_with(&matrix, side, effort).estimate(64, &Machine::REFERENCE);
                estimate.seconds + estimate.before
            });
            assert!(seconds[0] <= 1.05 * seconds[1] && seconds[1] <= seconds[2], "{seconds:?}");
        }
    }
}

/// A graph of the size of ogbl-ddi.
fn interactions() -> Graph {
    Graph::outline(4267, 1_067_911, false).unwrap()
}

fn work_of(block: usize, products: usize) -> Work {
    Work { block, plain: products, transposed: products }
}

fn what_to_form(matrix: &Matrix, work: Work, limit: u64) -> Forming {
    let [plain, transposed] = [Side::Plain, Side::Transposed].map(|side| Program::compile(matrix, side));
    forming::what_to_form(matrix, [&plain, &transposed], work, limit)
}

#[test]
fn few_rows_of_a_large_matrix_are_formed() {
    // A matrix of the size of Cora: 140 rows of fifteen steps over 1433 features.
    let graph = Graph::outline(2708, 5278, false).unwrap();
    let average = Matrix::sparse("A", graph.adjacency);
    let mut block = Matrix::dense("X", Dense::outline(2708, 1433)).unwrap();
    let mut blocks = vec![block.clone()];
    for _ in 0..15 {
        block = &average * &block;
        blocks.push(block.clone());
    }
    let rows: Vec<usize> = (0..140).collect();
    let matrix = Matrix::hstack(&blocks).rows(&rows);
    let forming = what_to_form(&matrix, work_of(130, 11), 2 << 30);
    assert_eq!(forming.parts.len(), 1);
    assert_eq!(forming.parts[0].identity_key(), matrix.identity_key(), "all of it");
    assert!(forming.with < forming.without / 5.0, "{} and {}", forming.with, forming.without);
    // A part that does not fit is not formed.
    let forming = what_to_form(&matrix, work_of(130, 11), bytes_to_form(&matrix) - 1);
    assert!(forming.parts.iter().all(|part| part.identity_key() != matrix.identity_key()));
}

#[test]
fn a_power_that_fills_up_is_not_formed_for_the_products_of_an_svd() {
    let matrix = embedding_of(&interactions(), Normalize::Row, false, false, 5);
    for work in [work_of(200, 8), work_of(16, 16)] {
        let forming = what_to_form(&matrix, work, 2 << 30);
        assert!(forming.parts.is_empty(), "{:?}", forming.parts);
        assert_eq!(forming.with, forming.without);
    }
    // A part that is multiplied from one side only is formed if this happens often enough.
    let often = Work { block: 200, plain: 1000, transposed: 0 };
    assert!(!what_to_form(&matrix, often, 2 << 30).parts.is_empty());
}

/// Next to a large constant, f32 entries would lose the significant digits.
#[test]
fn nothing_is_formed_together_with_the_matrix_of_ones() {
    let walk = embedding_of(&ring(300, false), Normalize::Row, false, false, 12);
    let forming = what_to_form(&walk.rows(&[0, 1, 2]), work_of(13, 60), 1 << 30);
    for part in &forming.parts {
        assert!(!part.to_string().contains('J'), "{part}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Forming any part leaves the matrix unchanged.
    #[test]
    fn parts_can_be_formed_anywhere(seed in any::<u64>(), rows in 1usize..6, columns in 1usize..6, depth in 1usize..5) {
        let mut numbers = Numbers(seed);
        let matrix = expression(rows, columns, depth, &mut numbers);
        let mut parts = Vec::new();
        collect(&matrix, &mut parts);
        let part = parts[numbers.below(parts.len())].clone();
        let cluster = CLUSTERS[seed as usize % CLUSTERS.len()];
        let formed = with_formed(&matrix, &[part], cluster).unwrap();
        let (expected, found) = (dense_of(&matrix, false), dense_of(&formed, false));
        let scale = expected.data.iter().fold(1.0, |most: f64, entry| most.max(entry.abs()));
        for (one, other) in expected.data.iter().zip(&found.data) {
            prop_assert!((one - other).abs() <= 1e-3 * scale, "{matrix} and {formed}: {one} and {other}");
        }
    }
}

fn collect(matrix: &Matrix, parts: &mut Vec<Matrix>) {
    parts.push(matrix.clone());
    matrix.for_each_part(|part| collect(part, parts));
}

#[test]
fn replacing_nothing_changes_nothing() {
    let matrix = embedding_of(&ring(20, false), Normalize::Row, false, false, 3);
    assert_eq!(matrix.with_parts(&HashMap::new()).identity_key(), matrix.identity_key());
}

/// A matrix with formed parts has the same singular values, and the same bits on any number of
/// workers.
#[test]
fn forming_parts_does_not_change_the_triplets() {
    let graph = ring(300, false);
    let step = Matrix::sparse("A", graph.adjacency) * 0.2;
    let rows: Vec<usize> = (0..20).collect();
    let matrix = step.polynomial(&[0.0, 0.5, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1, 0.1]).rows(&rows);
    let options = svd::Options { iterations: 60, oversample: Some(10), ..svd::Options::of_rank(4) };
    let forming = what_to_form(&matrix, Prepared::new(&matrix, &options, Cluster::threads(1)).unwrap().work(), 1 << 30);
    assert!(!forming.parts.is_empty(), "a few rows of twelve products pay");
    let found = CLUSTERS.map(|cluster| decompose(&matrix, &options, cluster).unwrap());
    assert!(found.iter().all(|svd| *svd == found[0]), "the same bits on every cluster");
    let oracle = Table::of_dense(&found[0].left);
    assert_eq!((oracle.rows, oracle.columns), (20, 4));
    let whole = decompose(&Matrix::dense("M", dense_f32(&matrix)).unwrap(), &options, Cluster::threads(1)).unwrap();
    for (one, other) in found[0].singular_values.iter().zip(&whole.singular_values) {
        assert!((one - other).abs() <= 1e-4 * other, "{one} and {other}");
    }
}

fn dense_f32(matrix: &Matrix) -> Dense {
    let table = dense_of(matrix, false);
    Dense::new(table.rows, table.columns, table.data.iter().map(|&entry| entry as f32).collect()).unwrap()
}

#[test]
fn a_rank_that_does_not_fit_is_refused_with_one_that_fits() {
    let matrix = embedding_of(&ring(5000, false), Normalize::Row, false, false, 3);
    let options = svd::Options { oversample: Some(10), ..svd::Options::of_rank(100) };
    let roomy = Prepared::new(&matrix, &options, Cluster::threads(1)).unwrap();
    let needed = roomy.memory(&Machine::REFERENCE).total();
    let within = |memory| Cluster { memory: Some(memory), ..Cluster::threads(1) };
    assert!(Prepared::new(&matrix, &options, within(needed)).is_ok());
    let refused = Prepared::new(&matrix, &options, within(needed / 2)).err().unwrap();
    assert!(refused.is_misuse());
    let SvdError::NoRoom { fits: Some(rank), .. } = refused else { panic!("{refused}") };
    assert!((20..60).contains(&rank), "{rank}");
    let fitting = svd::Options { rank, ..options.clone() };
    assert!(Prepared::new(&matrix, &fitting, within(needed / 2)).is_ok());
    let larger = svd::Options { rank: rank + 1, ..options.clone() };
    assert!(Prepared::new(&matrix, &larger, within(needed / 2)).is_err());
    let hopeless = Prepared::new(&matrix, &options, within(1000)).err().unwrap();
    assert!(hopeless.to_string().contains("allow more memory"), "{hopeless}");
}

/// Catches an estimate of memory that leaves out the search for missing triplets: a small gap takes a large basis.
#[test]
fn the_memory_of_a_search_is_estimated() {
    let matrix = embedding_of(&ring(5000, false), Normalize::Row, false, false, 3);
    for tolerance in [1e-2, 1e-5] {
        let needed = |completeness| {
            let options = svd::Options { tolerance: Some(tolerance), completeness, ..svd::Options::of_rank(16) };
            Prepared::new(&matrix, &options, Cluster::threads(1)).unwrap().memory(&Machine::REFERENCE).total()
        };
        let [off, usual, fine] = [Completeness::Off, Completeness::default(), Completeness::Gap(1e-5)].map(needed);
        assert!(off <= usual && 2 * usual < fine, "{tolerance}: {off}, {usual}, {fine}");
    }
}
