//! From bases and small matrices to certified singular triplets.

use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, PRODUCT_ROUNDING, count_significant};
use super::keep::{Kept, NormProbe};
use super::operator::{ColumnCount, Operator};
use super::options::SvdError;
use super::prepared::Prepared;
use super::small::{combine, eigen, from_rows, to_rows};
use super::tuning::UNMEASURED_RESIDUAL;
use crate::engine::checkpoint::StoredResult;
use crate::engine::{Cluster, EngineError, Session, Shard, Sharded};
use crate::kernel::factor::{FactorError, cholesky};
use crate::matrix::Dense;

/// The largest singular triplets of a matrix, with vectors of a type V: [`Svd`] has all rows of
/// them, a process has its rows as [`Sharded`] panels, and inside a run every worker has its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Triplets<V = Shard> {
    /// One column a triplet; the entry of largest magnitude of each is positive.
    pub left: V,
    /// From the largest down. There are fewer than asked for where the rank of the matrix is less.
    pub singular_values: Vec<f64>,
    /// One column a triplet.
    pub right: V,
    /// The errors of the triplets.
    pub certificate: Certificate,
    /// How many iterations were made, or by [`Method::Krylov`](super::Method::Krylov) how many blocks.
    pub iterations: usize,
    /// How many columns were multiplied by M or its transpose in all; one that was multiplied by a
    /// surrogate counts as the part of the work that it is.
    pub operator_columns: usize,
    /// The share of the energy that they hold, where they were chosen by it.
    pub energy: Option<f64>,
}

/// The largest singular triplets of a matrix.
pub type Svd = Triplets<Dense>;

impl<V> Triplets<V> {
    /// The number of triplets found: the rank asked for, or that of the matrix, as far as 32-bit
    /// numbers can tell it, if it has less.
    pub fn effective_rank(&self) -> usize {
        self.singular_values.len()
    }

    /// The same with other vectors.
    pub(super) fn with_vectors<W>(&self, left: W, right: W) -> Triplets<W> {
        let Self { singular_values, certificate, iterations, operator_columns, energy, .. } = self;
        Triplets {
            left,
            singular_values: singular_values.clone(),
            right,
            certificate: certificate.clone(),
            iterations: *iterations,
            operator_columns: *operator_columns,
            energy: *energy,
        }
    }
}

impl StoredResult for Triplets<Sharded> {
    type Numbers = Triplets<()>;

    fn numbers(&self) -> Triplets<()> {
        self.with_vectors((), ())
    }

    fn panels(&self) -> Vec<Sharded> {
        vec![self.left.clone(), self.right.clone()]
    }

    fn from_parts(numbers: Triplets<()>, panels: Vec<Sharded>, _: Cluster) -> Result<Option<Self>, EngineError> {
        let panels = <[Sharded; 2]>::try_from(panels).ok();
        Ok(panels.map(|[left, right]| numbers.with_vectors(left, right)))
    }
}

/// Bases, and what rotates them into approximate singular vectors.
pub(super) struct Projection {
    /// Blocks of the basis of the long side; empty where left vectors are still to be made of right
    /// ones.
    pub(super) left: Vec<Shard>,
    pub(super) left_rotation: Mat<f64>,
    /// Blocks of the basis of the short side.
    pub(super) right: Vec<Shard>,
    pub(super) right_rotation: Mat<f64>,
    pub(super) singular_values: Vec<f64>,
    /// ‖M‖², if it is known.
    pub(super) total: Option<f64>,
    pub(super) iterations: usize,
    /// The history, and the check that no triplet is missing; no residuals.
    pub(super) certificate: Certificate,
}

/// Approximate triplets of a matrix that is at least as high as wide, before they are measured.
pub(super) struct Approximation {
    pub(super) left: Shard,
    pub(super) singular_values: Vec<f64>,
    pub(super) right: Shard,
    /// Whether u is made of M·v: ‖Mv − σu‖ is then a rounding error.
    pub(super) is_image: bool,
    pub(super) energy: Option<f64>,
}

/// The certified triplets of a projection.
pub(super) fn certified(
    session: &mut Session<'_>,
    prepared: &Prepared,
    count: &ColumnCount,
    projection: Projection,
) -> Result<Triplets, SvdError> {
    let operator = prepared.operator(count);
    let (iterations, certificate) = (projection.iterations, projection.certificate.clone());
    let found = match projection.left.is_empty() {
        true => of_right_basis(session, prepared, &operator, projection)?,
        false => of_both_bases(session, prepared, &operator, projection)?,
    };
    found.measured(session, prepared, &operator, iterations, certificate)
}

