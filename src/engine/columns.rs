//! Small products by columns: a worker takes some of the columns through the whole program.
//!
//! On a small matrix a step is done sooner than the news of it reaches the other workers. Columns never mix in most
//! programs, so every worker can take a few of them from the first step to the last without waiting for anybody, in panels
//! that stay in its own cache. Workers meet twice: to get all rows of their columns, and to get all columns of their rows.
//! A column goes through the same kernels, tile by tile, and its sums along the same tree, so the bits are those of the
//! product by rows.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use timely::dataflow::Scope;
use timely::worker::Worker;

use super::collective::{all_gather, exchange_columns};
use super::compile::{Flow, flow};
use super::error::EngineError;
use super::operator::local;
use super::parcel::{Block, Partial, Payload, Reduced, Whole};
use super::settled::Settled;
use super::shard::Shard;
use super::step::{Access, Context, compute, reads};
use super::trace;
use super::tree::Tree;
use crate::kernel::elementwise::all_finite;
use crate::kernel::panel::{copy_row, stride};
use crate::kernel::{LANES, Simd};
use crate::plan::{Action, Layouts, Program, Value};

/// Numbers that the largest sparse product picks, up to which a worker takes whole columns: beyond, to go over the entries of
/// the matrix once for each worker takes longer than to wait for the others.
const MOST_PICKED: usize = 4 << 20;
/// Bytes of a panel up to which a worker takes whole columns: beyond, they do not stay in its cache.
const MOST_BYTES: usize = 2 << 20;

/// A program for a worker alone.
pub(super) struct Solo {
    /// Beside each step of the program.
    turns: Vec<Turn>,
    /// Of the largest product.
    nonzeros: usize,
    /// The most rows of a value.
    rows: usize,
    /// For panels as they come.
    plain: Setting,
    /// For panels in the order of the ladder of its matrix, if there is one; once somebody asked for it.
    settled: OnceCell<Option<Setting>>,
}

/// A program, and what its steps share.
struct Setting {
    program: Arc<Program>,
    context: Context,
}

/// What there is to know of a step.
struct Turn {
    name: String,
    reads: Vec<(Value, Access)>,
    /// What nobody reads after it.
    done: Vec<Value>,
}

impl Solo {
    /// `None` if columns mix, or if the bits of a column depend on which others are beside it.
    pub(super) fn new(program: &Arc<Program>, context: &Context) -> Option<Self> {
        let (mut nonzeros, mut rows) = (0, program.input_rows());
        for step in program.steps() {
            rows = rows.max(step.rows);
            match &step.action {
                Action::Sparse { matrix, .. } => nonzeros = nonzeros.max(matrix.nonzeros()),
                Action::ColumnSums { .. } | Action::RankOne { .. } | Action::Combine { .. } => {}
                _ => return None,
            }
        }
        let reads: Vec<Vec<(Value, Access)>> = program.steps().iter().map(reads).collect();
        let mut last: BTreeMap<Value, usize> = BTreeMap::new();
        for (position, reads) in reads.iter().enumerate() {
            last.extend(reads.iter().map(|(value, _)| (*value, position)));
        }
        last.remove(&program.output());
        let done = |position: usize| last.iter().filter(move |(_, at)| **at == position).map(|(value, _)| *value);
        let turn = |(position, reads)| {
            let name = format!("{} = {}", Value(position + 1), program.steps()[position]);
            Turn { name, reads, done: done(position).collect() }
        };
        let turns = reads.into_iter().enumerate().map(turn).collect();
        let context = context.alone(Layouts::new([&**program], 1), None);
        let plain = Setting { program: program.clone(), context };
        Some(Self { turns, nonzeros, rows, plain, settled: OnceCell::new() })
    }

    /// The program for panels of so many columns in the order of a ladder, where that pays: rows of a whole cache line are picked as
    /// quickly one by one.
    fn settled(&self, cols: usize) -> Option<&Setting> {
        if cols > LANES {
            return None;
        }
        let Setting { program, context } = &self.plain;
        let find = || {
            let matrix = program.steps().iter().find_map(|step| match &step.action {
                Action::Sparse { matrix, .. } => Some(matrix),
                _ => None,
            })?;
            let tiles = context.layouts.get(matrix.rows()).tiles(0);
            let settled = context.ladders.borrow_mut().settled(matrix, &tiles)?;
            let program = Arc::new(settled.program(program)?);
            Some(Setting { program, context: context.alone(context.layouts.clone(), Some(settled)) })
        };
        let setting = self.settled.get_or_init(find).as_ref()?;
        setting.order().filter(|settled| settled.ladder().takes(Simd::best(), cols)).map(|_| setting)
    }

