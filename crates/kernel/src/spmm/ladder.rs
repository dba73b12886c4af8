//! A small sparse matrix with its rows in the order of their number of entries.
//!
//! Where the panel is in a nearby cache a product no longer waits for memory, but for the processor to find out after every
//! row that its guess of how many entries it has was wrong: with ten entries a row that is half of the time, with three most of
//! it. So rows of equally many entries, a rung, follow each other. In rows of many entries each sum waits for the one before it, so
//! a few of these are summed up side by side. The entries of a row keep their order, and with it the bits.
//!
//! The rows of the result, and of what is added to it, are then picked in the order of the ladder, each of them by itself. Where panels
//! have their rows in that order ([`Ladder::settled`]) they are gone over one after the other.

use super::{Cell, Factors, NEAR, Panel, PanelMut, Simd, Start};
use crate::{LANES, stride};

/// Entries a row, on average, up to which a ladder pays: beyond, guesses are wrong too seldom to matter.
const MOST_ENTRIES: usize = 64;
/// Entries from which on a row is long: several of them are summed up side by side.
pub(super) const LONG: u16 = 8;
/// Rows are numbered with 16 bits.
const MOST_ROWS: usize = 1 << 16;

/// A copy of some tiles, by rungs.
#[derive(Debug, Clone)]
pub struct Ladder {
    width: usize,
    /// How many entries the rows of a rung have, and how many rows there are; of rows that are not long.
    rungs: Vec<(u16, u32)>,
    /// How many entries each of the long rows has; none has more than the next.
    long: Vec<u16>,
    /// The rows: rung after rung, and then the long ones.
    order: Vec<u16>,
    /// The columns of the entries, row after row in that order.
    columns: Vec<u16>,
    /// One value an entry; empty when all are one.
    values: Vec<f32>,
}

