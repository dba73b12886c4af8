//! The order of nodes in the rows of a matrix.
//!
//! A product reads rows of a panel in random order, one for every entry. If few nodes have most of
//! the edges, placing their rows together helps: most entries then fall into the first strip of
//! columns, whose rows stay in a cache, and the other strips have few entries. If neighbours
//! already have near rows, it does not. The number of strips in which sampled rows have entries
//! tells the two cases apart.

use std::sync::Arc;

use super::edges::renumber;
use super::{EdgeList, STRIP_COLUMNS, Tiling};

/// Rows that are sampled to estimate the benefit of an order.
const SAMPLE: usize = 1 << 16;
/// An order is used if it reduces the occupied strips of the sampled rows to this fraction.
const WORTH_IT: f64 = 0.8;
/// Groups of consecutive strips that are alike, each with its nodes of most edges first. With one
/// alone, the first of two workers had few rows of many entries and the other many rows of few, so
/// that one waited in products and the other between them; with more than two, more strips have to
/// be gone over for a row.
const GROUPS: usize = 2;
/// Strips of a group at least.
const LEAST_STRIPS: usize = 4;

/// A numbering of nodes by rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// By node.
    rows: Arc<[u32]>,
}

impl Order {
    /// The order by degree, if it pays: the nodes of most edges first, in each of a few groups of
    /// strips; those of a strip are dealt out to its tiles in turn, so that tiles have about the
    /// same work. It depends on the edges alone.
    pub fn by_degree(list: &EdgeList) -> Option<Self> {
        let strips = list.nodes.div_ceil(STRIP_COLUMNS);
        if strips < 2 || list.edges.is_empty() {
            return None;
        }
        let order = Self::hubs_first(list);
        let (before, after) = runs(list, &order);
        (after as f64 <= WORTH_IT * before as f64).then_some(order)
    }

    fn hubs_first(list: &EdgeList) -> Self {
        let mut degrees = vec![0u32; list.nodes];
        for &(from, to) in &list.edges {
            degrees[from as usize] += 1;
            degrees[to as usize] += 1;
        }
        let mut nodes: Vec<u32> = (0..list.nodes as u32).collect();
        nodes.sort_by_key(|&node| std::cmp::Reverse(degrees[node as usize]));
        let tile_rows = Tiling::new(list.nodes).tile_rows();
        let mut rows = vec![0; list.nodes];
        for (strip, members) in deal_to_strips(&nodes).into_iter().enumerate() {
            let tiles = (members.len() / tile_rows).max(1);
            let height = members.len() / tiles;
            for (rank, &node) in members.iter().enumerate() {
                // The remainder stays at the end.
                let place = if rank < tiles * height { rank % tiles * height + rank / tiles } else { rank };
                rows[node as usize] = (strip * STRIP_COLUMNS + place) as u32;
            }
        }
        Self { rows: rows.into() }
    }

    /// The order in which nodes have these rows, if each has one of its own.
    pub(crate) fn from_rows(rows: &[u32]) -> Option<Self> {
        let mut taken = vec![false; rows.len()];
        for &row in rows {
            if std::mem::replace(taken.get_mut(row as usize)?, true) {
                return None;
            }
        }
        Some(Self { rows: rows.into() })
    }

    /// The row of every node.
    pub fn rows(&self) -> &Arc<[u32]> {
        &self.rows
    }

    /// Gives the nodes of pairs their rows.
    pub fn renumber(&self, pairs: &mut [(u32, u32)]) {
        renumber(pairs, &self.rows);
    }

    /// The rows of a panel of `columns` columns, in the order of the nodes.
    ///
    /// # Panics
    /// If there are more or fewer rows than nodes.
    pub fn by_node(&self, panel: &[f32], columns: usize) -> Vec<f32> {
        assert_eq!(panel.len(), self.rows.len() * columns, "a row for every node");
        self.rows.iter().flat_map(|&row| &panel[row as usize * columns..][..columns]).copied().collect()
    }

