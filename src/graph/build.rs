//! From entries in any order to tiles.
//!
//! Entries are counted and thrown into one bucket a tile, then each tile is sorted by row with another count and each row by
//! column. Peak memory is the input and one copy of it, eight bytes an entry (twelve with values), beside the result.

use std::borrow::Cow;

use super::{GraphError, Tiling};
use crate::kernel::tile::{Parts, Tile};

/// What becomes of entries at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// Their values add up.
    #[default]
    Add,
    /// The first listed counts, the others are ignored.
    Once,
}

/// Something that lists entries, the same each time it is asked.
pub(super) trait Entries {
    /// Calls `f(row, column, value)` for each entry.
    fn visit(&self, f: impl FnMut(u32, u32, f32));
    /// Whether values other than one may come.
    fn has_values(&self) -> bool;
}

/// Pairs of row and column.
pub(super) struct Pairs<'a> {
    pub entries: Cow<'a, [(u32, u32)]>,
    pub values: Option<Cow<'a, [f32]>>,
    /// Each pair stands for itself and its mirror image.
    pub mirrored: bool,
    /// Entries on the diagonal are left out.
    pub without_loops: bool,
}

impl Entries for Pairs<'_> {
    #[inline]
    fn visit(&self, mut f: impl FnMut(u32, u32, f32)) {
        for (n, &(row, col)) in self.entries.iter().enumerate() {
            let value = self.values.as_ref().map_or(1.0, |v| v[n]);
            if row == col {
                if !self.without_loops {
                    f(row, col, value);
                }
                continue;
            }
            f(row, col, value);
            if self.mirrored {
                f(col, row, value);
            }
        }
    }

    fn has_values(&self) -> bool {
        self.values.is_some()
    }
}

impl Pairs<'_> {
    /// Checks the sizes, the numbers of rows and columns, and the values.
    pub fn check(&self, rows: usize, cols: usize) -> Result<(), GraphError> {
        if rows > u32::MAX as usize || cols > u32::MAX as usize {
            return Err(GraphError::TooLarge { rows, cols });
        }
        if let Some(values) = self.values.as_ref().filter(|v| v.len() != self.entries.len()) {
            return Err(GraphError::ValueCount { entries: self.entries.len(), values: values.len() });
        }
        let outside = |&(row, col): &(u32, u32)| {
            let fits = (row as usize) < rows && (col as usize) < cols;
            !fits || self.mirrored && ((row as usize) >= cols || (col as usize) >= rows)
        };
        if let Some(entry) = self.entries.iter().position(outside) {
            let (row, col) = self.entries[entry];
            return Err(GraphError::OutOfRange { entry, row: row as usize, col: col as usize, rows, cols });
        }
        if let Some(values) = &self.values
            && let Some(entry) = crate::kernel::elementwise::first_non_finite(values)
        {
            let (row, col) = self.entries[entry];
            return Err(GraphError::NotFinite { entry, row: row as usize, col: col as usize, value: values[entry] });
        }
        Ok(())
    }
}

/// Tiles, and how many entries were merged into others on and off the diagonal.
#[derive(Debug)]
pub(super) struct Built {
    pub tiles: Vec<Tile>,
    pub merged_on_diagonal: usize,
    pub merged_off_diagonal: usize,
}

/// Builds the tiles of a matrix of `cols` columns in strips of `width`.
pub(super) fn build(
    entries: impl Entries,
    tiling: Tiling,
    cols: usize,
    width: usize,
    duplicates: Duplicates,
) -> Result<Built, GraphError> {
    let buckets = Buckets::fill(entries, tiling);
    let mut built = Built { tiles: Vec::with_capacity(tiling.count()), merged_on_diagonal: 0, merged_off_diagonal: 0 };
    let mut sorter = Sorter::default();
    for tile in 0..tiling.count() {
        let first_row = tiling.range(tile).start;
        let height = tiling.range(tile).len();
        sorter.sort(&buckets, tile, height);
        sorter.merge(first_row, duplicates, &mut built)?;
        let parts = sorter.cut(cols, width);
        built.tiles.push(Tile::new(height, cols, width, parts).map_err(|source| GraphError::Tile { tile, source })?);
    }
    Ok(built)
}

/// Entries thrown together by tile, in the order they came.
struct Buckets {
    starts: Vec<usize>,
    /// Row in the tile above, column below.
    places: Vec<u64>,
    values: Option<Vec<f32>>,
}

impl Buckets {
    fn fill(entries: impl Entries, tiling: Tiling) -> Self {
        let mut starts = vec![0usize; tiling.count() + 1];
        let size = tiling.tile_rows() as u32;
        entries.visit(|row, _, _| starts[(row / size) as usize + 1] += 1);
        for tile in 0..tiling.count() {
            starts[tile + 1] += starts[tile];
        }
        let mut next = starts.clone();
        let total = starts[tiling.count()];
        let mut places = vec![0u64; total];
        let mut values = entries.has_values().then(|| vec![0.0f32; total]);
        entries.visit(|row, col, value| {
            let at = &mut next[(row / size) as usize];
            places[*at] = u64::from(row % size) << 32 | u64::from(col);
            if let Some(values) = &mut values {
                values[*at] = value;
            }
            *at += 1;
        });
        Buckets { starts, places, values }
    }
}