impl Ladder {
    /// The ladder of tiles that follow each other, each with a single strip; `None` if that would not pay.
    pub fn new<'a>(cells: impl Iterator<Item = Cell<'a>> + Clone) -> Option<Self> {
        let (rows, entries): (Vec<usize>, Vec<usize>) =
            cells.clone().map(|cell| (cell.height(), cell.columns().len())).unzip();
        let (height, nonzeros) = (rows.iter().sum::<usize>(), entries.iter().sum::<usize>());
        let width = cells.clone().next()?.width();
        if height > MOST_ROWS || nonzeros > MOST_ENTRIES * height || width > NEAR / LANES {
            return None;
        }
        let is_weighted = cells.clone().any(|cell| cell.values().is_some());
        // Of every row: how many entries, in which cell, and from where on.
        let mut runs = vec![(0, 0, 0); height];
        let mut first = 0;
        for (number, cell) in cells.clone().enumerate() {
            let mut at = 0;
            for (&row, &count) in cell.rows().iter().zip(cell.counts()) {
                runs[first + usize::from(row)] = (count, number, at);
                at += usize::from(count);
            }
            first += cell.height();
        }
        let order = by_count(runs.iter().map(|&(count, ..)| count));
        let cells: Vec<Cell<'a>> = cells.collect();
        let mut ladder =
            Ladder { width, rungs: vec![], long: vec![], order, columns: Vec::with_capacity(nonzeros), values: vec![] };
        for &row in &ladder.order {
            let (count, number, at) = runs[usize::from(row)];
            let (cell, run) = (&cells[number], at..at + usize::from(count));
            ladder.columns.extend_from_slice(&cell.columns()[run.clone()]);
            match cell.values() {
                Some(values) => ladder.values.extend_from_slice(&values[run]),
                None if is_weighted => ladder.values.resize(ladder.columns.len(), 1.0),
                None => {}
            }
            match ladder.rungs.last_mut().filter(|rung| rung.0 == count) {
                _ if count >= LONG => ladder.long.push(count),
                Some(rung) => rung.1 += 1,
                None => ladder.rungs.push((count, 1)),
            }
        }
        Some(ladder)
    }

    /// The row that is at each place of the order in which the rows are gone over.
    pub fn order(&self) -> &[u16] {
        &self.order
    }

    /// The same product for panels whose rows are in the order of the ladder; `None` if the matrix is not square.
    pub fn settled(&self) -> Option<Self> {
        if self.width != self.order.len() {
            return None;
        }
        let mut places = vec![0; self.width];
        self.order.iter().zip(0..).for_each(|(&row, place)| places[usize::from(row)] = place);
        Some(Self {
            order: (0..self.width).map(|row| row as u16).collect(),
            columns: self.columns.iter().map(|&column| places[usize::from(column)]).collect(),
            ..self.clone()
        })
    }

    /// Whether a product with a panel of so many columns goes by this ladder, with these instructions.
    pub fn takes(&self, simd: Simd, cols: usize) -> bool {
        let width = stride(cols);
        simd.is_fast() && matches!(width / LANES, 1 | 2 | 4) && self.width * width <= NEAR
    }

    /// `y = start + alpha · diag(left) · A · diag(right) · x`, with the bits of the product tile by tile.
    ///
    /// # Panics
    /// If the ladder does not [take](Ladder::takes) so many columns, it is to be added to an earlier strip, or shapes do not
    /// fit each other.
    pub fn multiply(&self, simd: Simd, x: Panel, factors: &Factors, start: Start, mut y: PanelMut) {
        let (height, width) = (self.order.len(), x.stride());
        assert!(self.takes(simd, x.cols()), "a panel for the ladder");
        assert_eq!((x.rows(), y.rows(), y.stride()), (self.width, height, width), "shapes of a product");
        assert!(factors.left.is_none_or(|d| d.len() == height), "one left factor a row");
        assert!(factors.right.is_none_or(|d| d.len() == self.width), "one right factor a column");
        match start {
            Start::Accumulate => panic!("a ladder has one strip"),
            Start::Zero => {}
            Start::Add { diagonal, panel, .. } => {
                assert_eq!((panel.rows(), panel.stride()), (height, width), "shape of the added panel");
                assert!(diagonal.is_none_or(|d| d.len() == height), "one factor a row of the added panel");
            }
        }
        #[cfg(target_arch = "x86_64")]
        {
            let job = Rungs { ladder: self, x: x.data(), factors, start };
            // SAFETY: `simd` proves that the instructions are there; shapes and width were checked above, and columns when
            // the tiles were built.
            unsafe {
                match (self.values.is_empty(), factors.right.is_some()) {
                    (true, false) => climb::<false, false>(simd, width / LANES, &job, y.data_mut()),
                    (true, true) => climb::<false, true>(simd, width / LANES, &job, y.data_mut()),
                    (false, false) => climb::<true, false>(simd, width / LANES, &job, y.data_mut()),
                    (false, true) => climb::<true, true>(simd, width / LANES, &job, y.data_mut()),
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (factors, &mut y);
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn rungs(&self) -> &[(u16, u32)] {
        &self.rungs
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn long(&self) -> &[u16] {
        &self.long
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn columns(&self) -> &[u16] {
        &self.columns
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }
}

/// The rows in the order of their counts; of equal ones, in their own.
fn by_count(counts: impl Iterator<Item = u16> + Clone) -> Vec<u16> {
    // How many rows have fewer entries; then where the next row of a count goes.
    let mut places = vec![0; counts.clone().max().map_or(0, usize::from) + 2];
    counts.clone().for_each(|count| places[usize::from(count) + 1] += 1);
    for count in 1..places.len() {
        places[count] += places[count - 1];
    }
    let mut order = vec![0; places.last().copied().unwrap_or_default()];
    for (row, count) in counts.enumerate() {
        let place = &mut places[usize::from(count)];
        order[*place] = row as u16;
        *place += 1;
    }
    order
}

/// A checked call.
#[cfg(target_arch = "x86_64")]
pub(super) struct Rungs<'a> {
    pub(super) ladder: &'a Ladder,
    pub(super) x: &'a [f32],
    pub(super) factors: &'a Factors<'a>,
    pub(super) start: Start<'a>,
}

/// # Safety
/// `simd` has what is fast, the rows of the panels are one, two or four lane groups apart, and the shapes of the job and of `y`
/// fit each other.
#[cfg(target_arch = "x86_64")]
unsafe fn climb<const VALUES: bool, const RIGHT: bool>(simd: Simd, groups: usize, job: &Rungs, y: &mut [f32]) {
    use super::{avx2, avx512};
    // SAFETY: the caller's promise.
    unsafe {
        match (groups, simd.is_wide()) {
            (1, _) => avx2::climb::<1, VALUES, RIGHT>(job, y),
            (2, false) => avx2::climb::<2, VALUES, RIGHT>(job, y),
            (2, true) => avx512::climb::<1, VALUES, RIGHT>(job, y),
            (_, false) => avx2::climb::<4, VALUES, RIGHT>(job, y),
            (_, true) => avx512::climb::<2, VALUES, RIGHT>(job, y),
        }
    }
}
