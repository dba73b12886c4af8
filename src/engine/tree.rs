//! Reductions over tiles along a fixed binary tree.
//!
//! Node `i` of level `l` covers the tiles from `i·2^l` up to `(i+1)·2^l`, and combines the values
//! of its two children. A worker combines the nodes within its run of tiles and sends the remaining
//! few; every worker combines these to the root. The tree depends on the number of tiles alone, and
//! so do the bits of the root.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The operation that combines two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Combine {
    /// The sum, by entry.
    Sum,
    /// The number of larger magnitude, by entry; the left one if they are equal.
    Peak,
}

impl Combine {
    fn apply(self, left: Cow<'_, [f64]>, right: &[f64]) -> Vec<f64> {
        let mut values = left.into_owned();
        match self {
            Combine::Sum => values.iter_mut().zip(right).for_each(|(a, b)| *a += b),
            Combine::Peak => values.iter_mut().zip(right).for_each(|(a, b)| {
                if b.abs() > a.abs() {
                    *a = *b;
                }
            }),
        }
        values
    }
}

/// The value of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) level: u32,
    pub(super) number: usize,
    pub(super) values: Vec<f64>,
}

/// Nodes on their way to the root.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    tiles: usize,
    combine: Combine,
    nodes: BTreeMap<(u32, usize), Cow<'a, [f64]>>,
    /// Buffers of combined nodes, for reuse.
    spare: Vec<Vec<f64>>,
}

impl<'a> Tree<'a> {
    /// An empty tree over `tiles` tiles.
    pub(super) fn new(tiles: usize, combine: Combine) -> Self {
        Self { tiles, combine, nodes: BTreeMap::new(), spare: Vec::new() }
    }

    fn top(&self) -> u32 {
        self.tiles.next_power_of_two().trailing_zeros()
    }

    /// Adds a node, and combines it upwards while its sibling exists.
    pub(super) fn insert(&mut self, node: Node) {
        self.combine_upwards(node.level, node.number, node.values.into());
    }

    /// Adds a borrowed node. Its values are copied only if they change.
    pub(super) fn insert_shared(&mut self, node: &'a Node) {
        self.combine_upwards(node.level, node.number, (&node.values).into());
    }

    fn combine_upwards(&mut self, mut level: u32, mut number: usize, mut values: Cow<'a, [f64]>) {
        while level < self.top() {
            let sibling = number ^ 1;
            let sibling_is_empty = sibling << level >= self.tiles;
            if !sibling_is_empty {
                let Some(other) = self.nodes.remove(&(level, sibling)) else { break };
                let (left, right) = if sibling < number { (other, values) } else { (values, other) };
                values = self.combine.apply(left, &right).into();
                if let Cow::Owned(right) = right {
                    self.spare.push(right);
                }
            }
            level += 1;
            number >>= 1;
        }
        self.nodes.insert((level, number), values);
    }

    /// The nodes that are not combined.
    pub(super) fn into_nodes(self) -> Vec<Node> {
        let node = |((level, number), values): (_, Cow<'_, [f64]>)| Node { level, number, values: values.into_owned() };
        self.nodes.into_iter().map(node).collect()
    }

    /// The value of the root; `None` if a tile is missing, or there is none.
    pub(super) fn into_root(mut self) -> Option<Vec<f64>> {
        let root = self.nodes.remove(&(self.top(), 0))?;
        self.nodes.is_empty().then(|| root.into_owned())
    }

    /// Combines some tiles. `of` fills the `length` values of each, which are zero before.
    pub(super) fn of_tiles(
        tiles: usize,
        some: impl Iterator<Item = usize>,
        combine: Combine,
        length: usize,
        mut of: impl FnMut(usize, &mut [f64]),
    ) -> Self {
        let mut tree = Self::new(tiles, combine);
        for tile in some {
            let mut values = tree.spare.pop().unwrap_or_default();
            values.clear();
            values.resize(length, 0.0);
            of(tile, &mut values);
            tree.insert(Node { level: 0, number: tile, values });
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(tile: usize, values: &mut [f64]) {
        assert_eq!(values, [0.0; 2]);
        values.copy_from_slice(&[(tile as f64 * 0.7).sin() * 10f64.powi((tile % 7) as i32 - 3), -(tile as f64)]);
    }

    proptest! {
        /// Any distribution of tiles and any order of arrival give the bits of one worker.
        #[test]
        fn the_root_does_not_depend_on_the_distribution_of_tiles(tiles in 1usize..200, mut cuts in prop::collection::vec(0usize..200, 0..6), rotation in 0usize..6) {
            for combine in [Combine::Sum, Combine::Peak] {
                let alone = Tree::of_tiles(tiles, 0..tiles, combine, 2, value).into_root().unwrap();
                cuts.iter_mut().for_each(|cut| *cut = (*cut).min(tiles));
                cuts.sort_unstable();
                let bounds: Vec<usize> = [0].into_iter().chain(cuts.iter().copied()).chain([tiles]).collect();
                let mut runs: Vec<_> = bounds.windows(2).map(|pair| pair[0]..pair[1]).collect();
                let rotation = rotation % runs.len();
                runs.rotate_left(rotation);
                let mut sent = Vec::new();
                for run in runs {
                    let nodes = Tree::of_tiles(tiles, run, combine, 2, value).into_nodes();
                    sent.push(nodes);
                }
                let mut all = Tree::new(tiles, combine);
                sent.iter().flatten().for_each(|node| all.insert_shared(node));
                prop_assert_eq!(all.into_root().unwrap(), alone);
            }
        }
    }

    #[test]
    fn a_missing_tile_leaves_no_root() {
        let mut tree = Tree::of_tiles(5, 0..3, Combine::Sum, 2, value);
        tree.insert(Node { level: 0, number: 4, values: vec![1.0; 2] });
        assert_eq!(tree.into_root(), None);
        assert_eq!(Tree::new(0, Combine::Sum).into_root(), None);
    }

    #[test]
    fn a_sum_has_all_tiles() {
        let root = Tree::of_tiles(100, 0..100, Combine::Sum, 1, |tile, values| values[0] = tile as f64).into_root();
        assert_eq!(root, Some(vec![4950.0]));
    }
}
