use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::dataset::EdgeList;
use crate::engine::product;
use crate::graph::Import;
use crate::kernel::random;
use crate::matrix::Dense;
use crate::model::embedding::{Normalize, Walks, matrix};
use crate::plan::Side;
use crate::svd;

type Edges = BTreeMap<(u32, u32), f32>;
type Batch = Vec<((u32, u32), Operation)>;

fn options(rank: usize, normalize: Normalize) -> Options {
    let svd = svd::Options { tolerance: Some(0.01), iterations: 60, ..svd::Options::of_rank(rank) };
    Options { walks: Walks::Window(4), negative: 0.02, normalize, degree_weighted: false, self_loops: false, svd }
}

fn graph(nodes: usize, edges: &Edges, directed: bool) -> Graph {
    let weights = Some(edges.values().copied().collect());
    let list = EdgeList { nodes, edges: edges.keys().copied().collect(), weights, directed };
    Graph::from_edges(&list, Import::default()).unwrap()
}

/// A random graph on some nodes, about six edges each.
fn community(first: u32, nodes: u32, seed: u64) -> Edges {
    let pair = |edge| random::pair(seed, random::stream::SYNTHETIC, edge, 0, nodes);
    let pairs = (0..u64::from(3 * nodes)).map(pair).filter(|(a, b)| a != b);
    pairs.map(|(a, b)| ((first + a.min(b), first + a.max(b)), 1.0)).collect()
}

/// Whoever uses the vectors sees them move where the graph has changed, and there only.
#[test]
fn rows_far_from_a_change_stay_in_place() {
    let (one, other) = (community(0, 150, 1), community(150, 150, 2));
    let edges: Edges = one.into_iter().chain(other).collect();
    let changed: Batch = community(150, 150, 3).into_keys().take(20).map(|edge| (edge, Operation::Add(1.0))).collect();
    let mut all = Vec::new();
    for workers in 1..=3 {
        let cluster = Cluster::threads(workers);
        let first = graph(300, &edges, false);
        let mut follower = Follower::new(first, false, options(12, Normalize::Symmetric), cluster).unwrap();
        follower.embed(Monitor::default()).unwrap();
        follower.apply(300, &changed).unwrap();
        follower.embed(Monitor::default()).unwrap();
        let (near, far): (Vec<_>, Vec<_>) = follower.moved(0.0).into_iter().partition(|(row, _)| *row >= 150);
        let farthest = |rows: &[(u32, f32)]| rows.iter().map(|(_, distance)| *distance).fold(0.0, f32::max);
        assert!(farthest(&far) < 0.05, "{}", farthest(&far));
        assert!(farthest(&near) > 0.2, "{}", farthest(&near));
        all.push(follower.embedding().unwrap().clone());
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "whatever the number of workers");
}

/// Catches a part of the graph that no vector from before reaches, and that nothing looks for.
#[test]
fn what_appears_apart_from_all_the_rest_is_found() {
    // Dense ones, so that they have the largest singular values; by the last the change is a large
    // one.
    let dense = |first: u32, nodes: u32| {
        (0..4).fold(Edges::new(), |edges, seed| edges.into_iter().chain(community(first, nodes, 20 + seed)).collect())
    };
    for (walks, nodes) in [(4, 20), (10, 20), (10, 200)] {
        for workers in 1..=3 {
            let edges = community(0, 300, 1);
            let mut options = options(8, Normalize::Symmetric);
            options.walks = Walks::Window(walks);
            // Every node has something of every other by this.
            options.negative = 0.0;
            let cluster = Cluster::threads(workers);
            let mut follower = Follower::new(graph(300, &edges, false), false, options.clone(), cluster).unwrap();
            follower.embed(Monitor::default()).unwrap();
            let new = dense(300, nodes);
            let batch: Batch = new.keys().map(|&edge| (edge, Operation::Add(1.0))).collect();
            follower.apply(300 + nodes as usize, &batch).unwrap();
            let warm = follower.embed(Monitor::default()).unwrap().singular_values.clone();
            let all = edges.into_iter().chain(new).collect();
            let cold = embed(&graph(300 + nodes as usize, &all, false), &options, cluster, Monitor::default()).unwrap();
            for (warm, cold) in warm.iter().zip(&cold.singular_values) {
                assert!((warm - cold).abs() < 0.01 * cold, "{walks}, {nodes}, {workers}: {warm} and {cold}");
            }
        }
    }
}

#[test]
fn a_batch_that_cannot_be_applied_leaves_all_as_it_was() {
    let edges = community(0, 40, 5);
    let mut follower =
        Follower::new(graph(40, &edges, false), false, options(4, Normalize::Row), Cluster::threads(2)).unwrap();
    let batch = [((0, 1), Operation::Add(2.0)), ((3, 40), Operation::Add(1.0))];
    assert!(matches!(follower.apply(40, &batch), Err(ModelError::Graph(_))));
    assert_eq!((follower.ledger().edges, follower.graph().nodes()), (edges.len(), 40));
    assert!(follower.apply(41, &batch).is_ok());
}

