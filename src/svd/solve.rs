//! Least squares by the truncated SVD: `W* = V S⁺ Uᵀ T`.

use super::certificate::{Certificate, larger};
use super::gram::Spectrum;
use super::operator::Operator;
use super::options::SvdError;
use super::prepared::Prepared;
use super::run::{Progress, iterate_on};
use crate::engine::{Monitor, Session, Shard};
use crate::kernel::random;
use crate::kernel::small::small_product;

/// The least-norm solution of `M·W ≈ T`, and how far to trust it.
pub struct Solution {
    /// One worker's rows of W.
    pub weights: Shard,
    /// The singular values that were used, from the largest down.
    pub singular_values: Vec<f64>,
    /// The residual of each of their triplets; of the eigenpairs of a Gram matrix, if it was used.
    pub certificate: Certificate,
    /// The certificate of W: the residual of the normal equations of the rank-k problem,
    /// `MᵀM·W = M_kᵀ·T` with `M_k = U S Vᵀ`, measured with M. For a column w of W and t of T it is
    /// `‖MᵀM·w − M_kᵀ·t‖ / ‖M_kᵀ·t‖` or, with the component along each v relative to its own σ,
    /// `‖M·w − U Uᵀt‖ / ‖Uᵀt‖`, whichever is larger. This is the worst over all columns.
    pub normal_residual: f64,
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
    watch: &Monitor<Progress>,
) -> Result<Solution, SvdError> {
    let Some(spectrum) = prepared.spectrum(session, watch.progress())? else {
        return by_iteration(session, prepared, targets, cut, watch);
    };
    // What counts is the residual of the weights: theirs may be small where that of a triplet is not.
    let direct = of_spectrum(session, prepared, spectrum, targets, cut)?;
    if prepared.trusts(direct.normal_residual) {
        return Ok(direct);
    }
    let iterated = by_iteration(session, prepared, targets, cut, watch)?;
    let operator_columns = direct.operator_columns + iterated.operator_columns;
    // Rounding may be all that is left of either residual: iteration need not be better.
    let is_better = iterated.normal_residual < direct.normal_residual || direct.normal_residual.is_nan();
    let better = if is_better { iterated } else { direct };
    Ok(Solution { operator_columns, ..better })
}

/// With triplets by iteration: `W = V S⁻¹ Uᵀ T`.
fn by_iteration(
    session: &mut Session<'_>,
    prepared: &Prepared,
    targets: &Shard,
    cut: f64,
    watch: &Monitor<Progress>,
) -> Result<Solution, SvdError> {
    let triplets = iterate_on(session, prepared, watch)?;
    let kept = count_above(&triplets.singular_values, cut);
    let projected = session.cross_gram(&triplets.left, targets)?;
    let (columns, operator) = (targets.cols(), prepared.stated_operator());
    let mut scaled = |vectors: &Shard, power: i32| {
        let small = rounded(&scaled_rows(&projected, &triplets.singular_values, kept, columns, power));
        session.times_small(vectors, &small, columns)
    };
    let (weights, images) = (scaled(&triplets.right, -1)?, scaled(&triplets.right, 1)?);
    let projection = scaled(&triplets.left, 0)?;
    let fit = Fit::new(session, &operator, &weights)?;
    Ok(Solution {
        normal_residual: larger(fit.normal_residual(session, &images)?, fit.residual(session, &projection)?),
        weights,
        singular_values: triplets.singular_values[..kept].to_vec(),
        certificate: triplets.certificate.truncated(kept),
        iterations: triplets.iterations,
        operator_columns: triplets.operator_columns + 2 * columns,
    })
}

/// With eigenvectors of one side alone: `W = V S⁻² Vᵀ (MᵀT)` of a tall M, `W = MᵀZ` of a wide one.
///
/// `Z = U S⁻² Uᵀ T` is of the size of 1/σ_k² and mostly along u_k. Rounded to 32 bits it is off by
/// ε₃₂/σ_k² along u₁, and `M·Mᵀ·Z` by `ε₃₂·(σ₁/σ_k)²`: Z stays in f64 until it is multiplied. V of a
/// tall M is multiplied last, and its rounding adds ε₃₂·σ₁/σ_k to M·W, as that of W itself does.
fn of_spectrum(
    session: &mut Session<'_>,
    prepared: &Prepared,
    spectrum: Spectrum,
    targets: &Shard,
    cut: f64,
) -> Result<Solution, SvdError> {
    let Spectrum { mut singular_values, vectors: rounded_vectors, exact, certificate, .. } = spectrum;
    let (found, columns, operator) = (singular_values.len(), targets.cols(), prepared.stated_operator());
    let kept = count_above(&singular_values, cut);
    let (seed, stream) = (prepared.options.seed, random::stream::START_BLOCK);
    let vectors = session.panel_from(&rounded_vectors, found, seed, stream)?;
    let (weights, normal_residual) = match prepared.formed_of_wide() {
        Some(program) => {
            let projected = session.cross_gram(&vectors, targets)?;
            let small = scaled_rows(&projected, &singular_values, kept, columns, -2);
            let entries = session.form(program)?;
            let weights = times_double(
                session,
                &entries,
                &small_product(&exact, &small, exact.len() / found.max(1), found, columns),
                columns,
            )?;
            drop(entries);
            let small = rounded(&scaled_rows(&projected, &singular_values, kept, columns, 0));
            let projection = session.times_small(&vectors, &small, columns)?;
            let images = operator.adjoint(session, &projection)?;
            let fit = Fit::new(session, &operator, &weights)?;
            let residual = larger(fit.normal_residual(session, &images)?, fit.residual(session, &projection)?);
            (weights, residual)
        }
        None => {
            let images = operator.adjoint(session, targets)?;
            let projected = session.cross_gram(&vectors, &images)?;
            let mut weighed = |power: i32| {
                let small = rounded(&scaled_rows(&projected, &singular_values, kept, columns, power));
                session.times_small(&vectors, &small, columns)
            };
            let (weights, images) = (weighed(-2)?, weighed(0)?);
            let fit = Fit::new(session, &operator, &weights)?;
            // Uᵀ is S⁻¹VᵀMᵀ: there is no panel of U.
            let coordinates = |small: &[f64]| scaled_rows(small, &singular_values, kept, columns, -1);
            let wanted = coordinates(&projected);
            let mut off = coordinates(&session.cross_gram(&vectors, &fit.back)?);
            off.iter_mut().zip(&wanted).for_each(|(found, wanted)| *found -= wanted);
            let residual = worst_ratio(&column_squares(&off, columns), &column_squares(&wanted, columns));
            (weights, larger(fit.normal_residual(session, &images)?, residual))
        }
    };
    singular_values.truncate(kept);
    // MᵀT of a tall M, or Z and U Uᵀ T by the transpose of a wide one; then M·W and MᵀM·W.
    let by_transpose = if prepared.formed_of_wide().is_some() { 2 } else { 1 };
    let operator_columns = prepared.operator().columns + (by_transpose + 2) * columns;
    let certificate = certificate.truncated(kept);
    Ok(Solution { weights, singular_values, certificate, normal_residual, iterations: 0, operator_columns })
}