/// Rayleigh–Ritz with M itself in the span of approximate right vectors X: the eigenvectors of
/// `(MX)ᵀ(MX)` with respect to `XᵀX` (eq. 6).
fn of_right_basis(
    session: &mut Session<'_>,
    prepared: &Prepared,
    operator: &Operator,
    Projection { right, right_rotation, singular_values, .. }: Projection,
) -> Result<Approximation, SvdError> {
    let positive = singular_values.iter().take_while(|&&value| value > 0.0).count();
    let count = prepared.options.rank.min(positive);
    let spanning = combine(session, &right.iter().collect::<Vec<_>>(), right_rotation.subcols(0, count))?;
    // Most of the memory of a run.
    drop(right);
    let images = operator.apply(session, &spanning)?;
    let [of_vectors, of_images] = [&spanning, &images].map(|panel| session.gram(panel));
    let (of_vectors, of_images) = (from_rows(&of_vectors?, count, count), from_rows(&of_images?, count, count));
    let (singular_values, rotation) = session.on_leader(|| {
        let (values, rotation) = values_in_span(of_vectors.as_ref(), of_images.as_ref())?;
        Ok::<_, SvdError>((values, to_rows(rotation.as_ref())))
    })?;
    let found = singular_values.len();
    let rotation = from_rows(&rotation, count, found);
    let onto_left = Mat::from_fn(count, found, |row, column| rotation[(row, column)] / singular_values[column]);
    let left = combine(session, &[&images], onto_left.as_ref())?;
    drop(images);
    let right = combine(session, &[&spanning], rotation.as_ref())?;
    Ok(Approximation { left, singular_values, right, is_image: true, energy: None })
}

/// The singular values of a matrix within the span of some vectors, descending, and what rotates
/// the vectors into right singular vectors: from the Gram matrix of the vectors and that of their
/// images. There are fewer values than vectors where these depend on each other, and none is zero.
fn values_in_span(
    of_vectors: MatRef<'_, f64>,
    of_images: MatRef<'_, f64>,
) -> Result<(Vec<f64>, Mat<f64>), FactorError> {
    let order = of_vectors.nrows();
    let inverse = cholesky(&to_rows(of_vectors), order)?.orthonormaliser();
    let inverse = from_rows(&inverse, order, inverse.len() / order.max(1));
    let found = eigen((inverse.transpose() * of_images * &inverse).as_ref())?;
    let values: Vec<f64> = found.values.iter().map_while(|square| (*square > 0.0).then(|| square.sqrt())).collect();
    let rotation = &inverse * found.vectors.subcols(0, values.len());
    Ok((values, rotation))
}

/// The triplets between two bases.
fn of_both_bases(
    session: &mut Session<'_>,
    prepared: &Prepared,
    operator: &Operator,
    mut projection: Projection,
) -> Result<Approximation, SvdError> {
    let options = &prepared.options;
    let positive = projection.singular_values.iter().take_while(|&&value| value > 0.0).count();
    if options.keep.is_by_energy() && projection.total.is_none() && positive > 0 {
        let right: Vec<&Shard> = projection.right.iter().collect();
        let first = combine(session, &right, projection.right_rotation.subcols(0, 1))?;
        let probe = NormProbe::new(session, operator, &first, options.seed)?;
        let within: f64 = projection.singular_values.iter().map(|value| value * value).sum();
        projection.total = Some(within + probe.beyond(session, &projection.left)?);
    }
    let mut singular_values = projection.singular_values;
    singular_values.truncate(options.rank.min(positive));
    let Kept { count, energy, .. } = options.keep.count(&singular_values, projection.total);
    singular_values.truncate(count);
    // A basis is given back as soon as it was rotated: together they are most of the memory of a run.
    let mut rotated = |basis: Vec<Shard>, rotation: Mat<f64>| {
        combine(session, &basis.iter().collect::<Vec<_>>(), rotation.subcols(0, count))
    };
    let left = rotated(projection.left, projection.left_rotation)?;
    let right = rotated(projection.right, projection.right_rotation)?;
    Ok(Approximation { left, singular_values, right, is_image: false, energy })
}

