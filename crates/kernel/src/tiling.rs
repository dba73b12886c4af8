//! How rows are cut into tiles.

use std::ops::Range;

const SMALLEST: usize = 64;
const LARGEST: usize = 4096;
/// Least number of tiles, unless they get too small: many workers find work in a small matrix.
const WANTED: usize = 64;
/// Rows of a tile above which there are [`WANTED`] tiles: combining sums of shorter tiles takes as
/// long as the sums.
const SMALL: usize = 256;
/// Least number of tiles of at most that size.
const WANTED_SMALL: usize = 16;

/// Consecutive runs of rows of equal size, except the last. The size depends on the number of rows
/// alone, so results computed tile by tile do not depend on the workers. It is a power of two, so
/// rows added to a matrix leave existing rows in their tiles until their number has doubled.
///
/// ```
/// let tiling = isvd_kernel::Tiling::new(1000);
/// assert_eq!((tiling.count(), tiling.range(15), tiling.tile_of(130)), (16, 960..1000, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tiling {
    rows: usize,
    tile_rows: usize,
}

impl Tiling {
    /// The tiling of `rows` rows: 64 to 127 tiles of 256 to 4096 rows, or 16 to 31 of 64 to 256, as
    /// far as these limits allow.
    pub fn new(rows: usize) -> Self {
        let in_tiles = |count: usize| (rows / count).checked_ilog2().map_or(1, |power| 1 << power);
        let small = in_tiles(WANTED_SMALL).min(SMALL);
        Tiling { rows, tile_rows: in_tiles(WANTED).max(small).clamp(SMALLEST, LARGEST) }
    }

    /// All rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows of every tile but perhaps the last.
    #[inline]
    pub fn tile_rows(&self) -> usize {
        self.tile_rows
    }

    /// Number of tiles; none when there are no rows.
    #[inline]
    pub fn count(&self) -> usize {
        self.rows.div_ceil(self.tile_rows)
    }

    /// The rows of a tile.
    #[inline]
    pub fn range(&self, tile: usize) -> Range<usize> {
        self.rows.min(tile * self.tile_rows)..self.rows.min((tile + 1) * self.tile_rows)
    }

    /// The rows of consecutive tiles.
    #[inline]
    pub fn rows_of(&self, tiles: Range<usize>) -> Range<usize> {
        self.rows.min(tiles.start * self.tile_rows)..self.rows.min(tiles.end * self.tile_rows)
    }

    /// The tile that has a row.
    #[inline]
    pub fn tile_of(&self, row: usize) -> usize {
        row / self.tile_rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_the_rows_once() {
        for rows in [0, 1, 63, 64, 65, 4096, 4097, 200_000, 262_144, 262_145, 10_000_000] {
            let tiling = Tiling::new(rows);
            assert!((SMALLEST..=LARGEST).contains(&tiling.tile_rows()));
            let mut next = 0;
            for tile in 0..tiling.count() {
                let range = tiling.range(tile);
                assert!(range.start == next && !range.is_empty());
                assert_eq!((tiling.tile_of(range.start), tiling.tile_of(range.end - 1)), (tile, tile));
                next = range.end;
            }
            assert_eq!(next, rows);
            assert_eq!(tiling.rows_of(0..tiling.count()), 0..rows);
        }
        assert_eq!(Tiling::new(0).count(), 0);
        assert_eq!(Tiling::new(150_000).tile_rows(), Tiling::new(260_000).tile_rows(), "a graph may grow");
    }
}
