//! Entries zeroed at random, the others scaled up to make up for it.
//!
//! Whether an entry is dropped is a function of (seed, copy, row, column): a mask is never stored,
//! and whoever computes a row drops the same entries of it.

use super::PanelMut;
use super::random::{philox, stream};
use super::simd::faster;

/// Philox blocks computed side by side, of four words each.
const SIDE_BY_SIDE: usize = 8;
/// Columns decided by them: two for a word.
const GROUP: usize = 8 * SIDE_BY_SIDE;
/// Shift of the copy number in the counter.
const COPY_SHIFT: u32 = 20;
/// Number of values of half a word.
const HALVES: f64 = 65536.0;

/// Which entries of a matrix are dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mask {
    seed: u64,
    copy: u32,
    /// Entries whose random half word is below this are dropped.
    threshold: u32,
    /// What the others are multiplied with.
    scale: f32,
}

impl Mask {
    /// Drops this fraction of the entries, rounded to a multiple of 2⁻¹⁶. Masks of different copies
    /// are independent.
    ///
    /// # Panics
    /// If the rate is not at least 0 and below 1, or there are more than 4096 copies.
    pub fn new(rate: f64, seed: u64, copy: u32) -> Self {
        assert!((0.0..1.0).contains(&rate), "a rate of {rate}");
        assert!(copy < 1 << (u32::BITS - COPY_SHIFT), "copy {copy}");
        let threshold = (rate * HALVES).round().min(HALVES - 1.0);
        Self { seed, copy, threshold: threshold as u32, scale: (HALVES / (HALVES - threshold)) as f32 }
    }

    /// What an entry is multiplied with: zero or the scale.
    pub fn factor(&self, row: u64, column: u32) -> f32 {
        let (group, place) = (column as usize / GROUP, column as usize % GROUP);
        let (half, lane) = (place / SIDE_BY_SIDE, place % SIDE_BY_SIDE);
        let word = philox(self.counter(row, group, lane), self.key())[half % 4];
        if half_of(word, half / 4) < self.threshold { 0.0 } else { self.scale }
    }

    /// Multiplies a panel by its mask; its first row is row `first_row` of the whole.
    pub fn apply_panel(&self, first_row: u64, mut panel: PanelMut) {
        let (cols, stride) = (panel.cols(), panel.stride());
        if self.threshold == 0 {
            return;
        }
        for (row, entries) in panel.data_mut().chunks_exact_mut(stride.max(1)).enumerate() {
            self.apply(first_row + row as u64, &mut entries[..cols]);
        }
    }

    /// Multiplies a row by its mask; its first entry is in column 0.
    pub fn apply(&self, row: u64, entries: &mut [f32]) {
        let mask = self;
        faster!(apply_groups(mask: &Mask, row: u64, entries: &mut [f32]));
    }

    #[inline(always)]
    fn counter(&self, row: u64, group: usize, lane: usize) -> [u32; 4] {
        let block = self.copy << COPY_SHIFT | (group * SIDE_BY_SIDE + lane) as u32;
        [row as u32, (row >> 32) as u32, block, stream::DROPOUT]
    }

    fn key(&self) -> [u32; 2] {
        [self.seed as u32, (self.seed >> 32) as u32]
    }
}

#[inline(always)]
fn apply_groups(mask: &Mask, row: u64, entries: &mut [f32]) {
    for (group, entries) in entries.chunks_mut(GROUP).enumerate() {
        let word_of = |word: usize| std::array::from_fn(|lane| mask.counter(row, group, lane)[word]);
        let words = philox_side_by_side(std::array::from_fn(word_of), mask.key());
        let mut factors = [0.0f32; GROUP];
        for (half, factors) in factors.chunks_exact_mut(words.as_flattened().len()).enumerate() {
            for (factor, &word) in factors.iter_mut().zip(words.as_flattened()) {
                *factor = if half_of(word, half) < mask.threshold { 0.0 } else { mask.scale };
            }
        }
        entries.iter_mut().zip(&factors).for_each(|(entry, factor)| *entry *= factor);
    }
}

#[inline(always)]
fn half_of(word: u32, half: usize) -> u32 {
    if half == 0 { word & 0xffff } else { word >> 16 }
}

/// [`philox`] on counters stored word by word: loops over lanes become vector instructions.
#[inline(always)]
fn philox_side_by_side(counters: [[u32; SIDE_BY_SIDE]; 4], key: [u32; 2]) -> [[u32; SIDE_BY_SIDE]; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counters;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        for lane in 0..SIDE_BY_SIDE {
            let p0 = u64::from(c0[lane]) * 0xD251_1F53;
            let p1 = u64::from(c2[lane]) * 0xCD9E_8D57;
            c0[lane] = (p1 >> 32) as u32 ^ c1[lane] ^ k0;
            c1[lane] = p1 as u32;
            c2[lane] = (p0 >> 32) as u32 ^ c3[lane] ^ k1;
            c3[lane] = p0 as u32;
        }
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [c0, c1, c2, c3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_masked_entry_by_entry() {
        for (rate, columns) in [(0.5, 200), (0.1, 65), (0.1, 33), (0.0, 7)] {
            let mask = Mask::new(rate, 1 << 40 | 3, 2);
            for row in [0, 5, 1 << 33] {
                let mut fast: Vec<f32> = (1..=columns).map(|x| x as f32).collect();
                let mut portable = fast.clone();
                let expected: Vec<f32> = fast.iter().zip(0..).map(|(x, column)| x * mask.factor(row, column)).collect();
                mask.apply(row, &mut fast);
                apply_groups(&mask, row, &mut portable);
                assert_eq!((&fast, &portable), (&expected, &expected));
            }
        }
    }

    #[test]
    fn the_rate_is_kept_and_the_mean_stays() {
        let mask = Mask::new(0.3, 7, 0);
        let n = 200_000;
        let factors: Vec<f32> = (0..n).map(|i| mask.factor(i / 100, (i % 100) as u32)).collect();
        let dropped = factors.iter().filter(|&&factor| factor == 0.0).count() as f64 / n as f64;
        let mean = factors.iter().map(|&factor| f64::from(factor)).sum::<f64>() / n as f64;
        assert!((dropped - 0.3).abs() < 0.005 && (mean - 1.0).abs() < 0.01, "{dropped} {mean}");
    }

    #[test]
    fn seeds_copies_and_rows_are_dropped_differently() {
        let row = |seed, copy, row| {
            let mut entries = [1.0; 64];
            Mask::new(0.5, seed, copy).apply(row, &mut entries);
            entries
        };
        let base = row(1, 0, 0);
        assert!([row(2, 0, 0), row(1, 1, 0), row(1, 0, 1)].iter().all(|other| *other != base));
    }
}