/// What M and its transpose make of weights.
struct Fit {
    /// `M·W`.
    fitted: Shard,
    /// `MᵀM·W`.
    back: Shard,
}

impl Fit {
    fn new(session: &mut Session<'_>, operator: &Operator, weights: &Shard) -> Result<Self, SvdError> {
        let fitted = operator.apply(session, weights)?;
        let back = operator.adjoint(session, &fitted)?;
        Ok(Self { fitted, back })
    }

    /// `‖MᵀM·w − b‖ / ‖b‖`, at its worst over the columns.
    fn normal_residual(&self, session: &mut Session<'_>, images: &Shard) -> Result<f64, SvdError> {
        worst_distance(session, &self.back, images)
    }

    /// `‖M·w − p‖ / ‖p‖`, likewise.
    fn residual(&self, session: &mut Session<'_>, projection: &Shard) -> Result<f64, SvdError> {
        worst_distance(session, &self.fitted, projection)
    }
}

/// How far columns are from those wanted, relative to the length of these, at its worst.
fn worst_distance(session: &mut Session<'_>, found: &Shard, wanted: &Shard) -> Result<f64, SvdError> {
    let columns = wanted.cols();
    let distances = session.distance_squares(found, wanted, &vec![1.0; columns])?;
    Ok(worst_ratio(&distances, &session.distance_squares(wanted, wanted, &vec![0.0; columns])?))
}

/// The root of the largest ratio of two squares, 0/0 counting as 0; NaN where one is.
fn worst_ratio(distances: &[f64], lengths: &[f64]) -> f64 {
    let ratios = distances.iter().zip(lengths).map(|(distance, length)| match *distance == 0.0 {
        true => 0.0,
        false => (distance / length).sqrt(),
    });
    ratios.fold(0.0, larger)
}

/// The squared length of every column of a small matrix.
fn column_squares(small: &[f64], columns: usize) -> Vec<f64> {
    let mut squares = vec![0.0; columns];
    for row in small.chunks_exact(columns.max(1)) {
        squares.iter_mut().zip(row).for_each(|(square, entry)| *square += entry * entry);
    }
    squares
}

/// `x·small` in f64, rounded once.
fn times_double(session: &mut Session<'_>, x: &Shard, small: &[f64], columns: usize) -> Result<Shard, SvdError> {
    let mut sums = vec![0.0; columns];
    Ok(session.map_tiles(&[x], columns, |rows, panels, mut out| {
        out.data_mut().fill(0.0);
        for place in 0..rows.len() {
            sums.fill(0.0);
            for (&entry, row) in panels[0].row(place).iter().zip(small.chunks_exact(columns.max(1))) {
                sums.iter_mut().zip(row).for_each(|(sum, factor)| *sum += f64::from(entry) * factor);
            }
            out.row_mut(place).iter_mut().zip(&sums).for_each(|(entry, &sum)| *entry = sum as f32);
        }
    })?)
}

fn count_above(singular_values: &[f64], cut: f64) -> usize {
    let least = cut * singular_values.first().copied().unwrap_or(0.0);
    singular_values.iter().take_while(|value| **value > least).count()
}

/// The rows of a small matrix times powers of the singular values; rows from `kept` on are zero.
fn scaled_rows(small: &[f64], singular_values: &[f64], kept: usize, columns: usize, power: i32) -> Vec<f64> {
    let rows = small.chunks_exact(columns.max(1)).zip(singular_values).enumerate();
    rows.flat_map(|(row, (entries, value))| {
        let scale = if row < kept { value.powi(power) } else { 0.0 };
        entries.iter().map(move |entry| entry * scale)
    })
    .collect()
}

fn rounded(small: &[f64]) -> Vec<f32> {
    small.iter().map(|&entry| entry as f32).collect()
}
