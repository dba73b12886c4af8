//! The graph that comes with the program: planted communities, skewed degrees, features and labels.
//!
//! It is generated, not stored, and depends on nothing but the constants below: the same graph on
//! every machine and in every run, whatever the seed of the experiment. So its figures can be
//! compared across versions and clusters.

use std::collections::HashSet;

use super::{Dataset, EdgeList, Ids, LinkSplit, NodeSplit};

/// The name by which a config asks for this dataset.
pub const NAME: &str = "demo";
/// How many nodes the graph has.
pub const NODES: usize = 5_000;
/// How many edges are left in the graph once the others are held out.
pub const EDGES: usize = 50_000;
/// How many edges are held out for choosing settings.
pub const VALID_EDGES: usize = 3_000;
/// How many edges are held out for the final figure.
pub const TEST_EDGES: usize = 6_000;
/// How many communities are planted; also the number of classes.
pub const COMMUNITIES: usize = 20;
/// How many features each node carries.
pub const FEATURES: usize = 32;
/// How many nodes of each community are there to learn from.
pub const TRAINING_NODES: usize = 20;
/// How many nodes are there for choosing settings.
pub const VALID_NODES: usize = 500;
/// How many nodes are there for the final figure.
pub const TEST_NODES: usize = 1_000;

const SEED: u64 = 0x1517_2021;
/// The share of edges that stay inside a community.
const INSIDE: f64 = 0.84;
/// The exponent of the power law that the expected degrees follow.
const DEGREE_EXPONENT: f64 = 2.6;
/// Expected degrees are cut here, relative to the smallest, so that no hub joins everything.
const LARGEST_PROPENSITY: f64 = 40.0;
/// The deviation of a node's features from its community's centroid; centroids themselves deviate
/// by one.
const FEATURE_NOISE: f64 = 2.0;

/// Generates the dataset; the same one each time.
///
/// ```
/// let demo = isvd_dist::dataset::demo::demo();
/// assert_eq!(demo.graph.nodes(), 5_000);
/// assert_eq!(demo.ids.get(3).as_deref(), Some("n3"));
/// ```
pub fn demo() -> Dataset {
    let communities = communities();
    let edges = edges(&communities);
    let taken: HashSet<_> = edges.iter().copied().collect();
    let split = hold_out(edges);
    let mut non_edges = non_edges(&taken, VALID_EDGES + TEST_EDGES);
    let test_non_edges = non_edges.split_off(VALID_EDGES);
    Dataset {
        name: NAME.to_owned(),
        graph: EdgeList { nodes: NODES, edges: split.train, weights: None, directed: false }.into(),
        valid: Some(LinkSplit { edges: split.valid, non_edges }),
        test: Some(LinkSplit { edges: split.test, non_edges: test_non_edges }),
        features: Some(features(&communities)),
        feature_count: FEATURES,
        classes: (0..COMMUNITIES).map(|community| format!("community {community}")).collect(),
        node_split: Some(node_split(&communities)),
        labels: Some(communities),
        ids: Ids::names((0..NODES).map(|node| format!("n{node}"))),
        ..Dataset::default()
    }
}

/// The community of each node. Sizes grow linearly, the largest about three times the smallest.
fn communities() -> Vec<u32> {
    let mut random = Random::new(1);
    let sizes = Cumulative::new((0..COMMUNITIES).map(|c| (COMMUNITIES / 2 + c) as f64));
    (0..NODES).map(|_| sizes.pick(&mut random) as u32).collect()
}

/// Distinct edges `(smaller, larger)`, in the order drawn. The first `NODES` draws start at each
/// node once, so that no node is isolated.
fn edges(communities: &[u32]) -> Vec<(u32, u32)> {
    let mut random = Random::new(2);
    let propensity: Vec<f64> = (0..NODES).map(|_| random.power_law()).collect();
    let everyone = Cumulative::new(propensity.iter().copied());
    let members: Vec<Vec<u32>> = (0..COMMUNITIES as u32)
        .map(|c| (0..NODES as u32).filter(|&node| communities[node as usize] == c).collect())
        .collect();
    let inside: Vec<Cumulative> =
        members.iter().map(|nodes| Cumulative::new(nodes.iter().map(|&node| propensity[node as usize]))).collect();

    let total = EDGES + VALID_EDGES + TEST_EDGES;
    let mut edges = Vec::with_capacity(total);
    let mut seen = HashSet::with_capacity(total);
    while edges.len() < total {
        let from = if edges.len() < NODES { edges.len() } else { everyone.pick(&mut random) };
        let to = if random.uniform() < INSIDE {
            let community = communities[from] as usize;
            members[community][inside[community].pick(&mut random)]
        } else {
            everyone.pick(&mut random) as u32
        };
        let edge = ordered(from as u32, to);
        if edge.0 != edge.1 && seen.insert(edge) {
            edges.push(edge);
        }
    }
    edges
}

