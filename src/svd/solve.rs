//! Least squares by the truncated SVD: `W* = V S⁺ Uᵀ T`.

use super::certificate::Certificate;
use super::gram::Spectrum;
use super::options::SvdError;
use super::prepared::Prepared;
use super::run::{Progress, iterate_on};
use crate::engine::{Session, Shard, Watch};
use crate::kernel::random;

/// The least-norm solution of `M·W ≈ T`, and how far to trust it.
pub struct Solution {
    /// One worker's rows of W.
    pub weights: Shard,
    /// Those that were used, from the largest down.
    pub singular_values: Vec<f64>,
    /// The residual of each of their triplets.
    pub certificate: Certificate,
    /// How many iterations were made.
    pub iterations: usize,
    /// How many columns were multiplied by M or its transpose in all.
    pub operator_columns: usize,
}

/// Solves `M·W ≈ T` within a run of workers whose first programs are the [prepared ones](Prepared::programs). Singular
/// values below `cut` times the largest count as zero.
pub fn solve_on(
    session: &mut Session<'_>,
    prepared: &Prepared,
    targets: &Shard,
    cut: f64,
    watch: &Watch<Progress>,
) -> Result<Solution, SvdError> {
    if let Some(spectrum) = prepared.trusted_spectrum(session, watch.progress())? {
        return of_spectrum(session, prepared, spectrum, targets, cut);
    }
    let triplets = iterate_on(session, prepared, watch)?;
    let kept = count_above(&triplets.singular_values, cut);
    let projected = session.cross_gram(&triplets.left, targets)?;
    let small = divided(&projected, &triplets.singular_values, kept, targets.cols(), 1);
    Ok(Solution {
        weights: session.times_small(&triplets.right, &small, targets.cols())?,
        singular_values: triplets.singular_values[..kept].to_vec(),
        certificate: Certificate {
            relative_residuals: triplets.certificate.relative_residuals[..kept].to_vec(),
            looks: triplets.certificate.looks,
            completeness: triplets.certificate.completeness,
        },
        iterations: triplets.iterations,
        operator_columns: triplets.operator_columns,
    })
}

/// With eigenvectors of one side alone: `W = V S⁻² Vᵀ (MᵀT)`, or `W = Mᵀ (U S⁻² Uᵀ T)`.
fn of_spectrum(
    session: &mut Session<'_>,
    prepared: &Prepared,
    spectrum: Spectrum,
    targets: &Shard,
    cut: f64,
) -> Result<Solution, SvdError> {
    const TRANSPOSED: usize = 1;
    let Spectrum { mut singular_values, vectors, mut certificate, .. } = spectrum;
    let kept = count_above(&singular_values, cut);
    let (seed, stream) = (prepared.options.seed, random::stream::START_BLOCK);
    let vectors = session.panel_from(&vectors, singular_values.len(), seed, stream)?;
    let weigh = |session: &mut Session<'_>, panel: &Shard| -> Result<Shard, SvdError> {
        let projected = session.cross_gram(&vectors, panel)?;
        let small = divided(&projected, &singular_values, kept, panel.cols(), 2);
        Ok(session.times_small(&vectors, &small, panel.cols())?)
    };
    let weights = if prepared.is_turned() {
        let weighed = weigh(session, targets)?;
        session.multiply(TRANSPOSED, &weighed)?
    } else {
        let images = session.multiply(TRANSPOSED, targets)?;
        weigh(session, &images)?
    };
    singular_values.truncate(kept);
    certificate.relative_residuals.truncate(kept);
    let operator_columns = prepared.tall().columns + targets.cols();
    Ok(Solution { weights, singular_values, certificate, iterations: 0, operator_columns })
}

fn count_above(singular_values: &[f64], cut: f64) -> usize {
    let least = cut * singular_values.first().copied().unwrap_or(0.0);
    singular_values.iter().take_while(|value| **value > least).count()
}

/// The rows of a small matrix divided by powers of the singular values; rows from `kept` on are zero.
fn divided(small: &[f64], singular_values: &[f64], kept: usize, columns: usize, power: i32) -> Vec<f32> {
    let rows = small.chunks_exact(columns.max(1)).zip(singular_values).enumerate();
    rows.flat_map(|(row, (entries, value))| {
        let scale = if row < kept { value.powi(-power) } else { 0.0 };
        entries.iter().map(move |entry| (entry * scale) as f32)
    })
    .collect()
}
