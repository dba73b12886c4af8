//! Block Gram–Schmidt with Cholesky-QR, and partial reorthogonalisation.
//!
//! [`block_qr`] writes a block X as `X = Y·P + Q·R`, where Y are the orthonormal columns known so far
//! and Q is orthonormal and orthogonal to Y. One sum over all rows gives `YᵀX` and `XᵀX`; the
//! difference `XᵀX − (YᵀX)ᵀ(YᵀX)` is the Gram matrix of what is left of X, so that its Cholesky factor
//! R lets one pass subtract and divide at once. Where cancellation makes that difference unreliable, a
//! pass only subtracts, and divides by the factor of the Gram matrix that is then measured. Passes are
//! repeated until Q meets an [`OrthogonalityTarget`]. Columns that depend on the others are dropped.
//!
//! Q loses orthogonality as Simon (1984, "The Lanczos algorithm with partial reorthogonalization",
//! Math. Comp. 42) describes. The loss after a pass is estimated by `(ε + Σᵢ ωᵢ(yᵢᵀx)²/‖x‖²) / p`, where ωᵢ is
//! the loss of column yᵢ, and p the smallest squared pivot of R where the pass subtracted and divided at
//! once, else the root of what was left of a column times the smallest squared pivot. The image of the newest block under a symmetric
//! operator is orthogonal to all but the last two blocks in exact arithmetic; the first pass skips the
//! [distant](super::basis::OrthonormalBasis::distant) blocks. Where the bound then exceeds the target,
//! ‖YᵀQ‖ is estimated with a random sketch ([`sketched_overlap`]): the bound is 50 to 180 times larger than
//! the loss that is measured. Only if the estimate is above the target, too, is Q reorthogonalised.

use std::ops::Range;

use super::basis::OrthonormalBasis;
use super::options::SvdError;
use super::tuning::{
    CHOLESKY_SHIFT, DEFLATION, DEPENDENT_PIVOT, DIVISIBLE_PIVOT, MOST_PASSES, SKETCH_COLUMNS, SKETCH_MARGIN,
    STRETCHED_LOSS, TRUSTED_PIVOT,
};
use crate::engine::{Session, Shard};
use crate::kernel::factor::{UpperFactor, factor, scale_to_unit};
use crate::kernel::random::{bits, stream};
use crate::kernel::small::{add_small_product, subtract_gram};

/// How orthonormal a block has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct OrthogonalityTarget {
    /// The largest loss of orthogonality that is accepted.
    pub(super) loss: f64,
    /// The loss below which nothing is gained.
    pub(super) least: f64,
    /// The loss that one pass leaves in a block that was nearly orthonormal before.
    pub(super) rounding: f64,
}

impl OrthogonalityTarget {
    /// As orthonormal as two passes make a block.
    pub(super) const FULL: Self = Self { loss: 1e-6, least: 1e-6, rounding: 2e-7 };

    /// A loss of `part` of a tolerance, at most `most` and at least `least`.
    pub(super) fn for_tolerance(tolerance: Option<f64>, part: f64, [least, most]: [f64; 2], rounding: f64) -> Self {
        Self { loss: (part * tolerance.unwrap_or(0.0)).clamp(least, most), least, rounding }
    }

    /// The target for a block that the operator stretches less than others by a factor of `stretch`:
    /// what it has in common with those is amplified by that factor.
    pub(super) fn stretched(self, tolerance: Option<f64>, stretch: f64) -> Self {
        let most = (STRETCHED_LOSS * tolerance.unwrap_or(0.0) / stretch).max(self.least);
        Self { loss: self.loss.min(most), ..self }
    }
}

/// The orthonormal columns Y that a block is made orthogonal to.
pub(super) struct Against {
    panels: Vec<Shard>,
    /// The orthogonality loss of each column.
    losses: Vec<f64>,
    /// Blocks that the first pass skips.
    distant: Range<usize>,
}

impl Against {
    /// All of a basis.
    pub(super) fn all(basis: &OrthonormalBasis) -> Self {
        Self { panels: basis.panels(), losses: basis.losses(), distant: 0..0 }
    }

    /// A basis of which the [distant](OrthonormalBasis::distant) blocks need reorthogonalisation at most.
    pub(super) fn partially(basis: &OrthonormalBasis) -> Self {
        Self { distant: basis.distant(), ..Self::all(basis) }
    }

    /// Some panels with the same loss.
    pub(super) fn panels(panels: Vec<Shard>, loss: f64) -> Self {
        let columns = panels.iter().map(Shard::cols).sum();
        Self { panels, losses: vec![loss; columns], distant: 0..0 }
    }

