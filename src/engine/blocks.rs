//! Products with a panel stored as blocks of columns, [Y₁ Y₂ …].

use std::ops::Range;

use super::tree::Combine;
use super::{EngineError, Session, Shard};
use crate::kernel::{Buffer, Panel, PanelMut, gemm, gram, stride};

impl Session<'_> {
    /// `[Y…, x]ᵀ·x`, row-major, in one reduction. The block `xᵀ·x` is accumulated in f64, the
    /// blocks `Yᵀ·x` in f32.
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

    /// `[Y…]·small`, where `small` has `cols` columns and a row for each column of the blocks,
    /// without communication.
    ///
    /// # Panics
    /// If there is no block, they differ in their total rows, or `small` has another size.
    pub fn blocks_times_small(&mut self, blocks: &[&Shard], small: &[f32], cols: usize) -> Result<Shard, EngineError> {
        let (total_rows, widths) = (total_rows(blocks), blocks.iter().map(|block| block.cols()));
        let factors = factors(widths, small, cols);
        self.context().shard_by_tiles(total_rows, cols, |rows, out| {
            multiply(blocks.iter().map(|block| block.panel_of(rows.clone())), &factors, out);
            Ok(())
        })
    }

    /// [`Session::blocks_times_small`], written into the memory of the blocks. Unless a block is
    /// shared, this takes the scratch memory of one tile.
    ///
    /// # Panics
    /// As [`Session::blocks_times_small`], or if `small` has more columns than the blocks together.
    pub fn rotate_blocks(&mut self, blocks: Vec<Shard>, small: &[f32], cols: usize) -> Vec<Shard> {
        let total_rows = total_rows(&blocks.iter().collect::<Vec<_>>());
        let widths: Vec<usize> = blocks.iter().map(Shard::cols).collect();
        assert!(cols <= widths.iter().sum(), "no more columns than before");
        let factors = factors(widths.iter().copied(), small, cols);
        let context = self.context();
        let layout = context.layouts.get(total_rows);
        let own = layout.rows(self.worker()).clone();
        // The first blocks are overwritten, the others are only read.
        let mut blocks = blocks.into_iter();
        let written = blocks.by_ref().take(columns_of_blocks(&widths, cols).count());
        let mut written: Vec<Buffer> =
            written.map(|block| context.pool.borrow_mut().reclaim(block.into_buffer())).collect();
        let others: Vec<Shard> = blocks.collect();
        // A `Vec`, since a `Buffer` of this size would use huge pages.
        let mut product: Vec<f32> = Vec::new();
        for tile in layout.tiles(self.worker()).iter() {
            let rows = layout.tiling().range(tile);
            let count = rows.len();
            let place = own.place(&rows);
            let local = |width: usize| place.start * stride(width)..place.end * stride(width);
            product.resize(count * stride(cols), 0.0);
            let mut product = PanelMut::new(count, cols, &mut product);
            let parts = written.iter().zip(&widths).map(|(of, &width)| Panel::new(count, width, &of[local(width)]));
            let parts = parts.chain(others.iter().map(|block| block.panel_of(rows.clone())));
            multiply(parts, &factors, product.reborrow());
            // A row that becomes narrower ends before the next row to be read.
            for (columns, buffer) in columns_of_blocks(&widths, cols).zip(&mut written) {
                let out = &mut buffer[local(columns.len())];
                PanelMut::new(count, columns.len(), out).copy_columns(product.as_ref(), columns);
            }
        }
        let kept = columns_of_blocks(&widths, cols).zip(written).map(|(columns, mut buffer)| {
            buffer.resize(own.len() * stride(columns.len()));
            Shard::new(total_rows, own.clone(), columns.len(), context.pool.borrow_mut().lend(buffer))
        });
        kept.collect()
    }
}

fn total_rows(blocks: &[&Shard]) -> usize {
    let total_rows = blocks.first().expect("a block").total_rows();
    assert!(blocks.iter().all(|block| block.total_rows() == total_rows), "all blocks must have the same rows");
    total_rows
}

/// The rows of a small matrix of `cols` columns that belong to the columns of each block.
fn factors(widths: impl Iterator<Item = usize>, small: &[f32], cols: usize) -> Vec<gemm::Small> {
    let mut rest = small;
    let factors = widths.map(|width| {
        let (own, others) = rest.split_at(width * cols);
        rest = others;
        gemm::Small::new(own, width, cols)
    });
    let factors = factors.collect();
    assert!(rest.is_empty(), "one row for each column of the blocks");
    factors
}

