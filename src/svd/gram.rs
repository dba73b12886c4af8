//! The Gram matrix of the short side: one pass over M gives every triplet.
//!
//! With `G = MᵀM = V Λ Vᵀ`, σ is the root of λ, and `u = M·v/σ`. G is summed in f64 over products that are exact in f64, so
//! what is lost by squaring shows only in singular values some 1e-7 times the largest, and the certificate tells. It pays
//! where the short side is short: its entries are formed once (or are stored), where an iteration multiplies again and
//! again.

use std::sync::Arc;

use super::certificate::{Certificate, Evidence};
use super::completeness::CompletenessCheck;
use super::keep::{Keep, Kept};
use super::options::{Options, SvdError};
#[cfg(doc)]
use super::prepared::Prepared;
use crate::engine::{Session, Shard};
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
    is_transposed: bool,
    parts: Vec<Part>,
    flops: f64,
}

/// Rows of M whose Gram matrix is computed at once.
struct Part {
    source: Source,
    /// What the columns are multiplied with.
    scale: Option<Entries>,
}

enum Source {
    Stored {
        matrix: Arc<Dense>,
        mask: Option<Mask>,
    },
    /// Made by the program in this position.
    Formed(usize),
    /// That of an earlier part, but for the scale.
    Same(usize),
}

/// Eigenvalues and vectors of the Gram matrix, as singular values and vectors of the short side.
pub(super) struct Spectrum {
    pub(super) singular_values: Vec<f64>,
    /// One column a triplet.
    pub(super) vectors: Dense,
    /// The same before they were rounded to 32 bits, row after row.
    pub(super) exact: Vec<f64>,
    pub(super) certificate: Certificate,
    /// The share of the energy that they hold, where they were chosen by it.
    pub(super) energy: Option<f64>,
}

impl GramPlan {
    /// How to sum the Gram matrix of the short side of a matrix up, if it is short enough; programs that this needs are
    /// added to `programs`. It is that of the rows where [`Prepared::is_transposed`].
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
        let mut plan = Self { order, is_transposed, parts: Vec::new(), flops: EIGEN_CUBES * (order as f64).powi(3) };
        let mut seen = Vec::new();
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
            let source = match (seen.iter().position(|other| *other == key), unscaled.kind()) {
                (Some(earlier), _) => Source::Same(earlier),
                (None, Kind::Dense { data, mask, .. }) => Source::Stored { matrix: data.clone(), mask: *mask },
                (None, _) => {
                    let program = Program::form(&unscaled);
                    let count = program.count(0);
                    plan.flops += count.flops as f64;
                    formed_bytes += count.temporary_bytes + (rows * order * size_of::<f32>()) as u64;
                    programs.push(Arc::new(program));
                    Source::Formed(programs.len() - 1)
                }
            };
            if !matches!(source, Source::Same(_)) {
                plan.flops += DOUBLE * unscaled.shape().rows as f64 * (order as f64).powi(2);
            }
            seen.push(key);
            plan.parts.push(Part { source, scale });
        }
        if formed_bytes > limit {
            programs.truncate(before);
            return None;
        }
        Some(plan)
    }

    /// The program that forms `Mᵀ`, where the Gram matrix is that of the rows of M.
    pub(super) fn formed_transpose(&self) -> Option<usize> {
        match self.parts[..] {
            [Part { source: Source::Formed(program), scale: None }] if self.is_transposed => Some(program),
            _ => None,
        }
    }

    /// Whether this is less work than iterating.
    pub(super) fn is_cheaper(&self, shape: Shape, options: &Options, block: usize, programs: &[Arc<Program>]) -> bool {
        let turns = (options.iterations + 1) as f64;
        let products: u64 = programs[..2].iter().map(|program| program.count(block).flops).sum();
        let orthonormal = DOUBLE * 2.0 * (shape.rows + shape.columns) as f64 * (block as f64).powi(2);
        self.flops < turns * (products as f64 + orthonormal)
    }

    /// Sums the Gram matrix up and solves its eigenvalue problem for the largest `rank`, or as many of them as are kept.
    pub(super) fn spectrum(&self, session: &mut Session<'_>, rank: usize, keep: Keep) -> Result<Spectrum, SvdError> {
        let order = self.order;
        let mut total = vec![0.0; order * order];
        let mut grams: Vec<Option<Vec<f64>>> = Vec::new();
        for (position, part) in self.parts.iter().enumerate() {
            let own = match &part.source {
                Source::Stored { matrix, mask } => Some(session.gram_of(matrix, *mask)?),
                Source::Formed(program) => {
                    let entries = session.form(*program)?;
                    Some(session.gram(&entries)?)
                }
                Source::Same(_) => None,
            };
            let gram = match &part.source {
                Source::Same(earlier) => grams[*earlier].as_ref(),
                _ => own.as_ref(),
            };
            if let Some(gram) = gram {
                add_scaled(&mut total, gram, part.scale.as_deref(), order);
            }
            let is_used_again = self.parts[position..].iter().any(|later| later.is_same_as(position));
            grams.push(own.filter(|_| is_used_again));
        }
        spectrum_of(session, &total, order, rank, keep)
    }
}

