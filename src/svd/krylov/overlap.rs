//! How much a block has in common with many others, found from few of their combinations.
//!
//! To find what a block has in common with every column of a basis takes as long as to subtract it. Here the columns are added up
//! with random signs into a few, and what the block has in common with those is about as long: the length of a vector along m random
//! directions is off by a part of `1/√(2m)`.

use super::super::options::SvdError;
use crate::engine::{Session, Shard};
use crate::kernel::random::{bits, stream};

/// Combinations that the others are added up into.
const DIRECTIONS: usize = 16;
/// What to multiply a length along so many directions with: it is less than half of the length once in a thousand cases.
const MARGIN: f64 = 2.0;

/// About the length of what any column of a block has in common with all columns of some others, and seldom less.
pub(super) fn overlap(session: &mut Session<'_>, others: &[Shard], block: &Shard) -> Result<f64, SvdError> {
    let columns = others.iter().map(Shard::cols).sum::<usize>();
    let one = 1.0 / (DIRECTIONS as f32).sqrt();
    let sign = |entry: usize| {
        let is_positive = bits(0, stream::PROBE, (entry / DIRECTIONS) as u64, (entry % DIRECTIONS) as u32) & 1 == 0;
        if is_positive { one } else { -one }
    };
    let signs: Vec<f32> = (0..columns * DIRECTIONS).map(sign).collect();
    let mixed = session.blocks_times_small(&others.iter().collect::<Vec<_>>(), &signs, DIRECTIONS)?;
    let products = session.cross_gram(&mixed, block)?;
    let mut squares = vec![0.0; block.cols()];
    for row in products.chunks_exact(block.cols().max(1)) {
        squares.iter_mut().zip(row).for_each(|(square, product)| *square += product * product);
    }
    Ok(MARGIN * squares.into_iter().fold(0.0, f64::max).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};
    use crate::svd::orthonormal::{Care, orthonormalize};

    /// Catches overlaps that are missed, and such that are taken for far more than they are.
    #[test]
    fn an_overlap_is_seen_wherever_it_lies() {
        const ROWS: usize = 997;
        const WIDTH: usize = 8;
        for workers in [1, 2, 3] {
            let checked = run(Cluster::threads(workers), Vec::new(), |session| {
                let drawn = session.random_normal(ROWS, 7 * WIDTH, 1, stream::SYNTHETIC)?;
                let basis = orthonormalize(session, drawn, Default::default(), Care::Full)?.panel;
                let part = |session: &mut Session<'_>, place: usize| {
                    session.columns(&basis, place * WIDTH..(place + 1) * WIDTH)
                };
                let others = (0..6).map(|place| part(session, place)).collect::<Result<Vec<_>, _>>()?;
                let apart = part(session, 6)?;
                assert!(overlap(session, &others, &apart)? < 1e-5);
                for (place, share) in [(0, 1e-3f32), (3, 1e-4), (5, 1e-2)] {
                    // One column has something of one column of the others.
                    let mut small = vec![0.0; 2 * WIDTH * WIDTH];
                    small[place % WIDTH * WIDTH + 2] = share;
                    (0..WIDTH).for_each(|column| small[(WIDTH + column) * WIDTH + column] = 1.0);
                    let block = session.blocks_times_small(&[&others[place], &apart], &small, WIDTH)?;
                    let seen = overlap(session, &others, &block)? / f64::from(share);
                    assert!((1.0..4.0).contains(&seen), "{seen} times {share}");
                }
                Ok(())
            });
            checked.unwrap_or_else(|error: SvdError| panic!("{error}"));
        }
    }
}
