//! From entries in any order to tiles.
//!
//! Entries are counted and thrown into one bucket a tile, by several threads that each take a part of the list; then each tile is
//! sorted on its own. Buckets of the parts follow each other in the order of the list, so the result does not depend on the number
//! of threads. Peak memory is the input and one copy of it, eight bytes an entry (twelve with values), beside the result.

use std::borrow::Cow;
use std::ops::Range;

use super::cells::Sorter;
use super::{GraphError, Tiling, parallel};
use crate::kernel::tile::Tile;

/// What becomes of entries at the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// Their values add up.
    #[default]
    Add,
    /// The first listed counts, the others are ignored.
    Once,
}

/// Something that lists entries in units, the same each time it is asked.
pub(super) trait Entries: Sync {
    /// How many units there are.
    fn units(&self) -> usize;
    /// About how many entries there are.
    fn size(&self) -> usize;
    /// Calls `f(row, column, value)` for each entry of some units.
    fn visit(&self, units: Range<usize>, f: impl FnMut(u32, u32, f32));
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
    fn units(&self) -> usize {
        self.entries.len()
    }

    fn size(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    fn visit(&self, units: Range<usize>, mut f: impl FnMut(u32, u32, f32)) {
        let values = self.values.as_ref().map(|values| &values[units.clone()]);
        for (n, &(row, col)) in self.entries[units].iter().enumerate() {
            let value = values.map_or(1.0, |v| v[n]);
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
        let parts = parallel::parts(self.entries.len(), parallel::threads(self.entries.len()), |part| {
            let start = part.start;
            self.entries[part].iter().position(outside).map(|entry| start + entry)
        });
        if let Some(entry) = parts.into_iter().flatten().next() {
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
    let threads = parallel::threads(entries.size());
    let buckets = parallel::parts(entries.units(), threads, |part| Buckets::fill(&entries, part, tiling));
    drop(entries);
    let tiles = parallel::singly(
        tiling.count(),
        threads,
        || Sorter::new(cols, width),
        |sorter, tile| {
            let range = tiling.range(tile);
            let parts: Vec<_> = buckets.iter().map(|buckets| buckets.tile(tile)).collect();
            let sorted = sorter.sort(&parts, range.start, range.len(), duplicates)?;
            let tile = Tile::new(range.len(), cols, width, sorted.parts)
                .map_err(|source| GraphError::Tile { tile, source })?;
            Ok((tile, sorted.merged_on_diagonal, sorted.merged_off_diagonal))
        },
    );
    let mut built = Built { tiles: Vec::with_capacity(tiling.count()), merged_on_diagonal: 0, merged_off_diagonal: 0 };
    for result in tiles {
        let (tile, on, off) = result?;
        built.tiles.push(tile);
        built.merged_on_diagonal += on;
        built.merged_off_diagonal += off;
    }
    Ok(built)
}

/// Entries of a part of the list, thrown together by tile, in the order they came.
struct Buckets {
    starts: Vec<usize>,
    /// Row in the tile above, column below.
    places: Vec<u64>,
    values: Option<Vec<f32>>,
}

impl Buckets {
    fn fill(entries: &impl Entries, part: Range<usize>, tiling: Tiling) -> Self {
        let mut starts = vec![0usize; tiling.count() + 1];
        let size = tiling.tile_rows() as u32;
        entries.visit(part.clone(), |row, _, _| starts[(row / size) as usize + 1] += 1);
        for tile in 0..tiling.count() {
            starts[tile + 1] += starts[tile];
        }
        let mut next = starts.clone();
        let total = starts[tiling.count()];
        let mut places = vec![0u64; total];
        let mut values = entries.has_values().then(|| vec![0.0f32; total]);
        entries.visit(part, |row, col, value| {
            let at = &mut next[(row / size) as usize];
            places[*at] = u64::from(row % size) << 32 | u64::from(col);
            if let Some(values) = &mut values {
                values[*at] = value;
            }
            *at += 1;
        });
        Buckets { starts, places, values }
    }

    fn tile(&self, tile: usize) -> (&[u64], Option<&[f32]>) {
        let range = self.starts[tile]..self.starts[tile + 1];
        (&self.places[range.clone()], self.values.as_ref().map(|values| &values[range]))
    }
}