impl Part {
    fn is_same_as(&self, position: usize) -> bool {
        matches!(self.source, Source::Same(earlier) if earlier == position)
    }
}

/// The parts of stacked matrices, from the top down.
fn stacked_parts(matrix: &Matrix) -> Vec<Matrix> {
    match matrix.kind() {
        Kind::Stacked(parts) => parts.iter().flat_map(stacked_parts).collect(),
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

/// The largest eigenpairs, each with its residual relative to its own σ: ‖Mᵀu − σv‖/σ = ‖Gv − λv‖/λ, measured on G, and
/// what rounding may have done to G itself. Those that are rounding and nothing else are left out.
fn spectrum_of(
    session: &mut Session<'_>,
    gram: &[f64],
    order: usize,
    rank: usize,
    keep: Keep,
) -> Result<Spectrum, SvdError> {
    let trace: f64 = (0..order).map(|place| gram[place * order + place]).sum();
    // Products are exact and partial sums few: a few units in the last place of the largest entries.
    let rounding = 16.0 * f64::EPSILON * trace;
    let is_real = |value: &&f64| **value > 2.0 * rounding;
    let rank = rank.min(order);
    // It is bound by memory: one worker solves it.
    let (values, residuals, vectors) = session.on_leader(|| {
        let eigen = symmetric_eigen(gram, order)?;
        let rows = eigen.vectors.chunks_exact(order.max(1));
        let vectors: Vec<f64> = rows.flat_map(|row| &row[..rank]).copied().collect();
        Ok::<_, SvdError>((eigen.values[..rank].to_vec(), eigen.residuals(gram, rank), vectors))
    })?;
    let roots: Vec<f64> = values.iter().take_while(is_real).map(|value| value.sqrt()).collect();
    let Kept { count: kept, energy, .. } = keep.count(&roots, Some(trace));
    let relative = residuals.iter().zip(&values).take(kept).map(|(residual, value)| (residual + rounding) / value);
    let completeness = Some(CompletenessCheck::EXHAUSTIVE);
    // They are those of the eigenpairs: nothing was multiplied by M.
    let evidence = Evidence::Estimated;
    let relative_residuals = relative.collect();
    let certificate = Certificate { relative_residuals, evidence, completeness, ..Certificate::default() };
    let exact: Vec<f64> = vectors.chunks_exact(rank).flat_map(|row| &row[..kept]).copied().collect();
    let vectors = Dense::new(order, kept, exact.iter().map(|&part| part as f32).collect()).unwrap_or_default();
    Ok(Spectrum { singular_values: roots[..kept].to_vec(), vectors, exact, certificate, energy })
}

/// A panel with every column multiplied by a number.
pub(super) fn scaled(session: &mut Session<'_>, panel: &Shard, factors: &[f32]) -> Result<Shard, SvdError> {
    Ok(session.map_tiles(&[panel], panel.cols(), |_, panels, mut out| {
        let stride = out.stride();
        out.data_mut().copy_from_slice(panels[0].data());
        for row in out.data_mut().chunks_exact_mut(stride.max(1)) {
            row.iter_mut().zip(factors).for_each(|(entry, factor)| *entry *= factor);
        }
    })?)
}
