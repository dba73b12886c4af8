//! Communities: groups of points that are more alike than chance would have it.

use super::neighbours::Alike;

/// Passes over all points before what they have found is good enough.
const PASSES: usize = 20;
/// How much alikeness by chance counts: with less than one, groups are larger and fewer.
const RESOLUTION: f64 = 0.3;
/// A gain of modularity below this is rounding.
const ROUNDING: f64 = 1e-12;

/// The community of every point, numbered from the largest down, and how many there are. Points move to the neighbouring
/// community that raises modularity most until none does; then communities move as points do, until nothing changes.
pub(super) fn communities(likeness: &[Alike], count: usize) -> (Vec<u32>, usize) {
    let pairs = likeness.iter().map(|pair| (pair.points.map(|point| point as usize), f64::from(pair.weight)));
    let mut level = Level::new(count, pairs.collect());
    let mut groups: Vec<usize> = (0..count).collect();
    loop {
        let (moved, left) = level.local_moves();
        groups.iter_mut().for_each(|group| *group = moved[*group]);
        if left == level.count {
            break;
        }
        level = level.joined(&moved, left);
    }
    by_size(&groups)
}

/// A weighted graph whose nodes are points or communities.
struct Level {
    count: usize,
    /// Each pair once, the ends of a loop alike.
    pairs: Vec<([usize; 2], f64)>,
    /// Where the neighbours of each node start.
    starts: Vec<usize>,
    neighbours: Vec<(usize, f64)>,
    /// The weights of all ends at a node, a loop counting twice.
    strengths: Vec<f64>,
}

impl Level {
    fn new(count: usize, pairs: Vec<([usize; 2], f64)>) -> Self {
        let mut starts = vec![0; count + 1];
        let mut strengths = vec![0.0; count];
        for &([one, other], weight) in &pairs {
            strengths[one] += weight;
            strengths[other] += weight;
            if one != other {
                starts[one + 1] += 1;
                starts[other + 1] += 1;
            }
        }
        (0..count).for_each(|node| starts[node + 1] += starts[node]);
        let mut ends = starts.clone();
        let mut neighbours = vec![(0, 0.0); starts[count]];
        for &([one, other], weight) in pairs.iter().filter(|([one, other], _)| one != other) {
            for (from, to) in [(one, other), (other, one)] {
                neighbours[ends[from]] = (to, weight);
                ends[from] += 1;
            }
        }
        Self { count, pairs, starts, neighbours, strengths }
    }

    /// The community of every node once no node would rather be in another, and how many are left.
    fn local_moves(&self) -> (Vec<usize>, usize) {
        let mut community: Vec<usize> = (0..self.count).collect();
        let mut totals = self.strengths.clone();
        let all: f64 = self.strengths.iter().sum();
        let mut weights = vec![0.0; self.count];
        let mut touched = Vec::new();
        for _ in 0..PASSES {
            let mut is_changed = false;
            for node in 0..self.count {
                let (own, strength) = (community[node], self.strengths[node]);
                for &(to, weight) in &self.neighbours[self.starts[node]..self.starts[node + 1]] {
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
        let mut pairs: Vec<_> = self.pairs.iter().map(|&(pair, weight)| (ends(pair), weight)).collect();
        pairs.sort_by_key(|&(pair, _)| pair);
        pairs.dedup_by(|again, first| {
            let is_same = again.0 == first.0;
            if is_same {
                first.1 += again.1;
            }
            is_same
        });
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
