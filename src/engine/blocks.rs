//! Panels that are kept in blocks of columns, as if they stood side by side.

use super::tree::Combine;
use super::{EngineError, Session, Shard};
use crate::kernel::{gemm, gram};

impl Session<'_> {
    /// `[Y…, x]ᵀ·x`, row after row: what a panel has in common with each column of the blocks, and then its own Gram
    /// matrix, in one sum. The latter is exact as far as f64 goes, the former as far as f32 does.
    ///
    /// # Panics
    /// If a block differs from the panel in its total rows.
    pub fn gram_against(&mut self, blocks: &[Shard], x: &Shard) -> Result<Vec<f64>, EngineError> {
        assert!(blocks.iter().all(|block| block.total_rows() == x.total_rows()), "all blocks must have the same rows");
        let cols = x.cols();
        let length = (blocks.iter().map(Shard::cols).sum::<usize>() + cols) * cols;
        let mut scratch = gram::Scratch::default();
        let partial = self.context().partial(x.total_rows(), Combine::Sum, length, cols, |rows, sums| {
            let panel = x.panel_of(rows.clone());
            let mut rest = sums;
            for block in blocks {
                let (sums, others) = rest.split_at_mut(block.cols() * cols);
                gram::cross_gram_in_single(block.panel_of(rows.clone()), panel, sums, &mut scratch);
                rest = others;
            }
            gram::gram(panel, rest, &mut scratch);
        });
        self.reduce(partial, "a product of panels")
    }

    /// `[Y…]·small`, where `small` has `cols` columns and a row for each column of the blocks. Every worker does its own
    /// rows.
    ///
    /// # Panics
    /// If there is no block, they differ in their total rows, or `small` has another size.
    pub fn blocks_times_small(&mut self, blocks: &[&Shard], small: &[f32], cols: usize) -> Result<Shard, EngineError> {
        let total_rows = blocks.first().expect("a block").total_rows();
        assert!(blocks.iter().all(|block| block.total_rows() == total_rows), "all blocks must have the same rows");
        let mut rest = small;
        let mut factors = Vec::with_capacity(blocks.len());
        for block in blocks {
            let (own, others) = rest.split_at(block.cols() * cols);
            factors.push(gemm::Small::new(own, block.cols(), cols));
            rest = others;
        }
        assert!(rest.is_empty(), "one row for each column of the blocks");
        self.context().shard_by_tiles(total_rows, cols, |rows, mut out| {
            let mut onto = gemm::Onto::Nothing;
            for (block, factor) in blocks.iter().zip(&factors) {
                gemm::multiply_packed(block.panel_of(rows.clone()), factor, out.reborrow(), onto);
                onto = gemm::Onto::Result;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};
    use crate::kernel::random::stream;

    #[test]
    fn blocks_are_what_they_are_side_by_side() {
        for workers in [1, 2, 3] {
            let checked = run(Cluster::threads(workers), Vec::new(), |session| {
                let blocks = [(1, 5), (2, 0), (3, 9)]
                    .map(|(seed, cols)| session.random_normal(301, cols, seed, stream::SYNTHETIC));
                let [a, b, c] = blocks;
                let blocks = [a?, b?, c?];
                let x = session.random_normal(301, 3, 4, stream::SYNTHETIC)?;
                let whole = session.beside(&[&blocks[0], &blocks[1], &blocks[2], &x])?;
                let expected = session.cross_gram(&whole, &x)?;
                let found = session.gram_against(&blocks, &x)?;
                assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-4));
                let small: Vec<f32> = found.iter().map(|&entry| entry as f32 / 301.0).collect();
                let apart: Vec<&Shard> = blocks.iter().chain([&x]).collect();
                let (one, other) =
                    (session.times_small(&whole, &small, 3)?, session.blocks_times_small(&apart, &small, 3)?);
                let squares = session.distance_squares(&one, &other, &[1.0; 3])?;
                assert!(squares.iter().all(|square| *square < 1e-8), "{squares:?}");
                Ok(())
            });
            checked.unwrap_or_else(|error: EngineError| panic!("{error}"));
        }
    }
}
