//! The Gram matrix of the short side: one pass over M gives every triplet.
//!
//! With `G = MᵀM = V Λ Vᵀ`, σ is the root of λ, and `u = M·v/σ`. G is summed in f64 over products
//! that are exact in f64, so what is lost by squaring shows only in singular values some 1e-7 times
//! the largest, and the certificate tells. It pays where the short side is short: its entries are
//! formed once (or are stored), where an iteration multiplies again and again.

use std::sync::Arc;

use super::certificate::{Certificate, Evidence};
use super::completeness::CompletenessCheck;
use super::keep::{Keep, Kept};
use super::operator::Operator;
use super::options::{Options, SvdError};
#[cfg(doc)]
use super::prepared::Prepared;
use super::triplets::{Approximation, scaled};
use crate::engine::Session;
use crate::kernel::Mask;
use crate::kernel::small::symmetric_eigen;
use crate::matrix::{Dense, Entries, Kind, Matrix, Shape};
use crate::plan::Program;

/// A short side beyond this is not worth an eigenvalue problem of its size.
const LONGEST_SHORT_SIDE: usize = 4096;
/// Work of a multiplication in f64, in multiplications in f32.
const DOUBLE: f64 = 2.0;
/// Work of an eigenvalue problem, in cubes of its order: it is bound by memory.
const EIGEN_CUBES: f64 = 20.0;

/// How the Gram matrix of the short side is summed up.
pub(super) struct GramPlan {
    order: usize,
    parts: Vec<Part>,
    flops: f64,
}

/// Rows of M whose Gram matrix is computed at once, and the copies of them in M.
struct Part {
    source: Source,
    key: usize,
    /// What the columns of each copy are multiplied with.
    scales: Vec<Option<Entries>>,
}

enum Source {
    Stored {
        matrix: Arc<Dense>,
        mask: Option<Mask>,
    },
    /// Made by the program in this position.
    Formed(usize),
}

/// Eigenvalues and vectors of the Gram matrix, as singular values and vectors of the short side.
pub(super) struct Spectrum {
    pub(super) singular_values: Vec<f64>,
    /// One column a triplet.
    pub(super) vectors: Dense,
    /// Estimated residuals of the eigenpairs: nothing was multiplied by M.
    pub(super) certificate: Certificate,
    /// The share of the energy that they hold, where they were chosen by it.
    pub(super) energy: Option<f64>,
}

impl GramPlan {
    /// How to sum the Gram matrix of the short side of a matrix up, if it is short enough; programs
    /// that this needs are added to `programs`. It is that of the rows where
    /// [`Prepared::is_transposed`].
    pub(super) fn new(
        matrix: &Matrix,
        is_transposed: bool,
        programs: &mut Vec<Arc<Program>>,
        limit: u64,
    ) -> Option<Self> {
        let tall = if is_transposed { matrix.t() } else { matrix.clone() };
        let Shape { rows, columns: order } = tall.shape();
        if order > LONGEST_SHORT_SIDE {
            return None;
        }
        let before = programs.len();
        let mut plan = Self { order, parts: Vec::new(), flops: EIGEN_CUBES * (order as f64).powi(3) };
        let mut formed_bytes = 0;
        for part in stacked_parts(&tall) {
            let (unscaled, scale) = match part.kind() {
                Kind::Product(left, right) => match right.kind() {
                    Kind::Diagonal { values, .. } => (left.clone(), Some(values.clone())),
                    _ => (part.clone(), None),
                },
                _ => (part.clone(), None),
            };
            let key = unscaled.identity_key();
            if let Some(earlier) = plan.parts.iter_mut().find(|earlier| earlier.key == key) {
                earlier.scales.push(scale);
                continue;
            }
            let source = match unscaled.kind() {
                Kind::Dense { data, mask, .. } => Source::Stored { matrix: data.clone(), mask: *mask },
                _ => {
                    let program = Program::form(&unscaled);
                    let count = program.count(0);
                    plan.flops += count.flops as f64;
                    formed_bytes += count.temporary_bytes + (rows * order * size_of::<f32>()) as u64;
                    programs.push(Arc::new(program));
                    Source::Formed(programs.len() - 1)
                }
            };
            plan.flops += DOUBLE * unscaled.shape().rows as f64 * (order as f64).powi(2);
            plan.parts.push(Part { source, key, scales: vec![scale] });
        }
        if formed_bytes > limit {
            programs.truncate(before);
            return None;
        }
        Some(plan)
    }

    /// Whether this is less work than iterating.
    pub(super) fn is_cheaper(&self, shape: Shape, options: &Options, block: usize, programs: &[Arc<Program>]) -> bool {
        let turns = (options.iterations + 1) as f64;
        let products: u64 = programs[..2].iter().map(|program| program.count(block).flops).sum();
        let orthonormal = DOUBLE * 2.0 * (shape.rows + shape.columns) as f64 * (block as f64).powi(2);
        self.flops < turns * (products as f64 + orthonormal)
    }

