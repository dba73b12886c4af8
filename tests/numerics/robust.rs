//! Errors are named, and nothing hangs: every test here ends within a minute or fails.

use std::sync::Arc;

use isvd_dist::dataset::EdgeList;
use isvd_dist::engine::{Cluster, EngineError, Monitor, Transport, run};
use isvd_dist::graph::{Graph, Import, Sparse};
use isvd_dist::matrix::{Dense, Matrix};
use isvd_dist::model::embedding::{self, Embedding, ModelError, Normalize, Walks};
use isvd_dist::plan::{Program, Side};
use isvd_dist::svd::{Options, SvdError, decompose};

use crate::common::{CLUSTERS, Numbers, sparse, within_a_minute};

fn small_program() -> Arc<Program> {
    Arc::new(Program::compile(&Matrix::sparse("A", sparse(300, 300, false, &mut Numbers(1))), Side::Plain))
}

fn embed(edges: EdgeList, rank: usize, workers: usize) -> Result<Embedding, ModelError> {
    let options = embedding::Options {
        walks: Walks::Window(3),
        negative: 0.02,
        normalize: Normalize::Row,
        degree_weighted: false,
        self_loops: false,
        svd: Options::of_rank(rank),
    };
    let graph = Graph::from_edges(&edges, Import::default()).unwrap();
    within_a_minute(move || embedding::embed(&graph, &options, Cluster::threads(workers), Monitor::default()))
}

fn undirected(nodes: usize, edges: &[(u32, u32)]) -> EdgeList {
    EdgeList { nodes, edges: edges.to_vec(), ..EdgeList::default() }
}

#[test]
fn a_panic_in_one_worker_ends_all_with_its_name() {
    for cluster in CLUSTERS {
        let error = within_a_minute(move || {
            run(cluster, vec![small_program()], |session| -> Result<(), EngineError> {
                let panel = session.random_normal(300, 4, 1, 0)?;
                assert!(session.worker() != session.workers() - 1, "thrown on purpose");
                session.multiply(0, &panel).map(|_| ())
            })
            .unwrap_err()
        });
        let EngineError::Panicked { worker, message, .. } = &error else { panic!("{error}") };
        assert_eq!(*worker, cluster.workers - 1);
        assert!(message.contains("thrown on purpose") && message.contains("robust.rs"), "{message}");
    }
}

#[test]
fn an_error_of_one_worker_ends_all_with_that_error() {
    for cluster in CLUSTERS {
        let error = within_a_minute(move || {
            run(cluster, vec![small_program()], |session| {
                let panel = session.random_normal(300, 4, 1, 0)?;
                if session.worker() == session.workers() - 1 {
                    return Err(EngineError::NotFinite { step: "mine alone".into() });
                }
                session.gram(&panel)
            })
            .unwrap_err()
        });
        assert_eq!(error, EngineError::NotFinite { step: "mine alone".into() });
    }
}

#[test]
fn a_worker_that_ends_early_does_not_leave_the_others_waiting() {
    for cluster in CLUSTERS.into_iter().filter(|cluster| cluster.workers > 1) {
        let error = within_a_minute(move || {
            run(cluster, vec![small_program()], |session| -> Result<(), EngineError> {
                let panel = session.random_normal(300, 4, 1, 0)?;
                session.gram(&panel)?;
                if session.worker() == session.workers() - 1 {
                    return Ok(());
                }
                session.gram(&panel).map(|_| ())
            })
            .unwrap_err()
        });
        let EngineError::Stopped { worker, message } = &error else { panic!("{error}") };
        assert_eq!(*worker, cluster.workers - 1);
        assert!(message.contains("ended while others went on"), "{message}");
    }
}

/// Stored zeros, which the rewriting rules do not detect, under every kind of node.
#[test]
fn a_matrix_of_stored_zeros_has_no_triplets() {
    let stored = Matrix::dense("Z", Dense::new(70, 70, vec![0.0; 4900]).unwrap()).unwrap();
    let empty = Matrix::sparse("E", Arc::new(Sparse::from_triplets(70, 70, vec![], None).unwrap()));
    for zero in [&stored, &empty] {
        let all = [
            zero.clone(),
            zero + zero,
            zero * zero,
            zero.t(),
            zero.polynomial(&[0.0, 0.5, 0.5]),
            Matrix::hstack(&[zero.clone(), zero.clone()]),
            Matrix::vstack(&[zero.clone(), zero.clone()]),
            zero.rows(&[0, 5, 5]),
            zero.columns(&[69, 1]),
            zero - Matrix::ones(70, 70) * zero,
        ];
        for matrix in all {
            let svd = within_a_minute(move || decompose(&matrix, &Options::of_rank(2), CLUSTERS[1]).unwrap());
            assert_eq!(svd.effective_rank(), 0);
        }
    }
}

