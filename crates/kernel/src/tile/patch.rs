//! In-place changes of tiles.
//!
//! Entries between two changes are moved together, so a change costs the search for its place. The
//! arrays equal those of the changed tile built anew.

use super::{MAX_TILE_ROWS, Parts, Tile};

/// A change of one entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edit {
    /// The strip.
    pub strip: u32,
    /// The row of the tile.
    pub row: u16,
    /// The offset from the first column of the strip.
    pub column: u16,
    /// Its new value; `None` removes the entry.
    pub value: Option<f32>,
}

impl Tile {
    /// Grows the tile to more rows and columns, adding strips as needed.
    ///
    /// # Panics
    /// If the tile would become smaller, or too high.
    pub fn grow(&mut self, height: usize, cols: usize) {
        assert!((self.height..=MAX_TILE_ROWS).contains(&height) && cols >= self.cols, "a tile only grows");
        let strips = cols.div_ceil(self.width).max(1);
        if strips > self.strips() {
            let mut starts = std::mem::take(&mut self.parts.starts).into_vec();
            let end = starts[starts.len() - 1];
            starts.resize(strips + 1, end);
            self.parts.starts = starts.into();
        }
        (self.height, self.cols) = (height, cols);
    }

    /// Changes entries. Edits are sorted by strip, row and column, at most one an entry; removing a
    /// missing entry has no effect.
    ///
    /// # Panics
    /// If an edit lies outside, or edits are out of order.
    pub fn patch(&mut self, edits: &[Edit]) {
        if edits.is_empty() {
            return;
        }
        assert!(edits.is_sorted_by(|a, b| a.place() < b.place()), "edits are in order");
        assert!(edits.iter().all(|edit| self.has(edit)), "edits lie in the tile");
        let mut parts = std::mem::take(&mut self.parts);
        if parts.values.is_none() && edits.iter().any(|edit| edit.value.is_some_and(|value| value != 1.0)) {
            parts.values = Some(vec![1.0; parts.columns.len()].into());
        }
        let mut moves = Moves { grown: vec![[0; 2]; parts.starts.len() - 1], ..Moves::default() };
        for of_strip in edits.chunk_by(|a, b| a.strip == b.strip) {
            let mut walk = Walk::new(&parts, of_strip[0].strip as usize);
            of_strip.chunk_by(|a, b| a.row == b.row).for_each(|of_row| walk.edit(of_row, &mut moves));
        }
        self.parts = moves.apply(parts);
    }

    fn has(&self, edit: &Edit) -> bool {
        let (strip, column) = (edit.strip as usize, usize::from(edit.column));
        strip < self.strips() && usize::from(edit.row) < self.height && strip * self.width + column < self.cols
    }
}

impl Edit {
    /// Its position in the order of entries.
    fn place(&self) -> (u32, u16, u16) {
        (self.strip, self.row, self.column)
    }
}

/// A cursor over the runs of a strip.
struct Walk<'a> {
    parts: &'a Parts,
    strip: usize,
    /// The next run, and the last one's successor.
    run: usize,
    end: usize,
    /// The first entry of the next run.
    entry: usize,
}

impl<'a> Walk<'a> {
    fn new(parts: &'a Parts, strip: usize) -> Self {
        let ([run, entry], [end, _]) = (parts.starts[strip], parts.starts[strip + 1]);
        Self { parts, strip, run: run as usize, end: end as usize, entry: entry as usize }
    }

    /// Records the edits of one row; rows come in order.
    fn edit(&mut self, edits: &[Edit], moves: &mut Moves) {
        let Parts { rows, counts, columns, values, .. } = self.parts;
        let row = edits[0].row;
        while self.run < self.end && rows[self.run] < row {
            self.entry += usize::from(counts[self.run]);
            self.run += 1;
        }
        let is_there = self.run < self.end && rows[self.run] == row;
        let before = if is_there { counts[self.run] } else { 0 };
        let own = &columns[self.entry..self.entry + usize::from(before)];
        let mut count = before;
        for edit in edits {
            match (own.binary_search(&edit.column), edit.value) {
                (Ok(place), Some(value)) if values.is_some() => moves.valued.push((self.entry + place, value)),
                (Ok(place), None) => {
                    moves.columns.leaving.push(self.entry + place);
                    count -= 1;
                }
                (Err(place), Some(value)) => {
                    moves.columns.coming.push((self.entry + place, edit.column));
                    moves.values_coming.push((self.entry + place, value));
                    count += 1;
                }
                _ => {}
            }
        }
        let grown = &mut moves.grown[self.strip];
        grown[1] += i64::from(count) - i64::from(before);
        match (before, count) {
            (0, 0) => {}
            (0, _) => {
                moves.rows.coming.push((self.run, row));
                moves.counts_coming.push((self.run, count));
                grown[0] += 1;
            }
            (_, 0) => {
                moves.rows.leaving.push(self.run);
                grown[0] -= 1;
            }
            _ => moves.counted.push((self.run, count)),
        }
    }
}

/// Positions of removed entries, and positions before which entries are inserted, both ascending.
#[derive(Default)]
struct Moved<T> {
    leaving: Vec<usize>,
    coming: Vec<(usize, T)>,
}