    /// Sums the Gram matrix up and solves its eigenvalue problem for the largest `rank`, or as many of
    /// them as are kept.
    pub(super) fn spectrum(&self, session: &mut Session<'_>, rank: usize, keep: Keep) -> Result<Spectrum, SvdError> {
        let order = self.order;
        let mut total = vec![0.0; order * order];
        for Part { source, scales, .. } in &self.parts {
            let gram = match source {
                Source::Stored { matrix, mask } => session.gram_of(matrix, *mask)?,
                Source::Formed(program) => {
                    let entries = session.form(*program)?;
                    session.gram(&entries)?
                }
            };
            scales.iter().for_each(|scale| add_scaled(&mut total, &gram, scale.as_deref(), order));
        }
        let is_formed = self.parts.iter().any(|part| matches!(part.source, Source::Formed(_)));
        spectrum_of(session, &total, order, rank, keep, is_formed)
    }
}

impl Spectrum {
    /// The triplets of a matrix that is at least as high as wide: left vectors are images of right
    /// ones.
    pub(super) fn approximation(
        self,
        session: &mut Session<'_>,
        operator: &Operator,
    ) -> Result<Approximation, SvdError> {
        let Self { singular_values, vectors, energy, .. } = self;
        let right = session.panel_from(&vectors, singular_values.len(), 0, 0)?;
        let images = operator.apply(session, &right)?;
        let inverse: Vec<f64> = singular_values.iter().map(|value| value.recip()).collect();
        let left = scaled(session, &images, &inverse)?;
        Ok(Approximation { left, singular_values, right, is_image: true, energy })
    }
}

/// The parts of stacked matrices, from the top down.
fn stacked_parts(matrix: &Matrix) -> Vec<Matrix> {
    match matrix.kind() {
        Kind::Vstack(parts) => parts.iter().flat_map(stacked_parts).collect(),
        _ => vec![matrix.clone()],
    }
}

/// `total += diag(scale) · gram · diag(scale)`
fn add_scaled(total: &mut [f64], gram: &[f64], scale: Option<&[f32]>, order: usize) {
    let factor = |place: usize| scale.map_or(1.0, |scale| f64::from(scale[place]));
    for (row, (sums, entries)) in total.chunks_exact_mut(order).zip(gram.chunks_exact(order)).enumerate() {
        for (column, (sum, entry)) in sums.iter_mut().zip(entries).enumerate() {
            *sum += factor(row) * factor(column) * entry;
        }
    }
}

/// The largest eigenpairs, each with an estimate of its residual relative to its own σ: ‖Mᵀu −
/// σv‖/σ = ‖Gv − λv‖/λ, measured on G, and a bound for what rounding may have done to G. Those that
/// are rounding and nothing else are left out.
///
/// Sums of products are in f64. Entries of M that were formed are off by about ε₃₂ of their row, so
/// that ‖M̃ − M‖ is at most about ε₃₂·‖M‖_F, and ‖M̃ᵀM̃v − MᵀMv‖ twice σ₁ times that.
fn spectrum_of(
    session: &mut Session<'_>,
    gram: &[f64],
    order: usize,
    rank: usize,
    keep: Keep,
    is_formed: bool,
) -> Result<Spectrum, SvdError> {
    let trace: f64 = (0..order).map(|place| gram[place * order + place]).sum();
    // Products are exact and partial sums few: a few units in the last place of the largest entries.
    let rounding = 16.0 * f64::EPSILON * trace;
    let rank = rank.min(order);
    // It is bound by memory: one worker solves it.
    let (values, residuals, vectors) = session.on_leader(|| {
        let eigen = symmetric_eigen(gram, order)?;
        let rows = eigen.vectors.chunks_exact(order.max(1));
        let vectors: Vec<f32> = rows.flat_map(|row| &row[..rank]).map(|&entry| entry as f32).collect();
        Ok::<_, SvdError>((eigen.values[..rank].to_vec(), eigen.residuals(gram, rank), vectors))
    })?;
    let is_real = |value: &&f64| **value > 2.0 * rounding;
    let mut singular_values: Vec<f64> = values.iter().take_while(is_real).map(|value| value.sqrt()).collect();
    let Kept { count: kept, energy, .. } = keep.count(&singular_values, Some(trace));
    singular_values.truncate(kept);
    let first = singular_values.first().copied().unwrap_or(0.0);
    let of_forming = if is_formed { 2.0 * f64::from(f32::EPSILON) * trace.sqrt() * first } else { 0.0 };
    let relative = |(residual, value): (&f64, &f64)| (residual + rounding + of_forming) / value;
    let relative_residuals = residuals.iter().zip(&values).take(kept).map(relative).collect();
    let (completeness, evidence) = (Some(CompletenessCheck::EXHAUSTIVE), Evidence::Estimated);
    let certificate = Certificate { relative_residuals, evidence, completeness, ..Certificate::default() };
    let kept_columns = vectors.chunks_exact(rank.max(1)).flat_map(|row| &row[..kept]).copied().collect();
    let vectors = Dense::new(order, kept, kept_columns).unwrap_or_default();
    Ok(Spectrum { singular_values, vectors, certificate, energy })
}
