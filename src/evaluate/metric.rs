use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use super::{EvaluateError, average_precision, hits_at, mean_reciprocal_rank, roc_auc};

/// A figure that an experiment can ask for, by name.
///
/// ```
/// use isvd_dist::evaluate::Metric;
/// let metric: Metric = "hits@20".parse()?;
/// assert_eq!(metric.to_string(), "hits@20");
/// # Ok::<(), isvd_dist::evaluate::UnknownMetric>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// `auc`: [`roc_auc`].
    Auc,
    /// `ap`: [`average_precision`].
    AveragePrecision,
    /// `mrr`: [`mean_reciprocal_rank`].
    MeanReciprocalRank,
    /// `hits@K`: [`hits_at`].
    HitsAt(NonZeroUsize),
}

/// A name that no metric has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown metric `{name}`: expected {}", Metric::ACCEPTED)]
pub struct UnknownMetric {
    /// The name as it was given.
    pub name: String,
}

impl Metric {
    /// The names that are understood, in words.
    pub const ACCEPTED: &'static str = "`auc`, `ap`, `mrr` or `hits@K` with K at least 1";

    /// The figure for these scores of edges and non-edges.
    pub fn evaluate(self, positive: &[f32], negative: &[f32]) -> Result<f64, EvaluateError> {
        match self {
            Self::Auc => roc_auc(positive, negative),
            Self::AveragePrecision => average_precision(positive, negative),
            Self::MeanReciprocalRank => mean_reciprocal_rank(positive, negative),
            Self::HitsAt(k) => hits_at(k, positive, negative),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auc => f.write_str("auc"),
            Self::AveragePrecision => f.write_str("ap"),
            Self::MeanReciprocalRank => f.write_str("mrr"),
            Self::HitsAt(k) => write!(f, "hits@{k}"),
        }
    }
}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        let unknown = || UnknownMetric { name: name.to_owned() };
        match name {
            "auc" => Ok(Self::Auc),
            "ap" => Ok(Self::AveragePrecision),
            "mrr" => Ok(Self::MeanReciprocalRank),
            _ => {
                let k = name.strip_prefix("hits@").ok_or_else(unknown)?;
                k.parse().map(Self::HitsAt).map_err(|_| unknown())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in ["auc", "ap", "mrr", "hits@1", "hits@100"] {
            assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn other_names_are_refused_with_what_is_accepted() {
        for name in ["", "AUC", "hits", "hits@", "hits@0", "hits@-1", "hits@ 5", "hits@x"] {
            let error = name.parse::<Metric>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{name}`")) && error.contains("hits@K"), "{error}");
        }
    }
}
