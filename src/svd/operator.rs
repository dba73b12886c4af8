//! The matrix to decompose, as the workers of a run apply it.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::options::SvdError;
use crate::engine::{Session, Shard};
use crate::matrix::{Matrix, Shape};
use crate::plan::count::panel_bytes;
use crate::plan::{Program, Side};

/// Bytes of a panel that is multiplied a few columns at a time: what a product holds apart from its
/// panels is as wide as the panel, and would be most of the memory of a run.
const LARGE: u64 = 1 << 30;
/// Columns of a large panel that are multiplied at a time.
const COLUMNS: usize = 16;

/// Columns multiplied by M or its transpose in all attempts of a run. Columns of a surrogate count
/// as the part of the work that they are.
#[derive(Debug, Clone, Default)]
pub(super) struct ColumnCount(Rc<Cell<f64>>);

impl ColumnCount {
    pub(super) fn get(&self) -> f64 {
        self.0.get()
    }

    pub(super) fn set(&self, columns: f64) {
        self.0.set(columns);
    }

    pub(super) fn columns(&self) -> usize {
        self.get().ceil() as usize
    }
}

/// A matrix M, by the two programs of a run that multiply by it and by its transpose.
#[derive(Debug, Clone)]
pub(super) struct Operator {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Positions of the programs among those of the run.
    forward: usize,
    backward: usize,
    /// The work of a column, in columns of the matrix to decompose.
    cost: f64,
    count: ColumnCount,
}

impl Operator {
    /// The operator of a matrix whose two programs begin at position `first`. A matrix that is wider
    /// than high is replaced by its transpose.
    pub(super) fn new(shape: Shape, first: usize, cost: f64, count: &ColumnCount) -> Self {
        let Shape { rows, columns } = shape;
        let plain = Self { rows, columns, forward: first, backward: first + 1, cost, count: count.clone() };
        if is_transposed(shape) { plain.transposed() } else { plain }
    }

    /// `M·X`.
    pub(super) fn apply(&self, session: &mut Session<'_>, block: &Shard) -> Result<Shard, SvdError> {
        self.multiply(session, &[self.forward], block)
    }

    /// `Mᵀ·X`.
    pub(super) fn adjoint(&self, session: &mut Session<'_>, block: &Shard) -> Result<Shard, SvdError> {
        self.multiply(session, &[self.backward], block)
    }

    /// `MᵀM·X`.
    pub(super) fn normal(&self, session: &mut Session<'_>, block: &Shard) -> Result<Shard, SvdError> {
        self.multiply(session, &[self.forward, self.backward], block)
    }

    fn multiply(&self, session: &mut Session<'_>, programs: &[usize], panel: &Shard) -> Result<Shard, SvdError> {
        let (rows, columns) = (panel.total_rows(), panel.cols());
        self.count.set(self.count.get() + self.cost * (programs.len() * columns) as f64);
        let at_a_time = columns_at_a_time(rows, columns).min(session.columns_at_a_time(rows, columns));
        multiply_in_parts(session, programs, panel, at_a_time)
    }

    /// Mᵀ.
    pub(super) fn transposed(self) -> Self {
        let Self { rows, columns, forward, backward, .. } = self;
        Self { rows: columns, columns: rows, forward: backward, backward: forward, ..self }
    }

    /// Positions of the programs that apply the operator and its adjoint.
    pub(super) fn programs(&self) -> [usize; 2] {
        [self.forward, self.backward]
    }

    /// Columns multiplied so far, by all operators with the same count.
    pub(super) fn count(&self) -> &ColumnCount {
        &self.count
    }

    /// The work of multiplying a block by M and by Mᵀ.
    pub(super) fn cost_of_step(&self, width: usize) -> f64 {
        self.cost * (2 * width) as f64
    }
}

/// Columns of a panel that are multiplied at a time.
pub(super) fn columns_at_a_time(rows: usize, columns: usize) -> usize {
    if panel_bytes(rows, columns) < LARGE { columns } else { columns.min(COLUMNS) }
}

fn multiply_in_parts(
    session: &mut Session<'_>,
    programs: &[usize],
    panel: &Shard,
    at_a_time: usize,
) -> Result<Shard, SvdError> {
    let columns = panel.cols();
    if at_a_time >= columns {
        return Ok(session.multiply_in_turn(programs, panel)?);
    }
    let mut images = Vec::with_capacity(columns.div_ceil(at_a_time));
    for first in (0..columns).step_by(at_a_time) {
        let part = session.columns(panel, first..columns.min(first + at_a_time))?;
        images.push(session.multiply_in_turn(programs, &part)?);
    }
    Ok(session.hstack(&images.iter().collect::<Vec<_>>())?)
}

/// Whether the transpose of a matrix is decomposed in its place.
pub(super) fn is_transposed(shape: Shape) -> bool {
    shape.rows < shape.columns
}

/// A matrix N that is less work to multiply by than M, and close to it: Krylov bases are grown with
/// N, and the triplets are then found and measured with M.
#[derive(Debug, Clone)]
pub struct Surrogate {
    /// N.
    pub matrix: Matrix,
    /// About ‖(M − N)v‖ / ‖Mv‖.
    pub error: f64,
}

impl Surrogate {
    /// The surrogate of a multiple of M.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self { matrix: &self.matrix * factor, error: self.error }
    }
}

/// The programs that multiply by a matrix and by its transpose.
pub(super) fn compiled(matrix: &Matrix) -> [Arc<Program>; 2] {
    [Side::Plain, Side::Transposed].map(|side| Arc::new(Program::compile(matrix, side)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};
    use crate::kernel::random::stream;

    #[test]
    fn products_in_parts_have_the_same_bits() {
        const ROWS: usize = 300;
        let ring = (0..ROWS as u32).flat_map(|row| [(row, (row + 1) % ROWS as u32), (row, (row * 7) % ROWS as u32)]);
        let ring = crate::graph::Sparse::from_triplets(ROWS, ROWS, ring.collect(), None).unwrap();
        let ring = Matrix::sparse("A", Arc::new(ring));
        let matrix = &ring * &ring - Matrix::ones(ROWS, ROWS) * 0.5;
        for workers in [1, 2, 3] {
            let checked = run(Cluster::threads(workers), compiled(&matrix).to_vec(), |session| {
                let panel = session.random_normal(ROWS, 37, 1, stream::SYNTHETIC)?;
                let at_once = session.multiply(0, &panel)?;
                for at_a_time in [1, 8, 16, 36, 37, 100] {
                    let parts = multiply_in_parts(session, &[0], &panel, at_a_time)?;
                    assert_eq!(parts.panel().data(), at_once.panel().data(), "{at_a_time}");
                }
                Ok(())
            });
            checked.unwrap_or_else(|error: SvdError| panic!("{error}"));
        }
        assert_eq!([(1 << 20, 32), (1 << 23, 32), (1 << 23, 8)].map(|(n, k)| columns_at_a_time(n, k)), [32, 16, 8]);
    }
}
