//! The decomposition, from the matrix to the certified triplets.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, count_significant};
use super::completeness::CompletenessCheck;
use super::driver::{Growth, grow};
use super::gram::{self, Spectrum};
use super::operator::Surrogate;
use super::options::{Method, Options, SvdError};
use super::prepared::{Failure, Prepared};
use super::scale::{MOST_SCALES, another_exponent, power_of_two};
use super::subspace::iterate;
use super::triplets::{Triplets, certified, with_signs};
use crate::engine::checkpoint::{CheckpointLog, StoredResult};
use crate::engine::{Cluster, Monitor, Session, run};
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
    /// The errors of the triplets.
    pub certificate: Certificate,
    /// How many iterations were made, or by [`Method::Krylov`] how many blocks.
    pub iterations: usize,
    /// How many columns were multiplied by M or its transpose in all; one that was multiplied by a surrogate counts as
    /// the part of the work that it is.
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

impl Default for Monitor<Progress> {
    fn default() -> Self {
        Self::new(Arc::new(|_, _, _| ()))
    }
}

/// Finds the largest singular triplets of `matrix`.
pub fn decompose(matrix: &Matrix, options: &Options, cluster: Cluster) -> Result<Svd, SvdError> {
    decompose_with(matrix, None, options, cluster, Monitor::default())
}

/// The same with a surrogate to grow bases with, where it is close enough for the tolerance, and with a
/// monitor, which is told of every iteration and may keep checkpoints. Residuals are measured with the
/// matrix itself.
pub fn decompose_with(
    matrix: &Matrix,
    surrogate: Option<&Surrogate>,
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
) -> Result<Result<Svd, i32>, SvdError> {
    let mut prepared = Prepared::with_parts_formed(matrix, surrogate, options, cluster)?;
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
    certificate: Certificate,
    iterations: usize,
    operator_columns: usize,
    energy: Option<f64>,
}

impl StoredResult for Svd {
    type Numbers = SvdNumbers;

    fn numbers(&self) -> SvdNumbers {
        SvdNumbers {
            singular_values: self.singular_values.clone(),
            certificate: self.certificate.clone(),
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
        let SvdNumbers { singular_values, certificate, iterations, operator_columns, energy } = numbers;
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
    if let Some(spectrum) = spectrum.filter(|spectrum| prepared.trusts(spectrum.certificate.worst())) {
        let triplets = of_spectrum(session, prepared, spectrum)?;
        // What rounding the vectors to 32 bits did shows only now.
        if prepared.trusts(triplets.certificate.worst()) {
            return Ok(triplets);
        }
    }
    iterate_on(session, prepared, watch)
}

/// The triplets by iteration. Where the certificate shows that rounding or a surrogate has spoiled them,
/// the [fallback](Prepared::fallback) finds them anew.
pub(super) fn iterate_on(
    session: &mut Session<'_>,
    prepared: &Prepared,
    watch: &Monitor<Progress>,
) -> Result<Triplets, SvdError> {
    let (mut attempt, mut fallback) = (iterate_once(session, prepared, watch)?, None::<Prepared>);
    loop {
        let tried = fallback.as_ref().unwrap_or(prepared);
        let (failure, wasted) = match &attempt {
            Attempt::Failed(failure, triplets) => (*failure, triplets.operator_columns),
            Attempt::RoundingDominates(columns) => (Failure::Rounding, *columns),
            Attempt::Certified(_) => (Failure::Residuals, 0),
        };
        let next = match attempt {
            Attempt::Certified(triplets) => return Ok(triplets),
            Attempt::Failed(_, triplets) => match tried.fallback(failure) {
                Some(next) => next,
                None => return Ok(triplets),
            },
            Attempt::RoundingDominates(_) => {
                tried.fallback(failure).expect("it was asked before the bases were given up")
            }
        };
        // No checkpoints: they are named after the work, and those of the first attempt have its name.
        attempt = iterate_once(session, &next, &watch.unkept())?;
        fallback = Some(next);
        attempt.add_columns(wasted);
    }
}

/// What an iteration came to.
enum Attempt {
    Certified(Triplets),
    /// The measured residuals are larger than the tolerance, and a fallback may make them smaller.
    Failed(Failure, Triplets),
    /// There are no triplets: rounding errors hide them. This many columns were multiplied.
    RoundingDominates(usize),
}

impl Attempt {
    /// Counts the columns that an earlier attempt multiplied.
    fn add_columns(&mut self, wasted: usize) {
        match self {
            Self::RoundingDominates(columns) => *columns += wasted,
            Self::Certified(triplets) | Self::Failed(_, triplets) => {
                triplets.operator_columns += wasted;
                triplets.certificate.history.iter_mut().for_each(|check| check.operator_columns += wasted);
            }
        }
    }
}

fn iterate_once(
    session: &mut Session<'_>,
    prepared: &Prepared,
    watch: &Monitor<Progress>,
) -> Result<Attempt, SvdError> {
    let mut journal = CheckpointLog::new(watch, prepared.label());
    let projection = match prepared.options.method {
        Method::Subspace => iterate(session, prepared, watch.progress(), &mut journal)?,
        _ => match grow(session, prepared, watch.progress(), &mut journal)? {
            Growth::Bases(projection) => projection,
            Growth::RoundingDominates(columns) => return Ok(Attempt::RoundingDominates(columns)),
        },
    };
    Ok(match certified(session, prepared, projection)? {
        (triplets, None) => Attempt::Certified(triplets),
        (triplets, Some(failure)) => Attempt::Failed(failure, triplets),
    })
}

/// The triplets of a matrix that is at least as high as wide, from the eigenvectors of its Gram matrix.
/// The left vectors are images of the right ones by construction, so ‖Mᵀu − σv‖ is measured.
fn of_spectrum(session: &mut Session<'_>, prepared: &Prepared, spectrum: Spectrum) -> Result<Triplets, SvdError> {
    let Spectrum { singular_values, vectors, energy, .. } = spectrum;
    let (operator, rank) = (prepared.operator(), singular_values.len());
    let (seed, stream) = (prepared.options.seed, random::stream::START_BLOCK);
    let right = session.panel_from(&vectors, rank, seed, stream)?;
    let images = operator.apply_wide(session, &right)?;
    let inverse: Vec<f32> = singular_values.iter().map(|value| value.recip() as f32).collect();
    let left = gram::scaled(session, &images, &inverse)?;
    drop(images);
    let (left, right) = with_signs(session, left, right, prepared.is_transposed())?;
    let images = operator.adjoint_wide(session, &left)?;
    let squares = session.distance_squares(&images, &right, &singular_values)?;
    let kept = count_significant(session, &images, &right, &squares, &singular_values)?;
    let completeness = Some(CompletenessCheck::EXHAUSTIVE);
    let certificate = Certificate { completeness, ..Certificate::default() };
    let operator_columns = operator.columns + 2 * rank;
    let triplets = Triplets { left, singular_values, right, certificate, iterations: 0, operator_columns, energy };
    Ok(triplets.certified(session, &squares, kept)?.transposed_if(prepared.is_transposed()))
}
