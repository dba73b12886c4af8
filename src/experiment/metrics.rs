//! The figures of a run, as `metrics.json` holds them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::details::StageDetails;
use super::follow::FollowFigures;
use crate::engine::WorkerTime;
use crate::finetune::network::EpochFigures;
use crate::svd::{self, Certificate, CompletenessCheck, Evidence, Keep, worst_residual};

/// The name of the stage that embeds nodes.
pub const EMBEDDING: &str = "embedding";
/// The name of the stage that trains the kernel over the powers of the singular values.
pub const FINETUNE: &str = "finetune";
/// The name of the stage that embeds again with the validation edges in the graph.
pub const UPDATE: &str = "update";

/// The name of the stage that fits the weights of a classifier in closed form.
pub const CLASSIFIER: &str = "classifier";
/// The name of the stage that fits them again with a copy of the matrix without labels.
pub const DROPOUT_LABELS: &str = "dropout-labels";
/// The name of the stage that fits them again with copies of the matrix with entries dropped.
pub const DROPOUT: &str = "dropout";
/// The name of the stage that reduces features.
pub const FEATURES: &str = "features";
/// The share of nodes whose class was found.
pub const ACCURACY: &str = "accuracy";

/// Everything that a run measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// The name of the config.
    pub config: String,
    /// The name of the dataset.
    pub dataset: String,
    /// How many nodes the graph has.
    pub nodes: usize,
    /// How many distinct edges there are: undirected ones count once, whichever way and however
    /// often they are listed.
    pub edges: usize,
    /// How many of them are in the graph that was learnt from.
    #[serde(default)]
    pub training_edges: usize,
    /// How many are held out of it, for choosing settings and for the final figure.
    #[serde(default)]
    pub held_out_edges: usize,
    /// Whether its edges have a direction.
    pub directed: bool,
    /// How many workers ran, in all processes together.
    pub workers: usize,
    /// How many processes ran.
    pub processes: usize,
    /// Bytes that process 0 sent to others, where there were others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_bytes_sent: Option<u64>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How many times everything ran, with the seeds from `seed` on, where it was more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<usize>,
    /// What was computed, in order.
    pub stages: Vec<Stage>,
    /// How long it took.
    pub seconds: Seconds,
    /// The most memory held at once, where the system tells.
    pub peak_memory_bytes: Option<u64>,
    /// The time of every worker of all processes, where there were several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_by_worker: Vec<WorkerFigures>,
    /// What became of a stream, where one was followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<FollowFigures>,
}

/// Where the time of a worker went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerFigures {
    /// Its number.
    pub worker: usize,
    /// Seconds it computed.
    pub computing: f64,
    /// Seconds it waited for blocks of others.
    pub waiting: f64,
    /// The waiting time by the worker that was waited for, from a millisecond on.
    pub waiting_for: BTreeMap<usize, f64>,
    /// Bytes of panels and sums that it sent to other processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_bytes: Option<u64>,
}

/// Waits shorter than this are not worth a line.
const SHORT_WAIT: f64 = 1e-3;

impl WorkerFigures {
    /// The figures of all workers; none for a single worker.
    pub fn of_all(times: &[WorkerTime]) -> Vec<Self> {
        let figures = |(worker, time): (usize, &WorkerTime)| Self {
            worker,
            computing: time.computing,
            waiting: time.waiting_for.iter().sum(),
            waiting_for: time.waiting_for.iter().copied().enumerate().filter(|(_, wait)| *wait >= SHORT_WAIT).collect(),
            sent_bytes: Some(time.sent as u64).filter(|&bytes| bytes > 0),
        };
        match times.len() {
            0 | 1 => Vec::new(),
            _ => times.iter().enumerate().map(figures).collect(),
        }
    }
}

