//! Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011).
//!
//! A number is a function of (seed, stream, row, column) and of nothing else, so whoever owns a row
//! draws the same numbers for it. Only exactly rounded operations are used, so the numbers are also
//! the same on every platform.

mod gauss;

use super::simd::faster;
use super::{LANES, PanelMut};

/// Streams of random numbers by purpose. Streams with the same seed are independent.
pub mod stream {
    /// The block a range finder starts from.
    pub const START_BLOCK: u32 = 1;
    /// Columns that the length of a matrix is estimated with.
    pub const PROBE: u32 = 2;
    /// Dropout masks.
    pub const DROPOUT: u32 = 3;
    /// Pairs of nodes without an edge.
    pub const NEGATIVES: u32 = 4;
    /// Neighbours chosen by a sampler.
    pub const NEIGHBOURS: u32 = 5;
    /// The order of batches.
    pub const SHUFFLE: u32 = 6;
    /// Weights a network starts from.
    pub const WEIGHTS: u32 = 7;
    /// Made-up graphs and matrices, for tests and benchmarks.
    pub const SYNTHETIC: u32 = 8;
    /// Splits into training, validation and test.
    pub const SPLIT: u32 = 9;
    /// Edges of graphs that are datasets.
    pub const EDGES: u32 = 10;
    /// Columns that probe the change of a graph.
    pub const TOUCHED: u32 = 11;
    /// Maps: which rows they show, and how these are laid out.
    pub const MAP: u32 = 12;
    /// The start block of the check that no singular triplet is missing.
    pub const COMPLETENESS: u32 = 13;
}

/// The Philox4x32-10 block function: four random words for a counter and a key.
#[inline(always)]
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let p0 = u64::from(c0) * 0xD251_1F53;
        let p1 = u64::from(c2) * 0xCD9E_8D57;
        (c0, c1, c2, c3) = ((p1 >> 32) as u32 ^ c1 ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c3 ^ k1, p0 as u32);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [c0, c1, c2, c3]
}

/// Four random words.
#[inline(always)]
pub fn words(seed: u64, stream: u32, row: u64, block: u32) -> [u32; 4] {
    philox([row as u32, (row >> 32) as u32, block, stream], [seed as u32, (seed >> 32) as u32])
}

/// 64 random bits.
#[inline]
pub fn bits(seed: u64, stream: u32, row: u64, col: u32) -> u64 {
    let [low, high, ..] = words(seed, stream, row, col);
    u64::from(high) << 32 | u64::from(low)
}

/// Two independent numbers below `bound`, each as likely as any other up to one part in 2³².
pub fn pair(seed: u64, stream: u32, row: u64, col: u32, bound: u32) -> (u32, u32) {
    let word = bits(seed, stream, row, col);
    let scale = |half: u64| ((half * u64::from(bound)) >> 32) as u32;
    (scale(word >> 32), scale(word & 0xffff_ffff))
}