    /// Whether so many workers had better multiply a panel of so many columns by columns.
    pub(super) fn is_worth_it(&self, cols: usize, workers: usize) -> bool {
        let width = stride(cols);
        let is_small =
            self.nonzeros.saturating_mul(width) <= MOST_PICKED && self.rows * width * size_of::<f32>() <= MOST_BYTES;
        is_small && workers * LANES <= width
    }

    /// The product, all rows of it.
    fn multiply(&self, Setting { program, context }: &Setting, input: Shard) -> Result<Shard, EngineError> {
        let mut values: BTreeMap<Value, Payload> = BTreeMap::from([(Value::INPUT, Payload::Shard(input))]);
        for (position, (step, Turn { name, reads, done })) in program.steps().iter().zip(&self.turns).enumerate() {
            let inputs: Vec<Payload> = reads.iter().map(|(value, access)| seen(&values[value], *access)).collect();
            let made = match trace::part(name, || compute(step, reads, &inputs, context))? {
                Payload::Partial(partial) => reduced(&partial),
                made => made,
            };
            values.insert(Value(position + 1), made);
            done.iter().for_each(|value| drop(values.remove(value)));
        }
        let output = program.output();
        match values.remove(&output) {
            Some(Payload::Shard(shard)) if all_finite(shard.panel().data()) => Ok(shard),
            _ => {
                let name = output.0.checked_sub(1).map(|position| self.turns[position].name.clone());
                Err(EngineError::NotFinite { step: name.unwrap_or_else(|| output.to_string()) })
            }
        }
    }
}

impl Setting {
    /// The order of its panels, where it is another one.
    fn order(&self) -> Option<&Rc<Settled>> {
        self.context.settled.as_ref()
    }

    /// Some columns of a panel, all rows of them, in the order of its panels.
    fn columns_of(&self, whole: &Whole, columns: Range<usize>) -> Result<Shard, EngineError> {
        let from = stride(whole.cols);
        let (cols, width) = (columns.len(), stride(columns.len()));
        self.context.shard(whole.total_rows, cols, |_, out| {
            let rows = whole.blocks.iter().filter(|block| block.rows > 0);
            let rows = rows.flat_map(|block| block.numbers().chunks_exact(from.max(1)));
            let rows = rows.map(|row| &row[columns.start..columns.start + width]);
            match self.order() {
                Some(settled) => settled.settle(cols, rows, out),
                None => out.chunks_exact_mut(width.max(1)).zip(rows).for_each(|(to, row)| copy_row(to, row)),
            }
            Ok(())
        })
    }

    /// A panel in the order in which panels come.
    fn unsettled(&self, shard: Shard) -> Result<Shard, EngineError> {
        let Some(settled) = self.order() else { return Ok(shard) };
        self.context.shard(shard.total_rows(), shard.cols(), |_, out| {
            settled.unsettle(shard.cols(), shard.panel().data(), out);
            Ok(())
        })
    }
}

/// A value in the form in which a step reads it.
fn seen(value: &Payload, access: Access) -> Payload {
    match (value, access) {
        (Payload::Shard(shard), Access::Whole) => {
            let blocks = vec![Block::of_shard(shard, shard.rows())];
            Payload::Whole(Arc::new(Whole { total_rows: shard.total_rows(), cols: shard.cols(), blocks }))
        }
        (value, _) => value.clone(),
    }
}

/// The root of a tree of which one worker has all tiles.
fn reduced(partial: &Partial) -> Payload {
    let mut tree = Tree::new(partial.tiles, partial.combine);
    partial.nodes.iter().for_each(|node| tree.insert_shared(node));
    let values = tree.into_root().unwrap_or_else(|| vec![0.0; partial.length]);
    Payload::Reduced(Arc::new(Reduced { cols: partial.cols, values }))
}

/// The columns of a worker, in whole lane groups.
fn columns_of(worker: usize, workers: usize, cols: usize) -> Range<usize> {
    let groups = cols.div_ceil(LANES);
    let start = |worker: usize| (worker * groups / workers * LANES).min(cols);
    start(worker)..start(worker + 1)
}

/// The programs as they multiply so many columns, one after the other: in one order, or as these come.
fn settings(solos: &[Rc<Solo>], cols: usize) -> Vec<&Setting> {
    let settled: Option<Vec<&Setting>> = solos.iter().map(|solo| solo.settled(cols)).collect();
    let order = |setting: &Setting| setting.order().map(Rc::as_ptr);
    let is_one = |settled: &Vec<&Setting>| settled.windows(2).all(|pair| order(pair[0]) == order(pair[1]));
    settled.filter(is_one).unwrap_or_else(|| solos.iter().map(|solo| &solo.plain).collect())
}