/// One thing that was computed, how good it is and what it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Which stage it is.
    pub name: Cow<'static, str>,
    /// How long it took.
    pub seconds: f64,
    /// The figures for choosing settings, if the dataset has pairs or nodes for it; of several
    /// runs, the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<Scores>,
    /// The final figures, if the dataset has pairs or nodes for it; of several runs, the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<Scores>,
    /// The standard deviation of `valid` over several runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_spread: Option<Scores>,
    /// The standard deviation of `test` over several runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_spread: Option<Scores>,
    /// What was decomposed, if something was.
    #[serde(flatten)]
    pub decomposition: Option<Decomposition>,
    /// The kernel that was trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelFigures>,
    /// ROC-AUC on held-out training edges by rank, where the rank was chosen by it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "by_number")]
    pub ranks_tried: Option<BTreeMap<usize, f64>>,
    /// The network that was trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkFigures>,
    /// The most memory that the process had held at once when the stage was over, where the system
    /// tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    /// What else was found, which `report.json` holds.
    #[serde(skip)]
    pub details: StageDetails,
}

impl Stage {
    /// A stage of which nothing but its name and its time is known yet.
    pub fn new(name: &'static str, seconds: f64) -> Self {
        let (valid, test, valid_spread, test_spread) = (None, None, None, None);
        Self {
            name: name.into(),
            seconds,
            valid,
            test,
            valid_spread,
            test_spread,
            decomposition: None,
            kernel: None,
            ranks_tried: None,
            network: None,
            peak_memory_bytes: None,
            details: StageDetails::default(),
        }
    }

    /// Warnings where the stage falls short of what was asked for, one line each.
    pub fn shortfalls(&self) -> Vec<String> {
        // A kernel is trained over the triplets of the stage before.
        let Some(found) = self.decomposition.filter(|_| self.kernel.is_none()) else { return Vec::new() };
        let said = |what: String| format!("{}: {what}", self.name);
        let missed = found.missed_tolerance().and(found.worst_residual());
        let missed = missed.map(|residual| said(format!("the worst residual is {residual}: {}", self.way_out())));
        missed.into_iter().chain(self.missing_triplets(&found).map(said)).collect()
    }

    /// The settings to change for smaller residuals.
    fn way_out(&self) -> &'static str {
        match &*self.name {
            EMBEDDING => "raise embedding.iterations or embedding.tolerance",
            UPDATE => "raise update.iterations or embedding.tolerance",
            _ => "raise the iterations or the tolerance",
        }
    }

    /// Why there are fewer triplets than asked for, if there are. A classifier leaves small
    /// singular values out on purpose, and components are at most as many as features.
    fn missing_triplets(&self, found: &Decomposition) -> Option<String> {
        if ![EMBEDDING, UPDATE].contains(&&*self.name) {
            return None;
        }
        let (RankShortfall { rank, rank_asked }, whose) = match found.other_seed {
            Some(other) => (other, " with another seed"),
            None => (found.rank_shortfall()?, ""),
        };
        let why = match found.missed_tolerance() {
            None => "the remaining singular values are below the rounding error of 32-bit arithmetic",
            Some(_) => {
                "the remaining singular values did not converge, or are below the rounding error of 32-bit arithmetic"
            }
        };
        Some(format!("found {rank} of {rank_asked} singular triplets{whose}: {why}"))
    }
}

/// What a decomposition came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decomposition {
    /// How many singular triplets were kept: the columns of the vectors. Of several runs, those of
    /// the first, whose vectors are saved.
    pub rank: usize,
    /// How many were asked for, where that was a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_asked: Option<usize>,
    /// Of several runs: the smallest rank that is below what was asked for, where it is below
    /// `rank` too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_seed: Option<RankShortfall>,
    /// How many columns the matrix was multiplied by, or what comes to as much work.
    pub operator_columns: usize,
    /// The worst residual of a triplet relative to its own σ; `None` when no triplet was kept.
    pub max_relative_residual: Option<f64>,
    /// Whether the residuals are measured with the matrix or estimated.
    #[serde(default)]
    pub residuals: Evidence,
    /// The largest entry of |UᵀU − I| and |VᵀV − I|.
    #[serde(default)]
    pub orthogonality_loss: f64,
    /// The triplets are exact for a matrix that differs by this multiple of σ₁.
    #[serde(default)]
    pub backward_error: f64,
    /// The largest residual that was asked for, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Whether no residual is above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_tolerance_met: Option<bool>,
    /// Of a least-squares solution: the relative residual of its normal equations, measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normal_residual: Option<f64>,
    /// The check that no larger singular value is missing; `"not checked"` where it was not made.
    #[serde(default, serialize_with = "checked", deserialize_with = "if_checked")]
    pub completeness: Option<CompletenessCheck>,
    /// How many iterations were made.
    pub iterations: usize,
    /// The share of the energy that the triplets hold, where they were chosen by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<f64>,
}