#[test]
fn a_warm_start_takes_a_part_of_the_columns() {
    let edges = community(0, 400, 7);
    let mut follower =
        Follower::new(graph(400, &edges, false), false, options(8, Normalize::Symmetric), Cluster::threads(2)).unwrap();
    let cold = follower.embed(Monitor::default()).unwrap().operator_columns;
    follower.apply(400, &[((0, 399), Operation::Add(1.0)), ((7, 80), Operation::Add(1.0))]).unwrap();
    let warm = follower.embed(Monitor::default()).unwrap();
    assert!(
        warm.certificate.relative_residuals.iter().all(|&residual| residual <= 0.01),
        "{:?}",
        warm.certificate.relative_residuals
    );
    assert!(2 * warm.operator_columns < cold, "{} of {cold}", warm.operator_columns);
}

/// Catches a warm start after a change that is too large for it to pay, and products that depend on
/// the number of workers.
#[test]
fn a_large_change_is_followed_from_random_vectors() {
    let walks = Walks::Window(10);
    let svd = svd::Options { tolerance: Some(0.1), iterations: 60, ..svd::Options::of_rank(8) };
    let options = Options { walks, degree_weighted: true, svd, ..options(8, Normalize::Symmetric) };
    // Without weights, so that shorter walks may stand for long ones.
    let list = EdgeList { nodes: 400, edges: community(0, 400, 7).into_keys().collect(), ..EdgeList::default() };
    let first = Graph::from_edges(&list, Import::default()).unwrap();
    let changed: Batch = community(250, 250, 8).into_keys().map(|edge| (edge, Operation::Add(1.0))).collect();
    let mut all = Vec::new();
    for workers in 1..=3 {
        let cluster = Cluster::threads(workers);
        let mut follower = Follower::new(first.clone(), false, options.clone(), cluster).unwrap();
        follower.embed(Monitor::default()).unwrap();
        follower.apply(500, &changed).unwrap();
        let warm = follower.embed(Monitor::default()).unwrap().clone();
        let cold = embed(follower.graph(), &options, cluster, Monitor::default()).unwrap();
        assert!(
            warm.certificate.relative_residuals.iter().all(|&residual| residual <= 0.1),
            "{:?}",
            warm.certificate.relative_residuals
        );
        assert_eq!(warm.operator_columns, cold.operator_columns);
        for (a, b) in warm.singular_values.iter().zip(&cold.singular_values) {
            assert_eq!(a, b);
        }
        all.push(warm);
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "whatever the number of workers");
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![3 => Just(Operation::Add(1.0)), 1 => Just(Operation::Weigh(2.5)), 2 => Just(Operation::Remove)]
}

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    prop::collection::vec(prop::collection::vec(((0u32..130, 0u32..130), operation()), 0..60), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever happens to a graph, its singular values are those found from nothing, as far as
    /// both can be trusted.
    #[test]
    fn singular_values_are_those_of_a_cold_start(batches in batches(), directed: bool, workers in 1usize..4) {
        let cluster = Cluster::threads(workers);
        let options = options(5, Normalize::Row);
        let mut edges = community(0, 100, 11);
        let mut follower = Follower::new(graph(100, &edges, directed), directed, options.clone(), cluster).unwrap();
        follower.embed(Monitor::default()).unwrap();
        let mut nodes = 100;
        for batch in &batches {
            for &((from, to), operation) in batch {
                let edge = if directed { (from, to) } else { (from.min(to), from.max(to)) };
                match operation.weight() {
                    Some(weight) => edges.insert(edge, weight),
                    None => edges.remove(&edge),
                };
            }
            nodes = batch.iter().map(|(edge, _)| edge.0.max(edge.1) as usize + 1).fold(nodes, usize::max);
            follower.apply(nodes, batch).unwrap();
            let anew = graph(nodes, &edges, directed);
            prop_assert!(follower.graph().adjacency.has_same_tiles(&anew.adjacency));
            prop_assert_eq!(&follower.graph().degrees, &anew.degrees);
            let warm = follower.embed(Monitor::default()).unwrap().clone();
            let cold = embed(&anew, &options, cluster, Monitor::default()).unwrap();
            for (triplet, (a, b)) in warm.singular_values.iter().zip(&cold.singular_values).enumerate() {
                let trusted = (warm.certificate.relative_residuals[triplet] + cold.certificate.relative_residuals[triplet]) as f32;
                prop_assert!((a - b).abs() <= (trusted + 1e-3) * b, "{} {} {} {}", triplet, a, b, trusted);
            }
        }
    }
}

