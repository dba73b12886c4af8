//! Building tiles from entries in any order.
//!
//! Entries are counted and scattered into one bucket for each tile, by several threads that each
//! take a part of the list; then each tile is sorted on its own. Buckets of the parts follow each
//! other in the order of the list, so the result does not depend on the number of threads. Peak
//! memory is the input and a copy of it beside the result: four bytes an entry while row and column
//! fit them (a million nodes), else eight, and four more with values.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::buckets::{Buckets, Packed, Packing};
use super::cells::{Key, Sorter};
use super::{GraphError, ProgressCounter, STRIP_COLUMNS, Tiling, parallel};
use crate::kernel::tile::Tile;

/// Counts the tiles that were built.
pub static TILES_MADE: ProgressCounter = ProgressCounter::new();

/// How entries at the same place are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duplicates {
    /// Their values add up.
    #[default]
    Add,
    /// The first listed counts, the others are ignored.
    Once,
}

/// A source of matrix entries that can be visited repeatedly, in parts.
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
#[derive(Debug, Default)]
pub(super) struct Built {
    pub tiles: Vec<Tile>,
    pub merged_on_diagonal: usize,
    pub merged_off_diagonal: usize,
    /// How many entries each row has, once they were counted.
    pub row_counts: Vec<u32>,
}

/// Builds the tiles of a matrix of `cols` columns.
pub(super) fn build(
    entries: impl Entries,
    tiling: Tiling,
    cols: usize,
    duplicates: Duplicates,
) -> Result<Built, GraphError> {
    let target = BuildTarget { tiling, cols, duplicates };
    let packing = Packing::new(tiling, cols);
    match (packing.fits_half(), entries.has_values()) {
        (true, false) => build_as::<u32, u32>(entries, packing, target),
        (true, true) => build_as::<u32, u64>(entries, packing, target),
        (false, false) => build_as::<u64, u32>(entries, packing, target),
        (false, true) => build_as::<u64, u64>(entries, packing, target),
    }
}

/// The matrix to build.
#[derive(Clone, Copy)]
struct BuildTarget {
    tiling: Tiling,
    cols: usize,
    duplicates: Duplicates,
}

/// Builds by way of buckets of `P` and strips of `K`.
fn build_as<P: Packed, K: Key>(
    entries: impl Entries,
    packing: Packing,
    target: BuildTarget,
) -> Result<Built, GraphError> {
    let BuildTarget { tiling, cols, duplicates } = target;
    let threads = parallel::threads(entries.size());
    let fill = |part| Buckets::<P>::fill(&entries, part, tiling, packing);
    let buckets = parallel::parts(entries.units(), threads, fill);
    drop(entries);
    let start = || Sorter::<K>::new(cols);
    TILES_MADE.expect(tiling.count() as u64);
    let tiles = parallel::singly(tiling.count(), threads, start, |sorter, tile| {
        let range = tiling.range(tile);
        let parts: Vec<_> = buckets.iter().map(|buckets| buckets.tile(tile)).collect();
        let sorted = sorter.sort(&parts, packing, range.start, range.len(), duplicates)?;
        let tile = Tile::new(range.len(), cols, STRIP_COLUMNS, sorted.parts)
            .map_err(|source| GraphError::Tile { tile, source })?;
        TILES_MADE.advance(1);
        Ok((tile, sorted.merged_on_diagonal, sorted.merged_off_diagonal))
    });
    let mut built = Built { tiles: Vec::with_capacity(tiling.count()), ..Built::default() };
    for result in tiles {
        let (tile, on, off) = result?;
        built.tiles.push(tile);
        built.merged_on_diagonal += on;
        built.merged_off_diagonal += off;
    }
    Ok(built)
}
