//! Measures the rates of this machine on small products, with all workers busy.

use std::sync::Arc;

use super::{Cluster, EngineError, Measured, analyze};
use crate::graph::{STRIP_COLUMNS, Sparse};
use crate::kernel::random::{bits, stream};
use crate::matrix::{Dense, Matrix};
use crate::plan::cost::{Machine, Picking, Rates};
use crate::plan::{Program, Side};

/// Columns of a narrow and of a wide panel.
const COLUMNS: [usize; 2] = [16, 64];
const ROUNDS: usize = 5;
/// Least fraction of the time of a sparse product that counts as picking.
const LEAST_PICKING: f64 = 0.3;

/// Measures the rates of the workers in a fraction of a second. The rate of the network is the
/// reference.
pub fn measure_rates(cluster: Cluster) -> Result<Rates, EngineError> {
    let halves = |rows: usize| Matrix::diagonal("d", vec![0.5; rows]).expect("one half is finite");
    let scaled = |rows: usize| Matrix::identity(rows) * 0.5 + halves(rows);
    // Each worker gets as much work as one worker alone.
    let rows = |of_one: usize| of_one * cluster.workers;
    let entries = vec![0.5; rows(1 << 10) * 512];
    let entries = Dense::new(rows(1 << 10), 512, entries).expect("as many entries as its shape has");
    // The first matrix has narrow strips, the second the widest ones.
    let near = random(rows(4 << 10), 4 << 10, rows(128 << 10));
    let far = random(rows(32 << 10), 4 * STRIP_COLUMNS, rows(512 << 10));
    let others = [
        Matrix::dense("X", entries).expect("one half is finite"),
        scaled(rows(1 << 10)),
        scaled(rows(64 << 10)),
        random(64, 64, 256).pow(16),
    ];
    let program = |matrix: &Matrix| Arc::new(Program::compile(matrix, Side::Plain));
    let programs = others.each_ref().map(program);
    let measured = analyze(&programs, COLUMNS[1], ROUNDS, cluster)?;
    let reference = Rates::REFERENCE;
    let machine = Machine { workers: cluster.workers, processes: 1, rates: reference };
    // The reference rate times the measured speed-up over the reference.
    let rate = |place: usize, reference: f64| {
        let expected = programs[place].estimate(COLUMNS[1], &machine).seconds;
        let took: f64 = measured[place].steps.iter().sum();
        if took > 0.0 { reference * expected / took } else { reference }
    };
    let chain = &measured[3];
    let between = chain.total - chain.steps.iter().sum::<f64>();
    let nothing = Picking { entry: 0.0, column: 0.0 };
    let rates = Rates {
        sparse_near: nothing,
        sparse_far: nothing,
        dense: rate(0, reference.dense),
        near: rate(1, reference.near),
        far: rate(2, reference.far),
        step_overhead: between.max(0.0) / chain.steps.len().max(1) as f64,
        network: reference.network,
    };
    let sparse = [&near, &far].map(program);
    let narrow = analyze(&sparse, COLUMNS[0], ROUNDS, cluster)?;
    let wide = analyze(&sparse, COLUMNS[1], ROUNDS, cluster)?;
    let picking = |place: usize, nonzeros: usize| {
        let of = |columns: usize, measured: &[Measured]| {
            let took: f64 = measured[place].steps.iter().sum();
            // The rest of a product is estimated separately.
            let other = sparse[place].estimate(columns, &Machine { rates, ..machine }).seconds;
            (columns, (took - other).max(LEAST_PICKING * took) * cluster.workers as f64 / nonzeros as f64)
        };
        Picking::from_two([of(COLUMNS[0], &narrow), of(COLUMNS[1], &wide)])
    };
    Ok(Rates { sparse_near: picking(0, rows(128 << 10)), sparse_far: picking(1, rows(512 << 10)), ..rates })
}

fn random(rows: usize, cols: usize, nonzeros: usize) -> Matrix {
    let draw = |n: usize, axis: u32, below: usize| (bits(1, stream::SYNTHETIC, n as u64, axis) % below as u64) as u32;
    let mut places: Vec<_> = (0..nonzeros).map(|n| (draw(n, 0, rows), draw(n, 1, cols))).collect();
    places.sort_unstable();
    places.dedup();
    let sparse = Sparse::from_triplets(rows, cols, places, None).expect("drawn places are inside");
    Matrix::sparse("A", Arc::new(sparse))
}