/// Fewer singular triplets than were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankShortfall {
    /// How many were found.
    pub rank: usize,
    /// How many were asked for.
    pub rank_asked: usize,
}

fn checked<S: Serializer>(check: &Option<CompletenessCheck>, serializer: S) -> Result<S::Ok, S::Error> {
    match check {
        Some(check) => check.serialize(serializer),
        None => serializer.serialize_str("not checked"),
    }
}

fn if_checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CompletenessCheck>, D::Error> {
    Ok(serde_json::from_value(serde_json::Value::deserialize(deserializer)?).ok())
}

impl Decomposition {
    /// The figures of triplets with this certificate.
    pub fn new(rank: usize, certificate: &Certificate, iterations: usize, operator_columns: usize) -> Self {
        Self {
            rank,
            rank_asked: None,
            other_seed: None,
            operator_columns,
            max_relative_residual: worst_residual(&certificate.relative_residuals),
            residuals: certificate.evidence,
            orthogonality_loss: certificate.orthogonality_loss,
            backward_error: certificate.backward_error,
            tolerance: None,
            is_tolerance_met: None,
            normal_residual: None,
            completeness: certificate.completeness,
            iterations,
            energy: None,
        }
    }

    /// The figures with the rank and the tolerance that were asked for.
    pub fn asked(self, options: &svd::Options) -> Self {
        let rank_asked = (options.keep == Keep::All).then_some(options.rank);
        Self { rank_asked, tolerance: options.tolerance, ..self }.judged()
    }

    /// How many triplets were found of how many, if fewer than asked for.
    fn rank_shortfall(&self) -> Option<RankShortfall> {
        let rank_asked = self.rank_asked.filter(|&asked| self.rank < asked)?;
        Some(RankShortfall { rank: self.rank, rank_asked })
    }

    /// The figures with the verdict on the tolerance.
    fn judged(self) -> Self {
        // An estimate does not pass for a measurement.
        let is_measured = self.residuals == Evidence::Measured;
        let met = self.tolerance.zip(self.max_relative_residual);
        let met = met.map(|(tolerance, worst)| worst <= tolerance && is_measured);
        Self { is_tolerance_met: met, ..self }
    }

    /// The completeness check in words.
    pub fn completeness(&self) -> String {
        match self.completeness {
            None => "not checked".to_owned(),
            Some(CompletenessCheck { gap: 0.0, .. }) => "all singular values were computed".to_owned(),
            Some(CompletenessCheck { gap, failure_probability }) => {
                // Two digits of the gap, and of 1 + gap at least two decimals.
                let decimals = (1.0 - gap.log10().floor()).max(2.0) as usize;
                format!(
                    "none above {:.decimals$} σ_{} is missing (probability of error {failure_probability:.0e})",
                    1.0 + gap,
                    self.rank
                )
            }
        }
    }

    /// The worst residual in words, and whether it is above the tolerance.
    pub fn worst_residual(&self) -> Option<String> {
        let worst = self.max_relative_residual?;
        Some(match self.missed_tolerance() {
            None => format!("{worst:.2e} of its σ ({})", self.residuals),
            Some(tolerance) => format!("{worst:.2e} of its σ, above the tolerance of {tolerance} ({})", self.residuals),
        })
    }

    /// The tolerance, where the worst residual is above it.
    pub fn missed_tolerance(&self) -> Option<f64> {
        self.tolerance.filter(|_| self.is_tolerance_met == Some(false))
    }
}

