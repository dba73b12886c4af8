//! From bases and small matrices to certified singular triplets.

use super::certificate::{Certificate, count_significant};
use super::gram::scaled;
use super::keep::{Kept, NormProbe};
use super::options::SvdError;
use super::prepared::{Failure, Prepared};
use super::subspace::{Projection, rotate};
use crate::engine::{Session, Shard};
use crate::kernel::factor::{FactorError, cholesky};
use crate::kernel::small::{Eigen, small_product, symmetric_eigen};

/// One worker's rows of the largest singular triplets; what is not a shard is the same on every worker.
pub struct Triplets {
    /// Rows of the left vectors, one column a triplet.
    pub left: Shard,
    /// From the largest down.
    pub singular_values: Vec<f64>,
    /// Rows of the right vectors.
    pub right: Shard,
    /// The errors of the triplets.
    pub certificate: Certificate,
    /// How many iterations were made.
    pub iterations: usize,
    /// How many columns were multiplied by M or its transpose in all, or what comes to as much work.
    pub operator_columns: usize,
    /// The share of the energy that they hold, where they were chosen by it.
    pub energy: Option<f64>,
}

impl Triplets {
    /// Those of the transpose, where it was decomposed in place of the matrix.
    pub(super) fn transposed_if(self, is_transposed: bool) -> Self {
        match is_transposed {
            false => self,
            true => Triplets { left: self.right, right: self.left, ..self },
        }
    }

    /// Measures the orthogonality loss, given the squares of the residuals, and drops all but the first
    /// `kept` triplets: the others are rounding.
    pub(super) fn certified(
        mut self,
        session: &mut Session<'_>,
        squares: &[f64],
        kept: usize,
    ) -> Result<Self, SvdError> {
        let Certificate { history, completeness, .. } = std::mem::take(&mut self.certificate);
        if kept < self.singular_values.len() {
            self.singular_values.truncate(kept);
            self.left = session.columns(&self.left, 0..kept)?;
            self.right = session.columns(&self.right, 0..kept)?;
        }
        let mut orthogonality_loss = 0.0f64;
        for panel in [&self.left, &self.right] {
            let gram = session.gram(panel)?;
            let loss = |(place, entry): (usize, &f64)| (entry - f64::from(u8::from(place % (kept + 1) == 0))).abs();
            orthogonality_loss = gram.iter().enumerate().map(loss).fold(orthogonality_loss, f64::max);
        }
        let measured = Certificate::new(&squares[..kept], &self.singular_values);
        self.certificate = Certificate { orthogonality_loss, history, completeness, ..measured };
        Ok(self)
    }
}

/// The triplets of a projection, and why a [fallback](Prepared::fallback) may meet a tolerance that they
/// miss.
pub(super) fn certified(
    session: &mut Session<'_>,
    prepared: &Prepared,
    projection: Projection,
) -> Result<(Triplets, Option<Failure>), SvdError> {
    let (triplets, failure) = match projection.left.is_empty() {
        true => of_right_basis(session, prepared, projection)?,
        false => (of_both_bases(session, prepared, projection)?, None),
    };
    Ok((triplets.transposed_if(prepared.is_transposed()), failure))
}

