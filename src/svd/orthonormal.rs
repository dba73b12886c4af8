//! Orthonormal bases of distributed blocks.
//!
//! A pass divides a block X by the triangular factor R of X = Q·R, found from the Gram matrix (Cholesky) or by Householder
//! reflections (QR; a badly conditioned block goes through its Gram matrix all the same). One pass on a well-conditioned block is enough for an iteration. On a badly conditioned one the diagonal
//! is shifted, which makes the block better conditioned without losing its span, and the pass repeated. A direction that
//! depends on the others even then is dropped. The basis that the answer is built on is divided until it divides by
//! nearly the identity.

use super::options::{Orthonormalize, SvdError};
use crate::engine::{Session, Shard};
use crate::kernel::factor::{UpperFactor, factor, scale_to_unit};

/// Squared pivots of the unit-scaled block above which one pass leaves a basis good enough to go on with: on random
/// blocks it is then orthonormal to a few times 1e-5.
const GOOD_PIVOT: f64 = 1e-6;
/// Squared pivots above which the block was orthonormal before the pass, up to what the pass mends.
const NEARLY_ORTHONORMAL_PIVOT: f64 = 0.25;
/// Added to the unit diagonal of a badly conditioned Gram matrix, for each column: above what the rounding of 32-bit
/// numbers can make negative.
const SHIFT: f64 = 1e-12;
/// A direction with a squared pivot below this in a block that was shifted before is a combination of the others.
const DEPENDENT_PIVOT: f64 = 1e-10;
/// Passes after which a block is taken as it is. Three are enough but for contrived blocks.
const MOST_PASSES: usize = 6;

/// How good a basis must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// To iterate on with.
    Enough,
    /// To the last bit: for the basis of the answer.
    Full,
}

/// An orthonormal basis Q of a block X, and R with X = Q·R.
pub(super) struct Basis {
    pub(super) panel: Shard,
    /// Row after row; one row a column of the basis, one column a column of the block.
    pub(super) upper: Vec<f64>,
}

/// The basis of a block. It has fewer columns than the block where those depend on each other, down to none.
pub(super) fn orthonormalize(
    session: &mut Session<'_>,
    block: Shard,
    how: Orthonormalize,
    care: Care,
) -> Result<Basis, SvdError> {
    let columns = block.cols();
    let mut basis = Basis { panel: block, upper: identity(columns) };
    for pass in 0..MOST_PASSES {
        let size = basis.panel.cols();
        if size == 0 {
            break;
        }
        let (factor, inverse_norms) = triangle(session, &basis.panel, how, pass == 0)?;
        let (is_full, smallest_pivot) = (factor.is_full(), factor.smallest_pivot);
        basis = divide(session, &basis, &factor, &inverse_norms, columns)?;
        let enough = match care {
            Care::Enough => GOOD_PIVOT,
            Care::Full => NEARLY_ORTHONORMAL_PIVOT,
        };
        if is_full && smallest_pivot > enough {
            return Ok(basis);
        }
        if pass + 1 == MOST_PASSES && care == Care::Full {
            return Err(SvdError::NotOrthonormal { smallest_pivot });
        }
    }
    Ok(basis)
}

/// The triangular factor of a block with its columns scaled to unit length, and one over their lengths.
///
/// The first time, a badly conditioned block is factored with its diagonal shifted; later, what still depends on the
/// others is dropped.
fn triangle(
    session: &mut Session<'_>,
    block: &Shard,
    how: Orthonormalize,
    is_first: bool,
) -> Result<(UpperFactor, Vec<f64>), SvdError> {
    let order = block.cols();
    let mut gram = match how {
        Orthonormalize::Cholesky => session.gram(block)?,
        Orthonormalize::Qr => {
            let (factor, inverse_norms) = unit_columns(session.triangular_factor(block)?, order);
            if factor.smallest_pivot > GOOD_PIVOT {
                return Ok((factor, inverse_norms));
            }
            session.gram(block)?
        }
    };
    let inverse_norms = scale_to_unit(&mut gram, order);
    if is_first {
        let plain = factor(&gram, order, 0.0, 0.0)?;
        if plain.is_full() && plain.smallest_pivot > GOOD_PIVOT {
            return Ok((plain, inverse_norms));
        }
        let shifted = factor(&gram, order, SHIFT * order as f64, 0.0)?;
        // The pivots to judge by are those of the block as it is.
        return Ok((UpperFactor { smallest_pivot: plain.smallest_pivot, ..shifted }, inverse_norms));
    }
    Ok((factor(&gram, order, 0.0, DEPENDENT_PIVOT)?, inverse_norms))
}

/// A triangular factor with its columns scaled to unit length, and one over their lengths.
fn unit_columns(mut upper: Vec<f64>, order: usize) -> (UpperFactor, Vec<f64>) {
    let mut squares = vec![0.0; order];
    for row in upper.chunks_exact(order) {
        squares.iter_mut().zip(row).for_each(|(square, entry)| *square += entry * entry);
    }
    let inverse = |square: &f64| if *square == 0.0 { 0.0 } else { square.sqrt().recip() };
    let inverse_norms: Vec<f64> = squares.iter().map(inverse).collect();
    for row in upper.chunks_exact_mut(order) {
        row.iter_mut().zip(&inverse_norms).for_each(|(entry, inverse)| *entry *= inverse);
    }
    let smallest_pivot = (0..order).map(|j| upper[j * order + j].powi(2)).fold(f64::INFINITY, f64::min);
    (UpperFactor { kept: (0..order).collect(), upper, smallest_pivot, order }, inverse_norms)
}

/// One pass: `Q·R` becomes `(Q·T⁻¹)·(T·R)`, where T is the triangular factor of Q with its columns' lengths put back.
fn divide(
    session: &mut Session<'_>,
    basis: &Basis,
    factor: &UpperFactor,
    inverse_norms: &[f64],
    columns: usize,
) -> Result<Basis, SvdError> {
    let (order, kept) = (factor.order, factor.kept.len());
    let divisor: Vec<f32> = factor
        .orthonormaliser()
        .chunks_exact(kept.max(1))
        .zip(inverse_norms)
        .flat_map(|(row, inverse)| row.iter().map(move |entry| (entry * inverse) as f32))
        .collect();
    let panel = session.times_small(&basis.panel, &divisor, kept)?;
    let mut upper = vec![0.0; kept * columns];
    for (row, out) in factor.upper.chunks_exact(order).zip(upper.chunks_exact_mut(columns)) {
        for ((entry, inverse), below) in row.iter().zip(inverse_norms).zip(basis.upper.chunks_exact(columns)) {
            let scale = if *inverse == 0.0 { 0.0 } else { entry / inverse };
            out.iter_mut().zip(below).for_each(|(out, value)| *out += scale * value);
        }
    }
    Ok(Basis { panel, upper })
}

fn identity(size: usize) -> Vec<f64> {
    (0..size * size).map(|entry| if entry / size == entry % size { 1.0 } else { 0.0 }).collect()
}
