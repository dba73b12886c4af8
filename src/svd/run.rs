//! The decomposition, from the matrix to the certified triplets.

use std::sync::Arc;

use super::certificate::Certificate;
use super::completeness::CompletenessCheck;
use super::driver::grow;
use super::operator::{ColumnCount, Operator, Surrogate, compiled};
use super::options::{Method, Options, SvdError};
use super::prepared::Prepared;
use super::scale::{MOST_SCALES, another_exponent, power_of_two};
use super::subspace::iterate;
use super::triplets::{Svd, Triplets, certified};
use crate::engine::checkpoint::CheckpointLog;
use crate::engine::{Cluster, Collected, EngineError, Monitor, Session, Sharded, run};
use crate::kernel::random::stream;
use crate::matrix::Matrix;

/// Called on the first worker after every iteration: how many are done, of how many at most, and
/// the worst relative residual if a tolerance was given.
pub type Progress = dyn Fn(usize, usize, Option<f64>) + Send + Sync;

impl Default for Monitor<Progress> {
    fn default() -> Self {
        Self::new(Arc::new(|_, _, _| ()))
    }
}

/// Finds the largest singular triplets of `matrix`.
pub fn decompose(matrix: &Matrix, options: &Options, cluster: Cluster) -> Result<Svd, SvdError> {
    decompose_with(matrix, None, options, cluster, Monitor::default())
}