/// Rayleigh–Ritz with M itself in the span of approximate right vectors X: the eigenvectors of
/// `(MX)ᵀ(MX)` with respect to `XᵀX`. `Mv = σu` holds by construction, and Mᵀu − σv is measured (eq. 6).
fn of_right_basis(
    session: &mut Session<'_>,
    prepared: &Prepared,
    projection: Projection,
) -> Result<(Triplets, Option<Failure>), SvdError> {
    let Projection {
        right, right_rotation, singular_values, iterations, operator_columns, history, completeness, ..
    } = projection;
    let (options, operator) = (&prepared.options, prepared.operator());
    let positive = singular_values.iter().take_while(|&&value| value > 0.0).count();
    let count = options.rank.min(positive);
    let spanning = rotate(session, &right.iter().collect::<Vec<_>>(), &right_rotation, count)?;
    // Most of the memory of a run.
    drop(right);
    let images = operator.apply_wide(session, &spanning)?;
    let (of_vectors, of_images) = (session.gram(&spanning)?, session.gram(&images)?);
    let RitzInSpan { singular_values, rotation } = RitzInSpan::new(session, &of_vectors, &of_images, count)?;
    let found = singular_values.len();
    let scaled = rotation.chunks_exact(found.max(1)).flat_map(|row| row.iter().zip(&singular_values));
    let onto_left: Vec<f64> = scaled.map(|(entry, value)| entry / value).collect();
    let left = rotate(session, &[&images], &onto_left, found)?;
    drop(images);
    let right = rotate(session, &[&spanning], &rotation, found)?;
    drop(spanning);
    let (left, right) = with_signs(session, left, right, prepared.is_transposed())?;
    let back = operator.adjoint_wide(session, &left)?;
    let squares = session.distance_squares(&back, &right, &singular_values)?;
    let kept = count_significant(session, &back, &right, &squares, &singular_values)?;
    drop(back);
    let last = history.last().map(|check| check.worst_residual);
    let was_met = prepared.growing_tolerance().is_some_and(|tolerance| last.is_none_or(|worst| worst <= tolerance));
    let certificate = Certificate { history, completeness, ..Certificate::default() };
    let operator_columns = operator_columns + count + found;
    let triplets = Triplets { left, singular_values, right, certificate, iterations, operator_columns, energy: None };
    let triplets = triplets.certified(session, &squares, kept)?;
    let is_met = options.tolerance.is_none_or(|tolerance| triplets.certificate.worst() <= tolerance);
    // What met the tolerance by estimate misses it for the error of a surrogate or for rounding.
    Ok((triplets, (was_met && !is_met).then_some(Failure::Residuals)))
}

/// The singular values of a matrix within the span of some vectors that are nearly orthonormal.
struct RitzInSpan {
    /// Those above zero.
    singular_values: Vec<f64>,
    /// What rotates the vectors into right singular vectors, one column for each value.
    rotation: Vec<f64>,
}

impl RitzInSpan {
    fn new(session: &mut Session<'_>, of_vectors: &[f64], of_images: &[f64], order: usize) -> Result<Self, SvdError> {
        let (squares, rotation): (Vec<f64>, Vec<f64>) =
            session.on_leader(|| Ok::<_, SvdError>(generalized_eigen(of_vectors, of_images, order)?))?;
        let singular_values: Vec<f64> =
            squares.iter().map_while(|square| (*square > 0.0).then(|| square.sqrt())).collect();
        let rows = rotation.chunks_exact(squares.len().max(1));
        let rotation = rows.flat_map(|row| &row[..singular_values.len()]).copied().collect();
        Ok(Self { singular_values, rotation })
    }
}

/// The squares of the singular values, descending, and what rotates the vectors into singular vectors, one
/// column for each: from the Gram matrix of the vectors and that of their images. There are fewer than
/// vectors where these depend on each other.
fn generalized_eigen(of_vectors: &[f64], of_images: &[f64], order: usize) -> Result<(Vec<f64>, Vec<f64>), FactorError> {
    let inverse = cholesky(of_vectors, order)?.orthonormaliser();
    let kept = inverse.len() / order.max(1);
    let transposed: Vec<f64> = (0..kept).flat_map(|row| inverse.iter().skip(row).step_by(kept).copied()).collect();
    let images = small_product(of_images, &inverse, order, order, kept);
    let Eigen { values, vectors } = symmetric_eigen(&small_product(&transposed, &images, kept, order, kept), kept)?;
    Ok((values, small_product(&inverse, &vectors, order, kept, kept)))
}