    /// These columns and one more panel.
    pub(super) fn and(mut self, panel: &Shard, loss: f64) -> Self {
        self.losses.resize(self.losses.len() + panel.cols(), loss);
        self.panels.push(panel.clone());
        self
    }
}

/// A block X in terms of orthonormal columns Y: `X = Y·projections + Q·r`. Small matrices are stored
/// row after row.
pub(super) struct BlockQr {
    pub(super) q: Shard,
    /// One row for each column of Y.
    pub(super) projections: Vec<f64>,
    /// One row for each column of Q.
    pub(super) r: Vec<f64>,
    /// About how far Q is from orthonormal.
    pub(super) loss: f64,
    /// The length of the longest column of X.
    pub(super) longest: f64,
}

/// Factors a block; see the [module](self). Q has at most `most` columns, down to none.
pub(super) fn block_qr(
    session: &mut Session<'_>,
    against: &Against,
    block: Shard,
    most: usize,
    target: OrthogonalityTarget,
) -> Result<BlockQr, SvdError> {
    let Against { panels, losses, distant } = against;
    let width = block.cols();
    // Where there is no place for all columns, those that are dropped may have parts along the others that
    // no factor has: the coefficients are taken from the block itself.
    let original = (width > most).then(|| block.clone());
    let (projections, r) = (vec![0.0; losses.len() * width], identity(width));
    let mut qr = BlockQr { q: block, projections, r, loss: 0.0, longest: 0.0 };
    let mut squares = Vec::new();
    for pass in 0..MOST_PASSES {
        let order = qr.q.cols();
        if order == 0 {
            break;
        }
        let skipped = if pass == 0 { distant.clone() } else { 0..0 };
        let columns_of = |panels: &[Shard]| panels.iter().map(Shard::cols).sum::<usize>();
        let before = columns_of(&panels[..skipped.start]);
        let after = before + columns_of(&panels[skipped.clone()]);
        let near = [&panels[..skipped.start], &panels[skipped.end..]].concat();
        let near_losses = [&losses[..before], &losses[after..]].concat();
        let known = near_losses.len();
        let mut sums = session.gram_against(&near, &qr.q)?;
        let (common, own) = sums.split_at_mut(known * order);
        if pass == 0 {
            squares = own.iter().step_by(order + 1).copied().collect();
            qr.longest = squares.iter().copied().fold(0.0, f64::max).sqrt();
        }
        deflate(own, &squares);
        let limit = if pass == 0 { 0.0 } else { DEPENDENT_PIVOT };
        let mut left = Remainder::new(common, own, order, Cut { shift: 0.0, limit, most })?;
        let mut pivot = left.factor.smallest_pivot;
        let mut is_divided = pass > 0 || pivot > TRUSTED_PIVOT;
        if known == 0 && !is_divided {
            // Without projections there is no difference of squares. A shift of the diagonal makes a badly
            // conditioned block better conditioned, and keeps its span.
            is_divided = true;
            if pivot <= DIVISIBLE_PIVOT {
                let shift = CHOLESKY_SHIFT * order as f64;
                left = Remainder::new(common, own, order, Cut { shift, limit, most })?;
            }
        }
        let small = if is_divided { left.divisor(common) } else { difference(common, order) };
        let kept = small.len() / (known + order);
        let parts: Vec<&Shard> = near.iter().chain([&qr.q]).collect();
        qr.q = session.blocks_times_small(&parts, &small, kept)?;
        let (of_first, of_last) = common.split_at(before * order);
        add_small_product(&mut qr.projections[..before * width], of_first, &qr.r, width);
        add_small_product(&mut qr.projections[after * width..], of_last, &qr.r, width);
        let inherited = inherited_loss(&near_losses, common, own, order);
        if !is_divided {
            let mut own = session.gram(&qr.q)?;
            deflate(&mut own, &squares);
            // The smallest part of a column that is left.
            let rest = own.iter().step_by(order + 1).zip(&squares).map(|(left, square)| left / square);
            let rest = rest.fold(f64::INFINITY, f64::min);
            left = Remainder::new(&[], &own, order, Cut { shift: 0.0, limit: 0.0, most })?;
            is_divided = left.factor.smallest_pivot > DIVISIBLE_PIVOT;
            if is_divided {
                pivot = (rest * left.factor.smallest_pivot).sqrt();
                qr.q = session.blocks_times_small(&[&qr.q], &left.divisor(&[]), left.factor.kept.len())?;
            }
        }
        if is_divided {
            qr.r = left.upper_times(&qr.r, width);
            squares = vec![1.0; left.factor.kept.len()];
            let mut loss = (target.rounding + inherited) / pivot;
            if !skipped.is_empty() && loss >= target.loss {
                loss = sketched_overlap(session, panels, &qr.q)?;
            }
            qr.loss = loss.max(target.rounding);
            if pivot > 0.0 && loss < target.loss {
                break;
            }
        }
    }
    if let Some(block) = original.filter(|_| qr.q.cols() > 0) {
        let all = [&panels[..], &[qr.q.clone()]].concat();
        let mut products = session.gram_against(&all, &block)?;
        products.truncate((losses.len() + qr.q.cols()) * width);
        qr.r = products.split_off(losses.len() * width);
        qr.projections = products;
    }
    Ok(qr)
}

