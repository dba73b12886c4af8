//! Small products by columns: a worker takes some of the columns through the whole program.
//!
//! On a small matrix a step takes less time than a message to another worker. Columns never mix in
//! most programs, so every worker can take a few of them from the first step to the last, in panels
//! that stay in its own cache. Workers meet twice: to gather all rows of their columns, and to
//! exchange columns for rows. A column goes through the same kernels, and sums over tiles along the
//! same tree, so the bits are those of the product by rows.
//!
//! Up to one lane group of columns, panels have their rows permuted by [`PermutedMatrix`], where
//! all steps multiply by the same matrix.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;
use std::slice::from_ref;
use std::sync::Arc;

use timely::dataflow::Scope;
use timely::worker::Worker;

use super::interpreter::{Backend, Interpreter};
use crate::engine::collective::{all_gather, exchange_columns, root_of};
use crate::engine::error::EngineError;
use crate::engine::flow::{Flow, flow};
use crate::engine::message::{Block, GatheredPanel, Payload};
use crate::engine::operands::PermutedMatrix;
use crate::engine::operator::local;
use crate::engine::shard::Shard;
use crate::engine::step::Context;
use crate::engine::trace;
use crate::kernel::panel::{copy_row, stride};
use crate::kernel::{LANES, Simd};
use crate::plan::{Action, Layouts, Program, Value};

/// Largest product, in picked entries of the panel, that runs by columns. Beyond, one pass over the
/// matrix for each worker takes longer than to wait for the others.
const MOST_PICKED: usize = 4 << 20;
/// Largest panel in bytes that runs by columns. Larger ones do not stay in a worker's cache.
const MOST_BYTES: usize = 2 << 20;

/// A program for a worker alone, on panels of which it has all rows.
pub(in crate::engine) struct ColumnSchedule {
    /// Non-zeros of the largest sparse factor.
    nonzeros: usize,
    /// The most rows of a value.
    rows: usize,
    plain: Prepared,
    /// For panels with permuted rows, where there is a permutation; once somebody asked for it.
    permuted: OnceCell<Option<Prepared>>,
}

/// A program, and what its steps share.
struct Prepared {
    interpreter: Interpreter,
    context: Context,
}

impl ColumnSchedule {
    /// `None` if columns mix, or if the bits of a column depend on its neighbours.
    pub(in crate::engine) fn new(program: &Arc<Program>, context: &Context) -> Option<Self> {
        let (mut nonzeros, mut rows) = (0, program.input_rows());
        for step in program.steps() {
            rows = rows.max(step.rows);
            match &step.action {
                Action::Sparse { matrix, .. } => nonzeros = nonzeros.max(matrix.nonzeros()),
                Action::ColumnSums { .. } | Action::RankOne { .. } | Action::Combine { .. } => {}
                _ => return None,
            }
        }
        let context = context.alone(Layouts::new([&**program], 1), None);
        let plain = Prepared { interpreter: Interpreter::new(program.clone()), context };
        Some(Self { nonzeros, rows, plain, permuted: OnceCell::new() })
    }

    /// Whether `workers` workers are faster by columns on a panel of `cols` columns.
    pub(super) fn pays(&self, cols: usize, workers: usize) -> bool {
        let width = stride(cols);
        let is_small =
            self.nonzeros.saturating_mul(width) <= MOST_PICKED && self.rows * width * size_of::<f32>() <= MOST_BYTES;
        is_small && workers * LANES <= width
    }

    /// The program for panels with permuted rows, where it pays: wider rows fill a cache line each.
    fn permuted(&self, cols: usize) -> Option<&Prepared> {
        if cols > LANES {
            return None;
        }
        let Prepared { interpreter, context } = &self.plain;
        let permute = || {
            let matrix = interpreter.program.steps().iter().find_map(|step| match &step.action {
                Action::Sparse { matrix, .. } => Some(matrix),
                _ => None,
            })?;
            let tiles = context.layouts.get(matrix.rows()).tiles(0);
            let permuted = context.operands.borrow_mut().permuted(matrix, &tiles)?;
            let interpreter = Interpreter::new(Arc::new(permuted.program(&interpreter.program)?));
            Some(Prepared { interpreter, context: context.alone(context.layouts.clone(), Some(permuted)) })
        };
        let prepared = self.permuted.get_or_init(permute).as_ref()?;
        prepared.matrix().filter(|matrix| matrix.rows.suits(Simd::best(), cols)).map(|_| prepared)
    }
}

impl Prepared {
    fn matrix(&self) -> Option<&Rc<PermutedMatrix>> {
        self.context.permuted.as_ref()
    }

    fn run(&self, columns: Shard) -> Result<Shard, EngineError> {
        match self.interpreter.run(Payload::Shard(columns), &mut Columns(self))? {
            Payload::Shard(shard) => Ok(shard),
            _ => unreachable!("the output of a program is a panel"),
        }
    }