/// The triplets between two bases, with both residuals measured.
fn of_both_bases(
    session: &mut Session<'_>,
    prepared: &Prepared,
    mut projection: Projection,
) -> Result<Triplets, SvdError> {
    let (options, operator) = (&prepared.options, prepared.operator());
    let positive = projection.singular_values.iter().take_while(|&&value| value > 0.0).count();
    if options.keep.is_by_energy() && projection.total.is_none() && positive > 0 {
        let right: Vec<&Shard> = projection.right.iter().collect();
        let first = rotate(session, &right, &projection.right_rotation, 1)?;
        let probe = NormProbe::new(session, &operator, &first, options.seed)?;
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
    let (left, right) = with_signs(session, left, right, prepared.is_transposed())?;
    projection.singular_values.truncate(count);
    let Projection { singular_values, iterations, mut operator_columns, history, completeness, .. } = projection;
    let certificate = Certificate { history, completeness, ..Certificate::default() };
    if count == 0 {
        return Ok(Triplets { left, singular_values, right, certificate, iterations, operator_columns, energy });
    }
    let images = operator.apply_wide(session, &right)?;
    let mut squares = session.distance_squares(&images, &left, &singular_values)?;
    let kept = count_significant(session, &images, &left, &squares, &singular_values)?;
    drop(images);
    let back = operator.adjoint_wide(session, &left)?;
    let of_adjoint = session.distance_squares(&back, &right, &singular_values)?;
    drop(back);
    squares.iter_mut().zip(&of_adjoint).for_each(|(square, other)| *square = square.max(*other));
    operator_columns += 2 * count;
    let triplets = Triplets { left, singular_values, right, certificate, iterations, operator_columns, energy };
    triplets.certified(session, &squares, kept)
}

/// Fixes the signs by the left vectors of the matrix as the user stated it: the largest entry of each is
/// positive.
pub(super) fn with_signs(
    session: &mut Session<'_>,
    left: Shard,
    right: Shard,
    is_transposed: bool,
) -> Result<(Shard, Shard), SvdError> {
    let peaks = session.column_peaks(if is_transposed { &right } else { &left })?;
    let signs: Vec<f32> = peaks.iter().map(|&peak| 1f32.copysign(peak as f32)).collect();
    Ok((scaled(session, &left, &signs)?, scaled(session, &right, &signs)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};
    use crate::kernel::random::normal;

    const ROWS: usize = 40;

    /// The Gram matrix of a table of `order` columns.
    fn gram(rows: &[f64], order: usize) -> Vec<f64> {
        let entry = |e: usize| rows.chunks_exact(order).map(|row| row[e / order] * row[e % order]).sum();
        (0..order * order).map(entry).collect()
    }

    /// Unit vectors and a little more; and their images under a matrix that stretches each row.
    fn vectors_and_images(order: usize) -> (Vec<f64>, Vec<f64>) {
        let drawn = |place: usize| f64::from(normal(1, 1, (place / order) as u64, (place % order) as u32));
        let vectors: Vec<f64> = (0..ROWS * order)
            .map(|place| f64::from(u8::from(place / order == place % order)) + 0.01 * drawn(place))
            .collect();
        let images = vectors.iter().enumerate().map(|(place, x)| x * (1 + place / order) as f64).collect();
        (vectors, images)
    }

    /// Catches vectors that are taken for orthonormal, and values that are not those of the images.
    #[test]
    fn vectors_that_are_nearly_orthonormal_become_so() {
        let order = 6;
        let (vectors, images) = vectors_and_images(order);
        let (squares, rotation) = generalized_eigen(&gram(&vectors, order), &gram(&images, order), order).unwrap();
        let [v, mv] =
            [&vectors, &images].map(|panel| gram(&small_product(panel, &rotation, ROWS, order, order), order));
        for place in 0..order * order {
            let is_diagonal = f64::from(u8::from(place / order == place % order));
            assert!((v[place] - is_diagonal).abs() < 1e-12);
            assert!((mv[place] - is_diagonal * squares[place % order]).abs() < 1e-9);
        }
        assert!(squares.is_sorted_by(|x, y| x >= y));
    }

    /// Catches values and rotations that are read at wrong places where a vector depends on others.
    #[test]
    fn a_vector_that_depends_on_others_is_dropped() {
        let (order, rank) = (4, 3);
        let (vectors, images) = vectors_and_images(rank);
        // The last vector is the first once more.
        let with_copy = |rows: &[f64]| -> Vec<f64> {
            rows.chunks_exact(rank).flat_map(|row| row.iter().chain(&row[..1])).copied().collect()
        };
        let (of_vectors, of_images) = (gram(&with_copy(&vectors), order), gram(&with_copy(&images), order));
        let (squares, _) = generalized_eigen(&gram(&vectors, rank), &gram(&images, rank), rank).unwrap();
        for workers in [1, 2, 3] {
            let (of_vectors, of_images, squares) = (of_vectors.clone(), of_images.clone(), squares.clone());
            let vectors = with_copy(&vectors);
            let checked: Result<(), SvdError> = run(Cluster::threads(workers), Vec::new(), move |session| {
                let RitzInSpan { singular_values, rotation } =
                    RitzInSpan::new(session, &of_vectors, &of_images, order)?;
                assert_eq!(singular_values.len(), rank);
                assert!(
                    singular_values.iter().zip(&squares).all(|(value, square)| (value * value - square).abs() < 1e-9)
                );
                let v = gram(&small_product(&vectors, &rotation, ROWS, order, rank), rank);
                for (place, entry) in v.iter().enumerate() {
                    assert!((entry - f64::from(u8::from(place % (rank + 1) == 0))).abs() < 1e-9);
                }
                Ok(())
            });
            checked.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
