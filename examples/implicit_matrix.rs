//! The truncated SVD of a matrix that is never formed: walks over a ring with chords, minus a
//! constant.
//!
//! The matrix has a million entries, but a product with a column takes three sparse products. The
//! graph is converted from a matrix of `sprs`, and `faer` reads the vectors without a copy.
//!
//! Run it with `cargo run --release --example implicit_matrix`.

use std::error::Error;
use std::sync::Arc;

use faer::Mat;
use isvd_dist::prelude::*;
use sprs::{CsMat, TriMat};

/// States the matrix, decomposes it, and prints the certificate.
pub fn main() -> Result<(), Box<dyn Error>> {
    const N: usize = 1000;
    let mut ring = TriMat::<f32>::new((N, N));
    let chords = (0..N).flat_map(|i| [(i, (i + 1) % N), (i, (i * 7 + 3) % N)]).filter(|(i, j)| i != j);
    chords.for_each(|(i, j)| ring.add_triplet(i, j, 1.0));
    let ring: CsMat<f32> = ring.to_csr();
    let a = Matrix::sparse("A", Arc::new(Sparse::try_from(&(&ring + &ring.transpose_view()))?));
    let walks = (&a * 0.25).polynomial(&[0.0, 0.5, 0.3, 0.2]);
    let m = walks - (Matrix::ones(N, N) - &a) * 0.02;

    let svd = decompose(&m, &SvdOptions { tolerance: Some(1e-3), ..SvdOptions::of_rank(8) }, Cluster::threads(2))?;
    println!("M = {m}, {}", m.shape());
    println!("singular values {:.3?}", svd.singular_values);
    println!("worst residual {:.1e} of its σ", svd.certificate.worst());
    let left = svd.left.as_faer();
    let loss = (left.transpose() * left - Mat::<f32>::identity(svd.effective_rank(), svd.effective_rank())).norm_max();
    println!("entries of UᵀU − I are at most {loss:.1e}");
    if svd.certificate.worst() > 1e-3 || loss > 1e-4 {
        return Err("the tolerance is not met".into());
    }
    Ok(())
}
