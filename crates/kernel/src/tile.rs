//! One tile of a sparse matrix: a run of rows, cut into column strips.
//!
//! The product of a tile with a panel reads the panel's rows in random order, and a strip is as
//! many of them as a cache holds. In a strip a column is a 16-bit offset, and only rows that have
//! an entry there are listed, so a tile takes 2 bytes a non-zero and at most 4 more for each row of
//! a strip, however large and sparse the matrix is.

mod patch;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Array;
pub use patch::Edit;

/// Rows of a tile are numbered with 16 bits.
pub const MAX_TILE_ROWS: usize = 1 << 16;
/// Columns of a strip are numbered with 16 bits.
pub const MAX_STRIP_COLUMNS: usize = 1 << 16;

/// Why arrays do not form a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TileError {
    /// The lengths of the arrays do not fit each other.
    #[error("the arrays of a tile do not fit each other: {what}")]
    Lengths {
        /// Which of them.
        what: &'static str,
    },
    /// A row or column number is too large, or rows are out of order.
    #[error("strip {strip} of a tile has a row or column outside of it, or rows out of order")]
    Index {
        /// The strip that has it.
        strip: usize,
    },
    /// More non-zeros in a tile than 32 bits count.
    #[error("a tile has {nonzeros} non-zeros, more than 32 bits count: use smaller tiles")]
    TooMany {
        /// How many there are.
        nonzeros: usize,
    },
}

/// A run of rows of a sparse matrix, strip after strip. It is checked once, when built, so that
/// products need not.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    height: usize,
    width: usize,
    cols: usize,
    parts: Parts,
}

/// The arrays of a [`Tile`]. Entries are sorted by strip, then row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// For each strip, where in `rows` and where in `columns` it starts; one more at the end.
    pub starts: Array<[u32; 2]>,
    /// Rows that have entries in the strip, ascending.
    pub rows: Array<u16>,
    /// How many entries each of `rows` has.
    pub counts: Array<u16>,
    /// Offsets of the entries from the first column of the strip.
    pub columns: Array<u16>,
    /// One value an entry; `None` when all are one.
    pub values: Option<Array<f32>>,
}

/// The size of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileSize {
    /// Runs of entries of one row in one strip.
    pub runs: usize,
    /// Stored entries.
    pub nonzeros: usize,
    /// Whether entries have values other than one.
    pub weighted: bool,
}

impl TileSize {
    /// Bytes of a tile of this size with `strips` strips.
    pub fn bytes(&self, strips: usize) -> usize {
        8 * (strips + 1) + 4 * self.runs + self.nonzeros * if self.weighted { 6 } else { 2 }
    }
}

/// A cell: one strip of a tile.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    height: usize,
    width: usize,
    rows: &'a [u16],
    counts: &'a [u16],
    columns: &'a [u16],
    values: Option<&'a [f32]>,
}

impl Tile {
    /// A tile of `height` rows and `cols` columns, in strips of `width` columns (the last may be
    /// narrower); at least one strip, which is empty when there are no columns.
    pub fn new(height: usize, cols: usize, width: usize, parts: Parts) -> Result<Self, TileError> {
        let Parts { starts, rows, counts, columns, values } = &parts;
        let lengths = |fits: bool, what| {
            if fits { Ok(()) } else { Err(TileError::Lengths { what }) }
        };
        if columns.len() > u32::MAX as usize {
            return Err(TileError::TooMany { nonzeros: columns.len() });
        }
        lengths(height <= MAX_TILE_ROWS, "too many rows")?;
        lengths(width > 0 && width <= MAX_STRIP_COLUMNS, "strips are empty or too wide")?;
        lengths(starts.len() == cols.div_ceil(width).max(1) + 1, "one start a strip and one more")?;
        lengths(starts[0] == [0, 0], "the first strip starts at zero")?;
        let last = starts[starts.len() - 1].map(|start| start as usize);
        lengths(last == [rows.len(), columns.len()], "the last strip ends at the end")?;
        lengths(rows.len() == counts.len(), "one count a row")?;
        lengths(values.as_deref().is_none_or(|v| v.len() == columns.len()), "one value an entry")?;
        for (strip, pair) in starts.windows(2).enumerate() {
            let ([r0, c0], [r1, c1]) = (pair[0].map(|start| start as usize), pair[1].map(|start| start as usize));
            lengths(r0 <= r1 && r1 <= rows.len() && c0 <= c1 && c1 <= columns.len(), "starts ascend")?;
            let total: usize = counts[r0..r1].iter().map(|&c| usize::from(c)).sum();
            lengths(total == c1 - c0, "counts add up to the entries")?;
            let strip_width = width.min(cols - strip * width);
            let widest = columns[c0..c1].iter().copied().max();
            let highest = rows[r0..r1].last();
            if !rows[r0..r1].is_sorted_by(|a, b| a < b)
                || highest.is_some_and(|&r| usize::from(r) >= height)
                || widest.is_some_and(|c| usize::from(c) >= strip_width)
            {
                return Err(TileError::Index { strip });
            }
        }
        Ok(Tile { height, width, cols, parts })
    }

