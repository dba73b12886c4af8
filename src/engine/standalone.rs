//! Operations that start workers for themselves.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Cluster, EngineError, run};
use crate::matrix::{Dense, Matrix};
use crate::plan::{Program, Side};

/// Forms a matrix, by its transpose if that has fewer columns.
pub fn form(matrix: &Matrix, cluster: Cluster) -> Result<Dense, EngineError> {
    let shape = matrix.shape();
    let is_wide = shape.rows < shape.columns;
    let program = Arc::new(Program::forming(matrix));
    let entries = run(cluster, vec![program], |session| {
        let entries = session.form(0)?;
        Ok::<_, EngineError>(session.collect(&entries)?.unwrap_or_default())
    })?;
    Ok(if is_wide { entries.transposed() } else { entries })
}

/// The matrix with some of its parts replaced by their entries.
pub fn with_formed(matrix: &Matrix, parts: &[Matrix], cluster: Cluster) -> Result<Matrix, EngineError> {
    let mut formed = HashMap::new();
    for part in parts {
        let name = format!("[{part}]");
        let entries = Matrix::dense(&name, form(part, cluster)?);
        let entries = entries.map_err(|_| EngineError::NotFinite { step: format!("forming {name}") })?;
        formed.insert(part.identity_key(), entries);
    }
    Ok(matrix.with_parts(&formed))
}

/// The product of a matrix, or its transpose, with a stored matrix.
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
