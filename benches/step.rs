//! A complete iteration step on timely workers, compared with the sum of its kernels:
//! `cargo bench --bench step`.
//!
//! A step consists of a product with A (including the all-gather), the Gram matrix with its
//! all-reduce, its factorisation, and the division of the block by the factor. Two processes with
//! one worker each, this one and a copy of it, also run the steps over the loopback interface.

mod common;

use std::sync::Arc;
use std::time::Instant;

use common::{graphs, other, timing};
use isvd_dist::engine::{Cluster, EngineError, Session, Shard, Transport, run};
use isvd_dist::experiment::memory;
use isvd_dist::graph::Sparse;
use isvd_dist::matrix::Matrix;
use isvd_dist::plan::cost::Machine;
use isvd_dist::plan::{Program, Side};
use isvd_kernel::factor::{factor, scale_to_unit};
use isvd_kernel::random::{fill_normal, stream};
use isvd_kernel::spmm::{Factors, Operand, Segments, spmm};
use isvd_kernel::{self as kernel, Buffer, Panel, PanelMut, gemm, gram};

const NODES: usize = 200_000;
const DRAWN: usize = 4_000_000;
const COLS: usize = 64;
const ROUNDS: usize = 7;
const STEPS: usize = 3;

fn main() {
    kernel::configure();
    let graphs = [("random", graphs::random(NODES, DRAWN, 1)), ("R-MAT", graphs::rmat(NODES, DRAWN, 1))];
    let graphs = graphs.map(|(name, sparse)| (name, Arc::new(sparse)));
    let program = |sparse: &Arc<Sparse>| Arc::new(Program::compile(&Matrix::sparse("A", sparse.clone()), Side::Plain));
    if let Some(mesh) = other::as_second() {
        let cluster = Cluster { mesh: Some(mesh), ..Cluster::threads(1) };
        // As many rounds as the first process, and one to warm up.
        graphs.iter().flat_map(|graph| vec![graph; ROUNDS + 1]).for_each(|(_, sparse)| {
            on_workers(&program(sparse), cluster);
        });
        return mesh.leave();
    }
    println!(
        "{NODES} rows, {COLS} columns, a step = product, Gram matrix, factor, division; best of {ROUNDS} runs of {STEPS}"
    );
    // First, while the process has no other memory of its own.
    graphs.iter().for_each(|(name, sparse)| peak_memory(name, sparse));
    let (mesh, _second) = other::as_first();
    let two_processes = Cluster { mesh: Some(mesh), ..Cluster::threads(1) };
    for (name, sparse) in &graphs {
        let sent_before = mesh.bytes_sent();
        let steps = |workers, transport| {
            let program = program(sparse);
            move || on_workers(&program, Cluster { transport, ..Cluster::threads(workers) })
        };
        let mut kernels = Kernels::new(sparse);
        // Steps are measured by the engine, without starting threads and building dataflows.
        let contenders: Vec<timing::Contender> = vec![
            ("1 worker", Box::new(steps(1, Transport::Pointers))),
            ("the kernels alone, one thread", Box::new(move || kernels.steps())),
            ("2 workers, pointers", Box::new(steps(2, Transport::Pointers))),
            ("2 workers, bytes", Box::new(steps(2, Transport::Bytes))),
            ("8 workers, pointers", Box::new(steps(8, Transport::Pointers))),
            ("2 processes, raw bytes", Box::new(|| on_workers(&program(sparse), two_processes))),
        ];
        let times = timing::by_turns(ROUNDS, contenders);
        timing::print(&format!("one step, {name}, {} non-zeros", sparse.nonzeros()), &times);
        println!("{:<44} {:>32.2}", "1 worker / its kernels (goal: at most 1.25)", times[0].best() / times[1].best());
        println!("{:<44} {:>32.2}", "1 worker / 2 workers (goal: at least 1.6)", times[0].best() / times[2].best());
        println!("{:<44} {:>32.2}", "2 processes / 2 workers (goal: at most 1.6)", times[5].best() / times[2].best());
        let steps = (ROUNDS + 1) * (STEPS + 1);
        let sent = (mesh.bytes_sent() - sent_before) as f64 / steps as f64;
        let machine = Machine { processes: 2, ..Machine::REFERENCE };
        let planned = program(sparse).estimate(COLS, &machine).network_bytes as f64 / 2.0;
        println!("{:<44} {:>32.3}", "bytes sent / planned (goal: at most 1.05)", sent / planned);
    }
}

