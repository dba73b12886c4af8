//! How fast this machine is, measured on small products while all workers are busy.

use std::sync::Arc;

use super::{Cluster, EngineError, analyze};
use crate::graph::Sparse;
use crate::kernel::random::{bits, stream};
use crate::matrix::{Dense, Matrix};
use crate::plan::cost::{Estimate, Machine, Rates};
use crate::plan::{Program, Side};

const COLUMNS: usize = 64;
const ROUNDS: usize = 5;

/// Measures the rates of workers on this machine; that of the network stays the reference. It takes a fraction of a second.
pub fn measure_rates(cluster: Cluster) -> Result<Rates, EngineError> {
    let halves = |rows: usize| Matrix::diagonal("d", vec![0.5; rows]).expect("one half is finite");
    let scaled = |rows: usize| Matrix::identity(rows) * 0.5 + halves(rows);
    // Each worker is given as much as a whole machine of one worker.
    let rows = |of_one: usize| of_one * cluster.workers;
    let entries =
        Dense::new(rows(1 << 10), 512, vec![0.5; rows(1 << 10) * 512]).expect("as many entries as its shape has");
    let dense = Matrix::dense("X", entries).expect("one half is finite");
    let chain = random(64, 64, 256).pow(16);
    let kinds = [
        random(rows(4 << 10), 4 << 10, rows(128 << 10)),
        random(rows(16 << 10), 32 << 10, rows(256 << 10)),
        dense,
        scaled(rows(1 << 10)),
        scaled(rows(64 << 10)),
        chain,
    ];
    let programs: Vec<_> = kinds.iter().map(|matrix| Arc::new(Program::compile(matrix, Side::Plain))).collect();
    let measured = analyze(&programs, COLUMNS, ROUNDS, cluster)?;
    let reference = Rates::REFERENCE;
    let machine = Machine { workers: cluster.workers, processes: 1, rates: reference };
    // The reference rate, by how much faster the work was done than the reference says.
    let rate = |kind: usize, reference: f64| {
        let expected: f64 =
            programs[kind].estimate_steps(COLUMNS, &machine).iter().map(|Estimate { seconds, .. }| seconds).sum();
        let took: f64 = measured[kind].steps.iter().sum();
        if took > 0.0 { reference * expected / took } else { reference }
    };
    let chain = &measured[5];
    let between = chain.total - chain.steps.iter().sum::<f64>();
    Ok(Rates {
        sparse_near: rate(0, reference.sparse_near),
        sparse_far: rate(1, reference.sparse_far),
        dense: rate(2, reference.dense),
        near: rate(3, reference.near),
        far: rate(4, reference.far),
        turn: between.max(0.0) / chain.steps.len().max(1) as f64,
        network: reference.network,
    })
}

fn random(rows: usize, cols: usize, nonzeros: usize) -> Matrix {
    let draw = |n: usize, axis: u32, below: usize| (bits(1, stream::SYNTHETIC, n as u64, axis) % below as u64) as u32;
    let mut places: Vec<_> = (0..nonzeros).map(|n| (draw(n, 0, rows), draw(n, 1, cols))).collect();
    places.sort_unstable();
    places.dedup();
    let sparse = Sparse::from_triplets(rows, cols, places, None).expect("drawn places are inside");
    Matrix::sparse("A", Arc::new(sparse))
}
