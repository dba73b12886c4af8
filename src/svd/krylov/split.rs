//! What a block has beyond others, made orthonormal.

use std::ops::Range;

use super::super::options::SvdError;
use super::care::{Bases, Care};
use super::overlap::overlap;
use crate::engine::{Session, Shard};
use crate::kernel::factor::{UpperFactor, factor, scale_to_unit};
use crate::kernel::small::{add_small_product, subtract_gram};

/// A column of which less is left, as a part of its squared length, is what rounding makes of nothing.
const NOTHING: f64 = 1e-12;
/// A direction with a squared pivot below this, in a block of unit columns, depends on those before it.
const DEPENDENT_PIVOT: f64 = 1e-10;
/// Squared pivots above which a difference of squares can be trusted: a basis is never orthonormal to the last bit, and
/// what a block has in common with it is known to 32 bits.
const TRUSTED_PIVOT: f64 = 1e-2;
/// Squared pivots above which a block can be divided by the factor of its own Gram matrix.
const DIVISIBLE_PIVOT: f64 = 1e-6;
/// Passes after which a block is taken as it is: three are enough, but for contrived blocks.
const MOST_PASSES: usize = 6;

/// A block X in terms of others Y that it was made orthonormal to: `X = Y·within + fresh·upper`.
pub(in crate::svd) struct Split {
    pub(in crate::svd) fresh: Shard,
    /// Row after row: one row a column of the others; one column a column of X.
    pub(in crate::svd) within: Vec<f64>,
    /// One row a column of `fresh`.
    pub(in crate::svd) upper: Vec<f64>,
    /// How far from orthonormal `fresh` is, about.
    pub(super) error: f64,
}

/// What a block has that others have not, as at most `most` orthonormal columns; `errors` are how far from orthonormal those of
/// the others are. Columns that depend on the others are left out, down to none. The first pass leaves out the blocks that are
/// `far`, of which there is next to nothing in the block; a bound on what rounding has left of them there is far too large after a few
/// blocks, and then it is measured.
///
/// One sum over all rows gives what the block has in common with the others and its Gram matrix; the difference of
/// their squares is the Gram matrix of what is left, so a pass subtracts and divides at once. Where that difference is
/// too small to be trusted a pass subtracts, and divides by the Gram matrix of what is left if that can be. Passes are
/// repeated until the block is orthonormal enough.
pub(super) fn split(
    session: &mut Session<'_>,
    blocks: &[Shard],
    errors: &[f64],
    far: Range<usize>,
    block: Shard,
    most: usize,
    care: Care,
) -> Result<Split, SvdError> {
    let width = block.cols();
    let (within, upper) = (vec![0.0; errors.len() * width], identity(width));
    let mut split = Split { fresh: block, within, upper, error: 0.0 };
    let mut squares = Vec::new();
    for pass in 0..MOST_PASSES {
        let order = split.fresh.cols();
        if order == 0 {
            break;
        }
        let far = if pass == 0 { far.clone() } else { 0..0 };
        let columns_of = |blocks: &[Shard]| blocks.iter().map(Shard::cols).sum::<usize>();
        let before = columns_of(&blocks[..far.start]);
        let after = before + columns_of(&blocks[far.clone()]);
        let near = [&blocks[..far.start], &blocks[far.end..]].concat();
        let errors = [&errors[..before], &errors[after..]].concat();
        let known = errors.len();
        let mut sums = session.gram_against(&near, &split.fresh)?;
        let (shared, own) = sums.split_at_mut(known * order);
        if pass == 0 {
            squares = own.iter().step_by(order + 1).copied().collect();
        }
        drop_nothing(own, &squares);
        let mut left = remainder(shared, own, order, if pass == 0 { 0.0 } else { DEPENDENT_PIVOT }, most)?;
        let mut pivot = left.factor.smallest_pivot;
        let mut is_divided = pass > 0 || pivot > TRUSTED_PIVOT;
        let small = if is_divided { left.divisor(shared) } else { difference(shared, order) };
        let kept = small.len() / (known + order);
        let panels: Vec<&Shard> = near.iter().chain([&split.fresh]).collect();
        split.fresh = session.blocks_times_small(&panels, &small, kept)?;
        let (of_first, of_last) = shared.split_at(before * order);
        add_small_product(&mut split.within[..before * width], of_first, &split.upper, width);
        add_small_product(&mut split.within[after * width..], of_last, &split.upper, width);
        let common = common_error(&errors, shared, own, order);
        if !is_divided {
            let mut own = session.gram(&split.fresh)?;
            drop_nothing(&mut own, &squares);
            // How much is left of each column, and of the least when they are made orthogonal.
            let rest = own.iter().step_by(order + 1).zip(&squares).map(|(left, square)| left / square);
            let rest = rest.fold(f64::INFINITY, f64::min);
            left = remainder(&[], &own, order, 0.0, most)?;
            is_divided = left.factor.smallest_pivot > DIVISIBLE_PIVOT;
            if is_divided {
                pivot = (rest * left.factor.smallest_pivot).sqrt();
                split.fresh =
                    session.blocks_times_small(&[&split.fresh], &left.divisor(&[]), left.factor.kept.len())?;
            }
        }
        if is_divided {
            split.upper = left.upper_times(&split.upper, width);
            squares = vec![1.0; left.factor.kept.len()];
            let mut error = (care.rounding + common) / pivot;
            if !far.is_empty() && error >= care.orthonormal {
                error = overlap(session, blocks, &split.fresh)?;
            }
            split.error = error.clamp(care.rounding, care.orthonormal);
            if pivot > 0.0 && error < care.orthonormal {
                break;
            }
        }
    }
    Ok(split)
}