/// What training a network came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkFigures {
    /// How many numbers were trained.
    pub parameters: usize,
    /// The epoch that was kept; 0 is the network before training.
    pub kept_epoch: usize,
    /// The validation accuracy before training, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_accuracy: Option<f64>,
    /// Loss, accuracy and time of every epoch.
    pub epochs: Vec<EpochFigures>,
}

/// What training a kernel came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KernelFigures {
    /// μ, the mean power.
    pub mean: f64,
    /// s̄, how sharply the powers gather around it.
    pub sharpness: f64,
    /// The mean cross-entropy towards the end.
    pub loss: f64,
}

/// Figures by name, in the order in which the config asks for them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores(pub Vec<(String, f64)>);

/// Where the time went; writing the results comes after and is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// MatrixSettings or reading the dataset.
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
    /// The figure of that name, if it was asked for.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }
}

impl Serialize for Scores {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Scores {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let figures = serde_json::Map::deserialize(deserializer)?;
        let figure = |(name, value): (String, serde_json::Value)| match value.as_f64() {
            Some(value) => Ok((name, value)),
            None => Err(serde::de::Error::custom(format!("the figure {name} is {value}, and no number"))),
        };
        figures.into_iter().map(figure).collect::<Result<_, _>>().map(Self)
    }
}

/// Reads figures by numbers, which stand in quotes.
fn by_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<usize, f64>>, D::Error> {
    let read = Option::<BTreeMap<String, f64>>::deserialize(deserializer)?;
    let number = |(number, figure): (String, f64)| Ok((number.parse().map_err(serde::de::Error::custom)?, figure));
    read.map(|read| read.into_iter().map(number).collect()).transpose()
}

/// The stages of several runs as one: figures and times are means, spreads are standard deviations,
/// residuals are the worst, the completeness check is the weakest, and everything else is that of
/// the first run, whose vectors are saved. A smaller rank of another run that misses triplets
/// stands beside it.
pub fn merge(mut runs: Vec<Vec<Stage>>) -> Vec<Stage> {
    let count = runs.len() as f64;
    if runs.len() < 2 {
        return runs.pop().unwrap_or_default();
    }
    let merge_stage = |(position, first): (usize, &Stage)| {
        let stages: Vec<&Stage> = runs.iter().filter_map(|run| run.get(position)).collect();
        let of = |pick: fn(&Stage) -> &Option<Scores>| {
            let scores: Vec<&Scores> = stages.iter().filter_map(|stage| pick(stage).as_ref()).collect();
            mean_and_spread(&scores).unzip()
        };
        let ((valid, valid_spread), (test, test_spread)) = (of(|stage| &stage.valid), of(|stage| &stage.test));
        let found: Vec<Decomposition> = stages.iter().filter_map(|stage| stage.decomposition).collect();
        let worst = |pick: fn(&Decomposition) -> Option<f64>| {
            worst_residual(&found.iter().filter_map(pick).collect::<Vec<f64>>())
        };
        Stage {
            seconds: stages.iter().map(|stage| stage.seconds).sum::<f64>() / count,
            valid,
            test,
            valid_spread,
            test_spread,
            decomposition: first.decomposition.map(|one| {
                let short = found.iter().filter_map(Decomposition::rank_shortfall).min_by_key(|short| short.rank);
                let worst = Decomposition {
                    other_seed: short.filter(|short| short.rank < one.rank),
                    completeness: weakest(&found),
                    max_relative_residual: worst(|one| one.max_relative_residual),
                    normal_residual: worst(|one| one.normal_residual),
                    ..one
                };
                worst.judged()
            }),
            ..first.clone()
        }
    };
    runs[0].iter().enumerate().map(merge_stage).collect()
}

/// The largest gap and the largest probability of error; `None` if one of the runs was not checked.
fn weakest(found: &[Decomposition]) -> Option<CompletenessCheck> {
    let checks: Vec<CompletenessCheck> = found.iter().map(|one| one.completeness).collect::<Option<_>>()?;
    checks.into_iter().reduce(|one, other| CompletenessCheck {
        gap: one.gap.max(other.gap),
        failure_probability: one.failure_probability.max(other.failure_probability),
    })
}