/// One tile on its way to rows and columns in order.
#[derive(Default)]
struct Sorter {
    /// Where each row starts in `keys`; one more at the end.
    starts: Vec<usize>,
    /// Column above, value bits below.
    keys: Vec<u64>,
    weighted: bool,
}

impl Sorter {
    /// Counts the entries of the tile by row and puts them there, in the order they came.
    fn sort(&mut self, buckets: &Buckets, tile: usize, height: usize) {
        let range = buckets.starts[tile]..buckets.starts[tile + 1];
        let places = &buckets.places[range.clone()];
        self.starts.clear();
        self.starts.resize(height + 1, 0);
        for place in places {
            self.starts[(place >> 32) as usize + 1] += 1;
        }
        for row in 0..height {
            self.starts[row + 1] += self.starts[row];
        }
        self.keys.clear();
        self.keys.resize(places.len(), 0);
        let mut next = self.starts.clone();
        for (n, place) in places.iter().enumerate() {
            let value = buckets.values.as_ref().map_or(1.0, |v| v[range.start + n]);
            let at = &mut next[(place >> 32) as usize];
            self.keys[*at] = place << 32 | u64::from(value.to_bits());
            *at += 1;
        }
    }

    /// Sorts each row by column and merges duplicates.
    fn merge(&mut self, first_row: usize, duplicates: Duplicates, built: &mut Built) -> Result<(), GraphError> {
        self.weighted = false;
        let mut kept = 0;
        for row in 0..self.starts.len() - 1 {
            let range = self.starts[row]..self.starts[row + 1];
            match duplicates {
                // Value bits are part of the order, so a sum does not depend on the order of the input.
                Duplicates::Add => self.keys[range.clone()].sort_unstable(),
                Duplicates::Once => self.keys[range.clone()].sort_by_key(|key| key >> 32),
            }
            self.starts[row] = kept;
            let mut at = range.start;
            while at < range.end {
                let column = self.keys[at] >> 32;
                let mut value = f64::from(f32::from_bits(self.keys[at] as u32));
                let run = self.keys[at..range.end].iter().take_while(|&&key| key >> 32 == column).count();
                if run > 1 {
                    if column as usize == first_row + row {
                        built.merged_on_diagonal += run - 1;
                    } else {
                        built.merged_off_diagonal += run - 1;
                    }
                    if duplicates == Duplicates::Add {
                        value = self.keys[at..at + run].iter().map(|&key| f64::from(f32::from_bits(key as u32))).sum();
                    }
                }
                let rounded = value as f32;
                if !rounded.is_finite() {
                    return Err(GraphError::Overflow { row: first_row + row, col: column as usize, sum: value });
                }
                self.weighted |= rounded != 1.0;
                self.keys[kept] = column << 32 | u64::from(rounded.to_bits());
                kept += 1;
                at += run;
            }
        }
        if let Some(end) = self.starts.last_mut() {
            *end = kept;
        }
        self.keys.truncate(kept);
        Ok(())
    }

    /// Cuts the sorted rows into strips.
    fn cut(&self, cols: usize, width: usize) -> Parts {
        let strips = cols.div_ceil(width).max(1);
        // A row is in order, so its entries of a strip are neighbours.
        let runs = |row: usize| {
            self.keys[self.starts[row]..self.starts[row + 1]].chunk_by(move |a, b| strip(*a, width) == strip(*b, width))
        };
        let mut starts = vec![(0usize, 0usize); strips + 1];
        let rows = self.starts.len() - 1;
        for run in (0..rows).flat_map(runs) {
            let (r, c) = &mut starts[strip(run[0], width) + 1];
            (*r, *c) = (*r + 1, *c + run.len());
        }
        for s in 0..strips {
            let (r, c) = starts[s];
            starts[s + 1] = (starts[s + 1].0 + r, starts[s + 1].1 + c);
        }
        let (row_count, total) = starts[strips];
        let mut parts = Parts {
            rows: vec![0; row_count],
            counts: vec![0; row_count],
            columns: vec![0; total],
            values: self.weighted.then(|| vec![0.0; total]),
            starts,
        };
        let mut next = parts.starts.clone();
        for row in 0..rows {
            for run in runs(row) {
                let s = strip(run[0], width);
                let (r, c) = next[s];
                parts.rows[r] = row as u16;
                parts.counts[r] = run.len() as u16;
                for (n, key) in run.iter().enumerate() {
                    parts.columns[c + n] = ((key >> 32) as usize - s * width) as u16;
                    if let Some(values) = &mut parts.values {
                        values[c + n] = f32::from_bits(*key as u32);
                    }
                }
                next[s] = (r + 1, c + run.len());
            }
        }
        parts
    }
}

#[inline]
fn strip(key: u64, width: usize) -> usize {
    // Both fit 32 bits, and a division of those is several times faster.
    ((key >> 32) as u32 / width as u32) as usize
}