/// The same for residuals down to a tolerance, where all the others were made so.
pub(in crate::svd) fn split_all(
    session: &mut Session<'_>,
    blocks: &[Shard],
    block: Shard,
    most: usize,
    tolerance: Option<f64>,
) -> Result<Split, SvdError> {
    let care = Care::for_tolerance(tolerance, Bases::Both);
    let errors = vec![care.orthonormal; blocks.iter().map(Shard::cols).sum()];
    split(session, blocks, &errors, 0..0, block, most, care)
}

/// How far from orthonormal the others are where the columns of a block lie within them.
fn common_error(errors: &[f64], shared: &[f64], own: &[f64], order: usize) -> f64 {
    let mut sums = vec![0.0; order];
    for (row, error) in shared.chunks_exact(order).zip(errors) {
        sums.iter_mut().zip(row).for_each(|(sum, entry)| *sum += error * entry * entry);
    }
    let squares = own.iter().step_by(order + 1);
    let relative = |(error, square): (&f64, &f64)| if *square > 0.0 { error / square } else { 0.0 };
    sums.iter().zip(squares).map(relative).fold(0.0, f64::max)
}

/// Takes columns of which next to nothing is left out of a Gram matrix, given what their squares were.
fn drop_nothing(gram: &mut [f64], squares: &[f64]) {
    let order = squares.len();
    for (place, square) in squares.iter().enumerate() {
        if gram[place * order + place] <= NOTHING * square {
            gram[place * order..(place + 1) * order].fill(0.0);
            gram.iter_mut().skip(place).step_by(order).for_each(|entry| *entry = 0.0);
        }
    }
}

/// What subtracts from a block what it has in common with the basis beside it: `[−shared; 1]`.
fn difference(shared: &[f64], order: usize) -> Vec<f32> {
    shared.iter().map(|&entry| -entry as f32).chain(identity(order).into_iter().map(|entry| entry as f32)).collect()
}

/// What is left of a block when its part within the basis is taken off, factored.
struct Remainder {
    factor: UpperFactor,
    /// One over the lengths of the columns as they came.
    inverse_norms: Vec<f64>,
}