/// A number uniform in `0..1` (one excluded), a multiple of 2⁻⁵³.
#[inline]
pub fn uniform(seed: u64, stream: u32, row: u64, col: u32) -> f64 {
    (bits(seed, stream, row, col) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A standard normal number.
///
/// Columns come eight at a time from four Philox blocks: a block gives the radius and the angle of
/// columns `c` and `c + 4`, and two words that are not used.
pub fn normal(seed: u64, stream: u32, row: u64, col: u32) -> f32 {
    let lane = col % LANES as u32;
    let [radius, angle, ..] = words(seed, stream, row, pair_counter(col / LANES as u32, lane % PAIRS as u32));
    let ([cos], [sin]) = gauss::box_muller(&[radius], &[angle]);
    if lane < PAIRS as u32 { cos } else { sin }
}

/// Fills a panel with standard normal numbers; its first row is row `first_row` of the whole.
/// Padding becomes zero.
pub fn fill_normal(seed: u64, stream: u32, first_row: u64, out: PanelMut) {
    faster!(fill(seed: u64, stream: u32, first_row: u64, out: PanelMut));
}

#[inline(always)]
fn fill(seed: u64, stream: u32, first_row: u64, mut out: PanelMut) {
    let (rows, cols, stride) = (out.rows(), out.cols(), out.stride());
    for i in 0..rows {
        let entries = &mut out.data_mut()[i * stride..(i + 1) * stride];
        for (group, eight) in entries.chunks_exact_mut(LANES).enumerate() {
            let (mut radius, mut angle) = ([0; PAIRS], [0; PAIRS]);
            for pair in 0..PAIRS {
                let counter = pair_counter(group as u32, pair as u32);
                [radius[pair], angle[pair], ..] = words(seed, stream, first_row + i as u64, counter);
            }
            let (cosines, sines) = gauss::box_muller(&radius, &angle);
            eight[..PAIRS].copy_from_slice(&cosines);
            eight[PAIRS..].copy_from_slice(&sines);
        }
        entries[cols..].fill(0.0);
    }
}

/// Box–Muller pairs in a group of columns.
const PAIRS: usize = LANES / 2;

#[inline(always)]
fn pair_counter(group: u32, pair: u32) -> u32 {
    group * PAIRS as u32 + pair
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_below_their_bound_and_reach_all_of_it() {
        let mut seen = [[false; 3]; 3];
        for row in 0..200 {
            let (a, b) = pair(1, stream::NEGATIVES, row, 0, 3);
            seen[a as usize][b as usize] = true;
        }
        assert!(seen.iter().flatten().all(|&seen| seen));
        assert_eq!(pair(1, stream::NEGATIVES, 5, 0, 1), (0, 0));
    }

    #[test]
    fn philox_gives_the_published_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([!0; 4], [!0; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let counter = [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344];
        assert_eq!(philox(counter, [0xa409_3822, 0x299f_31d0]), [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn normals_have_the_moments_of_normals() {
        let n = 200_000u64;
        let mut moments = [0.0f64; 4];
        let mut cross = 0.0;
        for row in 0..n / 8 {
            let drawn: Vec<f64> = (0..8).map(|col| f64::from(normal(3, stream::START_BLOCK, row, col))).collect();
            for x in &drawn {
                (0..4).for_each(|k| moments[k] += x.powi(k as i32 + 1) / n as f64);
            }
            cross += drawn.windows(2).map(|w| w[0] * w[1]).sum::<f64>() / (n / 8 * 7) as f64;
        }
        let limits = [0.01, 0.015, 0.04, 0.12];
        for (k, expected) in [0.0, 1.0, 0.0, 3.0].into_iter().enumerate() {
            assert!((moments[k] - expected).abs() < limits[k], "moment {}: {}", k + 1, moments[k]);
        }
        assert!(cross.abs() < 0.01);
    }

    #[test]
    fn uniforms_are_uniform() {
        let n = 100_000;
        let (mut mean, mut square) = (0.0, 0.0);
        for i in 0..n {
            let u = uniform(5, stream::NEGATIVES, i, 9);
            assert!((0.0..1.0).contains(&u));
            mean += u / n as f64;
            square += u * u / n as f64;
        }
        assert!((mean - 0.5).abs() < 0.004 && (square - 1.0 / 3.0).abs() < 0.004);
    }

    #[test]
    fn a_panel_holds_the_numbers_of_its_rows() {
        for cols in [1, 3, 4, 13] {
            let mut data = vec![f32::NAN; 5 * crate::stride(cols)];
            fill_normal(11, 2, 1 << 33, PanelMut::new(5, cols, &mut data));
            let mut portable = vec![f32::NAN; data.len()];
            fill(11, 2, 1 << 33, PanelMut::new(5, cols, &mut portable));
            assert_eq!(data, portable);
            for i in 0..5 {
                for (j, &x) in data[i * crate::stride(cols)..].iter().take(crate::stride(cols)).enumerate() {
                    let expected = if j < cols { normal(11, 2, (1 << 33) + i as u64, j as u32) } else { 0.0 };
                    assert_eq!(x.to_bits(), expected.to_bits());
                }
            }
        }
    }

    #[test]
    fn every_part_of_the_key_matters_and_bits_never_change() {
        let base = normal(1, 2, 3, 4);
        for other in
            [normal(2, 2, 3, 4), normal(1 << 32, 2, 3, 4), normal(1, 3, 3, 4), normal(1, 2, 4, 4), normal(1, 2, 3, 5)]
        {
            assert_ne!(base, other);
        }
        assert_ne!(normal(1, 2, 3, 4), normal(1, 2, 3 + (1 << 32), 4));
    }
}