    fn row(&self, node: u32) -> u32 {
        self.rows[node as usize]
    }
}

/// Deals out nodes, which are ordered by descending degree, to strips: to the first strip of every
/// group, then to the second ones.
fn deal_to_strips(nodes: &[u32]) -> Vec<Vec<u32>> {
    let count = nodes.len().div_ceil(STRIP_COLUMNS);
    let groups = (count / LEAST_STRIPS).clamp(1, GROUPS);
    let capacity = |strip: usize| STRIP_COLUMNS.min(nodes.len() - strip * STRIP_COLUMNS);
    let start = |group: usize| group * count / groups;
    let mut strips: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut rest = nodes.iter();
    for level in 0..count.div_ceil(groups) {
        let of_level = (0..groups).map(|group| (start(group) + level, start(group + 1)));
        let mut open: Vec<usize> = of_level.filter(|(strip, end)| strip < end).map(|(strip, _)| strip).collect();
        while !open.is_empty() {
            for &strip in &open {
                strips[strip].extend(rest.next());
            }
            open.retain(|&strip| strips[strip].len() < capacity(strip));
        }
    }
    strips
}

/// Over a sample of nodes, how many strips have entries in their rows: as they are numbered, and in
/// another order.
fn runs(list: &EdgeList, order: &Order) -> (usize, usize) {
    let (step, width) = (list.nodes.div_ceil(SAMPLE), STRIP_COLUMNS as u32);
    let [mut before, mut after] = [(); 2].map(|()| StripOccupancy::of(list.nodes.div_ceil(step), list.nodes));
    let mut meet = |node: u32, other: u32| {
        if (node as usize).is_multiple_of(step) {
            before.note(node as usize / step, other / width);
            after.note(node as usize / step, order.row(other) / width);
        }
    };
    for &(from, to) in &list.edges {
        meet(from, to);
        if !list.directed {
            meet(to, from);
        }
    }
    (before.count(), after.count())
}

/// Which rows have entries in which strips: a bit for each of either.
struct StripOccupancy {
    strips: usize,
    bits: Vec<u64>,
}

impl StripOccupancy {
    fn of(rows: usize, columns: usize) -> Self {
        let strips = columns.div_ceil(STRIP_COLUMNS);
        Self { strips, bits: vec![0; (rows * strips).div_ceil(u64::BITS as usize)] }
    }

    fn note(&mut self, row: usize, strip: u32) {
        let place = row * self.strips + strip as usize;
        self.bits[place / u64::BITS as usize] |= 1 << (place % u64::BITS as usize);
    }

