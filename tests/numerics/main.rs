//! Matrices, plans, solvers and the classifier, compared with dense arithmetic.

#[path = "../support/mod.rs"]
mod support;

mod classifier;
mod common;
mod cost;
mod gram_svd;
mod krylov;
mod own_map;
mod plan;
mod products;
mod rank_rules;
mod robust;
mod solve;
mod spmm;
mod surrogate;
mod svd;
mod text_matrix;
