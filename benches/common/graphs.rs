//! Generated graphs, the same on every machine.

use isvd_dist::graph::Sparse;
use isvd_kernel::random::{bits, stream};

/// `count` uniformly drawn places without repetitions.
pub fn random(nodes: usize, count: usize, seed: u64) -> Sparse {
    let pick = |n: usize, axis: u32| (bits(seed, stream::SYNTHETIC, n as u64, axis) % nodes as u64) as u32;
    pattern(nodes, (0..count).map(|n| (pick(n, 0), pick(n, 1))).collect())
}

/// `count` places of an R-MAT graph (a = 0.57, b = c = 0.19) without repetitions; places outside
/// the matrix are drawn again.
pub fn rmat(nodes: usize, count: usize, seed: u64) -> Sparse {
    let levels = nodes.next_power_of_two().trailing_zeros();
    let mut entries = Vec::with_capacity(count);
    let mut draw = 0u64;
    while entries.len() < count {
        let (mut row, mut col) = (0u32, 0u32);
        for level in 0..levels.div_ceil(4) {
            let word = bits(seed, stream::SYNTHETIC, draw, 2 + level);
            for part in 0..4.min(levels - 4 * level) {
                let u = (word >> (16 * part) & 0xffff) as f64 / 65536.0;
                (row, col) =
                    (row << 1 | u32::from(u >= 0.76), col << 1 | u32::from((0.57..0.76).contains(&u) || u >= 0.95));
            }
        }
        draw += 1;
        if (row as usize) < nodes && (col as usize) < nodes {
            entries.push((row, col));
        }
    }
    pattern(nodes, entries)
}

fn pattern(nodes: usize, mut entries: Vec<(u32, u32)>) -> Sparse {
    entries.sort_unstable();
    entries.dedup();
    Sparse::from_triplets(nodes, nodes, entries, None).expect("drawn places are inside")
}
