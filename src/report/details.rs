//! The content of `report.json`: curves, spectra, the map, the plan.

use serde::{Deserialize, Serialize};

use crate::dataset::{Ids, UNLABELLED};
pub use crate::experiment::details::MAP_POINTS;
use crate::experiment::details::{Degrees, StageDetails};
use crate::experiment::{Found, Outcome};
use crate::matrix::Dense;
use crate::model::map::{Options, Sample, map_sample};

/// The form of `report.json` that is written and understood.
pub const VERSION: u32 = 1;

/// Results of a run for a report.
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

impl Details {
    /// What an experiment found, by a command that was typed at a moment.
    pub fn new(outcome: &Outcome, command: String, written: String) -> Self {
        let (dataset, seed) = (&outcome.dataset, outcome.metrics.seed);
        let (map, classes) = match &outcome.found {
            Found::Embedding(embedding) => {
                let ids = outcome.ids();
                let map = NodeMap::new(Mapped {
                    of: "embedding",
                    sample: outcome.sample.clone().unwrap_or_default(),
                    rank: embedding.rank,
                    rows: embedding.nodes,
                    ids,
                    labels: ids.and(dataset.labels.as_deref()).map(|labels| (labels, &dataset.classes[..])),
                    seed,
                });
                (map, Vec::new())
            }
            Found::Classifier { probabilities, .. } => {
                let odds = log_odds(probabilities);
                let map = NodeMap::new(Mapped {
                    of: "class probabilities",
                    sample: sample_of(&odds, seed),
                    rank: odds.columns(),
                    rows: odds.rows(),
                    ids: outcome.ids(),
                    labels: Some((dataset.labels.as_deref().unwrap_or_default(), &dataset.classes)),
                    seed,
                });
                (map, dataset.classes.clone())
            }
        };
        Self {
            version: VERSION,
            program: concat!("isvd-dist ", env!("CARGO_PKG_VERSION")).to_owned(),
            command,
            written,
            classes,
            stages: outcome.metrics.stages.iter().map(|stage| stage.details.clone()).collect(),
            degrees: Some(outcome.degrees.clone()),
            map,
            plan: outcome.plan.as_ref().map(ToString::to_string),
        }
    }
}

/// Nodes in the plane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeMap {
    /// The vectors that the map is of, in a word.
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
#[derive(Debug, Clone)]
pub struct Mapped<'a> {
    /// What the vectors are, in a word.
    pub of: &'a str,
    /// The rows to show.
    pub sample: Sample,
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

/// The rows of a matrix to show.
pub(super) fn sample_of(matrix: &Dense, seed: u64) -> Sample {
    Sample::new(matrix.data(), matrix.columns(), matrix.rows(), &Options::new(MAP_POINTS, seed))
}

impl NodeMap {
    /// Lays a sample of the rows out. Where there are no labels, groups are communities.
    pub fn new(mapped: Mapped<'_>) -> Option<Self> {
        if mapped.rows == 0 || mapped.rank == 0 {
            return None;
        }
        let found = map_sample(mapped.sample, mapped.rank, &Options::new(MAP_POINTS, mapped.seed));
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

/// The logarithms of probabilities, which separate classes better.
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
    fn a_map_is_coloured_by_labels_where_there_are_any() {
        let vectors = [1.0, 0.0, 0.9, 0.1, 0.0, 1.0, 0.1, 0.9];
        let (ids, classes) = (Ids::names(["a", "b", "c", "d"]), ["x".to_owned(), "y".to_owned()]);
        let labels = Some((&[1, UNLABELLED, 0, 0][..], &classes[..]));
        let mapped = Mapped {
            of: "embedding",
            sample: Sample { rows: vec![0, 1, 2, 3], vectors: vectors.to_vec() },
            rank: 2,
            rows: 4,
            ids: Some(&ids),
            labels,
            seed: 1,
        };
        let map = NodeMap::new(mapped.clone()).unwrap();
        assert_eq!((map.colour.as_str(), &map.group[..]), ("label", &[1, 2, 0, 0][..]));
        assert_eq!((map.ids[1].as_str(), map.groups[2].as_str()), ("b", "no label"));
        assert!(map.is_whole());
        let map = NodeMap::new(Mapped { labels: None, ids: None, ..mapped }).unwrap();
        assert_eq!((map.colour.as_str(), map.ids[3].as_str()), ("community", "row 3"));
    }
}
