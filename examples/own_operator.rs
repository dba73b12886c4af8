//! A matrix defined by code: a Gaussian blur without stored entries, minus a stored graph.
//!
//! Run it with `cargo run --release --example own_operator`.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

use isvd_dist::engine::Cluster;
use isvd_dist::graph::Sparse;
use isvd_dist::matrix::{LinearMap, Matrix, Panel, PanelMut, Shape};
use isvd_dist::svd::{Options, decompose};

/// Replaces every row by a weighted mean of the rows near it.
struct Blur {
    size: usize,
    /// The weight of a row at a distance.
    weights: Vec<f32>,
}

impl Blur {
    fn new(size: usize, width: f32) -> Self {
        let reach = (4.0 * width) as i32;
        let weights = (0..=reach).map(|away| (-(away as f32 / width).powi(2) / 2.0).exp()).collect();
        Self { size, weights }
    }
}

impl LinearMap for Blur {
    fn shape(&self) -> Shape {
        Shape::new(self.size, self.size)
    }

    fn apply(&self, rows: Range<usize>, x: Panel<'_>, mut product: PanelMut<'_>) {
        let reach = self.weights.len() - 1;
        for (place, row) in rows.enumerate() {
            for other in row.saturating_sub(reach)..(row + reach + 1).min(self.size) {
                let weight = self.weights[row.abs_diff(other)];
                let out = product.row_mut(place).iter_mut();
                out.zip(x.row(other)).for_each(|(out, entry)| *out += weight * entry);
            }
        }
    }

    /// The weights depend on the distance alone, so the matrix is symmetric.
    fn apply_transposed(&self, rows: Range<usize>, x: Panel<'_>, product: PanelMut<'_>) {
        self.apply(rows, x, product);
    }

    fn flops(&self) -> u64 {
        2 * (2 * self.weights.len() as u64 - 1) * self.size as u64
    }
}

/// Uses the map in an expression, decomposes it on one worker and on three, and compares the
/// results.
pub fn main() -> Result<(), Box<dyn Error>> {
    const N: usize = 2000;
    let ring = (0..N as u32).map(|i| (i, (i + 1) % N as u32)).collect();
    let a = Matrix::sparse("A", Arc::new(Sparse::symmetric_from_pairs(N, ring, None)?));
    let m = Matrix::own("Blur", Blur::new(N, 3.0)) - a * 0.5;
    let on = |workers| decompose(&m, &Options::of_rank(6), Cluster::threads(workers));
    let (one, three) = (on(1)?, on(3)?);
    println!("{m} has singular values {:.4?}", one.singular_values);
    println!("worst residual {:.1e} of its σ", one.certificate.worst());
    if one.singular_values != three.singular_values {
        return Err("other bits on three workers".into());
    }
    Ok(())
}
