//! Communities of the graph of neighbours, by the Louvain method.

use std::collections::BTreeMap;

use super::neighbours::Edge;

/// Passes over all nodes of a level.
const PASSES: usize = 20;
/// The resolution of modularity. With less than one, communities are larger and fewer.
const RESOLUTION: f64 = 0.3;
/// A gain of modularity below this is rounding.
const ROUNDING: f64 = 1e-12;

/// The community of every point, numbered from the largest down, and the number of communities.
/// Points move to the neighbouring community that raises modularity most until none does; then
/// communities move as points do, until nothing changes.
pub(super) fn communities(edges: &[Edge], count: usize) -> (Vec<u32>, usize) {
    let pairs = edges.iter().map(|edge| (edge.points.map(|point| point as usize), f64::from(edge.weight)));
    let mut level = Level::new(count, pairs.collect());
    let mut groups: Vec<usize> = (0..count).collect();
    loop {
        let (moved, left) = level.local_moves();
        groups.iter_mut().for_each(|group| *group = moved[*group]);
        if left == level.neighbours.len() {
            break;
        }
        level = level.joined(&moved, left);
    }
    by_size(&groups)
}

/// A weighted graph whose nodes are points or communities.
struct Level {
    /// The weight of each pair, once.
    pairs: BTreeMap<[usize; 2], f64>,
    /// The neighbours of each node, itself not included.
    neighbours: Vec<Vec<(usize, f64)>>,
    /// The sum of the weights at each node; a loop counts twice.
    strengths: Vec<f64>,
}

impl Level {
    fn new(count: usize, pairs: BTreeMap<[usize; 2], f64>) -> Self {
        let (mut neighbours, mut strengths) = (vec![Vec::new(); count], vec![0.0; count]);
        for (&[one, other], &weight) in &pairs {
            for (from, to) in [(one, other), (other, one)] {
                strengths[from] += weight;
                if from != to {
                    neighbours[from].push((to, weight));
                }
            }
        }
        Self { pairs, neighbours, strengths }
    }

    /// The community of every node once no node would rather be in another, and how many are left.
    fn local_moves(&self) -> (Vec<usize>, usize) {
        let count = self.neighbours.len();
        let mut community: Vec<usize> = (0..count).collect();
        let mut totals = self.strengths.clone();
        let all: f64 = self.strengths.iter().sum();
        let mut weights = vec![0.0; count];
        let mut touched = Vec::new();
        for _ in 0..PASSES {
            let mut is_changed = false;
            for node in 0..count {
                let (own, strength) = (community[node], self.strengths[node]);
                for &(to, weight) in &self.neighbours[node] {
                    let to = community[to];
                    if weights[to] == 0.0 {
                        touched.push(to);
                    }
                    weights[to] += weight;
                }
                totals[own] -= strength;
                let gain = |to: usize| weights[to] - RESOLUTION * totals[to] * strength / all;
                let (mut best, mut most) = (own, gain(own));
                for &to in &touched {
                    if gain(to) > most + ROUNDING {
                        (best, most) = (to, gain(to));
                    }
                }
                totals[best] += strength;
                is_changed |= best != own;
                community[node] = best;
                touched.drain(..).for_each(|to| weights[to] = 0.0);
            }
            if !is_changed {
                break;
            }
        }
        number_by_first(&community)
    }

    /// The graph of the communities.
    fn joined(&self, community: &[usize], count: usize) -> Self {
        let ends = |[one, other]: [usize; 2]| {
            let (one, other) = (community[one], community[other]);
            [one.min(other), one.max(other)]
        };
        let mut pairs = BTreeMap::new();
        for (&pair, weight) in &self.pairs {
            *pairs.entry(ends(pair)).or_insert(0.0) += weight;
        }
        Self::new(count, pairs)
    }
}

/// Numbers without gaps, in the order in which they first appear.
fn number_by_first(community: &[usize]) -> (Vec<usize>, usize) {
    let mut numbers = vec![usize::MAX; community.len()];
    let mut count = 0;
    let number = |&community: &usize| {
        if numbers[community] == usize::MAX {
            numbers[community] = count;
            count += 1;
        }
        numbers[community]
    };
    let numbered = community.iter().map(number).collect();
    (numbered, count)
}

/// Numbers from the largest group down; of equally large ones the first comes first.
fn by_size(groups: &[usize]) -> (Vec<u32>, usize) {
    let (groups, count) = number_by_first(groups);
    let mut sizes = vec![0usize; count];
    groups.iter().for_each(|&group| sizes[group] += 1);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&group| std::cmp::Reverse(sizes[group]));
    let mut place = vec![0u32; count];
    order.iter().enumerate().for_each(|(at, &group)| place[group] = at as u32);
    (groups.iter().map(|&group| place[group]).collect(), count)
}
