//! Computes a worker's tiles of the result of a step.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use super::cluster::Transfer;
use super::error::EngineError;
use super::message::{GatheredPanel, Partial, Payload, Reduced};
use super::operands::{Operands, PermutedMatrix};
use super::shard::{Pool, Shard};
use super::stored::{load, stored_rows};
use super::tree::{Combine, Tree};
use crate::kernel::panel::{Panel, PanelMut, stride};
use crate::kernel::spmm::{Factors, Operand, Segments, spmm};
use crate::kernel::{Buffer, columns, elementwise, gemm};
use crate::plan::{Access, Action, Diagonal, Epilogue, Layout, Layouts, RowRange, Runs, Side, Step, Term, Value};

/// State that the steps of a worker share.
pub(super) struct Context {
    pub(super) worker: usize,
    /// Whether it is the first worker of its process.
    pub(super) is_first: bool,
    pub(super) transfer: Transfer,
    pub(super) layouts: Layouts,
    pub(super) pool: Rc<RefCell<Pool>>,
    pub(super) operands: Rc<RefCell<Operands>>,
    /// The matrix and the permutation of the rows of all panels, if they are permuted.
    pub(super) permuted: Option<Rc<PermutedMatrix>>,
    pub(super) dense_scratch: RefCell<gemm::Scratch>,
    /// Scratch memory for a panel joined from the shards of several workers.
    pub(super) joined: RefCell<Buffer>,
    /// Seconds of each step of each program on this worker, in its last run.
    pub(super) seconds: RefCell<Vec<Vec<f64>>>,
}

impl Context {
    /// A context in which this worker has all rows of each panel.
    pub(super) fn alone(&self, layouts: Layouts, permuted: Option<Rc<PermutedMatrix>>) -> Self {
        Self {
            worker: 0,
            is_first: true,
            transfer: self.transfer,
            layouts,
            pool: self.pool.clone(),
            operands: self.operands.clone(),
            permuted,
            dense_scratch: RefCell::default(),
            joined: RefCell::default(),
            seconds: RefCell::default(),
        }
    }

    /// Computes this worker's shard of a panel, tile by tile.
    pub(super) fn shard_by_tiles(
        &self,
        rows: usize,
        cols: usize,
        mut fill: impl FnMut(Range<usize>, PanelMut<'_>) -> Result<(), EngineError>,
    ) -> Result<Shard, EngineError> {
        self.shard(rows, cols, |layout, numbers| {
            let mut rest = numbers;
            for tile in layout.tiles(self.worker).iter() {
                let rows = layout.tiling().range(tile);
                let (of_tile, others) = rest.split_at_mut(rows.len() * stride(cols));
                rest = others;
                fill(rows.clone(), PanelMut::new(rows.len(), cols, of_tile))?;
            }
            Ok(())
        })
    }

    /// Computes this worker's shard of a panel in a recycled buffer.
    pub(super) fn shard(
        &self,
        rows: usize,
        cols: usize,
        fill: impl FnOnce(&Layout, &mut [f32]) -> Result<(), EngineError>,
    ) -> Result<Shard, EngineError> {
        let layout = self.layouts.get(rows);
        let own = layout.rows(self.worker).clone();
        let mut buffer = self.pool.borrow_mut().take(own.len() * stride(cols));
        fill(&layout, &mut buffer)?;
        let buffer = self.pool.borrow_mut().lend(buffer);
        Ok(Shard::new(rows, own, cols, buffer))
    }

    /// This worker's part of a reduction over tiles.
    pub(super) fn partial(
        &self,
        rows: usize,
        combine: Combine,
        length: usize,
        cols: usize,
        mut of_tile: impl FnMut(Range<usize>, &mut [f64]),
    ) -> Partial {
        let layout = self.layouts.get(rows);
        let tiles = layout.tiling().count();
        let tree = Tree::of_tiles(tiles, layout.tiles(self.worker).iter(), combine, length, |tile, values| {
            of_tile(layout.tiling().range(tile), values);
        });
        Partial { combine, tiles, length, cols, nodes: tree.into_nodes() }
    }
}

/// The values that a step reads, each once for each way of access. A step without inputs is started
/// by the input of the program.
pub(super) fn reads(step: &Step) -> Vec<(Value, Access)> {
    let mut reads = step.action.reads();
    if reads.is_empty() {
        reads.push((Value::INPUT, Access::OwnRows));
    }
    reads.sort_unstable();
    reads.dedup();
    reads
}

/// The payloads of a step, by value and access.
struct Inputs<'a> {
    reads: &'a [(Value, Access)],
    payloads: &'a [Payload],
}