/// The mean and the standard deviation of every figure, if there are any.
fn mean_and_spread(scores: &[&Scores]) -> Option<(Scores, Scores)> {
    let count = scores.len() as f64;
    let figures = |name: &String| scores.iter().filter_map(|scores| scores.get(name)).collect::<Vec<f64>>();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
    let (means, spreads) = scores
        .first()?
        .0
        .iter()
        .map(|(name, _)| {
            let values = figures(name);
            let mean = mean(&values);
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
            let spread = (squares / (count - 1.0).max(1.0)).sqrt();
            ((name.clone(), mean), (name.clone(), spread))
        })
        .unzip();
    Some((Scores(means), Scores(spreads)))
}

#[cfg(test)]
pub(crate) fn example() -> Metrics {
    let scores = |auc| Some(Scores(vec![("auc".to_owned(), auc), ("ap".to_owned(), 0.5)]));
    Metrics {
        config: "mine".to_owned(),
        dataset: "demo".to_owned(),
        nodes: 5_000,
        edges: 1_050_000,
        training_edges: 1_000_000,
        held_out_edges: 50_000,
        directed: false,
        workers: 2,
        processes: 1,
        network_bytes_sent: None,
        seed: 1,
        seeds: None,
        stages: vec![Stage {
            valid: scores(0.75),
            test: scores(0.875),
            decomposition: Some(Decomposition::new(32, &Certificate::of_residuals(&[0.003]), 10, 600)),
            ..Stage::new(EMBEDDING, 1.5)
        }],
        seconds: Seconds { load: 0.25, train: 1.5, evaluate: 0.125, total: 1.875 },
        peak_memory_bytes: None,
        time_by_worker: Vec::new(),
        follow: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_is_the_documented_one() {
        let expected = serde_json::json!({
            "config": "mine", "dataset": "demo", "nodes": 5000, "edges": 1050000,
            "training_edges": 1000000, "held_out_edges": 50000, "directed": false, "workers": 2,
            "processes": 1, "seed": 1,
            "stages": [{
                "name": "embedding", "seconds": 1.5, "valid": {"auc": 0.75, "ap": 0.5}, "test": {"auc": 0.875, "ap": 0.5},
                "rank": 32, "operator_columns": 600, "max_relative_residual": 0.003,
                "residuals": "measured", "orthogonality_loss": 0.0, "backward_error": 0.0,
                "completeness": "not checked", "iterations": 10,
            }],
            "seconds": {"load": 0.25, "train": 1.5, "evaluate": 0.125, "total": 1.875},
            "peak_memory_bytes": null,
        });
        let json = example().to_json().unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), expected);
        assert_eq!(serde_json::from_str::<Metrics>(&json).unwrap(), example());
        assert!(json.find("\"config\"") < json.find("\"dataset\""));
        assert!(json.ends_with("}\n"));
    }

    /// A result that is less than what was asked for has to say so.
    #[test]
    fn shortfalls_are_said_with_a_way_out() {
        let asked = svd::Options { tolerance: Some(0.03), ..svd::Options::of_rank(8) };
        let stage = |name, rank, worst| Stage {
            decomposition: Some(
                Decomposition::new(rank, &Certificate::of_residuals(&[0.001, worst]), 0, 0).asked(&asked),
            ),
            ..Stage::new(name, 1.0)
        };
        let met = stage(EMBEDDING, 8, 0.03);
        assert_eq!((met.shortfalls(), met.decomposition.unwrap().is_tolerance_met), (vec![], Some(true)));
        assert_eq!(
            stage(UPDATE, 8, 0.265).shortfalls(),
            ["update: the worst residual is 2.65e-1 of its σ, above the tolerance of 0.03 (measured): raise \
              update.iterations or embedding.tolerance"]
        );
        let few = stage(EMBEDDING, 5, 0.01).shortfalls();
        assert!(few.len() == 1 && few[0].starts_with("embedding: found 5 of 8 singular triplets: "), "{few:?}");
        assert_eq!(stage(CLASSIFIER, 5, 0.01).shortfalls(), [""; 0], "small singular values are left out on purpose");
        let stuck = stage(EMBEDDING, 5, 0.1).shortfalls();
        assert!(stuck.len() == 2 && stuck[1].contains("did not converge"), "{stuck:?}");
        let unasked = Stage {
            decomposition: Some(Decomposition::new(5, &Certificate::of_residuals(&[0.9]), 0, 0)),
            ..Stage::new(EMBEDDING, 1.0)
        };
        assert_eq!(unasked.shortfalls(), [""; 0]);
        // Of several runs the worst counts.
        let merged = merge(vec![vec![met], vec![stage(EMBEDDING, 8, 0.1)]]);
        assert_eq!(merged[0].decomposition.unwrap().is_tolerance_met, Some(false));
    }

    /// Catches a rank that is not the number of columns of the saved vectors, and a later seed that
    /// found fewer triplets, or checked less, and is not reported.
    #[test]
    fn of_several_runs_the_rank_is_that_of_the_first_and_the_weakest_check_counts() {
        let run = |rank, asked, check: Option<(f64, f64)>| {
            let completeness = check.map(|(gap, failure_probability)| CompletenessCheck { gap, failure_probability });
            let found = Decomposition::new(rank, &Certificate::of_residuals(&[0.01]), 0, 0)
                .asked(&svd::Options::of_rank(asked));
            vec![Stage { decomposition: Some(Decomposition { completeness, ..found }), ..Stage::new(EMBEDDING, 1.0) }]
        };
        let merged = |runs| merge(runs).remove(0);
        let few =
            merged(vec![run(8, 8, Some((0.1, 1e-6))), run(5, 8, Some((0.0, 1e-3))), run(6, 8, Some((0.2, 1e-9)))]);
        let found = few.decomposition.unwrap();
        assert_eq!((found.rank, found.rank_asked), (8, Some(8)));
        assert_eq!(found.completeness, Some(CompletenessCheck { gap: 0.2, failure_probability: 1e-3 }));
        let said = few.shortfalls();
        assert!(said[0].starts_with("embedding: found 5 of 8 singular triplets with another seed: "), "{said:?}");
        assert_eq!(serde_json::from_value::<Stage>(serde_json::to_value(&few).unwrap()).unwrap().shortfalls(), said);
        let unchecked = merged(vec![run(8, 8, Some((0.1, 1e-6))), run(8, 8, None)]);
        assert_eq!(unchecked.decomposition.unwrap().completeness, None);
        // Where the rank is chosen, each seed asks for its own and none falls short.
        let chosen = merged(vec![run(32, 32, None), run(4, 4, None), run(16, 16, None)]);
        assert_eq!((chosen.decomposition.unwrap().rank, chosen.shortfalls()), (32, vec![]));
        // The first run itself may be the one with the fewest triplets.
        let first = merged(vec![run(5, 8, None), run(8, 8, None)]).shortfalls();
        assert!(first[0].starts_with("embedding: found 5 of 8 singular triplets: "), "{first:?}");
    }

    #[test]
    fn everything_is_read_back_as_it_was_written() {
        let mut metrics = example();
        let epoch = EpochFigures { epoch: 1, loss: 0.5, valid_accuracy: None, seconds: 0.1 };
        let stage = &mut metrics.stages[0];
        stage.ranks_tried = Some([(8, 0.5), (16, 0.75)].into());
        stage.network =
            Some(NetworkFigures { parameters: 9, kept_epoch: 1, start_accuracy: Some(0.25), epochs: vec![epoch] });
        stage.kernel = Some(KernelFigures { mean: 1.0, sharpness: 0.5, loss: 0.1 });
        stage.peak_memory_bytes = Some(1 << 20);
        metrics.stages.push(Stage::new(CLASSIFIER, 0.25));
        metrics.time_by_worker = WorkerFigures::of_all(&[
            WorkerTime { computing: 1.0, waiting_for: vec![0.0, 2.0], sent: 3.0 },
            WorkerTime::default(),
        ]);
        assert_eq!(serde_json::from_str::<Metrics>(&metrics.to_json().unwrap()).unwrap(), metrics);
    }
}
