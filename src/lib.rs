//! Truncated SVD of matrices that are never formed, over graphs that no single worker holds.
//!
//! A user states a matrix as an expression over a graph: powers, sums, products, concatenations, gathers. Such a matrix
//! is often dense and far too large to write down, but multiplying a few columns by it is cheap, and that is all that a
//! truncated SVD needs. This crate compiles the expression to a program of sparse and dense products, runs it on timely
//! workers that each own some rows, and returns the largest singular triplets with the measured residual of each. On top
//! of that it embeds and classifies the nodes of a graph, by the method of *Implicit SVD for Graph Representation Learning*
//! (NeurIPS 2021).
//!
//! ```
//! use isvd_dist::engine::Cluster;
//! use isvd_dist::graph::Sparse;
//! use isvd_dist::matrix::Matrix;
//! use isvd_dist::svd::{Options, decompose};
//! use std::sync::Arc;
//!
//! // A ring of six nodes, and the matrix of walks of one to three steps less a constant.
//! let ring = Sparse::symmetric_from_pairs(6, (0..6).map(|i| (i, (i + 1) % 6)).collect(), None)?;
//! let a = Matrix::sparse("A", Arc::new(ring));
//! let m = (&a * 0.5).polynomial(&[0.0, 0.5, 0.3, 0.2]) - Matrix::ones(6, 6) * 0.1;
//!
//! let svd = decompose(&m, &Options::of_rank(2), Cluster::threads(2))?;
//! assert_eq!(svd.singular_values.len(), 2);
//! assert!(svd.certificate.worst() < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The modules
//!
//! A module uses only modules to its left, and [`isvd_kernel`]. A test reads the sources, and names the file and the line of an
//! arrow that points the other way.
//!
//! ```text
//! graph ─┬─ dataset ─────────────────────────┐
//!        └─ matrix ─┬─ plan ─ engine ─ svd ──┼─ model ─ finetune ─ config ─ experiment ─ report ─ serve ─ cli
//!                   └─ evaluate ─────────────┘
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`isvd_kernel`] | the `kernel` that all modules use, a package of its own, `crates/kernel`: arithmetic on one tile: sparse and dense products, Gram matrices, factorisations, random numbers. The only module with `unsafe` and SIMD |
//! | [`graph`] | edge lists, and the tiles they become: compressed sparse rows, cut into column strips, and patched where edges change |
//! | [`dataset`] | where graphs come from: file formats, the catalog, downloads, stores, streams of changes |
//! | [`matrix`] | the symbolic matrix: leaves, operators, shapes, the text form |
//! | [`plan`] | the program that multiplies by M and by Mᵀ, or forms it, and what that costs |
//! | [`engine`] | timely workers, the dataflow compiled from a program, collectives, checkpoints, the ledger of edges that change. The only module that imports timely or differential dataflow |
//! | [`svd`] | block Krylov and subspace iteration, the Gram matrix of a short side, warm starts, orthonormalisation, least squares, the certificate |
//! | [`evaluate`] | metrics as functions of scores and labels: ROC-AUC, average precision, Hits@K, accuracy |
//! | [`model`] | what the SVD is for: embeddings, classifiers, the choice of a rank, what follows a graph that changes |
//! | [`finetune`] | what gradients finish: the spectral kernel, the Split-ReLU network, neighbour sampling, Adam |
//! | [`experiment`] | load, model, fine-tune, evaluate: an experiment from end to end, with its progress as events |
//! | [`config`], [`cli`], [`report`] | everything a person writes or sees. Nothing else prints |
//! | [`serve`] | what a run found, over HTTP |
//!
//! # The same bits on any number of workers
//!
//! Rows are cut into tiles whose size depends on the number of rows alone, and a worker owns a run of tiles. Each tile is
//! computed by single-threaded kernels in a fixed order, sums over tiles go up a fixed binary tree, and random numbers
//! are functions of (seed, purpose, row, column). So nothing in a result says who computed it. All workers see the same
//! sums, so they also decide alike: when to stop, when to shift a diagonal, when to drop a direction.

#![warn(missing_docs)]

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "experiment")]
pub mod config;
pub mod dataset;
pub mod engine;
pub mod evaluate;
#[cfg(feature = "experiment")]
pub mod experiment;
pub mod finetune;
pub mod graph;
pub mod matrix;
pub mod model;
pub mod plan;
pub mod prelude;
#[cfg(feature = "report")]
pub mod report;
#[cfg(feature = "serve")]
pub mod serve;
pub mod svd;

pub(crate) use isvd_kernel as kernel;

/// The snippets of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct ReadmeSnippets;

/// The snippets of the page on matrices of one's own, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../docs/own-matrix.md")]
pub struct OwnMatrixSnippets;
