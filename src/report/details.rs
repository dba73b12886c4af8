//! What a report shows beyond the figures, as `report.json` holds it: curves, spectra, the map, the plan.

use serde::{Deserialize, Serialize};

use crate::dataset::{Ids, UNLABELLED};
use crate::evaluate::Curves;
use crate::matrix::Dense;
use crate::model::map::{Options, map};
use crate::svd::Look;

/// The form of `report.json` that is written and understood.
pub const VERSION: u32 = 1;
/// The most points of a curve.
pub const CURVE_POINTS: usize = 300;
/// The most points of a map: as many as can be told apart, and laid out in a tenth of a second or two.
pub const MAP_POINTS: usize = 2_000;
/// More classes than this are too many to show beside each other.
const MOST_CLASSES: usize = 100;
/// Bins of degrees from a power of ten to the next.
const BINS: f64 = 10.0;

/// Everything that a run found besides its figures.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Details {
    /// The form that it is written in.
    pub version: u32,
    /// The program and its version.
    pub program: String,
    /// What was typed.
    pub command: String,
    /// When, in UTC.
    pub written: String,
    /// The names of the classes, where nodes are classified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// In the order of the stages in `metrics.json`.
    pub stages: Vec<StageDetails>,
    /// How many neighbours nodes have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degrees: Option<Degrees>,
    /// Where nodes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<NodeMap>,
    /// How the matrices were multiplied by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// What one stage found besides its figures; of several runs, the first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StageDetails {
    /// From the largest down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub singular_values: Vec<f64>,
    /// The residual of each of their triplets, relative to its own σ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relative_residuals: Vec<f64>,
    /// The worst of them on the way, where somebody looked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub convergence: Vec<Look>,
    /// How edges were told from other pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curves: Option<SplitCurves>,
    /// Into which classes nodes were put.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
    /// The mean loss of a kernel over stretches of as many batches each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<f64>,
}

/// Curves, and of which pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitCurves {
    /// `test` or `valid`.
    pub split: String,
    /// The curves.
    #[serde(flatten)]
    pub curves: Curves,
}

/// Nodes by class, and by the class they were put in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confusion {
    /// `test` or `valid`.
    pub split: String,
    /// One row a class, one column a class found.
    pub counts: Vec<Vec<u64>>,
}

impl Confusion {
    /// Counts worth showing.
    pub fn new(split: &str, counts: Vec<Vec<u64>>) -> Option<Self> {
        (counts.len() <= MOST_CLASSES).then(|| Self { split: split.to_owned(), counts })
    }
}

/// How many nodes have how many neighbours.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Degrees {
    /// Nodes without edges in either direction.
    pub isolated: usize,
    /// The largest.
    pub largest: f64,
    /// Their mean.
    pub mean: f64,
    /// From a degree on, to the one from which on the next bin counts, and nodes in between.
    pub bins: Vec<(f64, f64, usize)>,
}

impl Degrees {
    /// The degrees of all nodes, `isolated` of which have no edges. Bins grow with the degree, and
    /// whole degrees have bins of whole numbers; nodes of degree zero, isolated or with incoming
    /// edges only, are in none.
    pub fn of(degrees: &[f32], isolated: usize) -> Self {
        let is_whole = degrees.iter().all(|degree| degree.fract() == 0.0);
        let positive = degrees.iter().map(|&degree| f64::from(degree)).filter(|&degree| degree > 0.0);
        let (least, largest) =
            positive.clone().fold((f64::INFINITY, 0.0f64), |(low, high), one| (low.min(one), high.max(one)));
        let mut found = Self { isolated, largest, ..Self::default() };
        if largest == 0.0 {
            return found;
        }
        let edge = |bin: i32| {
            let exact = libm::pow(10.0, f64::from(bin) / BINS);
            if is_whole { exact.round() } else { exact }
        };
        let first = (libm::log10(least) * BINS).floor() as i32 - 1;
        let mut edges = vec![edge(first)];
        for bin in first + 1.. {
            let next = edge(bin);
            if edges.last().is_some_and(|&last| next > last) {
                edges.push(next);
            }
            if next > largest {
                break;
            }
        }
        let mut counts = vec![0; edges.len()];
        let mut sum = 0.0;
        for degree in positive {
            sum += degree;
            counts[edges.partition_point(|&edge| edge <= degree)] += 1;
        }
        found.mean = sum / degrees.len() as f64;
        let bins = edges.windows(2).zip(&counts[1..]).filter(|(_, count)| **count > 0);
        found.bins = bins.map(|(edges, &count)| (edges[0], edges[1], count)).collect();
        found
    }
}

/// Nodes in the plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeMap {
    /// What nodes near each other have in common, in a word.
    pub of: String,
    /// How many nodes there are, of which these are a sample.
    pub nodes: usize,
    /// What groups are: `label` or `community`.
    pub colour: String,
    /// The name of each group.
    pub groups: Vec<String>,
    /// What the user calls each node.
    pub ids: Vec<String>,
    /// From −1 to 1.
    pub x: Vec<f32>,
    /// From −1 to 1, upwards.
    pub y: Vec<f32>,
    /// The group of each node.
    pub group: Vec<u32>,
}

