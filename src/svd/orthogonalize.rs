//! Block Gram–Schmidt with Cholesky-QR.
//!
//! [`block_qr`] writes a block X as `X = Y·P + Q·R`, where Y are the orthonormal columns known so
//! far and Q is orthonormal and orthogonal to Y. A pass
//!
//! 1. subtracts the projections, `X ← X − Y·(YᵀX)`, and
//! 2. divides by the Cholesky factor of the Gram matrix of what is left, `Q = X·R⁻¹`. Columns that
//!    depend on Y or on the columns before them are dropped.
//!
//! Q loses orthogonality where little of X is left (Simon 1984; Larsen 1998). Let ωᵢ be the loss of
//! column yᵢ, and p the smallest part of the square of a column of X that neither Y nor the columns
//! before it hold. After a pass the loss is about `(ε + Σᵢ ωᵢ(yᵢᵀx)²/‖x‖²) / √p`. Another pass
//! follows only where that is more than the solver accepts (selective reorthogonalisation).

use faer::{Mat, MatRef, concat};

use super::basis::OrthonormalBasis;
use super::options::SvdError;
use super::small::{combine, from_rows};
use super::tuning::{DEPENDENT, MOST_PASSES};
use crate::engine::{Session, Shard};
use crate::kernel::factor::{factor, scale_to_unit};

/// As orthonormal as two passes make a block.
pub(super) const FULL: f64 = 1e-6;
/// The loss that one pass leaves in a block that was nearly orthonormal before.
const ROUNDING: f64 = f32::EPSILON as f64;

/// The orthonormal columns Y that a block is made orthogonal to.
#[derive(Default)]
pub(super) struct Against {
    panels: Vec<Shard>,
    /// The orthogonality loss of each column.
    losses: Vec<f64>,
}

impl Against {
    /// The columns of a basis.
    pub(super) fn basis(basis: &OrthonormalBasis) -> Self {
        Self { panels: basis.panels(), losses: basis.losses() }
    }

    /// Further columns, of one loss.
    pub(super) fn and(mut self, panel: &Shard, loss: f64) -> Self {
        self.losses.resize(self.losses.len() + panel.cols(), loss);
        self.panels.push(panel.clone());
        self
    }
}

/// A block X in terms of orthonormal columns Y: `X = Y·projections + Q·r`.
pub(super) struct BlockQr {
    pub(super) q: Shard,
    pub(super) projections: Mat<f64>,
    pub(super) r: Mat<f64>,
    /// About how far Q is from orthonormal.
    pub(super) loss: f64,
    /// The length of the longest column of X.
    pub(super) longest: f64,
}

/// Factors a block; see the [module](self). Q has at most `most` columns, down to none, and is as
/// orthonormal as `accepted` says where rounding allows.
pub(super) fn block_qr(
    session: &mut Session<'_>,
    against: &Against,
    block: Shard,
    most: usize,
    accepted: f64,
) -> Result<BlockQr, SvdError> {
    let Against { panels, losses } = against;
    let (known, width) = (losses.len(), block.cols());
    // Where there is no place for all columns, those that are dropped may have parts along the others
    // that no factor has: the coefficients are taken from the block itself.
    let original = (width > most).then(|| block.clone());
    let (projections, r) = (Mat::zeros(known, width), Mat::identity(width, width));
    let mut qr = BlockQr { q: block, projections, r, loss: 0.0, longest: 0.0 };
    for pass in 0..MOST_PASSES {
        let order = qr.q.cols();
        if order == 0 {
            break;
        }
        let products = from_rows(&session.gram_against(panels, &qr.q)?, known + order, order);
        let (common, own) = products.split_at_row(known);
        let squares: Vec<f64> = own.diagonal().column_vector().iter().copied().collect();
        if pass == 0 {
            qr.longest = squares.iter().copied().fold(0.0, f64::max).sqrt();
        }
        let mut gram = own.to_owned();
        if known > 0 {
            let parts: Vec<&Shard> = panels.iter().chain([&qr.q]).collect();
            let small = concat![[-common], [Mat::<f64>::identity(order, order)]];
            qr.q = combine(session, &parts, small.as_ref())?;
            qr.projections += common * &qr.r;
            gram = from_rows(&session.gram(&qr.q)?, order, order);
        }
        let left = Remainder::new(gram, &squares, DEPENDENT[pass.min(1)], most)?;
        qr.q = combine(session, &[&qr.q], left.divisor.as_ref())?;
        qr.r = left.factor * qr.r;
        qr.loss = ROUNDING + (ROUNDING + inherited_loss(losses, common, &squares)) / left.part.sqrt();
        if qr.loss < accepted {
            break;
        }
    }
    if let Some(block) = original.filter(|_| qr.q.cols() > 0) {
        let all = [&panels[..], &[qr.q.clone()]].concat();
        let products = session.gram_against(&all, &block)?;
        let products = from_rows(&products, known + qr.q.cols() + width, width);
        qr.projections = products.subrows(0, known).to_owned();
        qr.r = products.subrows(known, qr.q.cols()).to_owned();
    }
    Ok(qr)
}

