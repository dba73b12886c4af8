//! Results for a report: curves, spectra, confusion matrices, degrees.

use serde::{Deserialize, Serialize};

use crate::evaluate::Curves;
use crate::model::embedding::Embedding;
use crate::svd::{Certificate, ConvergenceCheck};

/// The most points of a map: as many as can be told apart, and laid out in a tenth of a second or
/// two.
pub const MAP_POINTS: usize = 2_000;
/// The most points of a curve.
pub const CURVE_POINTS: usize = 300;
/// More classes than this are too many to show beside each other.
const MOST_CLASSES: usize = 100;
/// Bins of degrees from a power of ten to the next.
const BINS: f64 = 10.0;

/// Results of one stage for a report; of several runs, those of the first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StageDetails {
    /// From the largest down.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub singular_values: Vec<f64>,
    /// The residual of each of their triplets, relative to its own σ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relative_residuals: Vec<f64>,
    /// The worst residual at each convergence check.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub convergence: Vec<ConvergenceCheck>,
    /// Curves of how edges are separated from other pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curves: Option<SplitCurves>,
    /// The confusion matrix of a classifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confusion: Option<Confusion>,
    /// The mean loss of a kernel over stretches of as many batches each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<f64>,
}

impl StageDetails {
    /// The details of a decomposition.
    pub(super) fn of_triplets(singular_values: Vec<f64>, certificate: &Certificate) -> Self {
        Self {
            singular_values,
            relative_residuals: certificate.relative_residuals.clone(),
            convergence: certificate.history.clone(),
            ..Self::default()
        }
    }

    /// The details of the decomposition behind an embedding.
    pub(super) fn of_embedding(embedding: &Embedding) -> Self {
        let values = embedding.singular_values.iter().map(|&value| f64::from(value)).collect();
        Self::of_triplets(values, &embedding.certificate)
    }
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
    /// The counts, unless there are too many classes to show.
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
}