struct Split {
    train: Vec<(u32, u32)>,
    valid: Vec<(u32, u32)>,
    test: Vec<(u32, u32)>,
}

/// Holds edges out at random, but never the last edge of a node.
fn hold_out(mut edges: Vec<(u32, u32)>) -> Split {
    let mut random = Random::new(3);
    for last in (1..edges.len()).rev() {
        edges.swap(last, random.below(last + 1));
    }
    let mut degrees = vec![0u32; NODES];
    for &(a, b) in &edges {
        degrees[a as usize] += 1;
        degrees[b as usize] += 1;
    }
    let mut held_out = Vec::with_capacity(VALID_EDGES + TEST_EDGES);
    let mut train = Vec::with_capacity(EDGES);
    for (a, b) in edges {
        let spare = degrees[a as usize] > 1 && degrees[b as usize] > 1;
        if spare && held_out.len() < VALID_EDGES + TEST_EDGES {
            degrees[a as usize] -= 1;
            degrees[b as usize] -= 1;
            held_out.push((a, b));
        } else {
            train.push((a, b));
        }
    }
    train.sort_unstable();
    let test = held_out.split_off(VALID_EDGES);
    Split { train, valid: held_out, test }
}

/// Distinct uniform pairs that are no edges.
fn non_edges(edges: &HashSet<(u32, u32)>, count: usize) -> Vec<(u32, u32)> {
    let mut random = Random::new(4);
    let mut pairs = Vec::with_capacity(count);
    let mut seen = HashSet::with_capacity(count);
    while pairs.len() < count {
        let pair = ordered(random.below(NODES) as u32, random.below(NODES) as u32);
        if pair.0 != pair.1 && !edges.contains(&pair) && seen.insert(pair) {
            pairs.push(pair);
        }
    }
    pairs
}

/// Row-major features: the centroid of the node's community, blurred.
fn features(communities: &[u32]) -> Vec<f32> {
    let mut random = Random::new(5);
    let centroids: Vec<f64> = (0..COMMUNITIES * FEATURES).map(|_| random.normal()).collect();
    let mut features = Vec::with_capacity(NODES * FEATURES);
    for &community in communities {
        let centroid = &centroids[community as usize * FEATURES..][..FEATURES];
        features.extend(centroid.iter().map(|mean| (mean + FEATURE_NOISE * random.normal()) as f32));
    }
    features
}

/// As many training nodes of each community, and some of the others, all at random.
fn node_split(communities: &[u32]) -> NodeSplit {
    let mut random = Random::new(6);
    let mut nodes: Vec<u32> = (0..NODES as u32).collect();
    for last in (1..NODES).rev() {
        nodes.swap(last, random.below(last + 1));
    }
    let mut wanted = [TRAINING_NODES; COMMUNITIES];
    let (mut train, mut others): (Vec<u32>, Vec<u32>) = nodes.into_iter().partition(|&node| {
        let wanted = &mut wanted[communities[node as usize] as usize];
        let learn = *wanted > 0;
        *wanted -= usize::from(learn);
        learn
    });
    others.truncate(VALID_NODES + TEST_NODES);
    let mut test = others.split_off(VALID_NODES);
    let mut valid = others;
    [&mut train, &mut valid, &mut test].into_iter().for_each(|part| part.sort_unstable());
    NodeSplit { train, valid, test }
}

fn ordered(a: u32, b: u32) -> (u32, u32) {
    if a < b { (a, b) } else { (b, a) }
}

/// Weights to draw an index from.
struct Cumulative(Vec<f64>);

impl Cumulative {
    fn new(weights: impl Iterator<Item = f64>) -> Self {
        let sums = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Self(sums.collect())
    }

    fn pick(&self, random: &mut Random) -> usize {
        let last = self.0.len() - 1;
        let target = random.uniform() * self.0[last];
        self.0.partition_point(|&sum| sum <= target).min(last)
    }
}

/// SplitMix64. `libm` rather than the standard library, whose last bits differ between platforms.
struct Random(u64);

