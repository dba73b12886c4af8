//! Triplets from right vectors alone.

use super::certificate::{Certificate, count_significant};
use super::krylov::Bases;
use super::options::SvdError;
use super::prepared::Prepared;
use super::run::{Triplets, certified_by, with_signs};
use super::subspace::{Projection, rotate};
use super::wide::multiply_wide;
use crate::engine::Session;
use crate::kernel::factor::{FactorError, cholesky};
use crate::kernel::small::{Eigen, small_product, symmetric_eigen};

/// The triplets of M in the span of right vectors, and whether they miss a tolerance that bases of both sides, grown with M itself,
/// may meet: the vectors met it on the way, but with another matrix or with more rounding, or the rounding of MᵀM is too large for
/// it. `Mv = σu` holds by construction, Mᵀu − σv is measured.
pub(super) fn complete(
    session: &mut Session<'_>,
    prepared: &Prepared,
    projection: Projection,
) -> Result<(Triplets, bool), SvdError> {
    let Projection {
        right, right_rotation, singular_values, iterations, operator_columns, looks, completeness, ..
    } = projection;
    let (options, tall) = (&prepared.options, prepared.tall());
    let positive = singular_values.iter().take_while(|&&value| value > 0.0).count();
    let count = options.rank.min(positive);
    let spanning = rotate(session, &right.iter().collect::<Vec<_>>(), &right_rotation, count)?;
    // Most of the memory of a run.
    drop(right);
    let images = multiply_wide(session, tall.plain, &spanning)?;
    let (of_vectors, of_images) = (session.gram(&spanning)?, session.gram(&images)?);
    let Within { singular_values, rotation } = Within::shared(session, &of_vectors, &of_images, count)?;
    let found = singular_values.len();
    let scaled = rotation.chunks_exact(count.max(1)).flat_map(|row| row.iter().zip(&singular_values));
    let onto_left: Vec<f64> = scaled.map(|(entry, value)| entry / value).collect();
    let left = rotate(session, &[&images], &onto_left, found)?;
    drop(images);
    let right = rotate(session, &[&spanning], &rotation, found)?;
    drop(spanning);
    let (left, right) = with_signs(session, left, right, prepared.is_turned())?;
    let back = multiply_wide(session, tall.transposed, &left)?;
    let squares = session.distance_squares(&back, &right, &singular_values)?;
    let kept = count_significant(session, &back, &right, &squares, &singular_values)?;
    drop(back);
    let last = looks.last().map(|look| look.worst_residual);
    let was_met = last.zip(prepared.tolerance_to_grow()).is_some_and(|(worst, tolerance)| worst <= tolerance);
    let certificate = Certificate { looks, completeness, ..Certificate::default() };
    let operator_columns = operator_columns + count + found;
    let triplets = Triplets { left, singular_values, right, certificate, iterations, operator_columns, energy: None };
    let certified = certified_by(session, &squares, kept, triplets)?;
    let is_met = options.tolerance.is_none_or(|tolerance| certified.certificate.worst() <= tolerance);
    let is_rounded = prepared.bases() == Bases::Right && squares_hide(&certified.singular_values, options.tolerance);
    Ok((certified, !is_met && (was_met || is_rounded)))
}

/// Whether the rounding errors of products with MᵀM, about ε·σ₁², are above a tolerance of σₖ². Residuals then stay
/// where they are however large the basis becomes.
fn squares_hide(singular_values: &[f64], tolerance: Option<f64>) -> bool {
    let (Some(largest), Some(smallest)) = (singular_values.first(), singular_values.last()) else { return false };
    tolerance.is_some_and(|tolerance| f64::from(f32::EPSILON) * largest.powi(2) > tolerance * smallest.powi(2))
}

/// The singular values of a matrix within the span of some vectors that are nearly orthonormal.
struct Within {
    singular_values: Vec<f64>,
    /// What makes right singular vectors of the vectors, one column for each, and further columns for values of zero.
    rotation: Vec<f64>,
}

impl Within {
    /// What one worker finds, on all of them: another kind of machine may round differently.
    fn shared(
        session: &mut Session<'_>,
        of_vectors: &[f64],
        of_images: &[f64],
        order: usize,
    ) -> Result<Self, SvdError> {
        let mut numbers = session.sum_over(1, 1 + order + order * order, |_, numbers| {
            if let Ok((squares, rotation)) = find(of_vectors, of_images, order) {
                numbers[0] = 1.0;
                numbers[1..].iter_mut().zip(squares.iter().chain(&rotation)).for_each(|(to, from)| *to = *from);
            }
        })?;
        if numbers[0] == 0.0 {
            // Everybody finds the same error.
            find(of_vectors, of_images, order)?;
        }
        let rotation = numbers.split_off(1 + order);
        let roots = numbers[1..].iter().map_while(|square| (*square > 0.0).then(|| square.sqrt()));
        Ok(Self { singular_values: roots.collect(), rotation })
    }
}

/// The squares of the singular values, descending, and what makes singular vectors of the vectors: from the products of these with each
/// other, and those of their images.
fn find(of_vectors: &[f64], of_images: &[f64], order: usize) -> Result<(Vec<f64>, Vec<f64>), FactorError> {
    let upright = cholesky(of_vectors, order)?.orthonormaliser();
    let kept = upright.len() / order.max(1);
    let turned: Vec<f64> = (0..kept).flat_map(|row| upright.iter().skip(row).step_by(kept).copied()).collect();
    let images = small_product(of_images, &upright, order, order, kept);
    let Eigen { values, vectors } = symmetric_eigen(&small_product(&turned, &images, kept, order, kept), kept)?;
    Ok((values, small_product(&upright, &vectors, order, kept, kept)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::normal;

    /// Catches vectors that are taken for orthonormal, and values that are not those of the images.
    #[test]
    fn vectors_that_are_nearly_orthonormal_become_so() {
        let (rows, order) = (40, 6);
        let drawn = |place: usize| f64::from(normal(1, 1, (place / order) as u64, (place % order) as u32));
        // Unit vectors and a little more, and a matrix that stretches each row.
        let vectors: Vec<f64> = (0..rows * order)
            .map(|place| f64::from(u8::from(place / order == place % order)) + 0.01 * drawn(place))
            .collect();
        let images: Vec<f64> = vectors.iter().enumerate().map(|(place, x)| x * (1 + place / order) as f64).collect();
        let gram = |rows: &[f64]| -> Vec<f64> {
            let entry = |e: usize| rows.chunks_exact(order).map(|row| row[e / order] * row[e % order]).sum();
            (0..order * order).map(entry).collect()
        };
        let (squares, rotation) = find(&gram(&vectors), &gram(&images), order).unwrap();
        let [v, mv] = [&vectors, &images].map(|panel| gram(&small_product(panel, &rotation, rows, order, order)));
        for place in 0..order * order {
            let is_diagonal = f64::from(u8::from(place / order == place % order));
            assert!((v[place] - is_diagonal).abs() < 1e-12);
            assert!((mv[place] - is_diagonal * squares[place % order]).abs() < 1e-9);
        }
        assert!(squares.is_sorted_by(|x, y| x >= y));
    }
}
