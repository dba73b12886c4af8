//! Subspace iteration: Algorithm 1 of the paper (eq. 5 of [`crate::svd`]).

use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, ConvergenceCheck};
use super::completeness::CompletenessCheck;
use super::operator::Operator;
use super::options::SvdError;
use super::orthogonalize::{BlockQr, OrthogonalityTarget, orthonormalize};
use super::prepared::Prepared;
use super::run::Progress;
use super::scale::check_length;
use super::stopping::RoundingPlateau;
use crate::engine::checkpoint::{CheckpointLog, State};
use crate::engine::{EngineError, Session, Shard};
use crate::kernel::factor::FactorError;
use crate::kernel::random::stream;
use crate::kernel::small::{SmallSvd, small_svd};

/// Bases, and what rotates them into singular vectors.
pub(super) struct Projection {
    /// Blocks of the basis of the long side; empty where left vectors are still to be made of right ones.
    pub(super) left: Vec<Shard>,
    pub(super) left_rotation: Vec<f64>,
    /// Blocks of the basis of the short side.
    pub(super) right: Vec<Shard>,
    pub(super) right_rotation: Vec<f64>,
    pub(super) singular_values: Vec<f64>,
    /// ‖M‖², if it is known.
    pub(super) total: Option<f64>,
    pub(super) iterations: usize,
    pub(super) operator_columns: usize,
    /// What checks on the way found.
    pub(super) history: Vec<ConvergenceCheck>,
    /// The check that no triplet is missing, where it was made.
    pub(super) completeness: Option<CompletenessCheck>,
}

/// The block of an iteration need not be as orthonormal as that of the answer.
const ITERATED: OrthogonalityTarget = OrthogonalityTarget { loss: 1e-3, least: 1e-3, rounding: 2e-7 };

/// How far the iteration is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Count {
    iterations: usize,
    operator_columns: usize,
    history: Vec<ConvergenceCheck>,
    plateau: RoundingPlateau,
}

impl Count {
    fn apply(&mut self, session: &mut Session<'_>, operator: &Operator, block: &Shard) -> Result<Shard, SvdError> {
        self.operator_columns += block.cols();
        operator.apply(session, block)
    }

    fn adjoint(&mut self, session: &mut Session<'_>, operator: &Operator, block: &Shard) -> Result<Shard, SvdError> {
        self.operator_columns += block.cols();
        operator.adjoint(session, block)
    }
}

/// Iterates on a block of as many columns as were prepared for, the given start among them, and projects
/// M on what that leaves.
pub(super) fn iterate(
    session: &mut Session<'_>,
    prepared: &Prepared,
    progress: &Progress,
    journal: &mut CheckpointLog,
) -> Result<Projection, SvdError> {
    let (operator, options) = (prepared.operator(), &prepared.options);
    let (mut count, mut kept) = journal.resume::<Count>(session)?.unwrap_or_default();
    let mut product = match kept.pop() {
        Some(product) => product,
        None => {
            let start = first_block(session, prepared)?;
            let product = count.apply(session, &operator, &start)?;
            let squares = session.gram(&product)?;
            let longest = squares.iter().step_by(product.cols() + 1).copied().fold(0.0, f64::max).sqrt();
            check_length(prepared, longest)?;
            product
        }
    };
    while count.iterations < options.iterations {
        let name = || format!("product-{}", count.iterations);
        journal.keep(session, || State { numbers: &count, panels: vec![(name(), &product)] })?;
        let left = orthonormalize(session, product, ITERATED)?.q;
        let image = count.adjoint(session, &operator, &left)?;
        let right = orthonormalize(session, image, ITERATED)?;
        if right.q.cols() == 0 {
            product = left;
            break;
        }
        product = count.apply(session, &operator, &right.q)?;
        count.iterations += 1;
        let worst = match options.tolerance {
            None => None,
            Some(_) => Some(worst_residual(session, &left, &right, &product, options.rank, &mut count)?),
        };
        if let Some(worst_residual) = worst.filter(|worst| worst.is_finite()) {
            let Count { iterations, operator_columns, .. } = count;
            count.history.push(ConvergenceCheck { iterations, operator_columns, worst_residual });
        }
        if session.worker() == 0 {
            progress(count.iterations, options.iterations, worst);
        }
        if worst.zip(options.tolerance).is_some_and(|(worst, tolerance)| worst <= tolerance) {
            break;
        }
    }
    let left = orthonormalize(session, product, OrthogonalityTarget::FULL)?.q;
    let image = count.adjoint(session, &operator, &left)?;
    let right = orthonormalize(session, image, OrthogonalityTarget::FULL)?;
    let small = decompose_small(&right, left.cols())?;
    Ok(Projection {
        left: vec![left],
        left_rotation: small.left,
        right: vec![right.q],
        right_rotation: small.right,
        singular_values: small.values,
        total: None,
        iterations: count.iterations,
        operator_columns: count.operator_columns,
        history: count.history,
        completeness: None,
    })
}

/// A random block, with the given start for its first columns.
fn first_block(session: &mut Session<'_>, prepared: &Prepared) -> Result<Shard, EngineError> {
    let seed = prepared.options.seed;
    match &prepared.options.start {
        None => session.random_normal(prepared.operator().columns, prepared.block, seed, stream::START_BLOCK),
        Some(vectors) => session.panel_from(vectors, prepared.block, seed, stream::START_BLOCK),
    }
}

/// The SVD of B = QᵀM, by way of Bᵀ = P·R: B = Rᵀ·Pᵀ, so only Rᵀ is left to decompose.
fn decompose_small(image: &BlockQr, left_columns: usize) -> Result<SmallSvd, FactorError> {
    let right_columns = image.q.cols();
    let mut transposed = vec![0.0; left_columns * right_columns];
    for (row, entries) in image.r.chunks_exact(left_columns.max(1)).enumerate() {
        for (column, entry) in entries.iter().enumerate() {
            transposed[column * right_columns + row] = *entry;
        }
    }
    small_svd(&transposed, left_columns, right_columns)
}

/// The largest ‖Mv − σu‖/σ of the first `rank` triplets that the block holds now, without those that are
/// rounding. It costs no product: M times the right basis is known.
fn worst_residual(
    session: &mut Session<'_>,
    left: &Shard,
    right: &BlockQr,
    product: &Shard,
    rank: usize,
    count: &mut Count,
) -> Result<f64, SvdError> {
    let small = decompose_small(right, left.cols())?;
    let rank = rank.min(small.values.len());
    let images = rotate(session, &[product], &small.right, rank)?;
    let vectors = rotate(session, &[left], &small.left, rank)?;
    let values = &small.values[..rank];
    let mut certificate = Certificate::new(&session.distance_squares(&images, &vectors, values)?, values);
    certificate.relative_residuals.truncate(count.plateau.count(certificate.count_real(values), rank));
    Ok(certificate.worst())
}

/// The first `columns` columns of the blocks of a panel times a small matrix.
pub(super) fn rotate(
    session: &mut Session<'_>,
    panel: &[&Shard],
    rotation: &[f64],
    columns: usize,
) -> Result<Shard, SvdError> {
    let width = rotation.len() / panel.iter().map(|block| block.cols()).sum::<usize>().max(1);
    let rows = rotation.chunks_exact(width.max(1));
    let small: Vec<f32> = rows.flat_map(|row| row[..columns].iter().map(|&entry| entry as f32)).collect();
    Ok(session.blocks_times_small(panel, &small, columns)?)
}
