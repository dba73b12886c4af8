//! Sorting the entries of a tile.

use std::ops::Range;

use super::buckets::{Bucket, Packed, Packing};
use super::build::Duplicates;
use super::{GraphError, STRIP_COLUMNS, radix};
use crate::kernel::tile::Parts;

/// A sorted tile, and how many entries were merged into others on and off the diagonal.
pub(super) struct Sorted {
    pub parts: Parts,
    pub merged_on_diagonal: usize,
    pub merged_off_diagonal: usize,
}

/// An entry of a strip: its place, and its value if entries have some. Those of one place are added
/// up in the order of their value bits, so that a sum does not depend on the order of the input.
pub(super) trait Key: Copy + Ord + Default {
    fn new(place: u32, value: f32) -> Self;
    fn place(self) -> u32;
    fn value(self) -> f32;
}

/// Every value is one.
impl Key for u32 {
    fn new(place: u32, _: f32) -> Self {
        place
    }

    fn place(self) -> u32 {
        self
    }

    fn value(self) -> f32 {
        1.0
    }
}

impl Key for u64 {
    fn new(place: u32, value: f32) -> Self {
        u64::from(place) << 32 | u64::from(value.to_bits())
    }

    fn place(self) -> u32 {
        (self >> 32) as u32
    }

    fn value(self) -> f32 {
        f32::from_bits(self as u32)
    }
}

/// Sorts tiles, one after the other.
///
/// Entries are scattered into one bucket for each strip, where row and column offset fit 32 bits
/// together, and each strip is sorted in one go. That is the order in which a tile keeps them.
pub(super) struct Sorter<K> {
    strips: usize,
    /// Bits of a column offset; those of a row are above.
    bits: u32,
    keys: Vec<K>,
    spare: Vec<K>,
    rows: Vec<u16>,
    counts: Vec<u16>,
    columns: Vec<u16>,
    /// Empty while all are one.
    values: Vec<f32>,
}

impl<K: Key> Sorter<K> {
    /// A sorter of tiles of `cols` columns.
    pub fn new(cols: usize) -> Self {
        Self {
            strips: cols.div_ceil(STRIP_COLUMNS).max(1),
            bits: STRIP_COLUMNS.min(cols).next_power_of_two().trailing_zeros(),
            keys: vec![],
            spare: vec![],
            rows: vec![],
            counts: vec![],
            columns: vec![],
            values: vec![],
        }
    }

    /// Sorts a tile of `height` rows and merges its duplicates.
    pub fn sort<P: Packed>(
        &mut self,
        buckets: &[Bucket<P>],
        packing: Packing,
        first_row: usize,
        height: usize,
        duplicates: Duplicates,
    ) -> Result<Sorted, GraphError> {
        let row_bits = height.next_power_of_two().trailing_zeros();
        let ends = self.scatter(buckets, packing);
        self.rows.clear();
        self.counts.clear();
        self.columns.clear();
        self.values.clear();
        let mut sorted = Sorted { parts: Parts::default(), merged_on_diagonal: 0, merged_off_diagonal: 0 };
        let mut starts = Vec::with_capacity(ends.len() + 1);
        starts.push([0, 0]);
        let mut start = 0;
        for (strip, end) in ends.into_iter().enumerate() {
            radix::sort_by_place(&mut self.keys[start..end], self.bits + row_bits, &mut self.spare);
            self.merge(start..end, (first_row, strip * STRIP_COLUMNS), duplicates, &mut sorted)?;
            // Entries beyond what 32 bits count are refused with the tile.
            starts.push([self.rows.len() as u32, self.columns.len() as u32]);
            start = end;
        }
        sorted.parts = Parts {
            starts: starts.into(),
            rows: self.rows.clone().into(),
            counts: self.counts.clone().into(),
            columns: self.columns.clone().into(),
            values: (!self.values.is_empty()).then(|| self.values.clone().into()),
        };
        Ok(sorted)
    }

    /// Scatters entries by strip, in the order of the input; returns the end of each strip.
    fn scatter<P: Packed>(&mut self, buckets: &[Bucket<P>], packing: Packing) -> Vec<usize> {
        let bits = self.bits;
        let mut next = vec![0usize; self.strips + 1];
        for place in buckets.iter().flat_map(|(places, _)| *places) {
            next[place.col(packing) as usize / STRIP_COLUMNS + 1] += 1;
        }
        for strip in 0..self.strips {
            next[strip + 1] += next[strip];
        }
        self.keys.clear();
        self.keys.resize(next[self.strips], K::default());
        for (places, values) in buckets {
            for (n, &place) in places.iter().enumerate() {
                let value = values.map_or(1.0, |values| values[n]);
                let col = place.col(packing);
                let (strip, offset) = (col as usize / STRIP_COLUMNS, col % STRIP_COLUMNS as u32);
                let at = &mut next[strip];
                self.keys[*at] = K::new(place.row(packing) << bits | offset, value);
                *at += 1;
            }
        }
        // The cursor of each strip has moved to its end.
        next.truncate(self.strips);
        next
    }

    /// Appends a sorted strip to the arrays of the tile.
    fn merge(
        &mut self,
        range: Range<usize>,
        (first_row, first_col): (usize, usize),
        duplicates: Duplicates,
        sorted: &mut Sorted,
    ) -> Result<(), GraphError> {
        let mask = ((1u64 << self.bits) - 1) as u32;
        let keys = &mut self.keys[range];
        let mut last = None;
        let mut at = 0;
        while at < keys.len() {
            let place = keys[at].place();
            let mut value = keys[at].value();
            let mut end = at + 1;
            while end < keys.len() && keys[end].place() == place {
                end += 1;
            }
            let (row, offset) = (place >> self.bits, place & mask);
            if end - at > 1 {
                let (row, col) = (first_row + row as usize, first_col + offset as usize);
                let merged = if row == col { &mut sorted.merged_on_diagonal } else { &mut sorted.merged_off_diagonal };
                *merged += end - at - 1;
                // The first listed of a place is still the first.
                if duplicates == Duplicates::Add {
                    keys[at..end].sort_unstable();
                    let sum: f64 = keys[at..end].iter().map(|key| f64::from(key.value())).sum();
                    value = sum as f32;
                    if !value.is_finite() {
                        return Err(GraphError::Overflow { row, col, sum });
                    }
                }
            }
            if value != 1.0 || !self.values.is_empty() {
                self.values.resize(self.columns.len(), 1.0);
                self.values.push(value);
            }
            if last == Some(row)
                && let Some(count) = self.counts.last_mut()
            {
                *count += 1;
            } else {
                self.rows.push(row as u16);
                self.counts.push(1);
                last = Some(row);
            }
            self.columns.push(offset as u16);
            at = end;
        }
        Ok(())
    }
}
