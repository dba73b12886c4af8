//! The plan of an experiment: how its matrices are multiplied by, and what that takes.

mod stage;
mod subjects;

use std::collections::BTreeMap;

use serde::Serialize;

use super::RunError;
use super::context::Context;
use super::nodes::NodeData;
use crate::config::NodeTask;
use crate::dataset::Dataset;
use crate::engine::Cluster;
use crate::graph::Graph;
use crate::plan::cost::{Machine, Rates};

pub(crate) use stage::plan_stage;
pub(crate) use subjects::{GraphSize, NodeSize, Subjects};

/// Everything that is to be said of an experiment before it is run.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The name of the config.
    pub config: String,
    /// The dataset; none if only sizes were given.
    pub dataset: Option<String>,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many distinct edges there are.
    pub edges: usize,
    /// How many of them are in the graph that is learnt from.
    pub training_edges: usize,
    /// How many are held out of it.
    pub held_out_edges: usize,
    /// Workers of each process.
    pub workers: usize,
    /// How many processes.
    pub processes: usize,
    /// Where the rates behind the estimates are from.
    #[serde(skip)]
    pub rates: &'static str,
    /// Bytes that a process may hold, if there is a limit.
    pub memory_limit: Option<u64>,
    /// One for every matrix that is decomposed.
    pub stages: Vec<StagePlan>,
    /// Estimates beside what was measured, by kind of step; empty if nothing was measured.
    pub kinds: Vec<KindPlan>,
}

/// How one matrix is decomposed.
#[derive(Debug, Clone, Serialize)]
pub struct StagePlan {
    /// Of which stage.
    pub name: &'static str,
    /// The matrix as it was stated.
    pub matrix: String,
    /// Rows and columns.
    pub shape: [usize; 2],
    /// Singular triplets asked for.
    pub rank: usize,
    /// Columns of a panel.
    pub block: usize,
    /// How the triplets are found.
    pub method: &'static str,
    /// Parts that are written down first.
    pub formed: Vec<FormedPart>,
    /// What is nearly the matrix and multiplied by in its place until triplets are found, where that is so.
    pub near: Option<String>,
    /// Multiplications by the matrix and by its transpose, or by what is nearly that.
    pub sides: Vec<SidePlan>,
    /// The same without the planner.
    pub alternatives: Vec<Alternative>,
    /// At most so many products with each side.
    pub turns: [usize; 2],
    /// Bytes that each process holds at the peak.
    pub memory: MemoryPlan,
    /// Milliseconds that planning took.
    pub planning_ms: f64,
}

/// A part of a matrix that is written down first.
#[derive(Debug, Clone, Serialize)]
pub struct FormedPart {
    /// What it is.
    pub part: String,
    /// Rows and columns.
    pub shape: [usize; 2],
    /// Bytes that it takes.
    pub bytes: u64,
}

/// How a panel is multiplied by a matrix, or by its transpose.
#[derive(Debug, Clone, Serialize)]
pub struct SidePlan {
    /// What is computed: `"M·G"` or `"Mᵀ·G"`.
    pub side: &'static str,
    /// As one expression.
    pub rewritten: String,
    /// Names in it, and what they stand for.
    pub shared: Vec<(String, String)>,
    /// Step by step.
    pub steps: Vec<StepPlan>,
    /// Products with stored sparse matrices.
    pub sparse_products: usize,
    /// Additions and multiplications.
    pub flops: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Bytes that cross the network.
    pub network_bytes: u64,
    /// Seconds estimated.
    pub seconds: f64,
    /// Seconds between the steps, part of the above.
    pub between: f64,
    /// Seconds measured.
    pub measured: Option<f64>,
}

/// One step.
#[derive(Debug, Clone, Serialize)]
pub struct StepPlan {
    /// What it makes.
    pub value: String,
    /// How.
    pub step: String,
    /// Additions and multiplications.
    pub flops: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Bytes that cross the network before it.
    pub network_bytes: u64,
    /// Seconds estimated.
    pub seconds: f64,
    /// Seconds measured.
    pub measured: Option<f64>,
}

/// All steps of a kind: how far the estimates can be trusted.
#[derive(Debug, Clone, Serialize)]
pub struct KindPlan {
    /// The first word of the steps.
    pub kind: String,
    /// How many there are.
    pub steps: usize,
    /// Seconds estimated.
    pub seconds: f64,
    /// Seconds measured.
    pub measured: f64,
}

impl KindPlan {
    /// The kinds of all steps that were measured, by their names.
    pub fn of_stages(stages: &[StagePlan]) -> Vec<Self> {
        let mut kinds: BTreeMap<&str, KindPlan> = BTreeMap::new();
        for step in stages.iter().flat_map(|stage| &stage.sides).flat_map(|side| &side.steps) {
            let (Some(measured), Some(kind)) = (step.measured, step.step.split_whitespace().next()) else { continue };
            let entry = KindPlan { kind: kind.to_owned(), steps: 0, seconds: 0.0, measured: 0.0 };
            let entry = kinds.entry(kind).or_insert(entry);
            entry.steps += 1;
            entry.seconds += step.seconds;
            entry.measured += measured;
        }
        kinds.into_values().collect()
    }
}

/// What a multiplication would take with less thought.
#[derive(Debug, Clone, Serialize)]
pub struct Alternative {
    /// How much thought.
    pub effort: &'static str,
    /// Sparse products by the matrix and by its transpose.
    pub sparse_products: [usize; 2],
    /// Seconds of both.
    pub seconds: f64,
}

/// Bytes that each process holds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MemoryPlan {
    /// The program, edges and features as they were read.
    pub data: u64,
    /// Its rows of stored matrices, and diagonals.
    pub matrices: u64,
    /// Its rows of panels.
    pub panels: u64,
    /// Rows of other processes.
    pub gathered: u64,
    /// All of it, at the peak of the run.
    pub total: u64,
    /// By how much the products that were measured made the process grow: estimated, and measured.
    pub product: Option<[u64; 2]>,
}

/// How the matrix of an embedding was multiplied by. A plan that cannot be told is no reason to lose a result.
pub(super) fn links(context: &Context<'_>, graph: &Graph, dataset: &Dataset) -> Option<Explanation> {
    explanation(context, Subjects::of_links(context.experiment, graph, dataset)).ok()
}

/// How the matrices of a classifier were multiplied by.
pub(super) fn nodes(context: &Context<'_>, task: &NodeTask, data: &NodeData) -> Option<Explanation> {
    explanation(context, Subjects::of_nodes(context.experiment, task, data)).ok()
}

fn explanation(context: &Context<'_>, subjects: Result<Subjects, RunError>) -> Result<Explanation, RunError> {
    let subjects = subjects?;
    let (workers, processes) = (context.cluster.workers, context.cluster.processes());
    let machine = Machine { workers, processes, rates: Rates::REFERENCE };
    let cluster = Cluster { memory: context.cluster.memory, ..Cluster::threads(workers) };
    let plan = |subject| plan_stage(subject, subjects.data_bytes, &machine, cluster).map(|planned| planned.plan);
    let stages = subjects.stages.iter().map(plan).collect::<Result<Vec<StagePlan>, _>>()?;
    let (config, rates) = (context.experiment.name.clone(), "rates of a machine of reference");
    Ok(subjects.explained(config, (&machine, rates), context.cluster.memory, stages))
}