/// An orthonormal basis of the columns of a block alone.
pub(super) fn orthonormalize(
    session: &mut Session<'_>,
    block: Shard,
    target: OrthogonalityTarget,
) -> Result<BlockQr, SvdError> {
    let most = block.total_rows().min(block.cols());
    block_qr(session, &Against::panels(Vec::new(), 0.0), block, most, target)
}

/// An estimate of the length of the longest column of `YᵀQ` that is seldom too small: Y is mixed into
/// m columns with random signs, and the length of a vector along m random directions has a relative
/// standard deviation of `1/√(2m)`. The signs depend on the number of columns, hence on the step.
fn sketched_overlap(session: &mut Session<'_>, others: &[Shard], block: &Shard) -> Result<f64, SvdError> {
    let columns = others.iter().map(Shard::cols).sum::<usize>();
    let one = 1.0 / (SKETCH_COLUMNS as f32).sqrt();
    let sign = |entry: usize| {
        let (row, column) = ((entry / SKETCH_COLUMNS) as u64, (entry % SKETCH_COLUMNS) as u32);
        if bits(columns as u64, stream::PROBE, row, column) & 1 == 0 { one } else { -one }
    };
    let signs: Vec<f32> = (0..columns * SKETCH_COLUMNS).map(sign).collect();
    let mixed = session.blocks_times_small(&others.iter().collect::<Vec<_>>(), &signs, SKETCH_COLUMNS)?;
    let products = session.cross_gram(&mixed, block)?;
    let mut squares = vec![0.0; block.cols()];
    for row in products.chunks_exact(block.cols().max(1)) {
        squares.iter_mut().zip(row).for_each(|(square, product)| *square += product * product);
    }
    Ok(SKETCH_MARGIN * squares.into_iter().fold(0.0, f64::max).sqrt())
}

/// The loss that a block inherits from Y: `Σᵢ ωᵢ(yᵢᵀx)²/‖x‖²`, at its worst over the columns x.
fn inherited_loss(losses: &[f64], common: &[f64], own: &[f64], order: usize) -> f64 {
    let mut sums = vec![0.0; order];
    for (row, loss) in common.chunks_exact(order).zip(losses) {
        sums.iter_mut().zip(row).for_each(|(sum, entry)| *sum += loss * entry * entry);
    }
    let squares = own.iter().step_by(order + 1);
    let relative = |(sum, square): (&f64, &f64)| if *square > 0.0 { sum / square } else { 0.0 };
    sums.iter().zip(squares).map(relative).fold(0.0, f64::max)
}

/// Takes columns of which only rounding is left out of a Gram matrix, given their squares at first.
fn deflate(gram: &mut [f64], squares: &[f64]) {
    let order = squares.len();
    for (place, square) in squares.iter().enumerate() {
        if gram[place * order + place] <= DEFLATION * square {
            gram[place * order..(place + 1) * order].fill(0.0);
            gram.iter_mut().skip(place).step_by(order).for_each(|entry| *entry = 0.0);
        }
    }
}

/// `[−YᵀX; I]`: what `[Y, X]` is multiplied by to subtract the projections.
fn difference(common: &[f64], order: usize) -> Vec<f32> {
    common.iter().map(|&entry| -entry as f32).chain(identity(order).into_iter().map(|entry| entry as f32)).collect()
}

/// How a Gram matrix is factored.
#[derive(Clone, Copy)]
struct Cut {
    /// Added to the unit diagonal.
    shift: f64,
    /// Columns with a smaller squared pivot are dropped.
    limit: f64,
    /// The most columns.
    most: usize,
}

