//! A sparse matrix, stored tile by tile.

mod convert;
mod patch;
mod stored;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub(super) use patch::Change;

use super::build::{Built, Entries, Pairs, build};
use super::slot::Slot;
use super::{Duplicates, GraphError, Tiling, parallel};
use crate::kernel::{Cell, Tile};

/// Columns of a strip; the last may have fewer. The strip's rows of a panel block of 64 columns
/// take 8 MiB, which a shared cache keeps while a group of tiles goes over them.
pub const STRIP_COLUMNS: usize = 32 << 10;

/// A sparse matrix that is stored once and shared: tiles of rows, cut into column strips, without
/// values where all are one.
///
/// ```
/// use isvd_dist::graph::Sparse;
/// let a = Sparse::from_triplets(2, 3, vec![(1, 2), (0, 0), (1, 2)], None)?;
/// assert_eq!((a.nonzeros(), a.row_sums()), (2, vec![1.0, 2.0]));
/// # Ok::<(), isvd_dist::graph::GraphError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sparse {
    cols: usize,
    tiling: Tiling,
    tiles: Vec<Slot>,
    /// How many entries there are, where none are stored.
    outline: Option<usize>,
    symmetric: bool,
    transposed: OnceLock<Arc<Sparse>>,
}

impl Sparse {
    /// A matrix from entries in any order; entries at the same place add up. Whether it is
    /// symmetric is found out.
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        entries: Vec<(u32, u32)>,
        values: Option<Vec<f32>>,
    ) -> Result<Self, GraphError> {
        let pairs =
            Pairs { entries: entries.into(), values: values.map(Into::into), mirrored: false, without_loops: false };
        Ok(Self::from_pairs(rows, cols, pairs, Duplicates::Add)?.0)
    }

    /// A symmetric matrix from pairs in any order, each of which stands for itself and its mirror
    /// image (once on the diagonal); pairs at the same place add up.
    pub fn symmetric_from_pairs(
        rows: usize,
        entries: Vec<(u32, u32)>,
        values: Option<Vec<f32>>,
    ) -> Result<Self, GraphError> {
        let pairs =
            Pairs { entries: entries.into(), values: values.map(Into::into), mirrored: true, without_loops: false };
        Ok(Self::from_pairs(rows, rows, pairs, Duplicates::Add)?.0)
    }

    /// A matrix that selects rows: row `i` has a single one, in column `indices[i]`.
    pub fn selection(indices: &[usize], cols: usize) -> Result<Self, GraphError> {
        let rows = indices.len();
        if let Some(entry) = indices.iter().position(|&col| col >= cols) {
            return Err(GraphError::OutOfRange { entry, row: entry, col: indices[entry], rows, cols });
        }
        if rows > u32::MAX as usize || cols > u32::MAX as usize {
            return Err(GraphError::TooLarge { rows, cols });
        }
        let entries = indices.iter().enumerate().map(|(row, &col)| (row as u32, col as u32)).collect();
        Self::from_triplets(rows, cols, entries, None)
    }

    /// A matrix of which only the size is known: it can be planned with, and not multiplied with.
    pub fn outline(rows: usize, cols: usize, nonzeros: usize, symmetric: bool) -> Result<Self, GraphError> {
        if rows > u32::MAX as usize || cols > u32::MAX as usize {
            return Err(GraphError::TooLarge { rows, cols });
        }
        let (tiling, tiles) = (Tiling::new(rows), Vec::new());
        Ok(Sparse { cols, tiling, tiles, outline: Some(nonzeros), symmetric, transposed: OnceLock::new() })
    }

    /// Whether only the size is known.
    pub fn is_outline(&self) -> bool {
        self.outline.is_some()
    }

    /// A matrix, how many entries were merged into others, and how many each row has.
    pub(super) fn from_pairs(
        rows: usize,
        cols: usize,
        pairs: Pairs,
        duplicates: Duplicates,
    ) -> Result<(Self, Built), GraphError> {
        pairs.check(rows, cols)?;
        let mirrored = pairs.mirrored;
        let tiling = Tiling::new(rows);
        let mut built = build(pairs, tiling, cols, duplicates)?;
        let tiles = std::mem::take(&mut built.tiles).into_iter().map(Slot::from).collect();
        let (outline, transposed) = (None, OnceLock::new());
        let mut sparse = Sparse { cols, tiling, tiles, outline, symmetric: mirrored, transposed };
        let counts = sparse.row_counts();
        if !mirrored {
            // Counts and a fingerprint exclude most matrices that are not symmetric; comparing with
            // the transpose decides the rest.
            sparse.symmetric = rows == cols
                && counts == sparse.column_counts()
                && sparse.fingerprints_match()
                && sparse.transpose_now().tiles == sparse.tiles;
        }
        built.row_counts = counts;
        Ok((sparse, built))
    }

    /// Rows of the matrix.
    pub fn rows(&self) -> usize {
        self.tiling.rows()
    }

    /// Columns of the matrix.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Stored entries.
    pub fn nonzeros(&self) -> usize {
        self.outline.unwrap_or_else(|| self.tiles.iter().map(|tile| tile.size().nonzeros).sum())
    }

    /// Stored entries of a tile.
    pub fn tile_nonzeros(&self, tile: usize) -> usize {
        self.tiles[tile].size().nonzeros
    }

    /// Whether entries have values other than one.
    pub fn is_weighted(&self) -> bool {
        self.tiles.iter().any(|tile| tile.size().weighted)
    }

    /// Whether the matrix is its own transpose.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// How its rows are cut into tiles.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// How many strips its columns are cut into: at least one, which is empty when there are no
    /// columns.
    pub fn strips(&self) -> usize {
        self.cols.div_ceil(STRIP_COLUMNS).max(1)
    }

    /// The columns of a strip.
    pub fn strip_range(&self, strip: usize) -> Range<usize> {
        strip * STRIP_COLUMNS..self.cols.min((strip + 1) * STRIP_COLUMNS)
    }

    /// The entries of a tile in a strip.
    ///
    /// # Panics
    /// If the tile is stored elsewhere and damaged there; [`Sparse::ready`] says so beforehand.
    #[inline]
    pub fn cell(&self, tile: usize, strip: usize) -> Cell<'_> {
        self.tile(tile).cell(strip)
    }

    /// A tile.
    ///
    /// # Panics
    /// As for [`Sparse::cell`].
    #[inline]
    pub fn tile(&self, tile: usize) -> &Tile {
        self.tiles[tile].tile()
    }

    /// The size of its arrays in bytes, without the transpose; for an outline, the expected size
    /// for uniformly random entries.
    pub fn bytes(&self) -> usize {
        match self.outline {
            None => self.tiles.iter().map(|tile| tile.size().bytes(self.strips())).sum(),
            Some(nonzeros) => 2 * nonzeros + 4 * self.runs() + 8 * (self.strips() + 1) * self.tiling.count(),
        }
    }

    /// Runs of entries of one row in one strip; for an outline, their expected number.
    pub fn runs(&self) -> usize {
        let Some(nonzeros) = self.outline else { return self.tiles.iter().map(|tile| tile.size().runs).sum() };
        let possible = self.rows() as f64 * self.strips() as f64;
        (possible * -(-(nonzeros as f64) / possible.max(1.0)).exp_m1()) as usize
    }

    /// Calls `f(row, column, value)` for every entry: tile after tile, strip after strip, row after
    /// row.
    pub fn for_each(&self, f: impl FnMut(usize, usize, f32)) {
        self.for_each_of(0..self.tiling.count(), f);
    }

    /// Calls `f(row, column, value)` for every entry of one tile.
    pub fn for_each_in_tile(&self, tile: usize, f: impl FnMut(usize, usize, f32)) {
        self.for_each_of(tile..tile + 1, f);
    }

    #[inline]
    fn for_each_of(&self, tiles: Range<usize>, mut f: impl FnMut(usize, usize, f32)) {
        let tiles = if self.is_outline() { 0..0 } else { tiles };
        for tile in tiles {
            let first_row = self.tiling.range(tile).start;
            for strip in 0..self.strips() {
                let first_col = self.strip_range(strip).start;
                self.cell(tile, strip).for_each(|row, col, value| f(first_row + row, first_col + col, value));
            }
        }
    }

    /// How many entries each row has.
    pub fn row_counts(&self) -> Vec<u32> {
        let counts = self.by_parts(|tiles| {
            let first = self.tiling.rows_of(tiles.clone());
            let mut counts = vec![0; first.len()];
            for (tile, strip) in tiles.flat_map(|tile| (0..self.strips()).map(move |strip| (tile, strip))) {
                let (cell, start) = (self.cell(tile, strip), self.tiling.range(tile).start - first.start);
                for (&row, &count) in cell.rows().iter().zip(cell.counts()) {
                    counts[start + usize::from(row)] += u32::from(count);
                }
            }
            counts
        });
        counts.concat()
    }

    /// How many entries each column has.
    pub fn column_counts(&self) -> Vec<u32> {
        let counts = parallel::parts(self.strips(), parallel::threads(self.nonzeros()), |strips| {
            let first = self.strip_range(strips.start).start;
            let mut counts = vec![0; self.cols.min(strips.end * STRIP_COLUMNS).saturating_sub(first)];
            for strip in strips {
                let counts = &mut counts[self.strip_range(strip).start - first..];
                for tile in 0..self.tiling.count() {
                    self.cell(tile, strip).columns().iter().for_each(|&column| counts[usize::from(column)] += 1);
                }
            }
            counts
        });
        counts.concat()
    }

    /// The sum of each row.
    pub fn row_sums(&self) -> Vec<f64> {
        if !self.is_weighted() {
            return self.row_counts().into_iter().map(f64::from).collect();
        }
        let sums = self.by_parts(|tiles| {
            let rows = self.tiling.rows_of(tiles.clone());
            let mut sums = vec![0.0; rows.len()];
            self.for_each_of(tiles, |row, _, value| sums[row - rows.start] += f64::from(value));
            sums
        });
        sums.concat()
    }

    /// The sum of each column.
    pub fn column_sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.cols];
        self.for_each(|_, col, value| sums[col] += f64::from(value));
        sums
    }

    /// The transpose: the matrix itself when it is symmetric, else built once and shared by all who
    /// ask.
    pub fn transposed(self: &Arc<Self>) -> Arc<Sparse> {
        if self.symmetric {
            return Arc::clone(self);
        }
        Arc::clone(self.transposed.get_or_init(|| Arc::new(self.transpose_now())))
    }

    /// The transpose, if it is stored or was built.
    pub(super) fn transposed_if_made(&self) -> Option<&Arc<Sparse>> {
        self.transposed.get()
    }

    fn transpose_now(&self) -> Sparse {
        let tiling = Tiling::new(self.cols);
        if self.outline.is_some() {
            let (outline, transposed) = (self.outline, OnceLock::new());
            return Sparse { cols: self.rows(), tiling, tiles: Vec::new(), outline, symmetric: false, transposed };
        }
        let built = build(MatrixEntries { matrix: self, is_transposed: true }, tiling, self.rows(), Duplicates::Add);
        // Entries of a matrix are finite, in range and in different places, and no tile can have
        // more of them than the check of an equally large tile let pass; only a tile beyond 2³²
        // entries is left.
        let built = built.unwrap_or_else(|error| panic!("transpose of a matrix: {error}"));
        let tiles = built.tiles.into_iter().map(Slot::from).collect();
        let (symmetric, transposed) = (self.symmetric, OnceLock::new());
        Sparse { cols: self.rows(), tiling, tiles, outline: None, symmetric, transposed }
    }

    /// Whether the tiles of another matrix hold the same, bit for bit.
    #[cfg(test)]
    pub(crate) fn has_same_tiles(&self, other: &Sparse) -> bool {
        (self.cols, self.tiling) == (other.cols, other.tiling) && self.tiles == other.tiles
    }

    fn fingerprints_match(&self) -> bool {
        let mix = |row: usize, col: usize, value: f32| {
            let place = ((row as u64) << 32 | col as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (place ^ place >> 29 ^ u64::from(value.to_bits())).wrapping_mul(0xBF58_476D_1CE4_E5B9)
        };
        let differences = self.by_parts(|tiles| {
            let mut difference = 0u64;
            self.for_each_of(tiles, |row, col, value| {
                difference = difference.wrapping_add(mix(row, col, value)).wrapping_sub(mix(col, row, value));
            });
            difference
        });
        differences.into_iter().fold(0, u64::wrapping_add) == 0
    }

    /// The results of several threads, each for consecutive tiles.
    fn by_parts<T: Send>(&self, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        parallel::parts(self.tiling.count(), parallel::threads(self.nonzeros()), work)
    }
}

/// The entries of a matrix, to be cut into other tiles: as they are, or with rows and columns
/// exchanged.
struct MatrixEntries<'a> {
    matrix: &'a Sparse,
    is_transposed: bool,
}

impl Entries for MatrixEntries<'_> {
    fn units(&self) -> usize {
        self.matrix.tiling.count()
    }

    fn size(&self) -> usize {
        self.matrix.nonzeros()
    }

    #[inline]
    fn visit(&self, units: Range<usize>, mut f: impl FnMut(u32, u32, f32)) {
        match self.is_transposed {
            true => self.matrix.for_each_of(units, |row, col, value| f(col as u32, row as u32, value)),
            false => self.matrix.for_each_of(units, |row, col, value| f(row as u32, col as u32, value)),
        }
    }

    fn has_values(&self) -> bool {
        self.matrix.is_weighted()
    }
}

#[cfg(test)]
mod tests;