/// Catches a batch that leaves a trace when it is taken back: what follows has the bits of a
/// follower that never saw it.
#[test]
fn a_batch_that_is_taken_back_leaves_no_trace() {
    let edges = community(0, 120, 5);
    let known = *edges.keys().next().unwrap();
    let bad: Batch =
        vec![((3, 125), Operation::Add(3e38)), ((3, 126), Operation::Add(3e38)), (known, Operation::Remove)];
    let good: Batch = vec![((4, 120), Operation::Add(2.0)), ((7, 9), Operation::Add(1.0))];
    for directed in [false, true] {
        let mut all = Vec::new();
        for (workers, is_hit) in [(1, false), (1, true), (2, true), (3, true)] {
            let (graph, cluster) = (graph(120, &edges, directed), Cluster::threads(workers));
            let mut follower = Follower::new(graph, directed, options(8, Normalize::Row), cluster).unwrap();
            follower.embed(Monitor::default()).unwrap();
            if is_hit {
                let before = follower.embedding().unwrap().clone();
                let applied = follower.apply(127, &bad).unwrap();
                assert!(follower.check(&applied, |row| row.to_string()).unwrap_err().is_of_numbers());
                let error = follower.embed(Monitor::default()).unwrap_err();
                assert!(error.is_of_numbers(), "{error}");
                follower.undo(&applied).unwrap();
                assert_eq!((follower.graph().nodes(), follower.ledger().edges), (120, edges.len()));
                assert!(*follower.embedding().unwrap() == before);
            }
            follower.apply(121, &good).unwrap();
            all.push((follower.embed(Monitor::default()).unwrap().clone(), follower.graph().degrees.clone()));
        }
        assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "directed: {directed}");
    }
}

/// Two like communities, whose singular values are close, embedded before and after a change.
fn followed(workers: usize) -> Follower {
    let edges: Edges = community(0, 150, 1).into_iter().chain(community(150, 150, 2)).collect();
    let changed: Batch = community(150, 150, 3).into_keys().take(20).map(|edge| (edge, Operation::Add(1.0))).collect();
    let graph = graph(300, &edges, false);
    let mut follower =
        Follower::new(graph, false, options(12, Normalize::Symmetric), Cluster::threads(workers)).unwrap();
    follower.embed(Monitor::default()).unwrap();
    follower.apply(300, &changed).unwrap();
    follower.embed(Monitor::default()).unwrap();
    follower
}

/// Catches a certificate of other vectors than those beside it.
#[test]
fn a_certificate_is_that_of_the_vectors_after_a_change() {
    let follower = followed(2);
    let embedding = follower.embedding().unwrap();
    let rank = embedding.rank;
    let matrix = matrix(follower.graph(), &options(12, Normalize::Symmetric)).unwrap();
    let unit = |vectors: &[f32]| {
        let roots: Vec<f32> = embedding.singular_values.iter().map(|value| value.sqrt()).collect();
        let rows = vectors.chunks_exact(rank).flat_map(|row| row.iter().zip(&roots).map(|(entry, root)| entry / root));
        Arc::new(Dense::new(300, rank, rows.collect()).unwrap())
    };
    let (u, v) = (unit(embedding.left.data()), unit(embedding.right.data()));
    for (side, from, to) in [(Side::Plain, &v, &u), (Side::Transposed, &u, &v)] {
        let images = product(&matrix, side, from, Cluster::threads(2)).unwrap();
        for (triplet, &sigma) in embedding.singular_values.iter().enumerate() {
            let entries =
                (0..300).map(|row| f64::from(images.row(row)[triplet] - sigma * to.row(row)[triplet]).powi(2));
            let residual = entries.sum::<f64>().sqrt() / f64::from(sigma);
            let told = embedding.certificate.relative_residuals[triplet];
            assert!(residual <= 1.01 * told + 1e-5, "{side:?} of triplet {triplet}: {residual}, told {told}");
        }
    }
}

/// What the documentation says of aligned vectors: they are an orthogonal matrix apart from U√S.
#[test]
fn aligned_vectors_keep_the_singular_values() {
    let follower = followed(2);
    let embedding = follower.embedding().unwrap();
    let rank = embedding.rank;
    let mut gram = vec![0.0; rank * rank];
    for row in 0..300 {
        let [left, _] = follower.aligned_row(row);
        for (place, entry) in gram.iter_mut().enumerate() {
            *entry += f64::from(left[place / rank]) * f64::from(left[place % rank]);
        }
    }
    let found = crate::kernel::small::small_svd(&gram, rank, rank).unwrap().values;
    for (found, value) in found.iter().zip(&embedding.singular_values) {
        assert!((found - f64::from(*value)).abs() < 1e-4 * f64::from(*value), "{found} {value}");
    }
    assert_ne!(follower.rotation(), Some(&Rotation::identity(rank)));
}