/// The Gram matrix of what is left of a block when its projections are subtracted, factored.
struct Remainder {
    factor: UpperFactor,
    /// One over the lengths of the columns of the block.
    inverse_norms: Vec<f64>,
}

impl Remainder {
    /// Factors `XᵀX − (YᵀX)ᵀ(YᵀX)`, scaled by the lengths of the columns of X.
    fn new(common: &[f64], own: &[f64], order: usize, cut: Cut) -> Result<Self, SvdError> {
        let Cut { shift, limit, most } = cut;
        let mut gram = own.to_vec();
        let inverse_norms = scale_to_unit(&mut gram, order);
        let scaled =
            common.chunks_exact(order).flat_map(|row| row.iter().zip(&inverse_norms).map(|(x, inverse)| x * inverse));
        subtract_gram(&mut gram, &scaled.collect::<Vec<_>>(), order);
        let mut factor = factor(&gram, order, shift, limit)?;
        // Where there are too many, the last columns are dropped.
        factor.kept.truncate(most);
        factor.upper.truncate(factor.kept.len() * order);
        Ok(Self { factor, inverse_norms })
    }

    /// `[−YᵀX; I]·D·R⁻¹` with D the inverse lengths: what `[Y, X]` is multiplied by to give Q.
    fn divisor(&self, common: &[f64]) -> Vec<f32> {
        let (order, kept) = (self.factor.order, self.factor.kept.len());
        let mut own = self.factor.orthonormaliser();
        for (row, inverse) in own.chunks_exact_mut(kept.max(1)).zip(&self.inverse_norms) {
            row.iter_mut().for_each(|entry| *entry *= inverse);
        }
        let mut all = vec![0.0; common.len() / order * kept];
        add_small_product(&mut all, common, &own, kept);
        all.iter().map(|&entry| -entry as f32).chain(own.iter().map(|&entry| entry as f32)).collect()
    }

    /// `R·D⁻¹·upper`.
    fn upper_times(&self, upper: &[f64], width: usize) -> Vec<f64> {
        let mut rows = self.factor.upper.clone();
        for row in rows.chunks_exact_mut(self.factor.order) {
            for (entry, inverse) in row.iter_mut().zip(&self.inverse_norms) {
                *entry = if *inverse == 0.0 { 0.0 } else { *entry / inverse };
            }
        }
        let mut product = vec![0.0; self.factor.kept.len() * width];
        add_small_product(&mut product, &rows, upper, width);
        product
    }
}

