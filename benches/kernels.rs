//! Kernels compared with other libraries: `cargo bench --bench kernels`.

mod common;

use std::cell::RefCell;
use std::hint::black_box;
use std::ops::Range;
use std::process::Command;

use common::timing::clocked;
use common::{graphs, timing};
use isvd_dist::graph::{Sparse, Tiling};
use isvd_kernel::random::{fill_normal, stream};
use isvd_kernel::spmm::{Factors, Operand, Segments, spmm, spmm_with};
use isvd_kernel::{self as kernel, Buffer, Panel, PanelMut, Simd, factor, gemm, gram};

const NODES: usize = 200_000;
const DRAWN: usize = 4_000_000;
const COLS: usize = 64;
const ROUNDS: usize = 9;

fn main() {
    kernel::configure();
    println!("{NODES} rows, one thread unless stated; ratio: times the first line, best of {ROUNDS}");
    sparse_products("random", &graphs::random(NODES, DRAWN, 1), COLS);
    let rmat = graphs::rmat(NODES, DRAWN, 1);
    sparse_products("R-MAT", &rmat, COLS);
    sparse_products("R-MAT", &rmat, 200);
    orthonormalise();
    build(&rmat);
    let mut block = panel();
    let fill = || fill_normal(2, stream::START_BLOCK, 0, PanelMut::new(NODES, COLS, &mut block));
    timing::print("start block", &timing::by_turns(3, vec![("normal numbers, 64 columns", clocked(fill))]));
}

fn panel() -> Buffer {
    let mut data = Buffer::zeroed(NODES * kernel::stride(COLS));
    fill_normal(1, stream::SYNTHETIC, 0, PanelMut::new(NODES, COLS, &mut data));
    data
}

fn sparse_products(name: &str, sparse: &Sparse, cols: usize) {
    let mut x = Buffer::zeroed(NODES * cols);
    fill_normal(1, stream::SYNTHETIC, 0, PanelMut::new(NODES, cols, &mut x));
    let rows = Segments::whole(Panel::new(NODES, cols, &x));
    let tiles = sparse.tiling().count();
    let half = |t: &usize| (0..*t).map(|t| sparse.tile_nonzeros(t)).sum::<usize>() >= sparse.nonzeros() / 2;
    let middle = (0..tiles).find(half).unwrap_or(tiles);
    let cut = sparse.tiling().rows_of(0..middle).end * cols;
    let y = RefCell::new(Buffer::zeroed(NODES * cols));
    let scratch = RefCell::new((Buffer::default(), Buffer::default()));
    let scale: Vec<f32> = (0..NODES).map(|i| 1.0 / (1 + i % 7) as f32).collect();
    let both = Factors { alpha: 2.0, left: Some(&scale), right: Some(&scale) };
    let operand = |tiles: Range<usize>| Operand::new(tiles.map(|tile| sparse.tile(tile)), None);
    let ours = |simd, factors: Factors| {
        let scratch = &mut scratch.borrow_mut().0;
        spmm_with(simd, &operand(0..tiles), &rows, &factors, None, &mut y.borrow_mut(), scratch);
    };
    let two_threads = || {
        let (mut y, mut scratch) = (y.borrow_mut(), scratch.borrow_mut());
        let (upper, lower) = y.split_at_mut(cut);
        let (first, second) = &mut *scratch;
        std::thread::scope(|scope| {
            scope.spawn(|| spmm(&operand(0..middle), &rows, &Factors::default(), None, upper, first));
            spmm(&operand(middle..tiles), &rows, &Factors::default(), None, lower, second);
        });
    };
    let csr = to_sprs(sparse);
    let dense = ndarray::ArrayView2::from_shape((NODES, cols), &x).expect("a panel without padding");
    let mut result = ndarray::Array2::<f32>::zeros((NODES, cols));
    let sprs = || {
        sprs_product(&csr, dense, &mut result);
    };
    let times = timing::by_turns(
        ROUNDS,
        vec![
            ("SpMM, ours", clocked(|| ours(Simd::best(), Factors::default()))),
            ("SpMM, ours, two threads", clocked(two_threads)),
            ("SpMM, ours, a diagonal on both sides", clocked(|| ours(Simd::best(), both))),
            ("SpMM, ours, portable", clocked(|| ours(Simd::portable(), Factors::default()))),
            ("SpMM, sprs", clocked(sprs)),
        ],
    );
    timing::print(&format!("{name} graph, {} non-zeros, {cols} columns", sparse.nonzeros()), &times);
    println!("two threads are {:.2} times one", times[0].best() / times[1].best());
}

fn build(sparse: &Sparse) {
    let mut entries = Vec::with_capacity(sparse.nonzeros());
    sparse.for_each(|row, col, _| entries.push((col as u32, row as u32)));
    let weights = vec![0.5; entries.len()];
    let tiles = |values| drop(black_box(Sparse::from_triplets(NODES, NODES, entries.clone(), values)));
    let times = timing::by_turns(
        3,
        vec![
            ("pattern", clocked(|| tiles(None))),
            ("weighted", clocked(|| tiles(Some(weights.clone())))),
            ("pairs mirrored", clocked(|| drop(black_box(Sparse::symmetric_from_pairs(NODES, entries.clone(), None))))),
        ],
    );
    timing::print(&format!("tiles from {} entries", entries.len()), &times);
    println!("{:.2} bytes a non-zero", sparse.bytes() as f64 / sparse.nonzeros() as f64);
}

