//! The decomposition, from the matrix to the certified triplets.

use std::sync::Arc;

use super::certificate::Certificate;
use super::options::{Method, Options, SvdError};
use super::subspace::{Projection, Tall, iterate, rotate};
use crate::engine::{Cluster, Session, Shard, run};
use crate::matrix::{Dense, Matrix, Shape};
use crate::plan::{Program, Side};

/// Called on the first worker after every iteration: how many are done, of how many at most, and the worst relative
/// residual if a tolerance was given.
pub type Progress = dyn Fn(usize, usize, Option<f64>) + Send + Sync;

/// A singular value this small beside the largest, in units of it, is what rounding makes of zero, if its residual is
/// larger than itself.
const ROUNDING: f64 = 16.0 * f32::EPSILON as f64;

/// The largest singular triplets of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Svd {
    /// One column a triplet; the entry of largest magnitude of each is positive.
    pub left: Dense,
    /// From the largest down. There are fewer than asked for where the rank of the matrix is less.
    pub singular_values: Vec<f64>,
    /// One column a triplet.
    pub right: Dense,
    /// The measured residual of each.
    pub certificate: Certificate,
    /// How many iterations were made.
    pub iterations: usize,
    /// How many columns were multiplied by M or its transpose in all.
    pub operator_columns: usize,
}

impl Svd {
    /// The number of triplets found: the rank asked for, or that of the matrix if it has less.
    pub fn effective_rank(&self) -> usize {
        self.singular_values.len()
    }
}

/// One worker's rows of the triplets.
struct Triplets {
    left: Shard,
    singular_values: Vec<f64>,
    right: Shard,
    certificate: Certificate,
}

/// Finds the largest singular triplets of `matrix`.
pub fn decompose(matrix: &Matrix, options: &Options, cluster: Cluster) -> Result<Svd, SvdError> {
    decompose_watched(matrix, options, cluster, Arc::new(|_, _, _| ()))
}

/// The same, telling `progress` of every iteration.
pub fn decompose_watched(
    matrix: &Matrix,
    options: &Options,
    cluster: Cluster,
    progress: Arc<Progress>,
) -> Result<Svd, SvdError> {
    let shape = matrix.shape();
    let block_columns = options.block_columns(shape)?;
    let options = options.clone();
    let programs = [Side::Plain, Side::Transposed].map(|side| Arc::new(Program::compile(matrix, side)));
    run(cluster, programs.into(), move |session| {
        decompose_on(session, shape, block_columns, &options, progress.as_ref())
    })
}

/// Program 0 multiplies by the matrix, program 1 by its transpose.
fn decompose_on(
    session: &mut Session<'_>,
    shape: Shape,
    block_columns: usize,
    options: &Options,
    progress: &Progress,
) -> Result<Svd, SvdError> {
    let is_wide = shape.rows < shape.columns;
    let (plain, transposed) = if is_wide { (1, 0) } else { (0, 1) };
    let tall = Tall { columns: shape.smaller_side(), plain, transposed };
    let projection = match options.method {
        Method::Subspace => iterate(session, tall, block_columns, options, progress)?,
    };
    let (iterations, mut operator_columns) = (projection.iterations, projection.operator_columns);
    let triplets = triplets(session, projection, options.rank, is_wide)?;
    let columns = triplets.singular_values.len();
    let triplets = certify(session, tall.plain, triplets)?;
    operator_columns += columns;
    let kept = triplets.singular_values.len();
    let (left, right) = (session.collect(&triplets.left)?, session.collect(&triplets.right)?);
    let (left, right) = (first_columns(left, kept), first_columns(right, kept));
    let (left, right) = if is_wide { (right, left) } else { (left, right) };
    let (singular_values, certificate) = (triplets.singular_values, triplets.certificate);
    Ok(Svd { left, singular_values, right, certificate, iterations, operator_columns })
}

/// The vectors of the first triplets, with their signs fixed by the left vectors of the matrix as the user stated it.
fn triplets(
    session: &mut Session<'_>,
    mut projection: Projection,
    rank: usize,
    is_wide: bool,
) -> Result<Triplets, SvdError> {
    let positive = projection.singular_values.iter().take_while(|&&value| value > 0.0).count();
    let rank = rank.min(positive);
    let fixed = if is_wide {
        rotate(session, &projection.right, &projection.right_rotation, rank)?
    } else {
        rotate(session, &projection.left, &projection.left_rotation, rank)?
    };
    let peaks = session.column_peaks(&fixed)?;
    drop(fixed);
    for rotation in [&mut projection.left_rotation, &mut projection.right_rotation] {
        let width = projection.singular_values.len().max(1);
        for row in rotation.chunks_exact_mut(width) {
            row.iter_mut().zip(&peaks).filter(|(_, peak)| **peak < 0.0).for_each(|(entry, _)| *entry = -*entry);
        }
    }
    let left = rotate(session, &projection.left, &projection.left_rotation, rank)?;
    let right = rotate(session, &projection.right, &projection.right_rotation, rank)?;
    projection.singular_values.truncate(rank);
    let certificate = Certificate::default();
    Ok(Triplets { left, singular_values: projection.singular_values, right, certificate })
}

/// Measures every residual, and drops the triplets at the end that are rounding and nothing else.
fn certify(session: &mut Session<'_>, plain: usize, mut triplets: Triplets) -> Result<Triplets, SvdError> {
    if triplets.singular_values.is_empty() {
        return Ok(triplets);
    }
    let images = session.multiply(plain, &triplets.right)?;
    let squares = session.distance_squares(&images, &triplets.left, &triplets.singular_values)?;
    let mut certificate = Certificate::new(&squares, &triplets.singular_values);
    let noise = ROUNDING * triplets.singular_values[0];
    let is_noise = |(value, residual): (&f64, &f64)| *value <= noise && *residual > 1.0;
    let pairs = triplets.singular_values.iter().zip(&certificate.relative_residuals);
    let kept = pairs.take_while(|pair| !is_noise(*pair)).count();
    triplets.singular_values.truncate(kept);
    certificate.relative_residuals.truncate(kept);
    Ok(Triplets { certificate, ..triplets })
}

/// The first columns of a panel; nothing where this worker did not get it.
fn first_columns(panel: Option<Dense>, columns: usize) -> Dense {
    let Some(panel) = panel else { return Dense::default() };
    if panel.columns() == columns {
        return panel;
    }
    let data = (0..panel.rows()).flat_map(|row| panel.row(row)[..columns].iter().copied()).collect();
    Dense::new(panel.rows(), columns, data).unwrap_or_default()
}