/// Finds the largest singular triplets as [`decompose_sharded`] does, with all vectors on every
/// process.
pub fn decompose_with(
    matrix: &Matrix,
    surrogate: Option<&Surrogate>,
    options: &Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Svd, SvdError> {
    let mut svd = decompose_sharded(matrix, surrogate, options, cluster, watch)?;
    let (left, right) = (std::mem::take(&mut svd.left), std::mem::take(&mut svd.right));
    Ok(svd.with_vectors(left.gathered(cluster)?, right.gathered(cluster)?))
}

/// Finds the largest singular triplets; every process has its rows of the vectors.
///
/// A surrogate that is close enough for the tolerance grows the bases. The monitor is told of every
/// iteration and may keep checkpoints. Residuals are measured with the matrix itself.
pub fn decompose_sharded(
    matrix: &Matrix,
    surrogate: Option<&Surrogate>,
    options: &Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Triplets<Sharded>, SvdError> {
    let label = || format!("svd {} {} of {}", matrix.shape(), options.label(), content_of(matrix, cluster));
    watch.once_with(label, cluster, || {
        let mut exponent = 0;
        for _ in 0..MOST_SCALES {
            let factor = power_of_two(exponent);
            let found = match exponent {
                0 => decompose_scaled(matrix, surrogate, options, cluster, &watch, Some(0)),
                _ => {
                    let (matrix, surrogate) = (matrix * factor, surrogate.map(|surrogate| surrogate.scaled(factor)));
                    decompose_scaled(&matrix, surrogate.as_ref(), options, cluster, &watch, Some(exponent))
                }
            };
            // A product that overflows ends the run of all workers; other processes end with it.
            let another = |error: SvdError| match cluster.mesh {
                None => another_exponent(&error, exponent).map(Err).ok_or(error),
                Some(_) => Err(error),
            };
            match found.or_else(another)? {
                Ok(mut svd) => {
                    svd.singular_values.iter_mut().for_each(|value| *value *= power_of_two(-exponent));
                    return Ok(svd);
                }
                Err(another) => exponent = another,
            }
        }
        // No scale is right where a product within the matrix overflows, or where all that is left of
        // a difference is rounding: the matrix is taken as it is.
        let as_it_is = decompose_scaled(matrix, surrogate, options, cluster, &watch, None)?;
        as_it_is.map_err(|exponent| SvdError::OutOfRange { exponent })
    })
}

/// Decomposes a matrix that was multiplied by two to a power. The inner error is another power that
/// keeps the arithmetic within range.
fn decompose_scaled(
    matrix: &Matrix,
    surrogate: Option<&Surrogate>,
    options: &Options,
    cluster: Cluster,
    watch: &Monitor<Progress>,
    exponent: Option<i32>,
) -> Result<Result<Triplets<Sharded>, i32>, SvdError> {
    let mut prepared = Prepared::with_parts_formed(matrix, surrogate, options, cluster)?;
    prepared.exponent = exponent;
    let (watch, collected) = (watch.clone(), [Collected::default(), Collected::default()]);
    let [of_left, of_right] = collected.clone();
    let numbers = run(cluster, prepared.programs(), move |session| {
        let triplets = match decompose_on(session, &prepared, &watch) {
            Ok(triplets) => triplets,
            // All workers find the same range, and end the run together.
            Err(SvdError::OutOfRange { exponent }) => return Ok(Err(exponent)),
            Err(error) => return Err(error),
        };
        let numbers = triplets.with_vectors((), ());
        let Triplets { left, right, .. } = triplets;
        session.keep(&left, &of_left);
        drop(left);
        session.keep(&right, &of_right);
        Ok::<_, SvdError>(Ok(numbers))
    })?;
    let [left, right] = collected.map(|panel| panel.take());
    Ok(numbers.map(|numbers| numbers.with_vectors(left.unwrap_or_default(), right.unwrap_or_default())))
}

/// Finds the largest singular triplets of a matrix within a run of workers whose first programs are
/// the [prepared ones](Prepared::programs); every worker keeps its own rows.
pub fn decompose_on(
    session: &mut Session<'_>,
    prepared: &Prepared,
    watch: &Monitor<Progress>,
) -> Result<Triplets, SvdError> {
    let count = ColumnCount::default();
    if let Some(spectrum) = prepared.spectrum(session, &count, watch.progress())? {
        let operator = prepared.operator(&count);
        let found = spectrum.approximation(session, &operator)?;
        let certificate = Certificate { completeness: Some(CompletenessCheck::EXHAUSTIVE), ..Certificate::default() };
        let triplets = found.measured(session, prepared, &operator, 0, certificate)?;
        if prepared.trusts(triplets.certificate.worst()) {
            return Ok(triplets);
        }
    }
    iterate_on(session, prepared, &count, watch)
}

/// The triplets by iteration. Where rounding or a surrogate has spoiled them, the
/// [fallback](Prepared::fallback) goes on with the columns that are left, and the better answer is
/// returned.
pub(super) fn iterate_on(
    session: &mut Session<'_>,
    prepared: &Prepared,
    count: &ColumnCount,
    watch: &Monitor<Progress>,
) -> Result<Triplets, SvdError> {
    let mut before = count.get();
    let mut best = iterate_once(session, prepared, count, before, watch)?;
    let mut tried = prepared.fallback(best.as_ref());
    while let Some(fallback) = tried {
        if best.is_none() {
            before = count.get();
        }
        // No checkpoints: they are named after the work, and those of the first attempt have its name.
        let found = iterate_once(session, &fallback, count, before, &watch.unkept())?;
        tried = fallback.fallback(found.as_ref());
        let is_better = |found: &Triplets, best: &Triplets| {
            let worst = found.certificate.worst();
            found.effective_rank() > best.effective_rank()
                || found.effective_rank() == best.effective_rank() && worst <= best.certificate.worst()
        };
        best = match (found, best) {
            (Some(found), Some(best)) => Some(if is_better(&found, &best) { found } else { best }),
            (found, best) => found.or(best),
        };
    }
    let best = best.expect("there is a fallback where an iteration finds nothing");
    Ok(Triplets { operator_columns: count.columns(), ..best })
}

/// `None` where rounding errors hide the triplets.
fn iterate_once(
    session: &mut Session<'_>,
    prepared: &Prepared,
    count: &ColumnCount,
    before: f64,
    watch: &Monitor<Progress>,
) -> Result<Option<Triplets>, SvdError> {
    let checkpointed = prepared.clone();
    let mut log = CheckpointLog::with_label(watch, move |session| {
        let content = fingerprint(session, &checkpointed.operator(&ColumnCount::default()))?;
        Ok(checkpointed.label(&content))
    });
    let projection = match prepared.options.method {
        Method::Subspace => Some(iterate(session, prepared, count, watch.progress(), &mut log)?),
        _ => grow(session, prepared, count, before, watch.progress(), &mut log)?,
    };
    projection.map(|projection| certified(session, prepared, count, projection)).transpose()
}

/// What distinguishes matrices of one name in checkpoints: the bits of yᵀMx for two random vectors.
fn fingerprint(session: &mut Session<'_>, operator: &Operator) -> Result<String, EngineError> {
    let x = session.random_normal(operator.columns, 1, 0, stream::PROBE)?;
    let y = session.random_normal(operator.rows, 1, 1, stream::PROBE)?;
    let image = session.multiply(operator.programs()[0], &x)?;
    Ok(format!("{:016x}", session.cross_gram(&y, &image)?[0].to_bits()))
}

/// The fingerprint outside of a run; empty where a product overflows.
fn content_of(matrix: &Matrix, cluster: Cluster) -> String {
    let shape = matrix.shape();
    let found = run(cluster, compiled(matrix).to_vec(), move |session| {
        fingerprint(session, &Operator::new(shape, 0, 1.0, &ColumnCount::default()))
    });
    found.unwrap_or_default()
}