/// A separate function, so that its optimisation does not depend on other measurements.
#[inline(never)]
fn sprs_product(csr: &sprs::CsMatI<f32, u32>, x: ndarray::ArrayView2<f32>, y: &mut ndarray::Array2<f32>) {
    y.fill(0.0);
    sprs::prod::csr_mulacc_dense_rowmaj(csr.view(), x, y.view_mut());
}

fn to_sprs(sparse: &Sparse) -> sprs::CsMatI<f32, u32> {
    let mut starts = vec![0u32; sparse.rows() + 1];
    sparse.for_each(|row, _, _| starts[row + 1] += 1);
    (0..sparse.rows()).for_each(|row| starts[row + 1] += starts[row]);
    let mut next = starts.clone();
    let (mut columns, mut values) = (vec![0; sparse.nonzeros()], vec![0.0; sparse.nonzeros()]);
    sparse.for_each(|row, col, value| {
        let at = next[row] as usize;
        (columns[at], values[at]) = (col as u32, value);
        next[row] += 1;
    });
    sprs::CsMatI::new((sparse.rows(), sparse.cols()), starts, columns, values)
}

fn orthonormalise() {
    let x = panel();
    let a = Panel::new(NODES, COLS, &x);
    let tiling = Tiling::new(NODES);
    let tile = |t: usize| {
        let range = tiling.range(t);
        Panel::new(range.len(), COLS, &x[range.start * COLS..range.end * COLS])
    };
    let out = RefCell::new(Buffer::zeroed(x.len()));
    let scratch = RefCell::new((gram::Scratch::default(), gemm::Scratch::default()));
    let gram_of_tiles = || {
        let mut sum = vec![0.0; COLS * COLS];
        let mut part = vec![0.0; COLS * COLS];
        for t in 0..tiling.count() {
            gram::gram(tile(t), &mut part, &mut scratch.borrow_mut().0);
            sum.iter_mut().zip(&part).for_each(|(s, p)| *s += p);
        }
        sum
    };
    let apply = |matrix: &[f64]| {
        let matrix: Vec<f32> = matrix.iter().map(|&v| v as f32).collect();
        let out = &mut out.borrow_mut();
        gemm::multiply_small(a, &matrix, PanelMut::new(NODES, COLS, out), &mut scratch.borrow_mut().1);
    };
    let cholesky = || {
        let mut gram = gram_of_tiles();
        let scale = factor::scale_to_unit(&mut gram, COLS);
        let factor = factor::cholesky(&gram, COLS).expect("finite numbers");
        let mut matrix = factor.orthonormaliser();
        matrix.chunks_exact_mut(COLS).zip(&scale).for_each(|(row, s)| row.iter_mut().for_each(|v| *v *= s));
        apply(&matrix);
    };
    let mut times = timing::by_turns(
        ROUNDS,
        vec![
            ("Cholesky, ours (f64 Gram, factor, apply)", clocked(cholesky)),
            ("  its Gram matrix", clocked(|| drop(black_box(gram_of_tiles())))),
            ("  its product with the inverse", clocked(|| apply(&upper_ones()))),
        ],
    );
    times.extend(numpy("float32"));
    times.extend(numpy("float64"));
    timing::print(&format!("orthonormal columns of {NODES} × {COLS}"), &times);
}

fn upper_ones() -> Vec<f64> {
    (0..COLS * COLS).map(|i| if i / COLS <= i % COLS { 0.01 } else { 0.0 }).collect()
}

/// The kernels of NumPy on one thread, with the Gram matrix in the given type.
fn numpy(gram: &str) -> Option<timing::Times> {
    let script = format!(
        "import numpy as np, time\n\
         X = np.random.default_rng(1).standard_normal(({NODES}, {COLS})).astype(np.float32)\n\
         for _ in range({ROUNDS}):\n\
         \x20   Q = X.copy(); t = time.perf_counter()\n\
         \x20   Q /= np.linalg.norm(Q, axis=0)\n\
         \x20   P = Q.astype(np.{gram}, copy=False)\n\
         \x20   L = np.linalg.cholesky(P.T @ P)\n\
         \x20   Q = Q @ np.linalg.inv(L).T.astype(np.float32)\n\
         \x20   print(time.perf_counter() - t)\n"
    );
    let output = Command::new("python3").args(["-c", &script]).env("OPENBLAS_NUM_THREADS", "1").output();
    let runs: Option<Vec<f64>> = output
        .ok()
        .filter(|o| o.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok()?.lines().map(|line| line.parse().ok()).collect());
    if runs.is_none() {
        println!("numpy ({gram}) is not installed: skipped");
    }
    runs.map(|runs| timing::Times::measured(&format!("Cholesky, numpy ({gram} Gram)"), runs))
}