impl<'a> Inputs<'a> {
    fn find(&self, value: Value, access: Access) -> &'a Payload {
        let position = self.reads.iter().position(|read| *read == (value, access));
        &self.payloads[position.expect("a step reads the values that `reads` lists")]
    }

    fn shard(&self, value: Value) -> &'a Shard {
        match self.find(value, Access::OwnRows) {
            Payload::Shard(shard) => shard,
            _ => unreachable!("own rows are a shard"),
        }
    }

    fn gathered(&self, value: Value) -> &'a GatheredPanel {
        match self.find(value, Access::AllRows) {
            Payload::Gathered(panel) => panel,
            _ => unreachable!("all rows were gathered"),
        }
    }

    fn reduced(&self, value: Value) -> &'a Reduced {
        match self.find(value, Access::Reduced) {
            Payload::Reduced(reduced) => reduced,
            _ => unreachable!("a reduction came before"),
        }
    }
}

/// Computes a step.
pub(super) fn compute(
    step: &Step,
    reads: &[(Value, Access)],
    payloads: &[Payload],
    context: &Context,
) -> Result<Payload, EngineError> {
    let inputs = Inputs { reads, payloads };
    let shard = match &step.action {
        Action::Sparse { matrix, right, input, epilogue, .. } => {
            let x = inputs.gathered(*input);
            context.shard(step.rows, x.cols, |layout, y| {
                let (own, tiles) = (layout.rows(context.worker), layout.tiles(context.worker));
                let left = values(&epilogue.left).map(|values| of_rows(values, own));
                let add = epilogue.add.as_ref();
                let diagonal = add.and_then(|add| values(&add.diagonal)).map(|values| of_rows(values, own));
                let added = add.map(|add| elementwise::Term {
                    coefficient: add.coefficient as f32,
                    diagonal: diagonal.as_deref(),
                    panel: inputs.shard(add.value).panel(),
                });
                let factors = Factors { alpha: epilogue.alpha as f32, left: left.as_deref(), right: values(right) };
                let scratch = &mut *context.joined.borrow_mut();
                let mut multiply = |operand: &Operand| spmm(operand, &x.rows(), &factors, added, y, scratch);
                match (&context.permuted, tiles.ranges()) {
                    (Some(permuted), _) => multiply(&Operand::sorted(&permuted.rows)),
                    (None, [run]) => {
                        let sorted = context.operands.borrow_mut().sorted(matrix, run);
                        multiply(&Operand::new(run.clone().map(|tile| matrix.tile(tile)), sorted.as_deref()));
                    }
                    (None, _) => multiply(&Operand::new(tiles.iter().map(|tile| matrix.tile(tile)), None)),
                }
                Ok(())
            })?
        }
        Action::Dense { matrix, mask, input, epilogue, .. } => {
            let masked = &mut Vec::new();
            let x = inputs.gathered(*input);
            let joined = &mut *context.joined.borrow_mut();
            let g = Panel::new(x.total_rows, x.cols, x.rows().joined(joined));
            context.shard_by_tiles(step.rows, x.cols, |rows, mut out| {
                gemm::dense_multiply(stored_rows(matrix, *mask, rows.clone(), masked), g, out.reborrow());
                finish(epilogue, &inputs, rows, out);
                Ok(())
            })?
        }
        Action::Map { map, side, input, epilogue, .. } => {
            let x = inputs.gathered(*input);
            let joined = &mut *context.joined.borrow_mut();
            let g = Panel::new(x.total_rows, x.cols, x.rows().joined(joined));
            context.shard_by_tiles(step.rows, x.cols, |rows, mut out| {
                // Recycled buffers are not zero.
                out.data_mut().fill(0.0);
                match side {
                    Side::Plain => map.apply(rows.clone(), g, out.reborrow()),
                    Side::Transposed => map.apply_transposed(rows.clone(), g, out.reborrow()),
                }
                finish(epilogue, &inputs, rows, out);
                Ok(())
            })?
        }
        Action::Project { matrix, mask, input, .. } => {
            let masked = &mut Vec::new();
            let x = inputs.shard(*input);
            let (width, cols) = (matrix.columns(), x.cols());
            let scratch = &mut *context.dense_scratch.borrow_mut();
            let partial = context.partial(matrix.rows(), Combine::Sum, width * cols, cols, |rows, sums| {
                let tile = stored_rows(matrix, *mask, rows.clone(), masked);
                gemm::dense_transpose_multiply(tile, width, x.panel_of(rows), sums, scratch);
            });
            return Ok(Payload::Partial(partial.into()));
        }
        Action::ColumnSums { input } => {
            let x = inputs.shard(*input);
            let partial =
                context.partial(x.total_rows(), Combine::Sum, x.cols(), x.cols(), |rows, sums| {
                    match &context.permuted {
                        None => columns::column_sums(x.panel_of(rows), sums),
                        Some(matrix) => columns::column_sums_of(x.panel(), matrix.permutation.positions(rows), sums),
                    }
                });
            return Ok(Payload::Partial(partial.into()));
        }
        Action::Spread { input, epilogue } => {
            let reduced = inputs.reduced(*input);
            context.shard_by_tiles(step.rows, reduced.cols, |rows, mut out| {
                for (row, number) in rows.clone().enumerate() {
                    let source = &reduced.values[number * reduced.cols..][..reduced.cols];
                    write_row(source, &mut out, row);
                }
                finish(epilogue, &inputs, rows, out);
                Ok(())
            })?
        }
        Action::RankOne { input, epilogue } => {
            let sums = inputs.reduced(*input);
            let mut row = vec![0.0; stride(sums.cols)];
            row.iter_mut().zip(&sums.values).for_each(|(row, &sum)| *row = sum as f32);
            context.shard_by_tiles(step.rows, sums.cols, |rows, out| {
                let left = values(&epilogue.left).map(|values| &values[rows.clone()]);
                let add = epilogue.add.as_ref().map(|add| kernel_term(add, &inputs, &rows));
                elementwise::repeat_and_add(&row, epilogue.alpha as f32, left, add, out);
                Ok(())
            })?
        }
        Action::Combine { terms, like } => {
            let cols = inputs.shard(terms.first().map_or(*like, |term| term.value)).cols();
            context.shard_by_tiles(step.rows, cols, |rows, out| {
                let terms: Vec<_> = terms.iter().map(|term| kernel_term(term, &inputs, &rows)).collect();
                elementwise::combine(&terms, out);
                Ok(())
            })?
        }
        Action::Arrange { pieces } => {
            let sources: Vec<Segments<'_>> = pieces.iter().map(|piece| inputs.gathered(piece.value).rows()).collect();
            let cols = sources.first().map_or(0, |source| source.cols);
            context.shard_by_tiles(step.rows, cols, |rows, mut out| {
                arrange(pieces, &sources, rows, out.data_mut(), stride(cols));
                Ok(())
            })?
        }
        Action::Stored { source, .. } => {
            context.shard_by_tiles(step.rows, source.columns(step.rows), |rows, out| {
                load(source, rows, out);
                Ok(())
            })?
        }
        Action::HStack { values } => {
            let parts: Vec<&Shard> = values.iter().map(|value| inputs.shard(*value)).collect();
            context.hstack(step.rows, &parts)?
        }
    };
    Ok(Payload::Shard(shard))
}