fn identity(size: usize) -> Vec<f64> {
    (0..size * size).map(|entry| if entry / size == entry % size { 1.0 } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};

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
            let against = Against::panels(blocks.clone(), 0.0);
            blocks.push(block_qr(session, &against, drawn, ROWS, OrthogonalityTarget::FULL)?.q);
        }
        Ok(blocks)
    }

    /// Catches projections that are attributed to other blocks than those they belong to.
    #[test]
    fn a_block_is_the_sum_of_its_projections_and_what_is_new() {
        on_workers(|session| {
            let mut blocks = blocks(session, 5)?;
            // Parts of the first and of the fourth block, and twice a new one.
            let new = blocks.pop().expect("five blocks");
            let small: Vec<f32> = (0..2 * WIDTH * WIDTH)
                .map(|entry| (entry * 7 % 11) as f32 / 11.0)
                .chain(identity(WIDTH).into_iter().map(|entry| 2.0 * entry as f32))
                .collect();
            let x = session.blocks_times_small(&[&blocks[0], &blocks[3], &new], &small, WIDTH)?;
            let target = OrthogonalityTarget { loss: 2e-3, least: 1e-6, rounding: 4e-8 };
            let against = Against { distant: 1..3, ..Against::panels(blocks.clone(), 0.0) };
            let BlockQr { q, projections, r, .. } = block_qr(session, &against, x.clone(), ROWS, target)?;
            assert!(projections[WIDTH * WIDTH..3 * WIDTH * WIDTH].iter().all(|&entry| entry == 0.0));
            let parts: Vec<&Shard> = blocks.iter().chain([&q]).collect();
            let factors: Vec<f32> = projections.iter().chain(&r).map(|&entry| entry as f32).collect();
            let again = session.blocks_times_small(&parts, &factors, WIDTH)?;
            let squares = session.distance_squares(&again, &x, &[1.0; WIDTH])?;
            assert!(squares.iter().all(|square| *square < 1e-8), "{squares:?}");
            let sums = session.gram_against(&blocks, &q)?;
            let (common, own) = sums.split_at(blocks.len() * WIDTH * WIDTH);
            assert!(common.iter().all(|entry| entry.abs() < 1e-5), "{common:?}");
            assert!(own.iter().zip(identity(WIDTH)).all(|(entry, one)| (entry - one).abs() < 1e-5), "{own:?}");
            Ok(())
        });
    }

    /// Catches coefficients along a column that was found from the rounding errors of another one: of two
    /// columns one lies within Y but for rounding, and there is place for one.
    #[test]
    fn coefficients_are_right_where_columns_are_dropped() {
        on_workers(|session| {
            let mut blocks = blocks(session, 3)?;
            let new = blocks.pop().expect("three blocks");
            let mut small = vec![0.0; 3 * WIDTH * 2];
            // Combinations of both blocks, a large one and a small one with a part of the new block.
            (0..2 * WIDTH).for_each(|row| (small[row * 2], small[row * 2 + 1]) = (30.0 + row as f32, 0.1));
            small[2 * WIDTH * 2 + 1] = 1.0;
            let x = session.blocks_times_small(&[&blocks[0], &blocks[1], &new], &small, 2)?;
            let against = Against::panels(blocks.clone(), 0.0);
            let BlockQr { q, projections, r, .. } =
                block_qr(session, &against, x.clone(), 1, OrthogonalityTarget::FULL)?;
            let parts: Vec<&Shard> = blocks.iter().chain([&q]).collect();
            let factors: Vec<f32> = projections.iter().chain(&r).map(|&entry| entry as f32).collect();
            let again = session.blocks_times_small(&parts, &factors, 2)?;
            let squares = session.distance_squares(&again, &x, &[1.0; 2])?;
            // What is left of the column that is dropped is what q, an arbitrary direction then, does not hold.
            assert_eq!(q.cols(), 1);
            let own = session.cross_gram(&q, &x)?;
            assert!(own.iter().zip(&r).all(|(own, r)| (own - r).abs() < 1e-4), "{own:?} {r:?}");
            assert!(squares[0] < 1e-6, "{squares:?}");
            Ok(())
        });
    }

    /// Catches an overlap that is missed, and one that is taken for far more than it is.
    #[test]
    fn an_overlap_is_estimated_wherever_it_lies() {
        on_workers(|session| {
            let mut others = blocks(session, 7)?;
            let apart = others.pop().expect("seven blocks");
            assert!(sketched_overlap(session, &others, &apart)? < 1e-5);
            for (place, share) in [(0, 1e-3f32), (3, 1e-4), (5, 1e-2)] {
                // One column has a part of one column of the others.
                let mut small = vec![0.0; 2 * WIDTH * WIDTH];
                small[place % WIDTH * WIDTH + 2] = share;
                (0..WIDTH).for_each(|column| small[(WIDTH + column) * WIDTH + column] = 1.0);
                let block = session.blocks_times_small(&[&others[place], &apart], &small, WIDTH)?;
                let ratio = sketched_overlap(session, &others, &block)? / f64::from(share);
                assert!((1.0..4.0).contains(&ratio), "{ratio} times {share}");
            }
            Ok(())
        });
    }

    /// Catches a block whose span is lost because it is badly conditioned. A column that depends on others
    /// is dropped, or replaced by rounding errors that are orthogonal to them.
    #[test]
    fn a_badly_conditioned_block_keeps_its_span() {
        on_workers(|session| {
            let drawn = session.random_normal(ROWS, WIDTH, 1, stream::SYNTHETIC)?;
            // Columns of very different lengths, the last one twice the first.
            let mut small = vec![0.0; WIDTH * WIDTH];
            for (column, scale) in [1.0, 1e-3, 1e3].into_iter().enumerate() {
                small[column * WIDTH + column] = scale;
            }
            small[WIDTH - 1] = 2.0;
            let block = session.times_small(&drawn, &small, WIDTH)?;
            let BlockQr { q, r, .. } = orthonormalize(session, block.clone(), OrthogonalityTarget::FULL)?;
            assert!((WIDTH - 1..=WIDTH).contains(&q.cols()));
            let r: Vec<f32> = r.iter().map(|&entry| entry as f32).collect();
            let again = session.times_small(&q, &r, WIDTH)?;
            let squares = session.distance_squares(&again, &block, &[1.0; WIDTH])?;
            let lengths = session.distance_squares(&block, &block, &[0.0; WIDTH])?;
            assert!(squares.iter().zip(&lengths).all(|(square, length)| *square < 1e-10 * length), "{squares:?}");
            Ok(())
        });
    }
}