impl Random {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    fn new(stream: u64) -> Self {
        Self(SEED ^ stream.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In `[0, 1)`.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In `0..bound`; the bias of the multiplication is far below what these sizes could show.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    fn power_law(&mut self) -> f64 {
        libm::pow(1.0 - self.uniform(), -1.0 / (DEGREE_EXPONENT - 1.0)).min(LARGEST_PROPENSITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degrees(edges: &[(u32, u32)]) -> Vec<usize> {
        let mut degrees = vec![0; NODES];
        for &(a, b) in edges {
            degrees[a as usize] += 1;
            degrees[b as usize] += 1;
        }
        degrees
    }

    #[test]
    fn is_the_same_every_time() {
        assert_eq!(demo(), demo());
    }

    /// A change of the generator changes every published figure of the demo: it must be meant.
    #[test]
    fn keeps_its_fingerprint() {
        let demo = demo();
        let mut sum = 0u64;
        let (valid, test) = (demo.valid.unwrap(), demo.test.unwrap());
        let groups = [&demo.graph.list().unwrap().edges, &valid.edges, &valid.non_edges, &test.edges, &test.non_edges];
        for &(a, b) in groups.into_iter().flatten() {
            sum = (sum ^ (u64::from(a) << 32 | u64::from(b))).wrapping_mul(0x0000_0100_0000_01b3);
        }
        for &feature in demo.features.iter().flatten() {
            sum = (sum ^ u64::from(feature.to_bits())).wrapping_mul(0x0000_0100_0000_01b3);
        }
        assert_eq!(sum, FINGERPRINT, "the demo graph changed: its fingerprint is now {sum:#018x}");
    }

    const FINGERPRINT: u64 = 0x90d9_7650_dde0_6f25;

    #[test]
    fn has_the_stated_sizes() {
        let demo = demo();
        assert_eq!(demo.graph.nodes(), NODES);
        assert_eq!(demo.graph.len(), EDGES);
        let (valid, test) = (demo.valid.unwrap(), demo.test.unwrap());
        assert_eq!((valid.edges.len(), valid.non_edges.len()), (VALID_EDGES, VALID_EDGES));
        assert_eq!((test.edges.len(), test.non_edges.len()), (TEST_EDGES, TEST_EDGES));
        assert_eq!(demo.ids.len(), NODES);
        assert_eq!(demo.features.unwrap().len(), NODES * FEATURES);
        let labels = demo.labels.unwrap();
        assert_eq!(labels.len(), NODES);
        assert_eq!(labels.into_iter().collect::<HashSet<_>>().len(), COMMUNITIES);
        assert_eq!((demo.classes.len(), demo.classes[7].as_str()), (COMMUNITIES, "community 7"));
    }

    #[test]
    fn nodes_are_split_as_stated() {
        let demo = demo();
        crate::dataset::check_nodes(&demo).unwrap();
        let (split, labels) = (demo.node_split.unwrap(), demo.labels.unwrap());
        assert_eq!((split.valid.len(), split.test.len()), (VALID_NODES, TEST_NODES));
        let learnt = |class| split.train.iter().filter(|&&node| labels[node as usize] == class).count();
        assert!((0..COMMUNITIES as u32).all(|class| learnt(class) == TRAINING_NODES));
    }

    #[test]
    fn pairs_are_distinct_and_no_node_is_isolated() {
        let demo = demo();
        let (valid, test) = (demo.valid.unwrap(), demo.test.unwrap());
        let groups = [&demo.graph.list().unwrap().edges, &valid.edges, &valid.non_edges, &test.edges, &test.non_edges];
        let mut seen = HashSet::new();
        for &(a, b) in groups.into_iter().flatten() {
            assert!(a < b && (b as usize) < NODES, "({a}, {b})");
            assert!(seen.insert((a, b)), "({a}, {b}) is listed twice");
        }
        assert!(degrees(&demo.graph.list().unwrap().edges).into_iter().all(|degree| degree > 0));
    }

    #[test]
    fn degrees_are_skewed_and_edges_stay_inside_communities() {
        let demo = demo();
        let mut degrees = degrees(&demo.graph.list().unwrap().edges);
        degrees.sort_unstable();
        let median = degrees[NODES / 2];
        assert!(degrees[NODES - 1] > 8 * median, "largest {}, median {median}", degrees[NODES - 1]);
        let labels = demo.labels.unwrap();
        let inside =
            demo.graph.list().unwrap().edges.iter().filter(|&&(a, b)| labels[a as usize] == labels[b as usize]).count();
        let share = inside as f64 / EDGES as f64;
        assert!((0.75..0.95).contains(&share), "{share}");
    }
}