/// What to draw a map of.
#[derive(Debug, Clone, Copy)]
pub struct Mapped<'a> {
    /// What the vectors are, in a word.
    pub of: &'a str,
    /// Row after row.
    pub vectors: &'a [f32],
    /// Entries of a row.
    pub rank: usize,
    /// How many rows there are.
    pub rows: usize,
    /// What the user calls the node of each row, if rows are nodes.
    pub ids: Option<&'a Ids>,
    /// The class of every row and the names of the classes, where they are known.
    pub labels: Option<(&'a [u32], &'a [String])>,
    /// The seed of the map.
    pub seed: u64,
}

impl NodeMap {
    /// Lays a sample of the rows out. Where there are no labels, groups are communities.
    pub fn new(mapped: &Mapped<'_>) -> Option<Self> {
        if mapped.rows == 0 || mapped.rank == 0 {
            return None;
        }
        let found = map(mapped.vectors, mapped.rank, mapped.rows, &Options::new(MAP_POINTS, mapped.seed));
        let id = |&row: &u32| match mapped.ids.and_then(|ids| ids.get(row as usize)) {
            Some(id) => id.into_owned(),
            None => format!("row {row}"),
        };
        let (colour, groups, group) = match mapped.labels.filter(|(labels, _)| labels.len() == mapped.rows) {
            Some((labels, classes)) => {
                let of_row = |&row: &u32| match labels[row as usize] {
                    UNLABELLED => classes.len() as u32,
                    class => class,
                };
                let names = classes.iter().cloned().chain(["no label".to_owned()]).collect();
                ("label", names, found.rows.iter().map(of_row).collect())
            }
            None => {
                let names = (1..=found.group_count).map(|number| format!("community {number}")).collect();
                ("community", names, found.groups)
            }
        };
        // A ten-thousandth of the width of the map is less than anybody sees.
        let rounded = |axis: usize| found.places.iter().map(|place| (place[axis] * 1e4).round() / 1e4).collect();
        Some(Self {
            of: mapped.of.to_owned(),
            nodes: mapped.rows,
            colour: colour.to_owned(),
            groups,
            ids: found.rows.iter().map(id).collect(),
            x: rounded(0),
            y: rounded(1),
            group,
        })
    }

    /// Whether all lists are as long as each other, and all groups have names.
    pub(super) fn is_whole(&self) -> bool {
        let count = self.ids.len();
        let is_finite = |axis: &[f32]| axis.iter().all(|coordinate| (-1.0..=1.0).contains(coordinate));
        (self.x.len(), self.y.len(), self.group.len()) == (count, count, count)
            && self.group.iter().all(|&group| (group as usize) < self.groups.len())
            && is_finite(&self.x)
            && is_finite(&self.y)
    }
}

/// The logarithms of probabilities, as far as they tell classes apart.
pub fn log_odds(probabilities: &Dense) -> Dense {
    const LEAST: f64 = 1e-9;
    let odds = |&share: &f32| libm::log(f64::from(share).max(LEAST)) as f32;
    let entries = probabilities.data().iter().map(odds).collect();
    // As many entries as before.
    Dense::new(probabilities.rows(), probabilities.columns(), entries).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_degrees_have_bins_of_their_own_and_no_node_is_lost() {
        let degrees = Degrees::of(&[0.0, 1.0, 1.0, 2.0, 3.0, 7.0, 120.0], 1);
        assert_eq!(degrees.bins[..4], [(1.0, 2.0, 2), (2.0, 3.0, 1), (3.0, 4.0, 1), (6.0, 8.0, 1)]);
        let (from, to, nodes) = degrees.bins[4];
        assert!(from <= 120.0 && 120.0 < to && nodes == 1 && degrees.bins.len() == 5);
        assert_eq!((degrees.isolated, degrees.largest), (1, 120.0));
        let weighted = Degrees::of(&[0.25, 0.5, 1e6], 0);
        assert_eq!(weighted.bins.iter().map(|bin| bin.2).sum::<usize>(), 3);
        assert_eq!(Degrees::of(&[0.0, 0.0], 2), Degrees { isolated: 2, ..Degrees::default() });
    }

    #[test]
    fn a_map_is_coloured_by_labels_where_there_are_any() {
        let vectors = [1.0, 0.0, 0.9, 0.1, 0.0, 1.0, 0.1, 0.9];
        let (ids, classes) = (Ids::names(["a", "b", "c", "d"]), ["x".to_owned(), "y".to_owned()]);
        let labels = Some((&[1, UNLABELLED, 0, 0][..], &classes[..]));
        let mapped = Mapped { of: "embedding", vectors: &vectors, rank: 2, rows: 4, ids: Some(&ids), labels, seed: 1 };
        let map = NodeMap::new(&mapped).unwrap();
        assert_eq!((map.colour.as_str(), &map.group[..]), ("label", &[1, 2, 0, 0][..]));
        assert_eq!((map.ids[1].as_str(), map.groups[2].as_str()), ("b", "no label"));
        assert!(map.is_whole());
        let map = NodeMap::new(&Mapped { labels: None, ids: None, ..mapped }).unwrap();
        assert_eq!((map.colour.as_str(), map.ids[3].as_str()), ("community", "row 3"));
    }
}
