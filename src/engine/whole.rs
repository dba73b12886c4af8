//! Whole answers, for those who need no session of their own.

use std::sync::Arc;

use super::{Cluster, EngineError, run};
use crate::matrix::{Dense, Matrix};
use crate::plan::{Program, Side};

/// Entries of a matrix are formed unasked up to so many bytes, those on the way included.
pub const MOST_FORMED_BYTES: u64 = 2 << 30;

/// How many bytes it takes to [`form`] a matrix.
pub fn bytes_to_form(matrix: &Matrix) -> u64 {
    let shape = matrix.shape();
    let entries = (shape.rows as u64).saturating_mul(shape.columns as u64).saturating_mul(size_of::<f32>() as u64);
    // Counting the steps of a program takes their shapes, not their entries.
    entries.saturating_add(forming(matrix).count(0).temporary_bytes)
}

fn forming(matrix: &Matrix) -> Program {
    let shape = matrix.shape();
    Program::form(&if shape.rows < shape.columns { matrix.t() } else { matrix.clone() })
}

/// The entries of a matrix. Few rows are formed by way of the transpose: a walk from each row, not one from each column.
pub fn form(matrix: &Matrix, cluster: Cluster) -> Result<Dense, EngineError> {
    let shape = matrix.shape();
    let is_wide = shape.rows < shape.columns;
    let program = Arc::new(forming(matrix));
    let entries = run(cluster, vec![program], |session| {
        let entries = session.form(0)?;
        Ok::<_, EngineError>(session.collect(&entries)?.unwrap_or_default())
    })?;
    Ok(if is_wide { entries.transposed() } else { entries })
}

/// A matrix, or its transpose, times a stored one.
///
/// # Panics
/// If the shapes do not fit each other.
pub fn product(matrix: &Matrix, side: Side, factor: &Arc<Dense>, cluster: Cluster) -> Result<Dense, EngineError> {
    let program = Arc::new(Program::compile(matrix, side));
    let factor = factor.clone();
    run(cluster, vec![program], move |session| {
        let panel = session.panel_from(&factor, factor.columns(), 0, 0)?;
        let product = session.multiply(0, &panel)?;
        Ok(session.collect(&product)?.unwrap_or_default())
    })
}