/// Seconds of one step on timely workers, steps after the first.
fn on_workers(program: &Arc<Program>, cluster: Cluster) -> f64 {
    let seconds: Result<f64, EngineError> = run(cluster, vec![program.clone()], |session| {
        let mut block = session.random_normal(NODES, COLS, 1, stream::START_BLOCK)?;
        block = step(session, block)?;
        let start = Instant::now();
        for _ in 0..STEPS {
            block = step(session, block)?;
        }
        Ok(start.elapsed().as_secs_f64() / STEPS as f64)
    });
    seconds.expect("the step works")
}

fn step(session: &mut Session<'_>, block: Shard) -> Result<Shard, EngineError> {
    let product = session.multiply(0, &block)?;
    drop(block);
    let divisor = divisor(session.gram(&product)?);
    session.times_small(&product, &divisor, COLS)
}

/// The matrix that makes a block with this Gram matrix orthonormal.
fn divisor(mut gram: Vec<f64>) -> Vec<f32> {
    let inverse_norms = scale_to_unit(&mut gram, COLS);
    let factor = factor(&gram, COLS, 0.0, 0.0).expect("a finite Gram matrix");
    let rows = factor.orthonormaliser();
    let scaled = rows.chunks_exact(COLS).zip(inverse_norms);
    scaled.flat_map(|(row, inverse)| row.iter().map(move |entry| (entry * inverse) as f32)).collect()
}

/// The kernels of a step without workers around them.
struct Kernels {
    sparse: Arc<Sparse>,
    block: Buffer,
    product: Buffer,
    multiply_scratch: Buffer,
    gram_scratch: gram::Scratch,
    gemm_scratch: gemm::Scratch,
}

impl Kernels {
    fn new(sparse: &Arc<Sparse>) -> Self {
        let mut block = Buffer::zeroed(NODES * kernel::stride(COLS));
        fill_normal(1, stream::START_BLOCK, 0, PanelMut::new(NODES, COLS, &mut block));
        let product = Buffer::zeroed(block.len());
        let (multiply_scratch, gram_scratch, gemm_scratch) = Default::default();
        Self { sparse: sparse.clone(), block, product, multiply_scratch, gram_scratch, gemm_scratch }
    }

    /// Seconds of one step.
    fn steps(&mut self) -> f64 {
        let start = Instant::now();
        for _ in 0..STEPS {
            self.step();
        }
        start.elapsed().as_secs_f64() / STEPS as f64
    }

    fn step(&mut self) {
        let tiling = self.sparse.tiling();
        let rows = Segments::whole(Panel::new(NODES, COLS, &self.block));
        let scratch = &mut self.multiply_scratch;
        let operand = Operand::new((0..tiling.count()).map(|tile| self.sparse.tile(tile)), None);
        spmm(&operand, &rows, &Factors::default(), None, &mut self.product, scratch);
        let mut sum = vec![0.0; COLS * COLS];
        let mut of_tile = vec![0.0; COLS * COLS];
        let place = |tile| {
            let rows = tiling.range(tile);
            (rows.len(), rows.start * COLS..rows.end * COLS)
        };
        for tile in 0..tiling.count() {
            let (rows, place) = place(tile);
            gram::gram(Panel::new(rows, COLS, &self.product[place]), &mut of_tile, &mut self.gram_scratch);
            sum.iter_mut().zip(&of_tile).for_each(|(sum, value)| *sum += value);
        }
        let divisor = divisor(sum);
        for tile in 0..tiling.count() {
            let (rows, place) = place(tile);
            let product = Panel::new(rows, COLS, &self.product[place.clone()]);
            let block = PanelMut::new(rows, COLS, &mut self.block[place]);
            gemm::multiply_small(product, &divisor, block, &mut self.gemm_scratch);
        }
    }
}

/// The peak memory of the steps, compared with the matrix and three panels.
fn peak_memory(name: &str, sparse: &Arc<Sparse>) {
    let program = Arc::new(Program::compile(&Matrix::sparse("A", sparse.clone()), Side::Plain));
    let needed = sparse.bytes() + 3 * NODES * kernel::stride(COLS) * size_of::<f32>();
    for workers in [1, 2] {
        if std::fs::write("/proc/self/clear_refs", "5").is_err() {
            println!("peak memory of a step: not measured here, the system keeps no such figure");
            return;
        }
        on_workers(&program, Cluster::threads(workers));
        let Some(peak) = memory::peak_bytes() else { return };
        let ratio = peak as f64 / needed as f64;
        println!(
            "peak memory, {name}, {workers} workers: {} MB, {ratio:.2} times A and three panels ({} MB; goal: at most 1.5)",
            peak >> 20,
            needed >> 20
        );
    }
}