    /// Some columns of a panel, with rows permuted as the program wants them.
    fn columns_of(&self, whole: &GatheredPanel, columns: Range<usize>) -> Result<Shard, EngineError> {
        let from = stride(whole.cols);
        let (cols, width) = (columns.len(), stride(columns.len()));
        self.context.shard(whole.total_rows, cols, |_, out| {
            let rows = whole.blocks.iter().filter(|block| block.rows > 0);
            let rows = rows.flat_map(|block| block.numbers().chunks_exact(from.max(1)));
            let rows = rows.map(|row| &row[columns.start..columns.start + width]);
            match self.matrix() {
                Some(matrix) => matrix.permutation.permute_rows(cols, rows, out),
                None => out.chunks_exact_mut(width.max(1)).zip(rows).for_each(|(to, row)| copy_row(to, row)),
            }
            Ok(())
        })
    }

    /// A result of the program, with its rows in their own order.
    fn restored(&self, shard: Shard) -> Result<Shard, EngineError> {
        let Some(matrix) = self.matrix() else { return Ok(shard) };
        self.context.shard(shard.total_rows(), shard.cols(), |_, out| {
            matrix.permutation.restore_rows(shard.cols(), shard.panel().data(), out);
            Ok(())
        })
    }
}

/// Panels of which this worker has all rows.
struct Columns<'a>(&'a Prepared);

impl Backend for Columns<'_> {
    type Value = Payload;

    fn gather(&mut self, _: Value, own: &Payload) -> Payload {
        let Payload::Shard(shard) = own else { unreachable!("what is gathered is a panel") };
        let blocks = vec![Block::of_shard(shard, shard.rows())];
        Payload::Gathered(Arc::new(GatheredPanel { total_rows: shard.total_rows(), cols: shard.cols(), blocks }))
    }

    fn compute(&mut self, position: usize, inputs: Vec<Payload>) -> Result<Payload, EngineError> {
        let Prepared { interpreter, context } = self.0;
        trace::part(interpreter.name(position), || interpreter.compute(position, &inputs, context))
    }

    fn reduce(&mut self, value: Value, partial: Payload) -> Result<Payload, EngineError> {
        root_of(from_ref(&partial), 0, &value.to_string())
    }
}

/// The columns of a worker, in whole lane groups.
fn columns_of(worker: usize, workers: usize, cols: usize) -> Range<usize> {
    let groups = cols.div_ceil(LANES);
    let start = |worker: usize| (worker * groups / workers * LANES).min(cols);
    start(worker)..start(worker + 1)
}

/// The product with all rows of some columns, one program after the other.
pub(in crate::engine) fn run_columns(programs: &[Rc<ColumnSchedule>], columns: Shard) -> Result<Shard, EngineError> {
    programs.iter().try_fold(columns, |columns, program| program.plain.run(columns))
}

/// The product with some columns of a panel. Rows are permuted where one permutation serves all
/// programs.
fn run_some(
    programs: &[Rc<ColumnSchedule>],
    whole: &GatheredPanel,
    columns: Range<usize>,
) -> Result<Shard, EngineError> {
    let permuted: Option<Vec<&Prepared>> = programs.iter().map(|program| program.permuted(columns.len())).collect();
    let matrix = |prepared: &Prepared| prepared.matrix().map(Rc::as_ptr);
    let is_one = |permuted: &Vec<&Prepared>| permuted.windows(2).all(|pair| matrix(pair[0]) == matrix(pair[1]));
    let plain = || programs.iter().map(|program| &program.plain).collect();
    let prepared = permuted.filter(is_one).unwrap_or_else(plain);
    let input = prepared[0].columns_of(whole, columns)?;
    prepared[0].restored(prepared.iter().try_fold(input, |columns, prepared| prepared.run(columns))?)
}

/// Builds the dataflow that takes columns through the programs of these numbers.
pub(in crate::engine) fn columns_flow(
    worker: &mut Worker,
    numbers: &[usize],
    programs: Vec<Rc<ColumnSchedule>>,
    context: &Rc<Context>,
) -> Flow {
    flow(worker, "columns", |scope: Scope<'_, u64>, input| {
        let (own, workers) = (scope.index(), scope.peers());
        let whole = all_gather(scope, "columns", &input, context.transfer, &context.pool);
        let pool = context.pool.clone();
        let made = local(scope, &format!("programs {numbers:?} by columns"), &[whole], move |payloads| {
            let Payload::Gathered(whole) = &payloads[0] else { unreachable!("a panel was gathered") };
            let columns = columns_of(own, workers, whole.cols);
            let first = columns.start;
            let shard = run_some(&programs, whole, columns)?;
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
        // Both programs multiply by the same matrix, so that rows of panels are permuted.
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
                            (session.multiply_by_rows(program, x.clone())?, session.multiply(program, &x)?);
                        let twice = session.multiply_in_turn(&[program, 1 - program], &x)?;
                        let after = session.multiply_by_rows(1 - program, rows.clone())?;
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