impl Approximation {
    /// Measures residuals and the orthogonality loss, and drops triplets that are rounding.
    ///
    /// Where u is made of M·v, rounding v and u leaves ‖Mv − σu‖ ≤ cε·σ₁. It is measured, too, unless
    /// that is far below the tolerance.
    pub(super) fn measured(
        self,
        session: &mut Session<'_>,
        prepared: &Prepared,
        operator: &Operator,
        iterations: usize,
        certificate: Certificate,
    ) -> Result<Triplets, SvdError> {
        let Self { left, mut singular_values, right, is_image, energy } = self;
        let is_transposed = prepared.is_transposed();
        let (mut left, mut right) = with_signs(session, left, right, is_transposed)?;
        let mut squares = Vec::new();
        if let (Some(first), Some(last)) = (singular_values.first(), singular_values.last()) {
            let allowed = UNMEASURED_RESIDUAL * prepared.trusted_residual();
            let is_measured_on_both_sides = !is_image || PRODUCT_ROUNDING * first > allowed * last;
            let back = operator.adjoint(session, &left)?;
            squares = session.distance_squares(&back, &right, &singular_values)?;
            let kept = count_significant(session, &back, &right, &squares, &singular_values)?;
            drop(back);
            if is_measured_on_both_sides {
                let images = operator.apply(session, &right)?;
                let of_images = session.distance_squares(&images, &left, &singular_values)?;
                squares.iter_mut().zip(&of_images).for_each(|(square, other)| *square = square.max(*other));
            }
            if kept < singular_values.len() {
                singular_values.truncate(kept);
                squares.truncate(kept);
                (left, right) = (session.columns(&left, 0..kept)?, session.columns(&right, 0..kept)?);
            }
        }
        let kept = singular_values.len();
        let mut orthogonality_loss = 0.0f64;
        for panel in [&left, &right] {
            let off = from_rows(&session.gram(panel)?, kept, kept) - Mat::<f64>::identity(kept, kept);
            orthogonality_loss = orthogonality_loss.max(off.norm_max());
        }
        let Certificate { history, completeness, .. } = certificate;
        let measured = Certificate::new(&squares, &singular_values);
        let certificate = Certificate { orthogonality_loss, history, completeness, ..measured };
        let operator_columns = operator.count().columns();
        let (left, right) = if is_transposed { (right, left) } else { (left, right) };
        Ok(Triplets { left, singular_values, right, certificate, iterations, operator_columns, energy })
    }
}

/// Fixes the signs by the left vectors of the matrix as the user stated it: the largest entry of
/// each is positive.
fn with_signs(
    session: &mut Session<'_>,
    left: Shard,
    right: Shard,
    is_transposed: bool,
) -> Result<(Shard, Shard), SvdError> {
    let peaks = session.column_peaks(if is_transposed { &right } else { &left })?;
    let signs: Vec<f64> = peaks.iter().map(|&peak| 1f64.copysign(peak)).collect();
    Ok((scaled(session, &left, &signs)?, scaled(session, &right, &signs)?))
}

/// A panel with every column multiplied by a number.
pub(super) fn scaled(session: &mut Session<'_>, panel: &Shard, factors: &[f64]) -> Result<Shard, SvdError> {
    Ok(session.map_tiles(&[panel], panel.cols(), |_, panels, mut out| {
        let stride = out.stride();
        out.data_mut().copy_from_slice(panels[0].data());
        for row in out.data_mut().chunks_exact_mut(stride.max(1)) {
            row.iter_mut().zip(factors).for_each(|(entry, factor)| *entry *= *factor as f32);
        }
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::random::normal;

    /// Unit vectors and a little more.
    fn vectors(order: usize) -> Mat<f64> {
        Mat::from_fn(40, order, |row, column| {
            f64::from(u8::from(row == column)) + 0.01 * f64::from(normal(1, 1, row as u64, column as u32))
        })
    }

    /// The values in the span of some vectors of a matrix that stretches each row by its number, and
    /// the Gram matrices of the rotated vectors and of their images.
    fn in_span_of(vectors: &Mat<f64>) -> (Vec<f64>, [Mat<f64>; 2]) {
        let images =
            Mat::from_fn(vectors.nrows(), vectors.ncols(), |row, column| (row + 1) as f64 * vectors[(row, column)]);
        let gram = |panel: &Mat<f64>| panel.transpose() * panel;
        let (values, rotation) = values_in_span(gram(vectors).as_ref(), gram(&images).as_ref()).unwrap();
        (values, [gram(&(vectors * &rotation)), gram(&(images * &rotation))])
    }

    /// Catches vectors that are taken for orthonormal, values that are not those of the images, and a
    /// vector that depends on others and is taken for one more.
    #[test]
    fn vectors_that_are_nearly_orthonormal_become_so() {
        let independent = vectors(6);
        let with_copy = Mat::from_fn(40, 7, |row, column| independent[(row, column % 6)]);
        let expected = in_span_of(&independent).0;
        for vectors in [independent, with_copy] {
            let (values, [of_vectors, of_images]) = in_span_of(&vectors);
            assert_eq!(values.len(), 6);
            assert!(values.is_sorted_by(|x, y| x >= y));
            assert!(values.iter().zip(&expected).all(|(value, expected)| (value - expected).abs() < 1e-9));
            let squares = Mat::from_fn(6, 6, |row, column| if row == column { values[row].powi(2) } else { 0.0 });
            assert!((of_vectors - Mat::<f64>::identity(6, 6)).norm_max() < 1e-9);
            assert!((of_images - squares).norm_max() < 1e-7);
        }
    }
}
