//! One tile on its way to rows and columns in order.

use super::GraphError;
use super::build::Duplicates;
use crate::kernel::tile::Parts;

/// Entries of a tile that came from one part of the list: row above and column below, and their values.
pub(super) type Bucket<'a> = (&'a [u64], Option<&'a [f32]>);

/// A sorted tile, and how many entries were merged into others on and off the diagonal.
pub(super) struct Sorted {
    pub parts: Parts,
    pub merged_on_diagonal: usize,
    pub merged_off_diagonal: usize,
}

/// Sorts tiles, one after the other.
///
/// Entries are thrown into one bucket a strip, where row and column offset fit 32 bits together, and each strip is sorted in one
/// go. That is the order in which a tile keeps them.
pub(super) struct Sorter {
    cols: usize,
    width: usize,
    /// Bits of a column offset.
    bits: u32,
    /// Row, column offset, and value bits below.
    keys: Vec<u64>,
    rows: Vec<u16>,
    counts: Vec<u16>,
    columns: Vec<u16>,
    values: Vec<f32>,
}

impl Sorter {
    pub fn new(cols: usize, width: usize) -> Self {
        let bits = width.next_power_of_two().trailing_zeros();
        Self { cols, width, bits, keys: vec![], rows: vec![], counts: vec![], columns: vec![], values: vec![] }
    }

    /// Sorts a tile and merges its duplicates.
    pub fn sort(
        &mut self,
        buckets: &[Bucket],
        first_row: usize,
        height: usize,
        duplicates: Duplicates,
    ) -> Result<Sorted, GraphError> {
        debug_assert!(height <= 1 << 16 && self.width <= 1 << 16);
        let ends = self.throw(buckets);
        let valued = buckets.iter().any(|(_, values)| values.is_some());
        self.rows.clear();
        self.counts.clear();
        self.columns.clear();
        self.values.clear();
        let mut sorted = Sorted { parts: Parts::default(), merged_on_diagonal: 0, merged_off_diagonal: 0 };
        sorted.parts.starts.reserve_exact(ends.len() + 1);
        sorted.parts.starts.push((0, 0));
        let (mut start, mut weighted) = (0, false);
        for (strip, end) in ends.into_iter().enumerate() {
            match duplicates {
                // The first listed of a place stays the first.
                Duplicates::Once if valued => self.keys[start..end].sort_by_key(|key| key >> 32),
                // Value bits are part of the order, so a sum does not depend on the order of the input.
                _ => self.keys[start..end].sort_unstable(),
            }
            weighted |= self.merge(start..end, (first_row, strip * self.width), duplicates, &mut sorted)?;
            sorted.parts.starts.push((self.rows.len(), self.columns.len()));
            start = end;
        }
        sorted.parts.rows = self.rows.clone();
        sorted.parts.counts = self.counts.clone();
        sorted.parts.columns = self.columns.clone();
        sorted.parts.values = weighted.then(|| self.values.clone());
        Ok(sorted)
    }

    /// Throws entries together by strip, in the order they came; says where each strip ends.
    fn throw(&mut self, buckets: &[Bucket]) -> Vec<usize> {
        let width = self.width as u32;
        let strips = self.cols.div_ceil(self.width).max(1);
        let mut next = vec![0usize; strips + 1];
        for place in buckets.iter().flat_map(|(places, _)| *places) {
            next[(*place as u32 / width) as usize + 1] += 1;
        }
        for strip in 0..strips {
            next[strip + 1] += next[strip];
        }
        let total = next[strips];
        self.keys.clear();
        self.keys.resize(total, 0);
        for (places, values) in buckets {
            for (n, &place) in places.iter().enumerate() {
                let value = values.map_or(1.0, |values| values[n]);
                let (row, col) = ((place >> 32) as u32, place as u32);
                let strip = col / width;
                let offset = col - strip * width;
                let at = &mut next[strip as usize];
                self.keys[*at] = u64::from(row << self.bits | offset) << 32 | u64::from(value.to_bits());
                *at += 1;
            }
        }
        // Every strip has moved on to where the following one started.
        next.truncate(strips);
        next
    }

    /// Appends a sorted strip to the arrays of the tile; says whether some value is not one.
    fn merge(
        &mut self,
        range: std::ops::Range<usize>,
        (first_row, first_col): (usize, usize),
        duplicates: Duplicates,
        sorted: &mut Sorted,
    ) -> Result<bool, GraphError> {
        let mask = (1u32 << self.bits) - 1;
        let keys = &self.keys[range];
        let mut weighted = false;
        let mut at = 0;
        let mut last = None;
        while at < keys.len() {
            let place = (keys[at] >> 32) as u32;
            let mut value = f32::from_bits(keys[at] as u32);
            let mut end = at + 1;
            while end < keys.len() && (keys[end] >> 32) as u32 == place {
                end += 1;
            }
            let (row, offset) = (place >> self.bits, place & mask);
            if end - at > 1 {
                let (row, col) = (first_row + row as usize, first_col + offset as usize);
                let merged = if row == col { &mut sorted.merged_on_diagonal } else { &mut sorted.merged_off_diagonal };
                *merged += end - at - 1;
                if duplicates == Duplicates::Add {
                    let sum: f64 = keys[at..end].iter().map(|&key| f64::from(f32::from_bits(key as u32))).sum();
                    value = sum as f32;
                    if !value.is_finite() {
                        return Err(GraphError::Overflow { row, col, sum });
                    }
                }
            }
            weighted |= value != 1.0;
            if last == Some(row) {
                if let Some(count) = self.counts.last_mut() {
                    *count += 1;
                }
            } else {
                self.rows.push(row as u16);
                self.counts.push(1);
                last = Some(row);
            }
            self.columns.push(offset as u16);
            self.values.push(value);
            at = end;
        }
        Ok(weighted)
    }
}