/// Factors `own − sharedᵀ·shared`, scaled by the lengths that `own` tells.
fn remainder(shared: &[f64], own: &[f64], order: usize, limit: f64, most: usize) -> Result<Remainder, SvdError> {
    let mut gram = own.to_vec();
    let inverse_norms = scale_to_unit(&mut gram, order);
    let scaled =
        shared.chunks_exact(order).flat_map(|row| row.iter().zip(&inverse_norms).map(|(x, inverse)| x * inverse));
    subtract_gram(&mut gram, &scaled.collect::<Vec<_>>(), order);
    let mut factor = factor(&gram, order, 0.0, limit)?;
    // The last columns make room first.
    factor.kept.truncate(most);
    factor.upper.truncate(factor.kept.len() * order);
    Ok(Remainder { factor, inverse_norms })
}

impl Remainder {
    /// What to multiply the basis and the block with, side by side: `[−shared; 1]·scale·R⁻¹`.
    fn divisor(&self, shared: &[f64]) -> Vec<f32> {
        let (order, kept) = (self.factor.order, self.factor.kept.len());
        let mut own = self.factor.orthonormaliser();
        for (row, inverse) in own.chunks_exact_mut(kept.max(1)).zip(&self.inverse_norms) {
            row.iter_mut().for_each(|entry| *entry *= inverse);
        }
        let mut all = vec![0.0; shared.len() / order * kept];
        add_small_product(&mut all, shared, &own, kept);
        all.iter().map(|&entry| -entry as f32).chain(own.iter().map(|&entry| entry as f32)).collect()
    }

    /// `R·scale⁻¹·upper`
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
    use crate::kernel::random::stream;

    /// Catches coefficients that are told of other blocks than those they belong to: the triplets would be found all the same, in the end,
    /// with both bases.
    #[test]
    fn a_block_is_what_is_within_near_blocks_and_what_is_fresh() {
        const ROWS: usize = 301;
        const WIDTH: usize = 4;
        for workers in [1, 2, 3] {
            let checked = run(Cluster::threads(workers), Vec::new(), |session| {
                let care = Care::for_tolerance(Some(0.05), Bases::Right);
                let mut blocks: Vec<Shard> = Vec::new();
                for seed in 0..5 {
                    let drawn = session.random_normal(ROWS, WIDTH, seed, stream::SYNTHETIC)?;
                    let errors = vec![0.0; blocks.len() * WIDTH];
                    blocks.push(split(session, &blocks, &errors, 0..0, drawn, ROWS, care)?.fresh);
                }
                // Something of the first and of the fourth, nothing of those between, and twice what none of them has.
                let new = blocks.pop().expect("five blocks");
                let small: Vec<f32> = (0..2 * WIDTH * WIDTH)
                    .map(|entry| (entry * 7 % 11) as f32 / 11.0)
                    .chain(identity(WIDTH).into_iter().map(|entry| 2.0 * entry as f32))
                    .collect();
                let x = session.blocks_times_small(&[&blocks[0], &blocks[3], &new], &small, WIDTH)?;
                let errors = vec![0.0; blocks.len() * WIDTH];
                let Split { fresh, within, upper, .. } = split(session, &blocks, &errors, 1..3, x.clone(), ROWS, care)?;
                assert!(within[WIDTH * WIDTH..3 * WIDTH * WIDTH].iter().all(|&entry| entry == 0.0));
                let parts: Vec<&Shard> = blocks.iter().chain([&fresh]).collect();
                let factors: Vec<f32> = within.iter().chain(&upper).map(|&entry| entry as f32).collect();
                let again = session.blocks_times_small(&parts, &factors, WIDTH)?;
                let squares = session.distance_squares(&again, &x, &[1.0; WIDTH])?;
                assert!(squares.iter().all(|square| *square < 1e-8), "{squares:?}");
                let sums = session.gram_against(&blocks, &fresh)?;
                let (common, own) = sums.split_at(blocks.len() * WIDTH * WIDTH);
                assert!(common.iter().all(|entry| entry.abs() < 1e-5), "{common:?}");
                assert!(own.iter().zip(identity(WIDTH)).all(|(entry, one)| (entry - one).abs() < 1e-5), "{own:?}");
                Ok(())
            });
            checked.unwrap_or_else(|error: SvdError| panic!("{error}"));
        }
    }
}
