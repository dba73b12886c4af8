//! A copy of small sparse tiles as CSR with the rows sorted by length.
//!
//! Where the panel is in a near cache a product waits for mispredicted branches, not for memory:
//! the number of entries of the next row is guessed wrong after every row. That is half of the time
//! at ten entries a row, and most of it at three. So rows of equal length follow each other in a
//! bucket. In long rows each addition waits for the one before it, so four of these are summed side
//! by side. The entries of a row keep their order, and with it the bits.
//!
//! Rows of the result and of the added panel are then scattered. [`LengthSortedRows::permuted`]
//! gives the matrix PAPᵀ for panels whose rows are in the sorted order.

#[cfg(target_arch = "x86_64")]
use super::sorted_rows::sorted_rows;
use super::{Cell, Factors, NEAR, Panel, PanelMut, RowPermutation, Simd, Start, assert_shapes};
#[cfg(target_arch = "x86_64")]
use crate::registers::{Avx2, Avx512};
use crate::{LANES, stride};

/// Largest mean row length for which sorting pays. Longer rows have too few mispredicted branches.
const MOST_ENTRIES: usize = 64;
/// Shortest long row: long rows are summed four side by side.
const LONG: u16 = 8;
/// Rows are numbered with 16 bits.
const MOST_ROWS: usize = 1 << 16;

/// The rows of some tiles, sorted by their number of entries.
#[derive(Debug, Clone)]
pub struct LengthSortedRows {
    width: usize,
    /// Entries of each row of a bucket, and rows of the bucket; rows shorter than [`LONG`].
    buckets: Vec<(u16, u32)>,
    /// Entries of each long row, ascending.
    long: Vec<u16>,
    /// Row numbers: bucket after bucket, then the long rows.
    order: Vec<u16>,
    /// The columns of the entries, row after row in that order.
    columns: Vec<u16>,
    /// One value an entry; empty when all are one.
    values: Vec<f32>,
}