/// What programs make of columns, one after the other: all rows of it.
pub(super) fn through(solos: &[Rc<Solo>], columns: Shard) -> Result<Shard, EngineError> {
    solos.iter().try_fold(columns, |columns, solo| solo.multiply(&solo.plain, columns))
}

/// The same of some columns of a panel.
fn through_some(solos: &[Rc<Solo>], whole: &Whole, columns: Range<usize>) -> Result<Shard, EngineError> {
    let settings = settings(solos, columns.len());
    let first = settings[0];
    let input = first.columns_of(whole, columns)?;
    let made = solos.iter().zip(&settings).try_fold(input, |columns, (solo, setting)| solo.multiply(setting, columns));
    first.unsettled(made?)
}

/// Builds the dataflow that takes columns through the programs of these numbers, one after the other.
pub(super) fn columns_flow(
    worker: &mut Worker,
    numbers: &[usize],
    solos: Vec<Rc<Solo>>,
    context: &Rc<Context>,
) -> Flow {
    flow(worker, "columns", |scope: Scope<'_, u64>, input| {
        let (own, workers) = (scope.index(), scope.peers());
        let whole = all_gather(scope, "columns", &input, context.travel, &context.pool);
        let pool = context.pool.clone();
        let made = local(scope, &format!("programs {numbers:?} by columns"), &[whole], move |payloads| {
            let Payload::Whole(whole) = &payloads[0] else { unreachable!("a panel was gathered") };
            let columns = columns_of(own, workers, whole.cols);
            let first = columns.start;
            let shard = through_some(&solos, whole, columns)?;
            pool.borrow_mut().read_elsewhere(shard.buffer());
            Ok(Payload::Columns(first, shard))
        });
        exchange_columns(scope, &made, context)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};
    use crate::graph::Sparse;
    use crate::kernel::random::stream;
    use crate::matrix::{Dense, Matrix};
    use crate::plan::Side;

    #[test]
    fn everybody_has_some_columns_and_every_column_an_owner() {
        for (cols, workers) in [(16, 1), (16, 2), (13, 2), (40, 3), (24, 3), (33, 5)] {
            let mut next = 0;
            for worker in 0..workers {
                let columns = columns_of(worker, workers, cols);
                assert!(columns.start == next && !columns.is_empty() && columns.start.is_multiple_of(LANES));
                next = columns.end;
            }
            assert_eq!(next, cols);
        }
    }

    /// The bits of the product by rows, for every number of workers and columns.
    #[test]
    fn a_product_by_columns_is_the_product_by_rows() {
        let pairs: Vec<(u32, u32)> =
            (0..700u32).flat_map(|i| [(i, (i * 7 + 1) % 700), (i, (i * i) % 700), (i, i / 2)]).collect();
        check(Sparse::from_triplets(700, 700, pairs.clone(), None).unwrap());
        // Both programs multiply by the same matrix, so that panels have their rows in its order.
        check(Sparse::symmetric_from_pairs(700, pairs, None).unwrap());
    }

    fn check(a: Sparse) {
        let a = Matrix::sparse("A", Arc::new(a));
        let diagonal = Matrix::diagonal("D", (0..700).map(|i| 1.0 + i as f32 / 700.0).collect()).unwrap();
        let walks = diagonal.try_multiply(&(&a * 0.3).polynomial(&[0.0, 0.5, 0.3, 0.2])).unwrap();
        let m = walks - (Matrix::ones(700, 700) - &a) * 0.02;
        let mut answers: Vec<Dense> = Vec::new();
        for workers in [1, 2, 3] {
            let programs: Vec<_> =
                [Side::Plain, Side::Transposed].map(|side| Arc::new(Program::compile(&m, side))).into();
            let made = run(Cluster::threads(workers), programs, move |session| {
                let mut wholes = Vec::new();
                for cols in [16, 24, 29, 40] {
                    for program in [0, 1] {
                        let x = session.random_normal(700, cols, 3, stream::SYNTHETIC)?;
                        let (rows, columns) =
                            (session.run_program(program, x.clone())?, session.multiply(program, &x)?);
                        let twice = session.multiply_in_turn(&[program, 1 - program], &x)?;
                        let after = session.run_program(1 - program, rows.clone())?;
                        for (rows, columns) in [(rows, columns), (after, twice)] {
                            let (rows, columns) = (session.collect(&rows)?, session.collect(&columns)?);
                            assert_eq!(rows, columns, "{workers} workers, {cols} columns");
                            wholes.extend(rows);
                        }
                    }
                }
                Ok::<_, EngineError>(wholes)
            });
            let made = made.unwrap();
            if answers.is_empty() {
                answers = made;
            } else {
                assert_eq!(answers, made);
            }
        }
    }
}
