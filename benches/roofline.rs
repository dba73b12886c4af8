//! Kernels compared with memory bandwidth: `cargo bench --bench roofline`.
//!
//! STREAM's triad (a = b + 3·c over arrays larger than the caches) takes turns with the kernels, on
//! one thread and on two. Bytes are counted as by STREAM: reads and writes, without cache lines
//! that are fetched before writing.
//!
//! The traffic of a sparse product is counted in two ways. *Must*: the matrix and the panel are
//! read once, and the result is written once. *Moved*: in addition, a row of the result is read and
//! written for every further strip in which this row has entries. Repeated reads of panel rows from
//! the shared cache are not counted, although they take most of the time.

mod common;

use std::cell::RefCell;
use std::hint::black_box;
use std::mem;
use std::ops::Range;

use common::timing::{Contender, Times, clocked};
use common::{graphs, timing};
use isvd_dist::graph::{Sparse, Tiling};
use isvd_kernel::random::{fill_normal, stream};
use isvd_kernel::spmm::{Factors, Operand, Segments, spmm};
use isvd_kernel::{self as kernel, Buffer, Panel, PanelMut, gemm, gram};

const NODES: usize = 200_000;
const DRAWN: usize = 4_000_000;
const ROUNDS: usize = 9;
/// Numbers of an array of STREAM (128 MiB).
const STREAM: usize = 16 << 20;
const THREADS: [usize; 2] = [1, 2];

fn main() {
    kernel::configure();
    println!(
        "{NODES} rows; best of {ROUNDS}; the share is the time that STREAM takes for the bytes over the time taken"
    );
    let graphs = [("random", graphs::random(NODES, DRAWN, 1)), ("R-MAT", graphs::rmat(NODES, DRAWN, 1))];
    for threads in THREADS {
        for cols in [16, 64] {
            table(threads, cols, &graphs);
        }
    }
}

/// A kernel: its name, the bytes that it must move, and the bytes that it moves.
struct Step {
    name: String,
    must: usize,
    moved: usize,
}

fn table(threads: usize, cols: usize, graphs: &[(&str, Sparse)]) {
    let panel = NODES * kernel::stride(cols) * size_of::<f32>();
    let mut x = Buffer::zeroed(NODES * kernel::stride(cols));
    fill_normal(1, stream::SYNTHETIC, 0, PanelMut::new(NODES, cols, &mut x));
    let y = RefCell::new(Buffer::zeroed(x.len()));
    let mut triad = Triad::new(threads);
    let mut steps = vec![Step::once("STREAM triad", 3 * STREAM * size_of::<f64>())];
    let mut contenders: Vec<Contender> = vec![("", clocked(|| triad.run()))];
    for (name, sparse) in graphs {
        let must = sparse.bytes() + 2 * panel;
        let again = 2 * panel_bytes(sparse.runs().saturating_sub(NODES), cols);
        steps.push(Step { name: format!("sparse product, {name}"), must, moved: must + again });
        let mut scratch: Vec<Buffer> = (0..threads).map(|_| Buffer::default()).collect();
        let shares = shares(sparse.tiling(), threads, |tile| sparse.tile_nonzeros(tile));
        let (x, y) = (&x, &y);
        contenders.push((
            "",
            clocked(move || {
                let mut y = y.borrow_mut();
                over_rows(sparse.tiling(), &shares, cols, &mut y, &mut scratch, |tiles, y, scratch| {
                    let rows = Segments::whole(Panel::new(NODES, cols, x));
                    let operand = Operand::new(tiles.map(|tile| sparse.tile(tile)), None);
                    spmm(&operand, &rows, &Factors::default(), None, y, scratch);
                });
            }),
        ));
    }
    let tiling = Tiling::new(NODES);
    let even = shares(tiling, threads, |tile| tiling.range(tile).len());
    steps.push(Step::once("Gram matrix", panel));
    let mut scratch: Vec<(gram::Scratch, Vec<f64>)> =
        (0..threads).map(|_| (gram::Scratch::default(), vec![0.0; cols * cols])).collect();
    let (shares, from) = (even.clone(), &x);
    // Gram matrices write nothing, but their rows are distributed like those of a result.
    let unwritten = &y;
    contenders.push((
        "",
        clocked(move || {
            let mut y = unwritten.borrow_mut();
            over_rows(tiling, &shares, cols, &mut y, &mut scratch, |tiles, _, (scratch, sums)| {
                for tile in tiles {
                    gram::gram(panel_of(from, tiling.range(tile), cols), sums, scratch);
                    black_box(&sums);
                }
            });
        }),
    ));
    steps.push(Step::once("panel times a small matrix", 2 * panel));
    let mut scratch: Vec<gemm::Scratch> = (0..threads).map(|_| gemm::Scratch::default()).collect();
    let small: Vec<f32> = (0..cols * cols).map(|entry| (entry % 7) as f32).collect();
    let (y, shares) = (&y, even);
    contenders.push((
        "",
        clocked(move || {
            let mut y = y.borrow_mut();
            over_rows(tiling, &shares, cols, &mut y, &mut scratch, |tiles, y, scratch| {
                let first = tiling.range(tiles.start).start;
                for tile in tiles {
                    let rows = tiling.range(tile);
                    let width = kernel::stride(cols);
                    let place = (rows.start - first) * width..(rows.end - first) * width;
                    let out = PanelMut::new(rows.len(), cols, &mut y[place]);
                    gemm::multiply_small(panel_of(from, rows, cols), &small, out, scratch);
                }
            });
        }),
    ));
    print(threads, cols, &steps, &timing::by_turns(ROUNDS, contenders));
}

