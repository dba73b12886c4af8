//! The decomposition, from the matrix to the certified triplets.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, Look, count_significant};
use super::complete::complete;
use super::completeness::CompletenessCheck;
use super::gram::{self, Spectrum};
use super::keep::{Kept, Probe};
use super::krylov::grow;
use super::options::{Options, SvdError};
use super::prepared::{Beside, Prepared};
use super::scale::{MOST_SCALES, another_exponent, power_of_two};
use super::subspace::{Projection, iterate, rotate};
use super::warm::refine;
use super::wide::multiply_wide;
use crate::engine::checkpoint::{CheckpointLog, StoredResult};
use crate::engine::{Cluster, Monitor, Session, Shard, run};
use crate::kernel::random;
use crate::matrix::{Dense, Matrix};

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
    /// How many iterations were made, or by [`Method::Krylov`](super::Method::Krylov) how many blocks.
    pub iterations: usize,
    /// How many columns were multiplied by M or its transpose in all; one that was multiplied by a matrix beside M counts as the part of the
    /// work that it is.
    pub operator_columns: usize,
    /// The share of the energy that they hold, where they were chosen by it.
    pub energy: Option<f64>,
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
    /// How many columns were multiplied by M or its transpose in all, or what comes to as much work.
    pub operator_columns: usize,
    /// The share of the energy that they hold, where they were chosen by it.
    pub energy: Option<f64>,
}

impl Triplets {
    /// The triplets of the transpose, if the matrix was turned to be higher than wide.
    fn turned(self, is_turned: bool) -> Self {
        match is_turned {
            false => self,
            true => Triplets { left: self.right, right: self.left, ..self },
        }
    }
}

impl Default for Monitor<Progress> {
    fn default() -> Self {
        Self::new(Arc::new(|_, _, _| ()))
    }
}

/// Finds the largest singular triplets of `matrix`.
pub fn decompose(matrix: &Matrix, options: &Options, cluster: Cluster) -> Result<Svd, SvdError> {
    decompose_watched(matrix, options, cluster, Monitor::default())
}