/// An orthonormal basis of the columns of a block alone.
pub(super) fn orthonormalize(session: &mut Session<'_>, block: Shard, accepted: f64) -> Result<BlockQr, SvdError> {
    let most = block.total_rows().min(block.cols());
    block_qr(session, &Against::default(), block, most, accepted)
}

/// The loss that a block inherits from Y: `Σᵢ ωᵢ(yᵢᵀx)²/‖x‖²`, at its worst over the columns x.
fn inherited_loss(losses: &[f64], common: MatRef<'_, f64>, squares: &[f64]) -> f64 {
    let relative = |(column, square): (usize, &f64)| {
        let sum: f64 = losses.iter().zip(common.col(column).iter()).map(|(loss, entry)| loss * entry * entry).sum();
        if *square > 0.0 { sum / square } else { 0.0 }
    };
    squares.iter().enumerate().map(relative).fold(0.0, f64::max)
}

/// What is left of a block X when its projections are subtracted, in terms of its Gram matrix.
struct Remainder {
    /// What X is multiplied by to give Q.
    divisor: Mat<f64>,
    /// R, of `X = Q·R`.
    factor: Mat<f64>,
    /// The smallest part of the square of a column that neither Y nor the columns before it held.
    part: f64,
}

impl Remainder {
    /// Factors the Gram matrix of what is left, given the squares of the columns before the
    /// subtraction, with at most `most` columns of Q. A column is dropped of which less than the part
    /// `dependent` is left.
    fn new(mut gram: Mat<f64>, squares: &[f64], dependent: f64, most: usize) -> Result<Self, SvdError> {
        let order = squares.len();
        let mut part = f64::INFINITY;
        for (place, square) in squares.iter().enumerate() {
            let of_column = gram[(place, place)] / square;
            part = if of_column < part { of_column } else { part };
            // All that is left of the column is rounding.
            if gram[(place, place)] <= dependent * square {
                gram.row_mut(place).fill(0.0);
                gram.col_mut(place).fill(0.0);
            }
        }
        let mut gram: Vec<f64> =
            gram.col_iter().flat_map(|column| column.iter().copied().collect::<Vec<_>>()).collect();
        let inverse_lengths = scale_to_unit(&mut gram, order);
        let mut factor = factor(&gram, order, 0.0, dependent)?;
        // Where there are too many, the last columns are dropped.
        factor.kept.truncate(most);
        factor.upper.truncate(factor.kept.len() * order);
        let kept = factor.kept.len();
        let orthonormaliser = from_rows(&factor.orthonormaliser(), order, kept);
        let upper = from_rows(&factor.upper, kept, order);
        let length = |inverse: f64| if inverse == 0.0 { 0.0 } else { 1.0 / inverse };
        Ok(Self {
            divisor: Mat::from_fn(order, kept, |row, column| orthonormaliser[(row, column)] * inverse_lengths[row]),
            factor: Mat::from_fn(kept, order, |row, column| upper[(row, column)] * length(inverse_lengths[column])),
            part: (part * factor.smallest_pivot).max(0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use faer::concat;

    use super::*;
    use crate::engine::{Cluster, run};
    use crate::kernel::random::stream;

    const ROWS: usize = 301;
    const WIDTH: usize = 4;

    /// Runs a check on one, two and three workers.
    fn on_workers(check: impl Fn(&mut Session<'_>) -> Result<(), SvdError> + Send + Sync + Copy + 'static) {
        for workers in [1, 2, 3] {
            run(Cluster::threads(workers), Vec::new(), check).unwrap_or_else(|error: SvdError| panic!("{error}"));
        }
    }

    /// Orthonormal blocks of four columns.
    fn blocks(session: &mut Session<'_>, count: u64) -> Result<Vec<Shard>, SvdError> {
        let mut blocks: Vec<Shard> = Vec::new();
        for seed in 0..count {
            let drawn = session.random_normal(ROWS, WIDTH, seed, stream::SYNTHETIC)?;
            blocks.push(block_qr(session, &against(&blocks), drawn, ROWS, FULL)?.q);
        }
        Ok(blocks)
    }

    fn against(blocks: &[Shard]) -> Against {
        blocks.iter().fold(Against::default(), |against, block| against.and(block, 0.0))
    }

    /// `[Y₁ Y₂ … Q]·[projections; r]`, which the block was.
    fn product(session: &mut Session<'_>, blocks: &[Shard], qr: &BlockQr) -> Result<Shard, SvdError> {
        let parts: Vec<&Shard> = blocks.iter().chain([&qr.q]).collect();
        combine(session, &parts, concat![[qr.projections], [qr.r]].as_ref())
    }

    /// Catches projections that are attributed to other blocks than those they belong to, and a block
    /// that is not orthogonal to those it was given.
    #[test]
    fn a_block_is_the_sum_of_its_projections_and_what_is_new() {
        on_workers(|session| {
            let mut blocks = blocks(session, 5)?;
            // Parts of the first and of the fourth block, and twice a new one.
            let new = blocks.pop().expect("five blocks");
            let small = Mat::from_fn(3 * WIDTH, WIDTH, |row, column| match row.checked_sub(2 * WIDTH) {
                None => ((row * WIDTH + column) * 7 % 11) as f64 / 11.0,
                Some(row) => {
                    if row == column {
                        2.0
                    } else {
                        0.0
                    }
                }
            });
            let x = combine(session, &[&blocks[0], &blocks[3], &new], small.as_ref())?;
            let qr = block_qr(session, &against(&blocks), x.clone(), ROWS, 2e-3)?;
            assert!(qr.projections.subrows(WIDTH, 2 * WIDTH).norm_max() < 1e-5);
            let again = product(session, &blocks, &qr)?;
            let squares = session.distance_squares(&again, &x, &[1.0; WIDTH])?;
            assert!(squares.iter().all(|square| *square < 1e-8), "{squares:?}");
            let known = blocks.len() * WIDTH;
            let sums = from_rows(&session.gram_against(&blocks, &qr.q)?, known + WIDTH, WIDTH);
            let expected = concat![[Mat::<f64>::zeros(known, WIDTH)], [Mat::<f64>::identity(WIDTH, WIDTH)]];
            assert!((sums - expected).norm_max() < 1e-5);
            Ok(())
        });
    }

    /// Catches coefficients along a column that was found from the rounding errors of another one: of
    /// two columns one lies within Y but for rounding, and there is place for one.
    #[test]
    fn coefficients_are_right_where_columns_are_dropped() {
        on_workers(|session| {
            let mut blocks = blocks(session, 3)?;
            let new = blocks.pop().expect("three blocks");
            // Combinations of both blocks, a large one and a small one with a part of the new block.
            let small = Mat::from_fn(3 * WIDTH, 2, |row, column| match (row, column) {
                (row, 0) if row < 2 * WIDTH => 30.0 + row as f64,
                (row, 1) if row < 2 * WIDTH => 0.1,
                (row, 1) if row == 2 * WIDTH => 1.0,
                _ => 0.0,
            });
            let x = combine(session, &[&blocks[0], &blocks[1], &new], small.as_ref())?;
            let qr = block_qr(session, &against(&blocks), x.clone(), 1, FULL)?;
            let again = product(session, &blocks, &qr)?;
            let squares = session.distance_squares(&again, &x, &[1.0; 2])?;
            assert_eq!(qr.q.cols(), 1);
            let own = from_rows(&session.cross_gram(&qr.q, &x)?, 1, 2);
            assert!((&own - &qr.r).norm_max() < 1e-4, "{own:?} {:?}", qr.r);
            assert!(squares[0] < 1e-6, "{squares:?}");
            Ok(())
        });
    }

    /// Catches a block whose span is lost because it is badly conditioned. A column that depends on
    /// others is dropped, or replaced by rounding errors that are orthogonal to them.
    #[test]
    fn a_badly_conditioned_block_keeps_its_span() {
        on_workers(|session| {
            let drawn = session.random_normal(ROWS, WIDTH, 1, stream::SYNTHETIC)?;
            // Columns of very different lengths, the last one twice the first.
            let small = Mat::from_fn(WIDTH, WIDTH, |row, column| match (row, column) {
                (0, 3) => 2.0,
                (row, column) if row == column => [1.0, 1e-3, 1e3, 0.0][row],
                _ => 0.0,
            });
            let block = combine(session, &[&drawn], small.as_ref())?;
            let qr = orthonormalize(session, block.clone(), FULL)?;
            assert!((WIDTH - 1..=WIDTH).contains(&qr.q.cols()));
            let again = product(session, &[], &qr)?;
            let squares = session.distance_squares(&again, &block, &[1.0; WIDTH])?;
            let lengths = session.distance_squares(&block, &block, &[0.0; WIDTH])?;
            assert!(squares.iter().zip(&lengths).all(|(square, length)| *square < 1e-10 * length), "{squares:?}");
            Ok(())
        });
    }
}
