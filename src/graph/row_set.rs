//! Sets of rows.

use std::ops::Range;

use super::Sparse;

const WORD: usize = u64::BITS as usize;

/// Some of the rows of a panel, a bit each.
///
/// ```
/// use isvd_dist::graph::{RowSet, Sparse};
/// let matrix = Sparse::from_triplets(2, 200, vec![(0, 3), (1, 3), (1, 150)], None)?;
/// let mut picked = RowSet::new(200);
/// picked.add_columns(&matrix, 0..1);
/// assert_eq!((picked.count(), picked.count_in(0..150)), (2, 1));
/// # Ok::<(), isvd_dist::graph::GraphError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSet {
    rows: usize,
    words: Vec<u64>,
}

impl RowSet {
    /// The empty set over `rows` rows.
    pub fn new(rows: usize) -> Self {
        Self { rows, words: vec![0; rows.div_ceil(WORD)] }
    }

    /// The set with these bits, from the first row on; `None` if there is another number of them.
    pub fn from_words(rows: usize, words: Vec<u64>) -> Option<Self> {
        (words.len() == rows.div_ceil(WORD)).then_some(Self { rows, words })
    }

    /// The bits, from the first row on.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// How many rows there are to choose from.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds the rows of a panel that some tiles of a matrix pick in a product.
    ///
    /// # Panics
    /// If the matrix has more columns than there are rows.
    pub fn add_columns(&mut self, matrix: &Sparse, tiles: Range<usize>) {
        assert!(matrix.cols() <= self.rows, "columns of the matrix are rows of the panel");
        // Strip after strip: the bits of one stay in the nearest cache.
        for strip in 0..matrix.strips() {
            let first = matrix.strip_range(strip).start;
            for tile in tiles.clone() {
                for &column in matrix.cell(tile, strip).columns() {
                    let row = first + usize::from(column);
                    self.words[row / WORD] |= 1 << (row % WORD);
                }
            }
        }
    }

    /// How many rows it has.
    pub fn count(&self) -> usize {
        self.count_in(0..self.rows)
    }

    /// How many rows of a range it has.
    pub fn count_in(&self, range: Range<usize>) -> usize {
        self.words_in(range).map(|(_, word)| word.count_ones() as usize).sum()
    }

    /// The rows of a range that it has, in order.
    pub fn rows_in(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        self.words_in(range).flat_map(|(first, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                // Takes the lowest bit away; of none, none.
                word &= word.wrapping_sub(1);
                (bit < WORD).then_some(first + bit)
            })
        })
    }

    /// The words of a range, each with its first row and without the bits outside of the range.
    fn words_in(&self, range: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
        let range = range.start..range.end.min(self.rows);
        let words = range.start / WORD..if range.is_empty() { range.start / WORD } else { range.end.div_ceil(WORD) };
        words.map(move |number| {
            let first = number * WORD;
            let from = u64::MAX << range.start.saturating_sub(first);
            let to = u64::MAX >> (first + WORD).saturating_sub(range.end);
            (first, self.words[number] & from & to)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a set of the standard library, filled from every entry by itself.
        #[test]
        fn the_columns_of_tiles_are_found(
            rows in 1usize..300,
            cols in 1usize..700,
            entries in proptest::collection::vec((0u32..300, 0u32..700), 0..200),
            tiles in (0usize..6, 0usize..6),
            range in (0usize..800, 0usize..800),
        ) {
            let entries: Vec<_> = entries.into_iter().map(|(r, c)| (r % rows as u32, c % cols as u32)).collect();
            let matrix = Sparse::from_triplets(rows, cols, entries, None).unwrap();
            let tiles = tiles.0.min(matrix.tiling().count())..tiles.1.min(matrix.tiling().count());
            let mut expected = BTreeSet::new();
            matrix.for_each(|row, column, _| {
                if tiles.contains(&matrix.tiling().tile_of(row)) {
                    expected.insert(column);
                }
            });
            let mut found = RowSet::new(cols);
            found.add_columns(&matrix, tiles);
            prop_assert_eq!(found.count(), expected.len());
            let range = range.0..range.1;
            let in_range: Vec<usize> = expected.iter().copied().filter(|row| range.contains(row)).collect();
            prop_assert_eq!(found.count_in(range.clone()), in_range.len());
            prop_assert_eq!(found.rows_in(range).collect::<Vec<_>>(), in_range);
            prop_assert_eq!(RowSet::from_words(cols, found.words().to_vec()), Some(found));
        }
    }

    #[test]
    fn bits_of_another_panel_make_no_set() {
        assert_eq!(RowSet::from_words(65, vec![0]), None);
        assert_eq!(RowSet::from_words(0, Vec::new()), Some(RowSet::new(0)));
    }
}