/// Changes of the arrays of a tile. Counts move with rows, values with columns.
#[derive(Default)]
struct Moves {
    rows: Moved<u16>,
    counts_coming: Vec<(usize, u16)>,
    columns: Moved<u16>,
    values_coming: Vec<(usize, f32)>,
    /// New lengths of runs.
    counted: Vec<(usize, u16)>,
    /// New values of entries.
    valued: Vec<(usize, f32)>,
    /// Added runs and entries of each strip.
    grown: Vec<[i64; 2]>,
}

impl Moves {
    fn apply(self, parts: Parts) -> Parts {
        let Parts { starts, rows, counts, columns, values } = parts;
        let (mut starts, mut rows, mut counts) = (starts.into_vec(), rows.into_vec(), counts.into_vec());
        let mut columns = columns.into_vec();
        let mut total = [0; 2];
        for (start, grown) in starts[1..].iter_mut().zip(&self.grown) {
            for side in 0..2 {
                total[side] += grown[side];
                start[side] = (i64::from(start[side]) + total[side]) as u32;
            }
        }
        self.counted.iter().for_each(|&(run, count)| counts[run] = count);
        splice(&mut rows, &self.rows.leaving, &self.rows.coming);
        splice(&mut counts, &self.rows.leaving, &self.counts_coming);
        splice(&mut columns, &self.columns.leaving, &self.columns.coming);
        let values = values.map(|values| {
            let mut values = values.into_vec();
            self.valued.iter().for_each(|&(entry, value)| values[entry] = value);
            splice(&mut values, &self.columns.leaving, &self.values_coming);
            values
        });
        Parts {
            starts: starts.into(),
            rows: rows.into(),
            counts: counts.into(),
            columns: columns.into(),
            values: values.filter(|values| values.iter().any(|&value| value != 1.0)).map(Into::into),
        }
    }
}

/// Spare capacity on reallocation, as a fraction of the length.
const SLACK: usize = 16;

/// Removes and inserts entries of an array.
fn splice<T: Copy>(array: &mut Vec<T>, leaving: &[usize], coming: &[(usize, T)]) {
    let mut to = leaving.first().copied().unwrap_or(array.len());
    for (place, &gone) in leaving.iter().enumerate() {
        let next = leaving.get(place + 1).copied().unwrap_or(array.len());
        array.copy_within(gone + 1..next, to);
        to += next - gone - 1;
    }
    array.truncate(to);
    let Some(&(_, any)) = coming.first() else { return };
    let mut end = array.len();
    if array.capacity() - end < coming.len() {
        array.reserve_exact(coming.len() + end / SLACK);
    }
    array.resize(end + coming.len(), any);
    for (before, &(place, entry)) in coming.iter().enumerate().rev() {
        let place = place - leaving.partition_point(|&gone| gone < place);
        array.copy_within(place..end, place + before + 1);
        array[place + before] = entry;
        end = place;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const WIDTH: usize = 8;

    type Entries = BTreeMap<(u32, u16, u16), f32>;

    /// The arrays of a tile with some entries.
    fn tile(height: usize, cols: usize, entries: &Entries) -> Tile {
        let strips = cols.div_ceil(WIDTH).max(1);
        let (mut starts, mut rows, mut counts) = (vec![[0; 2]], vec![], vec![]);
        for strip in 0..strips as u32 {
            let own: Vec<u16> = entries.keys().filter(|place| place.0 == strip).map(|place| place.1).collect();
            for run in own.chunk_by(|a, b| a == b) {
                rows.push(run[0]);
                counts.push(run.len() as u16);
            }
            let last: [u32; 2] = starts[starts.len() - 1];
            starts.push([rows.len() as u32, last[1] + own.len() as u32]);
        }
        let values: Vec<f32> = entries.values().copied().collect();
        let parts = Parts {
            starts: starts.into(),
            rows: rows.into(),
            counts: counts.into(),
            columns: entries.keys().map(|place| place.2).collect::<Vec<_>>().into(),
            values: values.iter().any(|&value| value != 1.0).then(|| values.into()),
        };
        Tile::new(height, cols, WIDTH, parts).unwrap()
    }

    fn place(cols: usize) -> impl Strategy<Value = (u32, u16, u16)> {
        (0..cols, 0u16..5).prop_map(|(col, row)| ((col / WIDTH) as u32, row, (col % WIDTH) as u16))
    }

    fn value() -> impl Strategy<Value = f32> {
        prop_oneof![4 => Just(1.0), 1 => Just(0.5), 1 => Just(0.0)]
    }

    proptest! {
        #[test]
        fn a_patched_tile_is_the_one_built_anew(
            before in prop::collection::btree_map(place(20), value(), 0..60),
            edits in prop::collection::btree_map(place(27), prop::option::of(value()), 0..60),
        ) {
            let mut patched = tile(5, 20, &before);
            patched.grow(7, 27);
            let list: Vec<Edit> =
                edits.iter().map(|(&(strip, row, column), &value)| Edit { strip, row, column, value }).collect();
            patched.patch(&list);
            let mut after = before;
            for (place, value) in edits {
                match value {
                    Some(value) => after.insert(place, value),
                    None => after.remove(&place),
                };
            }
            prop_assert_eq!(patched, tile(7, 27, &after));
        }
    }

    #[test]
    #[should_panic(expected = "edits lie in the tile")]
    fn an_edit_outside_is_refused() {
        tile(2, 20, &Entries::new()).patch(&[Edit { strip: 2, row: 0, column: 4, value: None }]);
    }
}
