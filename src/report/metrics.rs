//! The figures of a run, as `metrics.json` holds them.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::evaluate::Metric;

/// The name of the stage that embeds nodes.
pub const EMBEDDING: &str = "embedding";
/// The name of the stage that trains the kernel over the powers of the singular values.
pub const FINETUNE: &str = "finetune";
/// The name of the stage that embeds again with the validation edges in the graph.
pub const UPDATE: &str = "update";

/// Everything that a run measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// The name of the config.
    pub config: String,
    /// The name of the dataset.
    pub dataset: String,
    /// How many nodes the graph has.
    pub nodes: usize,
    /// How many edges the graph has, without those held out.
    pub edges: usize,
    /// How many workers ran, in all processes together.
    pub workers: usize,
    /// How many processes ran.
    pub processes: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// What was computed, in order.
    pub stages: Vec<Stage>,
    /// How long it took.
    pub seconds: Seconds,
    /// The most memory held at once, where the system tells.
    pub peak_memory_bytes: Option<u64>,
}

/// One thing that was computed, how good it is and what it took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage {
    /// Which stage it is.
    pub name: &'static str,
    /// How long it took.
    pub seconds: f64,
    /// The figures for choosing settings, if the dataset has pairs for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<Scores>,
    /// The final figures, if the dataset has pairs for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<Scores>,
    /// How many singular triplets were kept.
    pub rank: usize,
    /// How many columns the matrix was multiplied by.
    pub operator_columns: usize,
    /// The worst ‖Mv − σu‖/σ; `None` when no triplet was kept.
    pub max_relative_residual: Option<f64>,
    /// How many iterations were made.
    pub iterations: usize,
    /// The kernel that was trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelFigures>,
    /// ROC-AUC on held-out training edges by rank, where the rank was chosen by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks_tried: Option<BTreeMap<usize, f64>>,
}

/// What training a kernel came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct KernelFigures {
    /// μ, the mean power.
    pub mean: f64,
    /// s̄, how sharply the powers gather around it.
    pub sharpness: f64,
    /// The mean cross-entropy towards the end.
    pub loss: f64,
}

/// Figures by metric, in the order in which the config asks for them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores(pub Vec<(Metric, f64)>);

/// Where the time went; writing the results comes after and is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Making or reading the dataset.
    pub load: f64,
    /// All stages.
    pub train: f64,
    /// Scoring pairs.
    pub evaluate: f64,
    /// From the first to the last.
    pub total: f64,
}

impl Metrics {
    /// The content of `metrics.json`.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

impl Scores {
    /// The figure of `metric`, if it was asked for.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.iter().find(|(name, _)| *name == metric).map(|(_, value)| *value)
    }
}

impl Serialize for Scores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(metric, value)| (metric.to_string(), value)))
    }
}

#[cfg(test)]
pub(super) fn example() -> Metrics {
    let scores = |auc| Some(Scores(vec![(Metric::Auc, auc), (Metric::AveragePrecision, 0.5)]));
    Metrics {
        config: "mine".to_owned(),
        dataset: "demo".to_owned(),
        nodes: 5_000,
        edges: 1_050_000,
        workers: 2,
        processes: 1,
        seed: 1,
        stages: vec![Stage {
            name: EMBEDDING,
            seconds: 1.5,
            valid: scores(0.75),
            test: scores(0.875),
            rank: 32,
            operator_columns: 600,
            max_relative_residual: Some(0.003),
            iterations: 10,
            kernel: None,
            ranks_tried: None,
        }],
        seconds: Seconds { load: 0.25, train: 1.5, evaluate: 0.125, total: 1.875 },
        peak_memory_bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_is_the_documented_one() {
        let expected = serde_json::json!({
            "config": "mine", "dataset": "demo", "nodes": 5000, "edges": 1050000, "workers": 2, "processes": 1, "seed": 1,
            "stages": [{
                "name": "embedding", "seconds": 1.5, "valid": {"auc": 0.75, "ap": 0.5}, "test": {"auc": 0.875, "ap": 0.5},
                "rank": 32, "operator_columns": 600, "max_relative_residual": 0.003, "iterations": 10,
            }],
            "seconds": {"load": 0.25, "train": 1.5, "evaluate": 0.125, "total": 1.875},
            "peak_memory_bytes": null,
        });
        let json = example().to_json().unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), expected);
        assert!(json.find("\"config\"") < json.find("\"dataset\""));
        assert!(json.ends_with("}\n"));
    }
}
