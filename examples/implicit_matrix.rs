//! The truncated SVD of a matrix that is never formed: walks over a ring with chords, less a constant.
//!
//! Written out it would have a million entries; as it is stated, it takes three sparse products a column.
//!
//! Run it with `cargo run --release --example implicit_matrix`.

use std::error::Error;
use std::sync::Arc;

use isvd_dist::engine::Cluster;
use isvd_dist::graph::Sparse;
use isvd_dist::matrix::Matrix;
use isvd_dist::svd::{Options, decompose};

/// States the matrix, decomposes it, and says how far to trust the answer.
pub fn main() -> Result<(), Box<dyn Error>> {
    const N: u32 = 1000;
    let edges = (0..N).flat_map(|i| [(i, (i + 1) % N), (i, (i * 7 + 3) % N)]).filter(|(i, j)| i != j).collect();
    let a = Matrix::sparse("A", Arc::new(Sparse::symmetric_from_pairs(N as usize, edges, None)?));
    let walks = (&a * 0.25).polynomial(&[0.0, 0.5, 0.3, 0.2]);
    let m = walks - (Matrix::ones(N as usize, N as usize) - &a) * 0.02;

    let svd = decompose(&m, &Options { tolerance: Some(1e-3), ..Options::of_rank(8) }, Cluster::threads(2))?;
    println!("M = {m}, {}", m.shape());
    println!("singular values {:.3?}", svd.singular_values);
    println!("worst residual {:.1e} of its σ", svd.certificate.worst());
    if svd.certificate.worst() > 1e-3 {
        return Err("the answer is further off than asked for".into());
    }
    Ok(())
}