impl LengthSortedRows {
    /// Sorts the rows of consecutive tiles of a single strip; `None` where that would not pay.
    pub fn new<'a>(cells: impl Iterator<Item = Cell<'a>> + Clone) -> Option<Self> {
        let (rows, entries): (Vec<usize>, Vec<usize>) =
            cells.clone().map(|cell| (cell.height(), cell.columns().len())).unzip();
        let (height, nonzeros) = (rows.iter().sum::<usize>(), entries.iter().sum::<usize>());
        let width = cells.clone().next()?.width();
        if height > MOST_ROWS || nonzeros > MOST_ENTRIES * height || width > NEAR / LANES {
            return None;
        }
        let is_weighted = cells.clone().any(|cell| cell.values().is_some());
        // For each row: its length, its cell, and its first entry there.
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
        let columns = Vec::with_capacity(nonzeros);
        let mut sorted = Self { width, buckets: vec![], long: vec![], order, columns, values: vec![] };
        for &row in &sorted.order {
            let (count, number, at) = runs[usize::from(row)];
            let (cell, run) = (&cells[number], at..at + usize::from(count));
            sorted.columns.extend_from_slice(&cell.columns()[run.clone()]);
            match cell.values() {
                Some(values) => sorted.values.extend_from_slice(&values[run]),
                None if is_weighted => sorted.values.resize(sorted.columns.len(), 1.0),
                None => {}
            }
            match sorted.buckets.last_mut().filter(|bucket| bucket.0 == count) {
                _ if count >= LONG => sorted.long.push(count),
                Some(bucket) => bucket.1 += 1,
                None => sorted.buckets.push((count, 1)),
            }
        }
        Some(sorted)
    }

    /// PAPᵀ for panels Px, and P; `None` if A is not square.
    pub fn permuted(&self) -> Option<(RowPermutation, Self)> {
        if self.width != self.order.len() {
            return None;
        }
        let permutation = RowPermutation::new(&self.order);
        let position = |&column: &u16| permutation.positions(0..self.width)[usize::from(column)];
        let columns = self.columns.iter().map(position).collect();
        let order = (0..self.width).map(|row| row as u16).collect();
        Some((permutation, Self { order, columns, ..self.clone() }))
    }

    pub(super) fn shape(&self) -> (usize, usize) {
        (self.order.len(), self.width)
    }

    /// Whether products with panels of `cols` columns use the sorted rows, with these instructions:
    /// the panel must stay in a near cache, and its rows fit registers.
    pub fn suits(&self, simd: Simd, cols: usize) -> bool {
        let width = stride(cols);
        simd.is_fast() && matches!(width / LANES, 1 | 2 | 4) && self.width * width <= NEAR
    }

    /// `y = start + alpha · diag(left) · A · diag(right) · x`, with the bits of the product by
    /// tile.
    ///
    /// # Panics
    /// If the sorted rows do not [suit](Self::suits) the panel, or shapes do not fit each other.
    pub(super) fn spmm(&self, simd: Simd, x: Panel, factors: &Factors, start: Start, mut y: PanelMut) {
        let width = x.stride();
        assert!(self.suits(simd, x.cols()), "a panel that suits sorted rows");
        assert!(!matches!(start, Start::Accumulate), "sorted rows have one strip");
        assert_shapes(self.shape(), x, factors, start, &y);
        #[cfg(target_arch = "x86_64")]
        {
            let job = SortedJob {
                buckets: &self.buckets,
                long: &self.long,
                order: &self.order,
                columns: &self.columns,
                values: &self.values,
                x: x.data(),
                factors,
                start,
            };
            // SAFETY: `simd` proves that the instructions are there; shapes and width were checked
            // above, and columns when the tiles were built.
            unsafe {
                match (self.values.is_empty(), factors.right.is_some()) {
                    (true, false) => run::<false, false>(simd, width / LANES, &job, y.data_mut()),
                    (true, true) => run::<false, true>(simd, width / LANES, &job, y.data_mut()),
                    (false, false) => run::<true, false>(simd, width / LANES, &job, y.data_mut()),
                    (false, true) => run::<true, true>(simd, width / LANES, &job, y.data_mut()),
                }
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (width, &mut y);
    }
}

/// Counting sort: row numbers by ascending count, and by number among equal counts.
fn by_count(counts: impl Iterator<Item = u16> + Clone) -> Vec<u16> {
    // Rows with fewer entries, then the position of the next row of each count.
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
pub(super) struct SortedJob<'a> {
    pub(super) buckets: &'a [(u16, u32)],
    pub(super) long: &'a [u16],
    pub(super) order: &'a [u16],
    pub(super) columns: &'a [u16],
    pub(super) values: &'a [f32],
    pub(super) x: &'a [f32],
    pub(super) factors: &'a Factors<'a>,
    pub(super) start: Start<'a>,
}

/// # Safety
/// `simd` has AVX2 and FMA, rows of the panels are one, two or four lane groups apart, and the
/// shapes of the job and of `y` fit each other.
#[cfg(target_arch = "x86_64")]
unsafe fn run<const VALUES: bool, const RIGHT: bool>(simd: Simd, groups: usize, job: &SortedJob, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe {
        match (groups, simd.is_wide()) {
            (1, _) => with_avx2::<1, VALUES, RIGHT>(job, y),
            // A row of sixteen columns is one register; other widths are no faster with AVX-512.
            (2, true) => with_avx512::<VALUES, RIGHT>(job, y),
            (2, false) => with_avx2::<2, VALUES, RIGHT>(job, y),
            _ => with_avx2::<4, VALUES, RIGHT>(job, y),
        }
    }
}

/// # Safety
/// As for [`run`], with `GROUPS` lane groups.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn with_avx2<const GROUPS: usize, const VALUES: bool, const RIGHT: bool>(job: &SortedJob, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe { sorted_rows::<Avx2<GROUPS>, VALUES, RIGHT>(job, y) }
}

/// # Safety
/// As for [`run`], with two lane groups and AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn with_avx512<const VALUES: bool, const RIGHT: bool>(job: &SortedJob, y: &mut [f32]) {
    // SAFETY: the caller's promise.
    unsafe { sorted_rows::<Avx512<1>, VALUES, RIGHT>(job, y) }
}
