//! Small products by columns: each worker computes some columns of all steps.
//!
//! On a small matrix a step takes less time than a message to another worker. The columns of most
//! programs are independent, so a worker can compute all steps of a few columns, in panels that
//! stay in its cache. Workers communicate twice: they gather all rows of the input, and they
//! exchange columns of the output for rows. Each column passes the same kernels and the same
//! reduction tree as by rows, so the bits are equal.
//!
//! Panels of at most one lane group of columns have their rows permuted by [`PermutedMatrix`], if
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
use crate::plan::{Action, Layouts, Leaf, Program, Value};

/// Most multiplications of a product that runs by columns. Larger ones take longer to read the
/// whole matrix on each worker than to wait for the others.
const MOST_MULTIPLICATIONS: usize = 4 << 20;
/// Largest panel in bytes that runs by columns. Larger ones do not stay in a worker's cache.
const MOST_BYTES: usize = 2 << 20;

/// A program for panels of which the worker has all rows.
pub(in crate::engine) struct ColumnSchedule {
    /// Non-zeros of the largest sparse factor.
    nonzeros: usize,
    /// The most rows of a value.
    rows: usize,
    plain: Prepared,
    /// The program for permuted rows, if there is a permutation; set when first needed.
    permuted: OnceCell<Option<Prepared>>,
}

/// A program, and the state that its steps share.
struct Prepared {
    interpreter: Interpreter,
    context: Context,
}

impl ColumnSchedule {
    /// `None` if a step combines columns, or computes other bits for fewer columns.
    pub(in crate::engine) fn new(program: &Arc<Program>, context: &Context) -> Option<Self> {
        let (mut nonzeros, mut rows) = (0, program.input_rows());
        for step in program.steps() {
            rows = rows.max(step.rows);
            match &step.action {
                Action::Sparse { matrix, .. } => nonzeros = nonzeros.max(matrix.nonzeros()),
                Action::ColumnSums { .. } | Action::RankOne { .. } | Action::Combine { .. } => {}
                Action::Dense { .. }
                | Action::Map { .. }
                | Action::Project { .. }
                | Action::Spread { .. }
                | Action::Arrange { .. }
                | Action::Stored { .. }
                | Action::HStack { .. } => return None,
            }
        }
        let context = context.alone(Layouts::new([&**program], 1, 1), None);
        let plain = Prepared { interpreter: Interpreter::new(program.clone()), context };
        Some(Self { nonzeros, rows, plain, permuted: OnceCell::new() })
    }

    /// Whether `workers` workers are faster by columns on a panel of `cols` columns.
    pub(super) fn pays(&self, cols: usize, workers: usize) -> bool {
        let width = stride(cols);
        let is_small = self.nonzeros.saturating_mul(width) <= MOST_MULTIPLICATIONS
            && self.rows * width * size_of::<f32>() <= MOST_BYTES;
        is_small && workers * LANES <= width
    }

    /// The program for permuted rows, if it is faster: rows of more columns fill a cache line each.
    fn permuted(&self, cols: usize) -> Option<&Prepared> {
        if cols > LANES {
            return None;
        }
        let Prepared { interpreter, context } = &self.plain;
        let permute = || {
            let matrix = interpreter.program.steps().iter().find_map(|step| match step.action.leaf() {
                Some((_, Leaf::Sparse(matrix))) => Some(matrix),
                Some((_, Leaf::Dense(_) | Leaf::Map(_))) | None => None,
            })?;
            let tiles = 0..matrix.tiling().count();
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

    /// Some columns of a panel, in the order of rows of the program.
    fn columns_of(&self, panel: &GatheredPanel, columns: Range<usize>) -> Result<Shard, EngineError> {
        let from = stride(panel.cols);
        let (cols, width) = (columns.len(), stride(columns.len()));
        self.context.shard(panel.total_rows, cols, |_, out| {
            let rows = panel.blocks.iter().filter(|block| block.rows > 0);
            let rows = rows.flat_map(|block| block.numbers().chunks_exact(from.max(1)));
            let rows = rows.map(|row| &row[columns.start..columns.start + width]);
            match self.matrix() {
                Some(matrix) => matrix.permutation.permute_rows(cols, rows, out),
                None => out.chunks_exact_mut(width.max(1)).zip(rows).for_each(|(to, row)| copy_row(to, row)),
            }
            Ok(())
        })
    }

    /// A result of the program, in the original order of rows.
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
        let Payload::Shard(shard) = own else { unreachable!("only panels are gathered") };
        let blocks = vec![Block::of_shard(shard, 0..shard.total_rows())];
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

/// The columns of a worker, a multiple of lane groups.
fn columns_of(worker: usize, workers: usize, cols: usize) -> Range<usize> {
    let groups = cols.div_ceil(LANES);
    let start = |worker: usize| (worker * groups / workers * LANES).min(cols);
    start(worker)..start(worker + 1)
}

/// The product of several programs with columns of which the worker has all rows.
pub(in crate::engine) fn run_columns(programs: &[Rc<ColumnSchedule>], columns: Shard) -> Result<Shard, EngineError> {
    programs.iter().try_fold(columns, |columns, program| program.plain.run(columns))
}

/// The product of several programs with some columns of a gathered panel. Rows are permuted if all
/// programs have the same permutation.
fn run_gathered(
    programs: &[Rc<ColumnSchedule>],
    panel: &GatheredPanel,
    columns: Range<usize>,
) -> Result<Shard, EngineError> {
    let permuted: Option<Vec<&Prepared>> = programs.iter().map(|program| program.permuted(columns.len())).collect();
    let matrix = |prepared: &Prepared| prepared.matrix().map(Rc::as_ptr);
    let is_one = |permuted: &Vec<&Prepared>| permuted.windows(2).all(|pair| matrix(pair[0]) == matrix(pair[1]));
    let plain = || programs.iter().map(|program| &program.plain).collect();
    let prepared = permuted.filter(is_one).unwrap_or_else(plain);
    let input = prepared[0].columns_of(panel, columns)?;
    prepared[0].restored(prepared.iter().try_fold(input, |columns, prepared| prepared.run(columns))?)
}

/// Builds the dataflow that multiplies by these programs by columns.
pub(in crate::engine) fn columns_flow(
    worker: &mut Worker,
    numbers: &[usize],
    programs: Vec<Rc<ColumnSchedule>>,
    context: &Rc<Context>,
) -> Flow {
    flow(worker, "columns", |scope: Scope<'_, u64>, input| {
        let (own, workers) = (scope.index(), scope.peers());
        let gathered = all_gather(scope, "columns", &input, context.transfer, &context.pool);
        let pool = context.pool.clone();
        let made = local(scope, &format!("programs {numbers:?} by columns"), &[gathered], move |payloads| {
            let Payload::Gathered(panel) = &payloads[0] else { unreachable!("a panel was gathered") };
            let columns = columns_of(own, workers, panel.cols);
            let first = columns.start;
            let shard = run_gathered(&programs, panel, columns)?;
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
    fn every_worker_has_columns_and_every_column_one_owner() {
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
                let mut products = Vec::new();
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
                            products.extend(rows);
                        }
                    }
                }
                Ok::<_, EngineError>(products)
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
