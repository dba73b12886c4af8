use std::sync::Arc;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::engine::codec::tests::over_the_wire;
use crate::engine::local_mesh::meshes;
use crate::engine::mesh::Mesh;
use crate::engine::{Cluster, Transport, run};
use crate::graph::Sparse;
use crate::kernel::random::{bits, stream};
use crate::matrix::{Dense, Matrix};
use crate::plan::cost::Machine;
use crate::plan::{Program, Side};

const COLS: usize = 5;

/// Every entry is its position in the panel.
fn shard(total: usize, rows: std::ops::Range<usize>) -> Shard {
    let mut buffer = Pool::default().take(rows.len() * stride(COLS));
    buffer.iter_mut().enumerate().for_each(|(place, number)| *number = (rows.start * stride(COLS) + place) as f32);
    Shard::new(total, rows.into(), COLS, Arc::new(buffer))
}

fn arrived(block: Block) -> Block {
    match over_the_wire(&Message::local(Payload::Block(block))).payload {
        Payload::Block(block) => block,
        _ => unreachable!("a block was sent"),
    }
}

proptest! {
    /// Packed rows are unpacked to their positions, in any order of arrival; all other rows are
    /// NaN. A block that is missing or arrives twice is an error.
    #[test]
    fn rows_come_back_to_their_places(
        cuts in proptest::collection::vec(0usize..30_000, 1..4),
        every in prop_oneof![1usize..50, Just(100_000)],
        order in any::<u64>(),
    ) {
        let (mut cuts, total) = (cuts, 30_000);
        cuts.extend([0, total]);
        cuts.sort_unstable();
        let ranges: Vec<_> = cuts.windows(2).map(|pair| pair[0]..pair[1]).collect();
        let is_needed = |row: usize| bits(order, stream::SYNTHETIC, row as u64, 0).is_multiple_of(every as u64);
        let rows_of = |range: &std::ops::Range<usize>| -> Vec<u32> {
            range.clone().filter(|&row| is_needed(row)).map(|row| row as u32).collect()
        };
        let mut pool = Pool::default();
        let mut blocks = Vec::new();
        for range in &ranges {
            let shard = shard(total, range.clone());
            blocks.extend(chunks(&shard, &rows_of(range)).map(|rows| arrived(pack(&shard, rows, &mut pool))));
        }
        let rotation = order as usize % blocks.len();
        blocks.rotate_left(rotation);
        let partner = |(worker, range): (usize, &std::ops::Range<usize>)| Partner {
            worker,
            owned: range.clone().into(),
            sent: Vec::new(),
            received: rows_of(range),
        };
        let needs = RowExchange { total_rows: total, partners: ranges.iter().enumerate().map(partner).collect() };
        let shards = unpack(blocks.clone(), &needs, &mut pool, 0, "here").unwrap();
        prop_assert_eq!(shards.len(), ranges.len());
        for (got, range) in shards.iter().zip(&ranges) {
            prop_assert_eq!((got.rows(), got.cols()), (&range.clone().into(), COLS));
            let (got, expected) = (got.panel(), shard(total, range.clone()));
            for (place, row) in range.clone().enumerate() {
                match is_needed(row) {
                    true => prop_assert_eq!(got.row(place), expected.panel().row(place)),
                    false => prop_assert!(got.row(place).iter().all(|number| number.is_nan())),
                }
            }
        }
        let place = blocks.iter().position(|block| block.rows > 0);
        if let Some(place) = place {
            let twice = [&blocks[..], &blocks[place..place + 1]].concat();
            blocks.remove(place);
            for wrong in [twice, blocks] {
                let is_noticed =
                    matches!(unpack(wrong, &needs, &mut pool, 0, "here"), Err(EngineError::BlocksMissing { .. }));
                prop_assert!(is_noticed);
            }
        }
    }
}

/// A matrix of which most columns are empty in any part of its rows, and some rows of which are
/// long.
fn sparse(rows: usize, cols: usize, nonzeros: usize, weighted: bool) -> Matrix {
    let draw = |n: usize, axis: u32, below: usize| {
        let unit = (bits(7, stream::SYNTHETIC, n as u64, axis) % (1 << 20)) as f64 / f64::from(1 << 20);
        (unit.powi(3) * below as f64) as u32
    };
    let mut entries: Vec<_> = (0..nonzeros).map(|n| (draw(n, 0, rows), draw(n, 1, cols))).collect();
    entries.sort_unstable();
    entries.dedup();
    let values = weighted.then(|| (0..entries.len()).map(|place| 0.5 + (place % 7) as f32).collect());
    Matrix::sparse("A", Arc::new(Sparse::from_triplets(rows, cols, entries, values).unwrap()))
}

