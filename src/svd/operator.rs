//! The matrix to decompose, as the workers of a run apply it.

use std::sync::Arc;

use super::options::SvdError;
use super::wide::multiply_wide;
use crate::engine::{Session, Shard};
use crate::matrix::{Matrix, Shape};
use crate::plan::{Program, Side};

/// A matrix M that is at least as high as wide, by the two programs of a run that multiply by it
/// and by its transpose.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operator {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Positions of the programs among those of the run.
    forward: usize,
    backward: usize,
    /// The work of a column, in columns of the matrix to decompose.
    pub(super) cost: f64,
}

impl Operator {
    /// The operator of a matrix whose two programs begin at position `first`. A matrix that is wider
    /// than high is replaced by its transpose.
    pub(super) fn new(shape: Shape, first: usize, cost: f64) -> Self {
        let Shape { rows, columns } = shape;
        let (forward, backward) = (first, first + 1);
        match is_transposed(shape) {
            false => Self { rows, columns, forward, backward, cost },
            true => Self { rows: columns, columns: rows, forward: backward, backward: forward, cost },
        }
    }

    /// `M·X`.
    pub(super) fn apply(&self, session: &mut Session<'_>, block: &Shard) -> Result<Shard, SvdError> {
        Ok(session.multiply(self.forward, block)?)
    }

    /// `Mᵀ·X`.
    pub(super) fn adjoint(&self, session: &mut Session<'_>, block: &Shard) -> Result<Shard, SvdError> {
        Ok(session.multiply(self.backward, block)?)
    }

    /// `MᵀM·X`.
    pub(super) fn normal(&self, session: &mut Session<'_>, block: &Shard) -> Result<Shard, SvdError> {
        Ok(session.multiply_in_turn(&[self.forward, self.backward], block)?)
    }

    /// `M·X` of a panel that may be as wide as the answer.
    pub(super) fn apply_wide(&self, session: &mut Session<'_>, panel: &Shard) -> Result<Shard, SvdError> {
        multiply_wide(session, self.forward, panel)
    }

    /// `Mᵀ·X` of a panel that may be as wide as the answer.
    pub(super) fn adjoint_wide(&self, session: &mut Session<'_>, panel: &Shard) -> Result<Shard, SvdError> {
        multiply_wide(session, self.backward, panel)
    }

    /// Mᵀ.
    pub(super) fn transposed(self) -> Self {
        let Self { rows, columns, forward, backward, cost } = self;
        Self { rows: columns, columns: rows, forward: backward, backward: forward, cost }
    }

    /// Position of the program that applies the operator.
    pub(super) fn forward(&self) -> usize {
        self.forward
    }

    /// Position of the program that applies the adjoint.
    pub(super) fn backward(&self) -> usize {
        self.backward
    }
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