impl Step {
    /// A kernel that reads and writes everything once.
    fn once(name: &str, bytes: usize) -> Self {
        Self { name: name.into(), must: bytes, moved: bytes }
    }
}

fn print(threads: usize, cols: usize, steps: &[Step], times: &[Times]) {
    let rate = steps[0].moved as f64 / times[0].best();
    println!("\nthreads: {threads}, {cols} columns, STREAM {:.1} GB/s", rate / 1e9);
    println!(
        "{:<30} {:>8} {:>9} {:>9} {:>7} {:>11} {:>12}",
        "", "ms", "must MB", "moved MB", "GB/s", "share, must", "share, moved"
    );
    for (step, time) in steps.iter().zip(times) {
        let share = |bytes: usize| 100.0 * bytes as f64 / rate / time.best();
        println!(
            "{:<30} {:>8.1} {:>9.1} {:>9.1} {:>7.1} {:>9.0} % {:>10.0} %",
            step.name,
            1e3 * time.best(),
            step.must as f64 / 1e6,
            step.moved as f64 / 1e6,
            step.moved as f64 / time.best() / 1e9,
            share(step.must),
            share(step.moved)
        );
    }
}

fn panel_bytes(rows: usize, cols: usize) -> usize {
    rows * kernel::stride(cols) * size_of::<f32>()
}

fn panel_of(panel: &[f32], rows: Range<usize>, cols: usize) -> Panel<'_> {
    let width = kernel::stride(cols);
    Panel::new(rows.len(), cols, &panel[rows.start * width..rows.end * width])
}

/// Consecutive tiles for each thread, of about the same work.
fn shares(tiling: Tiling, threads: usize, work: impl Fn(usize) -> usize) -> Vec<Range<usize>> {
    let total: usize = (0..tiling.count()).map(&work).sum();
    let mut done = 0;
    let mut ends = vec![0; threads + 1];
    for tile in 0..tiling.count() {
        done += work(tile);
        ends[(done * threads).div_ceil(total.max(1)).clamp(1, threads)] = tile + 1;
    }
    ends.windows(2).map(|ends| ends[0]..ends[1]).collect()
}

/// Gives every thread its tiles, its rows of the result and its scratch space.
fn over_rows<S: Send>(
    tiling: Tiling,
    shares: &[Range<usize>],
    cols: usize,
    mut y: &mut [f32],
    scratch: &mut [S],
    work: impl Fn(Range<usize>, &mut [f32], &mut S) + Sync,
) {
    std::thread::scope(|scope| {
        for (place, (share, scratch)) in shares.iter().zip(scratch).enumerate() {
            let (own, rest) =
                mem::take(&mut y).split_at_mut(tiling.rows_of(share.clone()).len() * kernel::stride(cols));
            y = rest;
            let (work, share) = (&work, share.clone());
            if place + 1 == shares.len() {
                work(share, own, scratch);
            } else {
                scope.spawn(move || work(share, own, scratch));
            }
        }
    });
}

/// STREAM's triad.
struct Triad {
    threads: usize,
    arrays: [Vec<f64>; 3],
}

impl Triad {
    fn new(threads: usize) -> Self {
        Self { threads, arrays: [vec![0.0; STREAM], vec![1.0; STREAM], vec![2.0; STREAM]] }
    }

    fn run(&mut self) {
        let part = STREAM.div_ceil(self.threads);
        let [a, b, c] = &mut self.arrays;
        std::thread::scope(|scope| {
            for ((a, b), c) in a.chunks_mut(part).zip(b.chunks(part)).zip(c.chunks(part)) {
                scope.spawn(move || {
                    a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = b + 3.0 * c);
                });
            }
        });
        black_box(&self.arrays);
    }
}