fn diagonal(name: &str, rows: usize) -> Matrix {
    Matrix::diagonal(name, (0..rows).map(|row| 0.25 + (row % 5) as f32).collect()).unwrap()
}

/// Matrices whose programs read a value by one sparse matrix, by several, and by other steps.
fn matrices() -> Vec<Matrix> {
    let (a, b) = (sparse(3000, 3000, 2500, true), sparse(3000, 1700, 1500, false));
    let (d, e) = (diagonal("d", 3000), diagonal("e", 3000));
    let scaled = &d * &a * &e;
    let polynomial = scaled.polynomial(&[0.5, 0.25, 0.125, 0.125]);
    let dense = Dense::new(3000, 40, (0..120_000).map(|place| (place % 11) as f32 - 5.0).collect()).unwrap();
    let few: Vec<usize> = (0..900).map(|row| (row * 37) % 3000).collect();
    vec![
        polynomial - Matrix::ones(3000, 3000) * 0.01,
        &a + (&a * &d).t() + &b * b.t(),
        &a * Matrix::dense("X", dense).unwrap(),
        scaled.rows(&few),
        // The transpose reads a short panel in the first rows alone, those of one process.
        scaled.rows(&(0..140).collect::<Vec<_>>()),
    ]
}

/// Multiplies some panels on every process of a mesh, or on the threads of this one.
fn products(
    programs: &[Arc<Program>],
    meshes: &[Option<&'static Mesh>],
    workers: usize,
    transport: Transport,
) -> Vec<Dense> {
    let all: Vec<_> = meshes
        .iter()
        .map(|&mesh| {
            let (cluster, programs) = (Cluster { mesh, transport, ..Cluster::threads(workers) }, programs.to_vec());
            let rows: Vec<usize> = programs.iter().map(|program| program.input_rows()).collect();
            thread::spawn(move || {
                run(cluster, programs, move |session| {
                    let mut found = Vec::new();
                    for (number, &rows) in rows.iter().enumerate() {
                        for cols in [3, 64] {
                            let panel = session.random_normal(rows, cols, number as u64, stream::START_BLOCK)?;
                            let product = session.multiply(number, &panel)?;
                            found.push(session.collect(&product)?.unwrap_or_default());
                        }
                    }
                    Ok::<_, EngineError>(found)
                })
            })
        })
        .collect();
    let mut all: Vec<Vec<Dense>> = all.into_iter().map(|one| one.join().unwrap().unwrap()).collect();
    let first = all.remove(0);
    for other in all {
        assert!(other == first, "all processes have the same");
    }
    first
}

/// Rows that are not needed are NaN here, so that a step that reads one has another result.
#[test]
fn products_do_not_depend_on_the_rows_exchanged() {
    let compiled =
        |matrix: &Matrix| [Side::Plain, Side::Transposed].map(|side| Arc::new(Program::compile(matrix, side)));
    let programs: Vec<_> = matrices().iter().flat_map(compiled).collect();
    let machine = Machine { processes: 3, ..Machine::REFERENCE };
    let is_selective = |program: &Arc<Program>| {
        let values = program.readers().len() * 2 * program.input_rows().max(program.output_rows());
        program.estimate(8, &machine).network_bytes < (values * 8 * 4) as u64 / 2
    };
    assert!(
        programs.iter().filter(|program| is_selective(program)).count() >= 4,
        "few rows are needed in most of them"
    );
    let expected = products(&programs, &[None], 1, Transport::Pointers);
    for (processes, workers, transport) in [
        (2, 1, Transport::Pointers),
        (2, 2, Transport::Pointers),
        (2, 2, Transport::Bytes),
        (3, 1, Transport::Pointers),
    ] {
        let meshes = meshes(processes).into_iter().map(Some).collect::<Vec<_>>();
        let found = products(&programs, &meshes, workers, transport);
        assert!(found == expected, "{processes} × {workers}");
        meshes.into_iter().flatten().for_each(Mesh::leave);
    }
}
