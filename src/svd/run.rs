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
    /// The number of triplets found: the rank asked for, or that of the matrix, as far as 32-bit numbers can tell it, if
    /// it has less.
    pub fn effective_rank(&self) -> usize {
        self.singular_values.len()
    }
}

/// One worker's rows of the largest singular triplets; what is not a shard is the same on every worker.
pub struct Triplets {
    /// Rows of the left vectors, one column a triplet.
    pub left: Shard,
    /// From the largest down.
    pub singular_values: Vec<f64>,
    /// Rows of the right vectors.
    pub right: Shard,
    /// The measured residual of each.
    pub certificate: Certificate,
    /// How many iterations were made.
    pub iterations: usize,
    /// How many columns were multiplied by M or its transpose in all.
    pub operator_columns: usize,
}

/// The programs that [`decompose_on`] multiplies with, in the order in which it wants them.
pub fn programs(matrix: &Matrix) -> Vec<Arc<Program>> {
    [Side::Plain, Side::Transposed].map(|side| Arc::new(Program::compile(matrix, side))).into()
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
    options.block_columns(shape)?;
    let options = options.clone();
    run(cluster, programs(matrix), move |session| {
        let triplets = decompose_on(session, shape, &options, progress.as_ref())?;
        let (left, right) = (session.collect(&triplets.left)?, session.collect(&triplets.right)?);
        Ok(Svd {
            left: left.unwrap_or_default(),
            singular_values: triplets.singular_values,
            right: right.unwrap_or_default(),
            certificate: triplets.certificate,
            iterations: triplets.iterations,
            operator_columns: triplets.operator_columns,
        })
    })
}

/// Finds the largest singular triplets of a matrix of this shape within a run of workers whose first two programs are
/// its [`programs`]; every worker keeps its own rows.
pub fn decompose_on(
    session: &mut Session<'_>,
    shape: Shape,
    options: &Options,
    progress: &Progress,
) -> Result<Triplets, SvdError> {
    let block_columns = options.block_columns(shape)?;
    let is_wide = shape.rows < shape.columns;
    let (plain, transposed) = if is_wide { (1, 0) } else { (0, 1) };
    let tall = Tall { columns: shape.smaller_side(), plain, transposed };
    let start = options.start.as_ref().map(|start| if is_wide { &*start.left } else { &*start.right });
    let projection = match options.method {
        Method::Subspace => iterate(session, tall, block_columns, options, start, progress)?,
    };
    let triplets = triplets(session, projection, options.rank, is_wide)?;
    let triplets = certify(session, tall.plain, triplets)?;
    match is_wide {
        false => Ok(triplets),
        true => Ok(Triplets { left: triplets.right, right: triplets.left, ..triplets }),
    }
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
    let Projection { singular_values, iterations, operator_columns, .. } = projection;
    Ok(Triplets { left, singular_values, right, certificate: Certificate::default(), iterations, operator_columns })
}

/// Measures every residual, and drops the triplets at the end that are rounding and nothing else.
fn certify(session: &mut Session<'_>, plain: usize, mut triplets: Triplets) -> Result<Triplets, SvdError> {
    let found = triplets.singular_values.len();
    if found == 0 {
        return Ok(triplets);
    }
    let images = session.multiply(plain, &triplets.right)?;
    triplets.operator_columns += found;
    let squares = session.distance_squares(&images, &triplets.left, &triplets.singular_values)?;
    let mut certificate = Certificate::new(&squares, &triplets.singular_values);
    let kept = certificate.count_real(&triplets.singular_values);
    triplets.singular_values.truncate(kept);
    certificate.relative_residuals.truncate(kept);
    if kept < found {
        let first: Vec<f64> =
            (0..found * found).map(|entry| f64::from(u8::from(entry / found == entry % found))).collect();
        triplets.left = rotate(session, &triplets.left, &first, kept)?;
        triplets.right = rotate(session, &triplets.right, &first, kept)?;
    }
    Ok(Triplets { certificate, ..triplets })
}
