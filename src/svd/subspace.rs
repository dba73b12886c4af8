//! Subspace iteration: Algorithm 1 of the paper (eq. 5 of [`crate::svd`]).

use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, ConvergenceCheck};
use super::operator::ColumnCount;
use super::options::SvdError;
use super::orthogonalize::{BlockQr, FULL, orthonormalize};
use super::prepared::Prepared;
use super::run::Progress;
use super::scale::check_length;
use super::small::{ThinSvd, combine, svd};
use super::stopping::RoundingPlateau;
use super::triplets::Projection;
use crate::engine::checkpoint::{CheckpointLog, State};
use crate::engine::{Session, Shard};
use crate::kernel::random::stream;

/// The accepted orthogonality loss of the block of an iteration; the answer is made of a better
/// one.
const ITERATED: f64 = 1e-3;

/// How far the iteration is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Numbers {
    iterations: usize,
    operator_columns: f64,
    history: Vec<ConvergenceCheck>,
    plateau: RoundingPlateau,
}

/// Iterates on a block of as many columns as were prepared for, the given start among them, and
/// projects M on what that leaves.
pub(super) fn iterate(
    session: &mut Session<'_>,
    prepared: &Prepared,
    count: &ColumnCount,
    progress: &Progress,
    log: &mut CheckpointLog,
) -> Result<Projection, SvdError> {
    let (operator, options) = (prepared.operator(count), &prepared.options);
    let (mut numbers, mut kept) = log.resume::<Numbers>(session)?.unwrap_or_default();
    let mut product = match kept.pop() {
        Some(product) => {
            count.set(numbers.operator_columns);
            product
        }
        None => {
            // A random block, with the given start for its first columns.
            let (seed, width, given) = (options.seed, prepared.block, options.start.as_ref());
            let start = match given {
                None => session.random_normal(operator.columns, width, seed, stream::START_BLOCK)?,
                Some(vectors) => session.panel_from(vectors, width, seed, stream::START_BLOCK)?,
            };
            let product = operator.apply(session, &start)?;
            let squares = session.gram(&product)?;
            let longest = squares.iter().step_by(product.cols() + 1).copied().fold(0.0, f64::max).sqrt();
            check_length(prepared, longest)?;
            product
        }
    };
    while numbers.iterations < options.iterations {
        numbers.operator_columns = count.get();
        let name = format!("product-{}", numbers.iterations);
        log.keep(session, || State { numbers: &numbers, panels: vec![(name, &product)] })?;
        let left = orthonormalize(session, product, ITERATED)?.q;
        let image = operator.adjoint(session, &left)?;
        let right = orthonormalize(session, image, ITERATED)?;
        if right.q.cols() == 0 {
            product = left;
            break;
        }
        product = operator.apply(session, &right.q)?;
        numbers.iterations += 1;
        let worst = match options.tolerance {
            None => None,
            Some(_) => Some(worst_residual(session, &left, &right, &product, options.rank, &mut numbers.plateau)?),
        };
        if let Some(worst_residual) = worst.filter(|worst| worst.is_finite()) {
            let (iterations, operator_columns) = (numbers.iterations, count.columns());
            numbers.history.push(ConvergenceCheck { iterations, operator_columns, worst_residual });
        }
        if session.worker() == 0 {
            progress(numbers.iterations, options.iterations, worst);
        }
        if worst.zip(options.tolerance).is_some_and(|(worst, tolerance)| worst <= tolerance) {
            break;
        }
    }
    let left = orthonormalize(session, product, FULL)?.q;
    let image = operator.adjoint(session, &left)?;
    let right = orthonormalize(session, image, FULL)?;
    let (left_rotation, singular_values, right_rotation) = decompose_small(&right)?;
    Ok(Projection {
        left: vec![left],
        left_rotation,
        right: vec![right.q],
        right_rotation,
        singular_values,
        total: None,
        iterations: numbers.iterations,
        certificate: Certificate { history: numbers.history, ..Certificate::default() },
    })
}

/// The SVD of B = QᵀM, by way of Bᵀ = P·R: B = Rᵀ·Pᵀ, so only Rᵀ is left to decompose.
fn decompose_small(image: &BlockQr) -> Result<ThinSvd, SvdError> {
    Ok(svd(image.r.transpose())?)
}

/// The largest ‖Mv − σu‖/σ of the first `rank` triplets that the block holds now, without those
/// that are rounding. It costs no product: M times the right basis is known.
fn worst_residual(
    session: &mut Session<'_>,
    left: &Shard,
    right: &BlockQr,
    product: &Shard,
    rank: usize,
    plateau: &mut RoundingPlateau,
) -> Result<f64, SvdError> {
    let (left_rotation, values, right_rotation) = decompose_small(right)?;
    let rank = rank.min(values.len());
    let images = combine(session, &[product], right_rotation.subcols(0, rank))?;
    let vectors = combine(session, &[left], left_rotation.subcols(0, rank))?;
    let values = &values[..rank];
    let certificate = Certificate::new(&session.distance_squares(&images, &vectors, values)?, values);
    let count = plateau.count(certificate.count_real(values), rank);
    Ok(certificate.truncated(count).worst())
}