/// Some rows of [Y…], given by their blocks, times the small matrix, given by its factors.
fn multiply<'a>(parts: impl Iterator<Item = Panel<'a>>, factors: &[gemm::Small], mut out: PanelMut<'_>) {
    let mut onto = gemm::Onto::Nothing;
    for (part, factor) in parts.zip(factors) {
        gemm::multiply_packed(part, factor, out.reborrow(), onto);
        onto = gemm::Onto::Result;
    }
}

/// The columns of the product that each block stores.
fn columns_of_blocks(widths: &[usize], cols: usize) -> impl Iterator<Item = Range<usize>> {
    let mut first = 0;
    widths.iter().map_while(move |&width| {
        let columns = first..cols.min(first + width);
        first = columns.end;
        (!columns.is_empty() || width == 0).then_some(columns)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Cluster, run};
    use crate::kernel::random::stream;

    /// Catches rows that are overwritten before they are read, and changes of a shared block.
    #[test]
    fn blocks_rotated_in_their_own_memory_are_the_same() {
        for workers in [1, 2, 3] {
            let checked = run(Cluster::threads(workers), Vec::new(), |session| {
                for (widths, cols) in
                    [([16, 16, 16], 40), ([24, 3, 8], 35), ([9, 0, 5], 12), ([4, 16, 1], 5), ([7, 7, 7], 7)]
                {
                    let mut draw = |(seed, cols)| session.random_normal(3001, cols, seed, stream::SYNTHETIC);
                    let blocks: Vec<Shard> = (0..).zip(widths).map(&mut draw).collect::<Result<_, _>>()?;
                    let depth: usize = widths.iter().sum();
                    let small: Vec<f32> = (0..depth * cols).map(|entry| (entry * 7 % 11) as f32 - 5.0).collect();
                    let expected = session.blocks_times_small(&blocks.iter().collect::<Vec<_>>(), &small, cols)?;
                    let (held, before) = (blocks[0].clone(), blocks[0].panel().data().to_vec());
                    let places: Vec<_> = blocks.iter().map(|block| block.panel().data().as_ptr()).collect();
                    let rotated = session.rotate_blocks(blocks, &small, cols);
                    assert_eq!(held.panel().data(), before);
                    for (block, place) in rotated.iter().zip(places).skip(1) {
                        assert_eq!(block.panel().data().as_ptr(), place, "no other memory");
                    }
                    assert!(rotated.iter().zip(widths).all(|(block, width)| block.cols() <= width));
                    let rotated = session.hstack(&rotated.iter().collect::<Vec<_>>())?;
                    assert_eq!(rotated.panel().data(), expected.panel().data());
                }
                Ok(())
            });
            checked.unwrap_or_else(|error: EngineError| panic!("{error}"));
        }
    }

    #[test]
    fn products_with_blocks_are_products_with_the_stacked_panel() {
        for workers in [1, 2, 3] {
            let checked = run(Cluster::threads(workers), Vec::new(), |session| {
                let blocks = [(1, 5), (2, 0), (3, 9)]
                    .map(|(seed, cols)| session.random_normal(301, cols, seed, stream::SYNTHETIC));
                let [a, b, c] = blocks;
                let blocks = [a?, b?, c?];
                let x = session.random_normal(301, 3, 4, stream::SYNTHETIC)?;
                let stacked = session.hstack(&[&blocks[0], &blocks[1], &blocks[2], &x])?;
                let expected = session.cross_gram(&stacked, &x)?;
                let found = session.gram_against(&blocks, &x)?;
                assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-4));
                let small: Vec<f32> = found.iter().map(|&entry| entry as f32 / 301.0).collect();
                let apart: Vec<&Shard> = blocks.iter().chain([&x]).collect();
                let (one, other) =
                    (session.times_small(&stacked, &small, 3)?, session.blocks_times_small(&apart, &small, 3)?);
                let squares = session.distance_squares(&one, &other, &[1.0; 3])?;
                assert!(squares.iter().all(|square| *square < 1e-8), "{squares:?}");
                Ok(())
            });
            checked.unwrap_or_else(|error: EngineError| panic!("{error}"));
        }
    }
}
