//! Random sampling of neighbours and their neighbours for each node of a batch.
//!
//! Every seed has a tree of its own. Row `r` of level `t` is row `r` of all levels after it, so
//! that a level is the first rows of one list: the seeds, then what was drawn for them, then what
//! was drawn for all of those.

use crate::graph::Neighbours;
use crate::kernel::random::{bits, stream};

/// The graph to sample from, weighted by `(D+I)^-½ (A+I) (D+I)^-½`.
#[derive(Clone, Copy)]
pub(super) struct Walk<'a> {
    pub(super) neighbours: &'a Neighbours,
    /// The diagonal of `(D+I)^-½`.
    pub(super) scale: &'a [f32],
}

impl Walk<'_> {
    /// `Âᵢᵢ`.
    pub(super) fn own(&self, node: u32) -> f32 {
        self.scale[node as usize] * self.scale[node as usize]
    }

    /// `Zᵢⱼ`.
    pub(super) fn between(&self, from: u32, to: u32) -> f32 {
        self.neighbours.weight_between(from, to) * self.scale[from as usize] * self.scale[to as usize]
    }
}

/// A summand of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Drawn {
    pub(super) row: u32,
    /// The entry of Â, scaled up for the neighbours that were not drawn.
    pub(super) weight: f32,
}

/// What the rows of one level sum over.
#[derive(Debug, Clone, Default)]
pub(super) struct Links {
    starts: Vec<usize>,
    drawn: Vec<Drawn>,
}

impl Links {
    pub(super) fn of(&self, row: usize) -> &[Drawn] {
        &self.drawn[self.starts[row]..self.starts[row + 1]]
    }
}

/// The trees of some seeds.
#[derive(Debug, Clone, Default)]
pub(super) struct Trees {
    /// The node of each row.
    pub(super) nodes: Vec<u32>,
    /// The seed, as a row, in whose tree each row is.
    pub(super) roots: Vec<u32>,
    /// How many rows each level has.
    pub(super) counts: Vec<usize>,
    /// From each level to the next.
    pub(super) links: Vec<Links>,
    chosen: Vec<usize>,
}

impl Trees {
    /// Draws `fanouts[t]` neighbours for every row of level `t`, or takes them all. The key names
    /// the draws.
    pub(super) fn grow(&mut self, walk: Walk<'_>, seeds: &[u32], fanouts: &[Option<usize>], seed: u64, key: u64) {
        self.nodes.clear();
        self.nodes.extend_from_slice(seeds);
        self.roots.clear();
        self.roots.extend(0..seeds.len() as u32);
        self.counts.clear();
        self.counts.push(seeds.len());
        self.links.resize_with(fanouts.len(), Links::default);
        for (level, fanout) in fanouts.iter().enumerate() {
            self.links[level].starts.clear();
            self.links[level].drawn.clear();
            self.links[level].starts.push(0);
            for row in 0..self.counts[level] {
                let degree = walk.neighbours.degree(self.nodes[row]);
                let count = fanout.unwrap_or(degree).min(degree);
                let draw =
                    |number| bits(seed, stream::NEIGHBOURS, key << 32 | row as u64, (level as u32) << 24 | number);
                choose(degree, count, draw, &mut self.chosen);
                self.follow(walk, level, row, degree);
            }
            self.counts.push(self.nodes.len());
        }
    }

    /// Appends the chosen neighbours of a row.
    fn follow(&mut self, walk: Walk<'_>, level: usize, row: usize, degree: usize) {
        let node = self.nodes[row];
        let targets = walk.neighbours.targets(node);
        let makes_up = degree as f32 / self.chosen.len().max(1) as f32 * walk.scale[node as usize];
        for &place in &self.chosen {
            let target = targets[place];
            let weight = walk.neighbours.weight(node, place) * walk.scale[target as usize] * makes_up;
            self.links[level].drawn.push(Drawn { row: self.nodes.len() as u32, weight });
            self.nodes.push(target);
            self.roots.push(self.roots[row]);
        }
        let end = self.links[level].drawn.len();
        self.links[level].starts.push(end);
    }
}

/// Chooses `count` different numbers below `bound`, each set of them as likely as any other
/// (Floyd's algorithm).
fn choose(bound: usize, count: usize, draw: impl Fn(u32) -> u64, chosen: &mut Vec<usize>) {
    chosen.clear();
    if count == bound {
        chosen.extend(0..bound);
        return;
    }
    for (number, last) in (bound - count..bound).enumerate() {
        let drawn = ((u128::from(draw(number as u32)) * (last as u128 + 1)) >> 64) as usize;
        let is_new = !chosen.contains(&drawn);
        chosen.push(if is_new { drawn } else { last });
    }
}
