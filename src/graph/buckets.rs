//! Entries scattered into one bucket for each tile.

use std::ops::Range;

use bytemuck::Pod;

use super::Tiling;
use super::build::Entries;
use crate::kernel::Buffer;

/// How the row of a tile and the column of an entry share a word: the row above, the column below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    row_bits: u32,
    col_bits: u32,
}

impl Packing {
    pub fn new(tiling: Tiling, cols: usize) -> Self {
        Self { row_bits: tiling.tile_rows().trailing_zeros(), col_bits: cols.next_power_of_two().trailing_zeros() }
    }

    /// The tile of a row, and the row within that tile. Tile heights are powers of two.
    #[inline]
    fn split_row(self, row: u32) -> (usize, u32) {
        ((row >> self.row_bits) as usize, row & ((1 << self.row_bits) - 1))
    }

    /// Whether 32 bits are enough.
    pub fn fits_half(self) -> bool {
        self.row_bits + self.col_bits <= u32::BITS
    }
}

/// A word that holds row and column.
pub(super) trait Packed: Pod + Send + Sync {
    fn pack(packing: Packing, row: u32, col: u32) -> Self;
    fn row(self, packing: Packing) -> u32;
    fn col(self, packing: Packing) -> u32;
}

impl Packed for u32 {
    #[inline]
    fn pack(packing: Packing, row: u32, col: u32) -> Self {
        // Columns of 32 bits leave none for rows, and then there is but one.
        row.checked_shl(packing.col_bits).unwrap_or(0) | col
    }

    #[inline]
    fn row(self, packing: Packing) -> u32 {
        self.checked_shr(packing.col_bits).unwrap_or(0)
    }

    #[inline]
    fn col(self, packing: Packing) -> u32 {
        self & ((1u64 << packing.col_bits) - 1) as u32
    }
}

impl Packed for u64 {
    #[inline]
    fn pack(_: Packing, row: u32, col: u32) -> Self {
        u64::from(row) << 32 | u64::from(col)
    }

    #[inline]
    fn row(self, _: Packing) -> u32 {
        (self >> 32) as u32
    }

    #[inline]
    fn col(self, _: Packing) -> u32 {
        self as u32
    }
}

/// Entries of a tile that came from one part of the list, and their values.
pub(super) type Bucket<'a, P> = (&'a [P], Option<&'a [f32]>);

/// Entries of a part of the list, scattered by tile, in the order of the list.
pub(super) struct Buckets<P> {
    starts: Vec<usize>,
    /// Words of `P` in storage of huge pages, which random access wants.
    places: Buffer,
    values: Option<Vec<f32>>,
    of: std::marker::PhantomData<P>,
}

impl<P: Packed> Buckets<P> {
    pub fn fill(entries: &impl Entries, part: Range<usize>, tiling: Tiling, packing: Packing) -> Self {
        let mut starts = vec![0usize; tiling.count() + 1];
        entries.visit(part.clone(), |row, _, _| starts[packing.split_row(row).0 + 1] += 1);
        for tile in 0..tiling.count() {
            starts[tile + 1] += starts[tile];
        }
        let mut next = starts.clone();
        let total = starts[tiling.count()];
        // A word at least: only memory that was asked for is aligned.
        let mut buffer = Buffer::zeroed((size_of::<P>() / 4) * total.max(1));
        let places: &mut [P] = bytemuck::cast_slice_mut(&mut buffer);
        let mut values = entries.has_values().then(|| vec![0.0f32; total]);
        entries.visit(part, |row, col, value| {
            let (tile, row) = packing.split_row(row);
            let at = &mut next[tile];
            places[*at] = P::pack(packing, row, col);
            if let Some(values) = &mut values {
                values[*at] = value;
            }
            *at += 1;
        });
        Self { starts, places: buffer, values, of: std::marker::PhantomData }
    }

    pub fn tile(&self, tile: usize) -> Bucket<'_, P> {
        let range = self.starts[tile]..self.starts[tile + 1];
        let places: &[P] = bytemuck::cast_slice(&self.places);
        (&places[range.clone()], self.values.as_ref().map(|values| &values[range]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_back_row_and_column() {
        let half = Packing::new(Tiling::new(1 << 20), 1 << 20);
        assert!(half.fits_half() && !Packing::new(Tiling::new(1 << 20), (1 << 20) + 1).fits_half());
        let one = Packing::new(Tiling::new(1), 1);
        let column = Packing { row_bits: 0, col_bits: 32 };
        for (packing, row, col) in [(half, 4095, (1 << 20) - 1), (half, 0, 7), (one, 0, 0), (column, 0, u32::MAX)] {
            let (narrow, wide) = (<u32 as Packed>::pack(packing, row, col), <u64 as Packed>::pack(packing, row, col));
            assert_eq!((narrow.row(packing), narrow.col(packing)), (row, col));
            assert_eq!((wide.row(packing), wide.col(packing)), (row, col));
        }
    }
}
