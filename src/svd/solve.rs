//! Least squares by the truncated SVD: `W* = V S⁺ Uᵀ T`.

use faer::Mat;

use super::certificate::{Certificate, larger};
use super::gram::Spectrum;
use super::operator::{ColumnCount, Operator};
use super::options::SvdError;
use super::orthogonalize::{FULL, orthonormalize};
use super::prepared::Prepared;
use super::run::{Progress, iterate_on};
use super::small::{column_squares, combine, from_rows};
use super::triplets::scaled;
use crate::engine::{Monitor, Session, Shard};

/// The least-norm solution of `M·W ≈ T`, and how far to trust it.
pub struct Solution {
    /// One worker's rows of W.
    pub weights: Shard,
    /// The singular values that were used, from the largest down.
    pub singular_values: Vec<f64>,
    /// The residual of each of their triplets; of the eigenpairs of a Gram matrix, if it was used,
    /// estimates.
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

/// Solves `M·W ≈ T` within a run of workers whose first programs are the [prepared
/// ones](Prepared::programs). Singular values below `cut` times the largest count as zero.
pub fn solve_on(
    session: &mut Session<'_>,
    prepared: &Prepared,
    targets: &Shard,
    cut: f64,
    watch: &Monitor<Progress>,
) -> Result<Solution, SvdError> {
    let count = ColumnCount::default();
    let mut best: Option<Solution> = None;
    if let Some(spectrum) = prepared.spectrum(session, &count, watch.progress())? {
        best = Some(of_spectrum(session, prepared, &count, spectrum, targets, cut)?);
    }
    // What counts is the residual of the weights: theirs may be small where that of a triplet is not.
    if !best.as_ref().is_some_and(|direct| prepared.trusts(direct.normal_residual)) {
        let iterated = by_iteration(session, prepared, &count, targets, cut, watch)?;
        // Rounding may be all that is left of either residual: iteration need not be better.
        best = best.filter(|direct| direct.normal_residual <= iterated.normal_residual).or(Some(iterated));
    }
    let best = best.expect("the iteration has a solution where there is no other");
    Ok(Solution { operator_columns: count.columns(), ..best })
}

/// With triplets by iteration.
fn by_iteration(
    session: &mut Session<'_>,
    prepared: &Prepared,
    count: &ColumnCount,
    targets: &Shard,
    cut: f64,
    watch: &Monitor<Progress>,
) -> Result<Solution, SvdError> {
    let found = iterate_on(session, prepared, count, watch)?;
    let singular_values = above(&found.singular_values, cut);
    let kept = 0..singular_values.len();
    let (left, right) = (session.columns(&found.left, kept.clone())?, session.columns(&found.right, kept)?);
    let operator = prepared.stated_operator(count);
    let (weights, normal_residual) = of_triplets(session, &operator, &left, &right, &singular_values, targets)?;
    let certificate = found.certificate.truncated(singular_values.len());
    let iterations = found.iterations;
    Ok(Solution { weights, singular_values, certificate, normal_residual, iterations, operator_columns: 0 })
}

/// With eigenvectors of the Gram matrix of the short side.
fn of_spectrum(
    session: &mut Session<'_>,
    prepared: &Prepared,
    count: &ColumnCount,
    spectrum: Spectrum,
    targets: &Shard,
    cut: f64,
) -> Result<Solution, SvdError> {
    let singular_values = above(&spectrum.singular_values, cut);
    let vectors = session.panel_from(&spectrum.vectors, singular_values.len(), 0, 0)?;
    let operator = prepared.stated_operator(count);
    let (weights, normal_residual) = match prepared.is_transposed() {
        true => of_left_vectors(session, &operator, &vectors, &singular_values, targets)?,
        false => of_right_vectors(session, &operator, &vectors, &singular_values, targets)?,
    };
    let certificate = spectrum.certificate.truncated(singular_values.len());
    Ok(Solution { weights, singular_values, certificate, normal_residual, iterations: 0, operator_columns: 0 })
}

/// `W = V S⁻¹ Uᵀ T`, and its certificate.
fn of_triplets(
    session: &mut Session<'_>,
    operator: &Operator,
    left: &Shard,
    right: &Shard,
    singular_values: &[f64],
    targets: &Shard,
) -> Result<(Shard, f64), SvdError> {
    let projected = from_rows(&session.cross_gram(left, targets)?, left.cols(), targets.cols());
    let weights = combine(session, &[right], weighed(&projected, singular_values, -1).as_ref())?;
    let wanted = combine(session, &[right], weighed(&projected, singular_values, 1).as_ref())?;
    let projection = combine(session, &[left], projected.as_ref())?;
    let fitted = operator.apply(session, &weights)?;
    let images = operator.adjoint(session, &fitted)?;
    let residual = larger(worst_distance(session, &images, &wanted)?, worst_distance(session, &fitted, &projection)?);
    Ok((weights, residual))
}

/// With left vectors of a wide M. `V = MᵀU S⁻¹` has errors of ε·σ₁/σ along the dominant right
/// vectors, which M would multiply by σ₁ again: Gram–Schmidt from the first vector on removes them.
fn of_left_vectors(
    session: &mut Session<'_>,
    operator: &Operator,
    left: &Shard,
    singular_values: &[f64],
    targets: &Shard,
) -> Result<(Shard, f64), SvdError> {
    let images = operator.adjoint(session, left)?;
    let inverse: Vec<f64> = singular_values.iter().map(|value| value.recip()).collect();
    let images = scaled(session, &images, &inverse)?;
    let right = orthonormalize(session, images, FULL)?.q;
    let found = right.cols();
    let left = session.columns(left, 0..found)?;
    of_triplets(session, operator, &left, &right, &singular_values[..found], targets)
}

/// With right vectors of a tall M: `W = V S⁻² Vᵀ (MᵀT)`. Components along each v replace the left
/// vectors in the certificate.
fn of_right_vectors(
    session: &mut Session<'_>,
    operator: &Operator,
    right: &Shard,
    singular_values: &[f64],
    targets: &Shard,
) -> Result<(Shard, f64), SvdError> {
    let (kept, columns) = (right.cols(), targets.cols());
    let images = operator.adjoint(session, targets)?;
    let projected = from_rows(&session.cross_gram(right, &images)?, kept, columns);
    let weights = combine(session, &[right], weighed(&projected, singular_values, -2).as_ref())?;
    let wanted = combine(session, &[right], projected.as_ref())?;
    let fitted = operator.apply(session, &weights)?;
    let back = operator.adjoint(session, &fitted)?;
    let found = from_rows(&session.cross_gram(right, &back)?, kept, columns);
    let off = weighed(&(found - &projected), singular_values, -1);
    let expected = weighed(&projected, singular_values, -1);
    let of_components = worst_ratio(&column_squares(off.as_ref()), &column_squares(expected.as_ref()));
    Ok((weights, larger(worst_distance(session, &back, &wanted)?, of_components)))
}

/// The rows of a small matrix times powers of the singular values.
fn weighed(small: &Mat<f64>, singular_values: &[f64], power: i32) -> Mat<f64> {
    Mat::from_fn(small.nrows(), small.ncols(), |row, column| small[(row, column)] * singular_values[row].powi(power))
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

/// The singular values above a multiple of the largest.
fn above(singular_values: &[f64], cut: f64) -> Vec<f64> {
    let least = cut * singular_values.first().copied().unwrap_or(0.0);
    singular_values.iter().copied().take_while(|value| *value > least).collect()
}