fn values(diagonal: &Option<Diagonal>) -> Option<&[f32]> {
    diagonal.as_ref().map(|diagonal| &*diagonal.values)
}

/// The entries of a diagonal for some rows.
fn of_rows<'a>(values: &'a [f32], rows: &Runs) -> Cow<'a, [f32]> {
    match rows.ranges() {
        [rows] => values[rows.clone()].into(),
        ranges => ranges.iter().flat_map(|rows| &values[rows.clone()]).copied().collect::<Vec<f32>>().into(),
    }
}

fn kernel_term<'a>(term: &'a Term, inputs: &Inputs<'a>, rows: &Range<usize>) -> elementwise::Term<'a> {
    elementwise::Term {
        coefficient: term.coefficient as f32,
        diagonal: values(&term.diagonal).map(|values| &values[rows.clone()]),
        panel: inputs.shard(term.value).panel_of(rows.clone()),
    }
}

/// `out ← alpha · left · out + add`, for the rows of one tile.
fn finish(epilogue: &Epilogue, inputs: &Inputs<'_>, rows: Range<usize>, out: PanelMut<'_>) {
    if epilogue.alpha == 1.0 && epilogue.left.is_none() && epilogue.add.is_none() {
        return;
    }
    let left = values(&epilogue.left).map(|values| &values[rows.clone()]);
    let add = epilogue.add.as_ref().map(|add| kernel_term(add, inputs, &rows));
    elementwise::scale_and_add(epilogue.alpha as f32, left, add, out);
}

/// Rounds a row of sums into a panel, padding with zeros.
fn write_row(source: &[f64], out: &mut PanelMut<'_>, row: usize) {
    let stride = out.stride();
    let row = &mut out.data_mut()[row * stride..(row + 1) * stride];
    row[source.len()..].fill(0.0);
    row.iter_mut().zip(source).for_each(|(out, &value)| *out = value as f32);
}

/// Copies the rows `rows` of the concatenated pieces.
fn arrange(pieces: &[RowRange], sources: &[Segments<'_>], rows: Range<usize>, out: &mut [f32], stride: usize) {
    let mut piece_start = 0;
    for (piece, source) in pieces.iter().zip(sources) {
        let wanted = rows.start.max(piece_start)..rows.end.min(piece_start + piece.rows);
        for &(part_start, part) in source.parts.iter().filter(|_| !wanted.is_empty()) {
            // In the row numbers of the source.
            let to_source = |row: usize| row - piece_start + piece.first_row;
            let start = to_source(wanted.start).max(part_start);
            let end = to_source(wanted.end).min(part_start + part.len() / stride.max(1));
            if start < end {
                let target = start - piece.first_row + piece_start - rows.start;
                let copied = &part[(start - part_start) * stride..(end - part_start) * stride];
                out[target * stride..][..copied.len()].copy_from_slice(copied);
            }
        }
        piece_start += piece.rows;
    }
}
