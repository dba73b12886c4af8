//! Subspace iteration: Algorithm 1 of the paper.

use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, Look};
use super::completeness::CompletenessCheck;
use super::options::SvdError;
use super::orthonormal::{Basis, Care, orthonormalize};
use super::prepared::Prepared;
use super::run::Progress;
use super::scale::check_range;
use crate::engine::checkpoint::{CheckpointLog, State};
use crate::engine::{EngineError, Session, Shard};
use crate::kernel::factor::FactorError;
use crate::kernel::random;
use crate::kernel::small::{SmallSvd, small_svd};
use crate::matrix::Dense;

/// The programs that multiply by a matrix that is at least as high as wide, and by its transpose.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tall {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Position of the program that multiplies by the matrix.
    pub(super) plain: usize,
    /// Position of the program that multiplies by its transpose.
    pub(super) transposed: usize,
}

/// Bases whose products with small matrices are the singular vectors.
pub(super) struct Projection {
    /// Basis on the high side, in blocks, and what to multiply it with: columns are left vectors. Empty where left vectors are still
    /// to be made of the right ones.
    pub(super) left: Vec<Shard>,
    pub(super) left_rotation: Vec<f64>,
    /// Basis on the low side, and what to multiply it with.
    pub(super) right: Vec<Shard>,
    pub(super) right_rotation: Vec<f64>,
    pub(super) singular_values: Vec<f64>,
    /// ‖M‖², if it is known.
    pub(super) total: Option<f64>,
    pub(super) iterations: usize,
    pub(super) operator_columns: usize,
    /// ‖Mv − σu‖² of each triplet, where that is known, or measured along random directions and a margin added: Mᵀu is σv then.
    pub(super) residual_squares: Option<Vec<f64>>,
    /// What was found on the way.
    pub(super) looks: Vec<Look>,
    /// The check that no triplet is missing, where it was made.
    pub(super) completeness: Option<CompletenessCheck>,
}

/// A small triplet that is still to converge looks like rounding. What looks so for this many
/// iterations more, while the iteration separates values by powers of their ratios, is.
const UNCHANGED: usize = 3;

/// How far the iteration is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Count {
    iterations: usize,
    operator_columns: usize,
    looks: Vec<Look>,
    /// How many wanted triplets were more than rounding after the last iteration, as far as residuals say.
    real: usize,
    /// How many iterations before had as many.
    unchanged: usize,
}

impl Count {
    fn multiply(&mut self, session: &mut Session<'_>, program: usize, block: &Shard) -> Result<Shard, EngineError> {
        self.operator_columns += block.cols();
        session.multiply(program, block)
    }
}

/// Iterates on a block of as many columns as were prepared for, `start` among them, and projects the matrix on what that
/// leaves.
pub(super) fn iterate(
    session: &mut Session<'_>,
    prepared: &Prepared,
    start: Option<&Dense>,
    progress: &Progress,
    journal: &mut CheckpointLog,
) -> Result<Projection, SvdError> {
    let (matrix, options) = (prepared.tall(), &prepared.options);
    let how = options.orthonormalize;
    let (mut count, mut kept) = journal.resume::<Count>(session)?.unwrap_or_default();
    let mut product = match kept.pop() {
        Some(product) => product,
        None => {
            let start = first_block(session, prepared, start)?;
            let product = count.multiply(session, matrix.plain, &start)?;
            check_range(session, prepared, &product)?;
            product
        }
    };
    while count.iterations < options.iterations {
        let name = || format!("product-{}", count.iterations);
        journal.keep(session, || State { numbers: &count, panels: vec![(name(), &product)] })?;
        let left = orthonormalize(session, product, how, Care::Enough)?.panel;
        let image = count.multiply(session, matrix.transposed, &left)?;
        let right = orthonormalize(session, image, how, Care::Enough)?;
        if right.panel.cols() == 0 {
            product = left;
            break;
        }
        product = count.multiply(session, matrix.plain, &right.panel)?;
        count.iterations += 1;
        let worst = match options.tolerance {
            None => None,
            Some(_) => Some(worst_residual(session, &left, &right, &product, options.rank, &mut count)?),
        };
        if let Some(worst_residual) = worst.filter(|worst| worst.is_finite()) {
            let Count { iterations, operator_columns, .. } = count;
            count.looks.push(Look { iterations, operator_columns, worst_residual });
        }
        if session.worker() == 0 {
            progress(count.iterations, options.iterations, worst);
        }
        if worst.zip(options.tolerance).is_some_and(|(worst, tolerance)| worst <= tolerance) {
            break;
        }
    }
    let left = orthonormalize(session, product, how, Care::Full)?.panel;
    let image = count.multiply(session, matrix.transposed, &left)?;
    let right = orthonormalize(session, image, how, Care::Full)?;
    let small = decompose_small(&right, left.cols())?;
    Ok(Projection {
        left: vec![left],
        left_rotation: small.left,
        right: vec![right.panel],
        right_rotation: small.right,
        singular_values: small.values,
        total: None,
        iterations: count.iterations,
        operator_columns: count.operator_columns,
        residual_squares: None,
        looks: count.looks,
        completeness: None,
    })
}

/// A random block, with `start` for its first columns.
fn first_block(session: &mut Session<'_>, prepared: &Prepared, start: Option<&Dense>) -> Result<Shard, EngineError> {
    let (seed, stream) = (prepared.options.seed, random::stream::START_BLOCK);
    match start {
        None => session.random_normal(prepared.tall().columns, prepared.block, seed, stream),
        Some(vectors) => session.panel_from(vectors, prepared.block, seed, stream),
    }
}

/// The SVD of B = QᵀM, by way of Bᵀ = P·R: B = Rᵀ·Pᵀ, so only Rᵀ is left to decompose.
fn decompose_small(image: &Basis, left_columns: usize) -> Result<SmallSvd, FactorError> {
    let right_columns = image.panel.cols();
    let mut transposed = vec![0.0; left_columns * right_columns];
    for (row, entries) in image.upper.chunks_exact(left_columns.max(1)).enumerate() {
        for (column, entry) in entries.iter().enumerate() {
            transposed[column * right_columns + row] = *entry;
        }
    }
    small_svd(&transposed, left_columns, right_columns)
}

/// The largest ‖Mv − σu‖/σ of the first `rank` triplets that the block holds now, without those that are rounding. It
/// costs no product: M times the right basis is there already.
fn worst_residual(
    session: &mut Session<'_>,
    left: &Shard,
    right: &Basis,
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
    let real = certificate.count_real(values);
    count.unchanged = if real == count.real { count.unchanged + 1 } else { 0 };
    count.real = real;
    if count.unchanged >= UNCHANGED {
        certificate.relative_residuals.truncate(real);
    }
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