/// Catches products that underflow.
#[test]
fn a_matrix_of_tiny_entries_has_its_triplets() {
    let tiny = Matrix::identity(70) * 1e-37;
    for matrix in [tiny.clone(), tiny.t(), Matrix::hstack(&[tiny.clone(), tiny.clone() * 0.0]), tiny.rows(&[0, 5, 6])] {
        let svd = within_a_minute(move || decompose(&matrix, &Options::of_rank(2), CLUSTERS[1]).unwrap());
        assert_eq!(svd.effective_rank(), 2);
        assert!(
            svd.singular_values.iter().all(|value| (value / 1e-37 - 1.0).abs() < 1e-3),
            "{:?}",
            svd.singular_values
        );
    }
}

#[test]
fn an_overflow_is_an_error_everywhere() {
    for cluster in CLUSTERS {
        let huge = Matrix::dense("X", Dense::new(3, 3, vec![1e30; 9]).unwrap()).unwrap();
        let error = within_a_minute(move || decompose(&huge.pow(2), &Options::of_rank(1), cluster).unwrap_err());
        assert!(matches!(error, SvdError::Engine(EngineError::NotFinite { .. })), "{error}");
    }
}

#[test]
fn no_workers_is_an_error() {
    let work = || decompose(&Matrix::identity(3), &Options::of_rank(1), Cluster::threads(0)).unwrap_err();
    let error = within_a_minute(work);
    assert_eq!(error, SvdError::Engine(EngineError::NoWorkers));
}

#[test]
fn more_workers_than_tiles() {
    let matrix = Matrix::sparse("A", sparse(40, 30, true, &mut Numbers(2)));
    let alone = decompose(&matrix, &Options::of_rank(3), Cluster::threads(1)).unwrap();
    for transport in [Transport::Pointers, Transport::Bytes] {
        let matrix = matrix.clone();
        let many = within_a_minute(move || {
            decompose(&matrix, &Options::of_rank(3), Cluster { transport, ..Cluster::threads(8) }).unwrap()
        });
        assert!(many == alone);
    }
}

#[test]
fn a_matrix_without_rows_has_nothing_to_decompose() {
    let error = within_a_minute(|| decompose(&Matrix::zero(0, 5), &Options::of_rank(1), CLUSTERS[1]).unwrap_err());
    assert_eq!(error.to_string(), "rank 1 is more than the 0 singular values of a 0×5 matrix: ask for at most 0");
}

#[test]
fn a_graph_without_nodes_is_an_error() {
    let error = embed(undirected(0, &[]), 1, 2).unwrap_err();
    assert_eq!(error.to_string(), "the graph has no nodes: there is nothing to embed");
}

/// Without edges, M is a multiple of the all-ones matrix and has one triplet, for any requested
/// rank.
#[test]
fn a_graph_without_edges_has_rank_one() {
    let embedding = embed(undirected(200, &[]), 5, 3).unwrap();
    assert_eq!(embedding.rank, 1);
    assert!((embedding.singular_values[0] - 4.0).abs() < 1e-4);
    assert_eq!(embedding.score(&[(0, 199)], false, &embedding.plain_weights()).len(), 1);
}

#[test]
fn isolated_nodes_keep_their_rows() {
    let embedding = embed(undirected(100, &[(0, 1), (1, 2), (2, 0), (98, 99)]), 4, 2).unwrap();
    assert_eq!((embedding.nodes, embedding.left.data().len()), (100, 100 * embedding.rank));
    assert!(embedding.left.data().iter().chain(embedding.right.data()).all(|value| value.is_finite()));
    let scores = embedding.score(&[(0, 1), (0, 50)], false, &embedding.plain_weights());
    assert!(scores[0] > scores[1]);
}

#[test]
fn an_edge_to_a_node_that_does_not_exist_is_an_error() {
    let error = Graph::from_edges(&undirected(10, &[(0, 1), (3, 10)]), Import::default()).unwrap_err();
    assert!(error.to_string().contains("10"), "{error}");
}

#[test]
fn a_weight_that_is_not_finite_is_an_error() {
    let edges = EdgeList { weights: Some(vec![1.0, f32::NAN]), ..undirected(10, &[(0, 1), (3, 4)]) };
    let error = Graph::from_edges(&edges, Import::default()).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
}

#[test]
fn a_rank_beyond_the_nodes_is_an_error() {
    let error = embed(undirected(3, &[(0, 1)]), 4, 2).unwrap_err();
    assert_eq!(error.to_string(), "rank 4 is more than the 3 singular values of a 3×3 matrix: ask for at most 3");
}