    /// Rows of the tile.
    pub fn rows(&self) -> usize {
        self.height
    }

    /// Its arrays.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Strips it is cut into.
    pub fn strips(&self) -> usize {
        self.parts.starts.len() - 1
    }

    /// Columns of the tile.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The columns of a strip.
    pub fn strip_range(&self, strip: usize) -> std::ops::Range<usize> {
        strip * self.width..self.cols.min((strip + 1) * self.width)
    }

    /// Its size.
    pub fn size(&self) -> TileSize {
        let Parts { rows, columns, values, .. } = &self.parts;
        TileSize { runs: rows.len(), nonzeros: columns.len(), weighted: values.is_some() }
    }

    /// The cell of a strip.
    #[inline]
    pub fn cell(&self, strip: usize) -> Cell<'_> {
        let Parts { starts, rows, counts, columns, values } = &self.parts;
        let ([r0, c0], [r1, c1]) = (starts[strip], starts[strip + 1]);
        let (runs, entries) = (r0 as usize..r1 as usize, c0 as usize..c1 as usize);
        Cell {
            height: self.height,
            width: self.strip_range(strip).len(),
            rows: &rows[runs.clone()],
            counts: &counts[runs],
            columns: &columns[entries.clone()],
            values: values.as_deref().map(|v| &v[entries]),
        }
    }
}

impl<'a> Cell<'a> {
    /// Rows of the tile.
    #[inline]
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns of the strip; every offset is below it.
    #[inline]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The rows that have entries, ascending.
    #[inline]
    pub fn rows(&self) -> &'a [u16] {
        self.rows
    }

    /// How many entries each of [`Cell::rows`] has.
    #[inline]
    pub fn counts(&self) -> &'a [u16] {
        self.counts
    }

    /// The column offsets, row after row.
    #[inline]
    pub fn columns(&self) -> &'a [u16] {
        self.columns
    }

    /// The values, when they are not all one.
    #[inline]
    pub fn values(&self) -> Option<&'a [f32]> {
        self.values
    }

    /// Calls `f(row, column offset, value)` for every entry, row after row.
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(usize, usize, f32)) {
        let mut at = 0;
        for (&row, &count) in self.rows.iter().zip(self.counts) {
            for entry in at..at + usize::from(count) {
                let value = self.values.map_or(1.0, |v| v[entry]);
                f(usize::from(row), usize::from(self.columns[entry]), value);
            }
            at += usize::from(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrays that can be changed before they make a tile.
    struct Lists {
        starts: Vec<[u32; 2]>,
        rows: Vec<u16>,
        counts: Vec<u16>,
        columns: Vec<u16>,
        values: Option<Vec<f32>>,
    }

    fn tile(change: impl FnOnce(&mut Lists)) -> Result<Tile, TileError> {
        let mut lists = Lists {
            starts: vec![[0, 0], [2, 3], [3, 4]],
            rows: vec![0, 2, 1],
            counts: vec![2, 1, 1],
            columns: vec![0, 3, 1, 2],
            values: None,
        };
        change(&mut lists);
        let parts = Parts {
            starts: lists.starts.into(),
            rows: lists.rows.into(),
            counts: lists.counts.into(),
            columns: lists.columns.into(),
            values: lists.values.map(Into::into),
        };
        Tile::new(3, 7, 4, parts)
    }

    #[test]
    fn entries_come_back() {
        let tile = tile(|_| {}).unwrap();
        let mut seen = vec![];
        for strip in 0..tile.strips() {
            tile.cell(strip).for_each(|r, c, v| seen.push((r, 4 * strip + c, v)));
        }
        assert_eq!(seen, [(0, 0, 1.0), (0, 3, 1.0), (2, 1, 1.0), (1, 6, 1.0)]);
        assert_eq!(tile.cell(1).width(), 3);
    }

    #[test]
    fn wrong_arrays_are_refused() {
        let wrong = |change: fn(&mut Lists)| tile(change).unwrap_err();
        assert_eq!(wrong(|p| p.columns[3] = 3), TileError::Index { strip: 1 });
        assert_eq!(wrong(|p| p.rows[1] = 3), TileError::Index { strip: 0 });
        assert_eq!(wrong(|p| p.rows[1] = 0), TileError::Index { strip: 0 });
        assert!(matches!(wrong(|p| p.counts[0] = 3), TileError::Lengths { .. }));
        assert!(matches!(wrong(|p| p.starts.truncate(2)), TileError::Lengths { .. }));
        assert!(matches!(wrong(|p| p.starts[1] = [9, 9]), TileError::Lengths { .. }));
        assert!(matches!(wrong(|p| p.values = Some(vec![1.0])), TileError::Lengths { .. }));
    }
}