/// The same, with somebody who is told of every iteration, and may keep what is found.
pub fn decompose_watched(
    matrix: &Matrix,
    options: &Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Svd, SvdError> {
    decompose_beside(matrix, &Beside::default(), options, cluster, watch)
}

/// The same, with the help of matrices that are less work to multiply by. Residuals are measured with the matrix itself, but for what
/// one that is near is off, where there are vectors to start from; where it is not near enough, it is not used.
pub fn decompose_beside(
    matrix: &Matrix,
    beside: &Beside,
    options: &Options,
    cluster: Cluster,
    watch: Monitor<Progress>,
) -> Result<Svd, SvdError> {
    let label = format!("svd {} {}", matrix.shape(), options.label());
    watch.once(&label, cluster, || {
        let mut exponent = 0;
        for _ in 0..MOST_SCALES {
            let factor = power_of_two(exponent);
            let found = match exponent {
                0 => decompose_scaled(matrix, beside, options, cluster, &watch, Some(0)),
                _ => decompose_scaled(
                    &(matrix * factor),
                    &beside.scaled(factor),
                    options,
                    cluster,
                    &watch,
                    Some(exponent),
                ),
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
        let as_it_is = decompose_scaled(matrix, beside, options, cluster, &watch, None)?;
        as_it_is.map_err(|exponent| SvdError::OutOfRange { exponent })
    })
}

/// Decomposes a matrix that was multiplied by two to a power. The inner error is another power that
/// keeps the arithmetic within range.
fn decompose_scaled(
    matrix: &Matrix,
    beside: &Beside,
    options: &Options,
    cluster: Cluster,
    watch: &Monitor<Progress>,
    exponent: Option<i32>,
) -> Result<Result<Svd, i32>, SvdError> {
    let mut prepared = Prepared::with_parts_formed(matrix, beside, options, cluster)?;
    prepared.exponent = exponent;
    let watch = watch.clone();
    run(cluster, prepared.programs(), move |session| {
        let triplets = match decompose_on(session, &prepared, &watch) {
            Ok(triplets) => triplets,
            // All workers find the same range, and end the run together.
            Err(SvdError::OutOfRange { exponent }) => return Ok(Err(exponent)),
            Err(error) => return Err(error),
        };
        let (left, right) = (session.collect(&triplets.left)?, session.collect(&triplets.right)?);
        Ok(Ok(Svd {
            left: left.unwrap_or_default(),
            singular_values: triplets.singular_values,
            right: right.unwrap_or_default(),
            certificate: triplets.certificate,
            iterations: triplets.iterations,
            operator_columns: triplets.operator_columns,
            energy: triplets.energy,
        }))
    })
}

/// All of an [`Svd`] but its vectors.
#[derive(Serialize, Deserialize)]
pub struct SvdNumbers {
    singular_values: Vec<f64>,
    relative_residuals: Vec<f64>,
    looks: Vec<Look>,
    completeness: Option<CompletenessCheck>,
    iterations: usize,
    operator_columns: usize,
    energy: Option<f64>,
}

impl StoredResult for Svd {
    type Numbers = SvdNumbers;

    fn numbers(&self) -> SvdNumbers {
        SvdNumbers {
            singular_values: self.singular_values.clone(),
            relative_residuals: self.certificate.relative_residuals.clone(),
            looks: self.certificate.looks.clone(),
            completeness: self.certificate.completeness,
            iterations: self.iterations,
            operator_columns: self.operator_columns,
            energy: self.energy,
        }
    }

    fn panels(&self) -> Vec<&Dense> {
        vec![&self.left, &self.right]
    }

    fn from_parts(numbers: SvdNumbers, panels: Vec<Dense>) -> Option<Self> {
        let [left, right] = <[Dense; 2]>::try_from(panels).ok()?;
        let SvdNumbers {
            singular_values,
            relative_residuals,
            looks,
            completeness,
            iterations,
            operator_columns,
            energy,
        } = numbers;
        let certificate = Certificate { relative_residuals, looks, completeness };
        Some(Self { left, singular_values, right, certificate, iterations, operator_columns, energy })
    }
}

/// Finds the largest singular triplets of a matrix within a run of workers whose first programs are the
/// [prepared ones](Prepared::programs); every worker keeps its own rows.
pub fn decompose_on(
    session: &mut Session<'_>,
    prepared: &Prepared,
    watch: &Monitor<Progress>,
) -> Result<Triplets, SvdError> {
    let spectrum = prepared.spectrum(session, watch.progress())?;
    if let Some(spectrum) = spectrum.filter(|spectrum| prepared.trusts(&spectrum.certificate)) {
        let triplets = of_spectrum(session, prepared, spectrum)?;
        // What rounding the vectors to 32 bits did shows only now.
        if prepared.trusts(&triplets.certificate) {
            return Ok(triplets);
        }
    }
    iterate_on(session, prepared, watch)
}

/// The triplets by iteration.
pub(super) fn iterate_on(
    session: &mut Session<'_>,
    prepared: &Prepared,
    watch: &Monitor<Progress>,
) -> Result<Triplets, SvdError> {
    let (mut triplets, mut is_misled) = iterate_with(session, prepared, watch)?;
    let mut more = prepared.with_more_care();
    while let Some(prepared) = more.filter(|_| is_misled) {
        let in_vain = triplets.operator_columns;
        drop(triplets);
        // It is not kept on the way: what is kept is named after the work, and that is still this one.
        (triplets, is_misled) = iterate_with(session, &prepared, &watch.unkept())?;
        triplets.operator_columns += in_vain;
        triplets.certificate.looks.iter_mut().for_each(|look| look.operator_columns += in_vain);
        more = prepared.with_more_care();
    }
    Ok(triplets)
}

/// The triplets by iteration, and whether more care would have made them better.
fn iterate_with(
    session: &mut Session<'_>,
    prepared: &Prepared,
    watch: &Monitor<Progress>,
) -> Result<(Triplets, bool), SvdError> {
    let (options, is_turned) = (&prepared.options, prepared.is_turned());
    let start = options.start.as_deref();
    let find = match (options.method.keeps_blocks(), start) {
        (false, _) => iterate,
        (true, Some(_)) => refine,
        (true, None) => grow,
    };
    let mut journal = CheckpointLog::new(watch, prepared.label());
    let mut projection = find(session, prepared, start, watch.progress(), &mut journal)?;
    let (certified, is_misled) = match projection.left.is_empty() {
        true => complete(session, prepared, projection)?,
        false => {
            let measured = projection.residual_squares.take();
            let triplets = triplets(session, prepared, projection)?;
            let certified = match measured {
                Some(squares) => {
                    let kept =
                        Certificate::new(&squares, &triplets.singular_values).count_real(&triplets.singular_values);
                    certified_by(session, &squares, kept, triplets)?
                }
                None => certify(session, prepared.tall().plain, triplets)?,
            };
            (certified, false)
        }
    };
    Ok((certified.turned(is_turned), is_misled))
}

/// The triplets of a matrix that is at least as high as wide, from the eigenvectors of its Gram matrix. Here the left
/// vectors are images of the right ones by construction, so what is measured is ‖Mᵀu − σv‖.
fn of_spectrum(session: &mut Session<'_>, prepared: &Prepared, spectrum: Spectrum) -> Result<Triplets, SvdError> {
    let Spectrum { singular_values, vectors, energy, .. } = spectrum;
    let (tall, rank) = (prepared.tall(), singular_values.len());
    let (seed, stream) = (prepared.options.seed, random::stream::START_BLOCK);
    let right = session.panel_from(&vectors, rank, seed, stream)?;
    let left = gram::other_side(session, tall.plain, &right, &singular_values)?;
    let (left, right) = with_signs(session, left, right, prepared.is_turned())?;
    let images = multiply_wide(session, tall.transposed, &left)?;
    let squares = session.distance_squares(&images, &right, &singular_values)?;
    let completeness = Some(CompletenessCheck::EXHAUSTIVE);
    let certificate = Certificate { completeness, ..Certificate::new(&squares, &singular_values) };
    let operator_columns = tall.columns + 2 * rank;
    let kept = count_significant(session, &images, &right, &squares, &singular_values)?;
    let triplets = Triplets { left, singular_values, right, certificate, iterations: 0, operator_columns, energy };
    Ok(truncated(session, triplets, kept)?.turned(prepared.is_turned()))
}

/// The vectors of the triplets that are kept, with their signs fixed.
fn triplets(session: &mut Session<'_>, prepared: &Prepared, mut projection: Projection) -> Result<Triplets, SvdError> {
    let (options, tall) = (&prepared.options, prepared.tall());
    let positive = projection.singular_values.iter().take_while(|&&value| value > 0.0).count();
    if options.keep.is_by_energy() && projection.total.is_none() {
        let probe = Probe::new(session, tall.columns, tall.plain, options.seed)?;
        let within: f64 = projection.singular_values.iter().map(|value| value * value).sum();
        projection.total = Some(within + probe.beyond(session, &projection.left)?);
        projection.operator_columns += probe.columns();
    }
    let found = &projection.singular_values[..options.rank.min(positive)];
    let Kept { count, energy, .. } = options.keep.count(found, projection.total);
    // A basis is given back as soon as it was rotated: together they are most of the memory of a run.
    let mut rotated = |basis: &mut Vec<Shard>, rotation: &[f64]| {
        let basis = std::mem::take(basis);
        rotate(session, &basis.iter().collect::<Vec<_>>(), rotation, count)
    };
    let left = rotated(&mut projection.left, &projection.left_rotation)?;
    let right = rotated(&mut projection.right, &projection.right_rotation)?;
    let (left, right) = with_signs(session, left, right, prepared.is_turned())?;
    projection.singular_values.truncate(count);
    let Projection { singular_values, iterations, operator_columns, looks, completeness, .. } = projection;
    let certificate = Certificate { looks, completeness, ..Certificate::default() };
    Ok(Triplets { left, singular_values, right, certificate, iterations, operator_columns, energy })
}

/// Fixes the signs by the left vectors of the matrix as the user stated it: the largest entry of each is positive.
pub(super) fn with_signs(
    session: &mut Session<'_>,
    left: Shard,
    right: Shard,
    is_turned: bool,
) -> Result<(Shard, Shard), SvdError> {
    let peaks = session.column_peaks(if is_turned { &right } else { &left })?;
    let signs: Vec<f32> = peaks.iter().map(|&peak| 1f32.copysign(peak as f32)).collect();
    Ok((gram::scaled(session, &left, &signs)?, gram::scaled(session, &right, &signs)?))
}

/// Measures every residual, and drops the triplets at the end that are rounding and nothing else.
fn certify(session: &mut Session<'_>, plain: usize, mut triplets: Triplets) -> Result<Triplets, SvdError> {
    if triplets.singular_values.is_empty() {
        return Ok(triplets);
    }
    let images = multiply_wide(session, plain, &triplets.right)?;
    triplets.operator_columns += triplets.singular_values.len();
    let squares = session.distance_squares(&images, &triplets.left, &triplets.singular_values)?;
    let kept = count_significant(session, &images, &triplets.left, &squares, &triplets.singular_values)?;
    drop(images);
    certified_by(session, &squares, kept, triplets)
}

/// Writes the measured residuals down, and keeps the first `kept` triplets: the others are rounding.
pub(super) fn certified_by(
    session: &mut Session<'_>,
    squares: &[f64],
    kept: usize,
    mut triplets: Triplets,
) -> Result<Triplets, SvdError> {
    let Certificate { looks, completeness, .. } = std::mem::take(&mut triplets.certificate);
    triplets.certificate = Certificate { looks, completeness, ..Certificate::new(squares, &triplets.singular_values) };
    truncated(session, triplets, kept)
}

/// The first `kept` triplets.
fn truncated(session: &mut Session<'_>, mut triplets: Triplets, kept: usize) -> Result<Triplets, SvdError> {
    if kept < triplets.singular_values.len() {
        triplets.singular_values.truncate(kept);
        triplets.certificate.relative_residuals.truncate(kept);
        triplets.left = session.columns(&triplets.left, 0..kept)?;
        triplets.right = session.columns(&triplets.right, 0..kept)?;
    }
    Ok(triplets)
}
