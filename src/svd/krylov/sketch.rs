//! Whether a block is orthogonal to many others, from few sums.

use super::super::options::SvdError;
use crate::engine::{Session, Shard};
use crate::kernel::random::{normal, stream};

/// Random combinations that a block is compared with.
const COMBINATIONS: usize = 8;

/// Random combinations of the columns of a basis, but for its first and its last block.
///
/// The squares of what a vector has in common with each of the columns add up to what its product with such a combination
/// is on average, squared.
#[derive(Default)]
pub(super) struct Sketch {
    combinations: Option<Shard>,
    /// How many blocks are in them, the first one counted.
    blocks: usize,
    /// How many columns are in them.
    columns: u64,
}

impl Sketch {
    /// The combinations, with all of these blocks in them but the first and the last.
    pub(super) fn of(&mut self, session: &mut Session<'_>, blocks: &[Shard]) -> Result<Option<&Shard>, SvdError> {
        let last = blocks.len().saturating_sub(1);
        for (number, middle) in blocks.iter().enumerate().take(last).skip(self.blocks.max(1)) {
            self.add(session, middle)?;
            self.blocks = number + 1;
        }
        Ok(self.combinations.as_ref())
    }

    /// About how much the columns of a block have in common with all that is combined, at the most, from its products with the
    /// combinations: a row for each, as many columns as the block has.
    pub(super) fn in_common(products: &[f64], columns: usize) -> f64 {
        let mut squares = vec![0.0; columns];
        for row in products.chunks_exact(columns.max(1)) {
            squares.iter_mut().zip(row).for_each(|(sum, entry)| *sum += entry * entry);
        }
        (squares.into_iter().fold(0.0, f64::max) / COMBINATIONS as f64).sqrt()
    }

    /// Adds the columns of a block, each with random factors.
    fn add(&mut self, session: &mut Session<'_>, block: &Shard) -> Result<(), SvdError> {
        let factor = |place: usize| {
            let (row, column) = (place / COMBINATIONS, place % COMBINATIONS);
            normal(0, stream::SKETCH, self.columns + row as u64, column as u32)
        };
        let factors = (0..block.cols() * COMBINATIONS).map(factor);
        let combined = match &self.combinations {
            None => session.blocks_times_small(&[block], &factors.collect::<Vec<_>>(), COMBINATIONS)?,
            Some(before) => {
                let kept = (0..COMBINATIONS * COMBINATIONS).map(|at| f32::from(at % (COMBINATIONS + 1) == 0));
                session.blocks_times_small(&[before, block], &kept.chain(factors).collect::<Vec<_>>(), COMBINATIONS)?
            }
        };
        self.columns += block.cols() as u64;
        self.combinations = Some(combined);
        Ok(())
    }
}