    fn count(&self) -> usize {
        self.bits.iter().map(|bits| bits.count_ones() as usize).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dataset::Rmat;

    fn list(nodes: usize, edges: Vec<(u32, u32)>) -> EdgeList {
        EdgeList { nodes, edges, ..EdgeList::default() }
    }

    #[test]
    fn hubs_come_first_and_every_node_has_a_row_of_its_own() {
        let graph = Rmat::named("rmat-16x4").unwrap().draw(1).unwrap();
        let order = Order::by_degree(&graph).expect("a graph with hubs in two strips");
        let mut rows = order.rows.to_vec();
        rows.sort_unstable();
        assert!(rows.iter().enumerate().all(|(place, &row)| row as usize == place));
        let mut edges = graph.edges.clone();
        order.renumber(&mut edges);
        let in_first = |edges: &[(u32, u32)]| edges.iter().filter(|edge| edge.1 < 1 << 15).count() as f64;
        assert!(in_first(&edges) > 0.9 * edges.len() as f64, "most edges end in the first strip");
        assert!(in_first(&graph.edges) < 0.6 * edges.len() as f64);
        let tiling = Tiling::new(graph.nodes);
        let mut work = vec![0; tiling.count()];
        edges.iter().flat_map(|&(from, to)| [from, to]).for_each(|row| work[tiling.tile_of(row as usize)] += 1);
        let first = &work[..work.len() / 2];
        assert!(*first.iter().max().unwrap() < 2 * first.iter().min().unwrap(), "{first:?}");
    }

    #[test]
    fn both_halves_of_a_large_graph_have_as_much_work() {
        let graph = Rmat::named("rmat-18x2").unwrap().draw(1).unwrap();
        let order = Order::by_degree(&graph).expect("a graph with hubs in eight strips");
        let mut edges = graph.edges.clone();
        order.renumber(&mut edges);
        let share = |rows: std::ops::Range<u32>| {
            let ends = edges.iter().flat_map(|&(from, to)| [from, to]);
            ends.filter(|row| rows.contains(row)).count() as f64 / (2 * edges.len()) as f64
        };
        assert!((share(0..1 << 17) - 0.5).abs() < 0.01, "{}", share(0..1 << 17));
        assert!(share(0..1 << 15) > 0.3 && share(1 << 17..(1 << 17) + (1 << 15)) > 0.3, "hubs lead both");
    }

    #[test]
    fn every_node_is_dealt_out_once_whatever_their_number() {
        for nodes in [1, STRIP_COLUMNS, 5 * STRIP_COLUMNS + 7, 9 * STRIP_COLUMNS + 1, 11 * STRIP_COLUMNS] {
            let ranked: Vec<u32> = (0..nodes as u32).collect();
            let strips = deal_to_strips(&ranked);
            let (last, full) = strips.split_last().unwrap();
            assert!(
                full.iter().all(|strip| strip.len() == STRIP_COLUMNS) && last.len() == (nodes - 1) % STRIP_COLUMNS + 1
            );
            assert!(strips.iter().all(|strip| strip.is_sorted()), "hubs come first");
            let mut all = strips.concat();
            all.sort_unstable();
            assert_eq!(all, ranked);
        }
    }

    #[test]
    fn rows_go_back_to_their_nodes() {
        let order = Order::from_rows(&[2, 0, 1]).unwrap();
        assert_eq!(order.by_node(&[1.0, 1.5, 2.0, 2.5, 3.0, 3.5], 2), [3.0, 3.5, 1.0, 1.5, 2.0, 2.5]);
        let mut pairs = [(0, 1), (2, 2)];
        order.renumber(&mut pairs);
        assert_eq!(pairs, [(2, 0), (1, 1)]);
        assert_eq!(Order::from_rows(&[0, 0]).or(Order::from_rows(&[0, 2])), None);
    }

    #[test]
    fn strips_that_rows_meet_are_counted_once() {
        for directed in [false, true] {
            let graph = EdgeList { directed, ..Rmat::named("rmat-17x4").unwrap().draw(3).unwrap() };
            let order = Order::hubs_first(&graph);
            // Every other node is in the sample.
            let met = |row: &dyn Fn(u32) -> u32| {
                let pairs = graph.edges.iter().flat_map(|&(from, to)| [(from, to), (to, from)]);
                let pairs = pairs.step_by(if directed { 2 } else { 1 }).filter(|(node, _)| node % 2 == 0);
                pairs.map(|(node, other)| (node, row(other) / STRIP_COLUMNS as u32)).collect::<BTreeSet<_>>().len()
            };
            assert_eq!(runs(&graph, &order), (met(&|node| node), met(&|node| order.row(node))));
        }
    }

    #[test]
    fn graphs_in_which_neighbours_are_near_stay_as_they_are() {
        let nodes = 1 << 17;
        let path = (1..nodes as u32).map(|node| (node - 1, node)).collect();
        assert_eq!(Order::by_degree(&list(nodes, path)), None);
        assert_eq!(Order::by_degree(&list(1000, vec![(0, 1), (0, 2), (0, 3)])), None, "one strip is in order anyway");
        assert_eq!(Order::by_degree(&list(nodes, Vec::new())), None);
    }
}
