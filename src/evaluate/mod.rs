//! How good scores are: figures over edges that were held out and pairs that are no edges.
//!
//! Every figure is a fraction, computed from whole counts, so it does not depend on the order of
//! the pairs.

mod accuracy;
mod confusion;
mod curves;
mod hits;
mod metric;
mod precision;
mod reciprocal;
mod roc;

pub use accuracy::accuracy;
pub use confusion::confusion;
pub use curves::{Curves, curves};
pub use hits::hits_at;
pub use metric::{Metric, UnknownMetric};
pub use precision::average_precision;
pub use reciprocal::mean_reciprocal_rank;
pub use roc::roc_auc;

/// Why scores have no figure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// One of the two sides has no scores at all.
    #[error("there are no {side} to score: a figure needs at least one")]
    Empty {
        /// Which side is empty.
        side: Side,
    },
    /// A score is not a number, so it has no rank among the others.
    #[error("the score of {side} number {index} is not a number")]
    NotANumber {
        /// The side of the offending score.
        side: Side,
        /// Its place among the scores of that side, from 0.
        index: usize,
    },
}

/// The two kinds of pairs that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Held-out edges, which should score high.
    Edges,
    /// Pairs that are no edges, which should score low.
    NonEdges,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Edges => "edges",
            Self::NonEdges => "non-edges",
        })
    }
}

/// Refuses what no figure can be computed from.
fn check(positive: &[f32], negative: &[f32]) -> Result<(), EvaluateError> {
    for (side, scores) in [(Side::Edges, positive), (Side::NonEdges, negative)] {
        if scores.is_empty() {
            return Err(EvaluateError::Empty { side });
        }
        if let Some(index) = scores.iter().position(|score| score.is_nan()) {
            return Err(EvaluateError::NotANumber { side, index });
        }
    }
    Ok(())
}

/// Scores in descending order. Adding zero turns −0 into 0, which `total_cmp` would tell apart.
fn descending(scores: &[f32]) -> Vec<f32> {
    let mut sorted: Vec<f32> = scores.iter().map(|score| score + 0.0).collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    sorted
}

#[cfg(test)]
mod oracle {
    //! Slow, obvious definitions, and scores with many ties to try them on.

    use proptest::prelude::*;

    pub fn scores() -> impl Strategy<Value = Vec<f32>> {
        let score = prop_oneof![
            3 => (-3i8..=3).prop_map(|small| f32::from(small) * 0.5),
            1 => -1e3f32..1e3,
            1 => prop::sample::select(vec![0.0f32, -0.0, f32::INFINITY, f32::NEG_INFINITY]),
        ];
        prop::collection::vec(score, 1..60)
    }

    pub fn auc(positive: &[f32], negative: &[f32]) -> f64 {
        let mut wins = 0.0;
        for p in positive {
            for n in negative {
                wins += if p > n {
                    1.0
                } else if p == n {
                    0.5
                } else {
                    0.0
                };
            }
        }
        wins / (positive.len() * negative.len()) as f64
    }

    pub fn hits_at(k: usize, positive: &[f32], negative: &[f32]) -> f64 {
        let beaten_by_fewer_than_k = |p: &&f32| negative.iter().filter(|n| *n >= p).count() < k;
        positive.iter().filter(beaten_by_fewer_than_k).count() as f64 / positive.len() as f64
    }

    /// Σ (Rₙ − Rₙ₋₁) Pₙ over each distinct score as a threshold: each edge adds the precision at
    /// its own score.
    pub fn average_precision(positive: &[f32], negative: &[f32]) -> f64 {
        let at_least = |scores: &[f32], t: f32| scores.iter().filter(|s| **s >= t).count() as f64;
        let precision = |&t: &f32| {
            let found = at_least(positive, t);
            found / (found + at_least(negative, t))
        };
        positive.iter().map(precision).sum::<f64>() / positive.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_score_and_nan_are_errors_in_every_metric() {
        let metrics: Vec<Metric> = ["auc", "ap", "hits@2"].map(|name| name.parse().unwrap()).to_vec();
        for metric in metrics {
            let no_edges = metric.evaluate(&[], &[1.0]);
            assert_eq!(no_edges, Err(EvaluateError::Empty { side: Side::Edges }));
            let no_others = metric.evaluate(&[1.0], &[]);
            assert_eq!(no_others, Err(EvaluateError::Empty { side: Side::NonEdges }));
            let nan = metric.evaluate(&[1.0], &[0.0, f32::NAN]);
            assert_eq!(nan, Err(EvaluateError::NotANumber { side: Side::NonEdges, index: 1 }));
        }
    }
}
