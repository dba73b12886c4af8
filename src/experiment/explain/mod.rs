//! The plan of an experiment: how its matrices are multiplied by, and what that takes.
//!
//! `explain` states the matrices of an experiment and plans them without running it. A run records
//! the plans that its decompositions make. Both describe a plan by a [`StagePlan`].

mod stage;
mod subjects;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Serialize;

use super::context::Context;
use crate::dataset::Dataset;
use crate::engine::Cluster;
use crate::plan::cost::{Machine, Rates, Traffic};
use crate::svd::{Planned, observe_plans};

pub(crate) use stage::plan_stage;
pub(crate) use subjects::{GraphSize, NodeSize, Subjects};

/// The plan of an experiment with its sizes.
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
    /// Estimated and measured time by kind of step; empty if nothing was measured.
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
    /// The surrogate that bases are grown with, if there is one.
    pub near: Option<String>,
    /// Products with the matrix and its transpose, or with the surrogate.
    pub sides: Vec<SidePlan>,
    /// Whether network traffic is counted or bounded.
    #[serde(skip)]
    pub traffic: Traffic,
    /// The cost with less planning.
    pub alternatives: Vec<Alternative>,
    /// The most products with each side.
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

/// The cost of a product with less planning.
#[derive(Debug, Clone, Serialize)]
pub struct Alternative {
    /// How much is planned.
    pub effort: &'static str,
    /// Sparse products by the matrix and by its transpose.
    pub sparse_products: [usize; 2],
    /// Seconds of both.
    pub seconds: f64,
}

impl MemoryPlan {
    /// Adds the data that stays in memory beside the matrices, of which each process has a part.
    fn add_data(&mut self, bytes: u64, machine: &Machine) {
        let of_each = bytes / machine.processes as u64;
        (self.data, self.total) = (self.data + of_each, self.total + of_each);
    }
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

/// The plans of a run, recorded while its stages run.
#[derive(Clone, Default)]
pub(super) struct Recorder(Rc<RefCell<Vec<StagePlan>>>);

impl Recorder {
    /// Does the work of a stage and records the first plan that is made in it. Of several runs with
    /// other seeds, the plans of the first are kept. A stage that a checkpoint holds has none.
    pub(super) fn record<T>(&self, stage: &'static str, cluster: Cluster, work: impl FnOnce() -> T) -> T {
        let plans = self.0.clone();
        let machine = machine_of_reference(cluster);
        // The run verifies each tile in its own process, after this.
        let traffic = if cluster.processes() > 1 { Traffic::Bounded } else { Traffic::Counted };
        let observer = move |planned: &Planned<'_>| {
            let mut plans = plans.borrow_mut();
            if plans.iter().all(|plan| plan.name != stage) {
                plans.push(StagePlan::new(stage, planned, &machine, traffic));
            }
        };
        observe_plans(observer, work)
    }

    /// The recorded plans of a run over `dataset`.
    pub(super) fn explanation(&self, context: &Context<'_>, dataset: &Dataset, training_edges: usize) -> Explanation {
        let mut stages = self.0.take();
        let machine = machine_of_reference(context.cluster);
        stages.iter_mut().for_each(|plan| plan.memory.add_data(dataset.bytes(), &machine));
        let size = GraphSizes::of(dataset, training_edges);
        let (config, rates) = (context.experiment.name.clone(), "rates of a machine of reference");
        size.explained(config, (&machine, rates), context.cluster.memory, stages)
    }
}

/// The workers of a run with the rates of a machine of reference.
fn machine_of_reference(cluster: Cluster) -> Machine {
    Machine { workers: cluster.workers, processes: cluster.processes(), rates: Rates::REFERENCE }
}

/// The size of the graph that an explanation is about.
pub(crate) struct GraphSizes {
    /// The dataset; `None` where only sizes were given.
    pub(crate) dataset: Option<String>,
    pub(crate) nodes: usize,
    pub(crate) training_edges: usize,
    pub(crate) held_out_edges: usize,
}

impl GraphSizes {
    fn of(dataset: &Dataset, training_edges: usize) -> Self {
        let (nodes, held_out_edges) = (dataset.graph.nodes(), dataset.held_out_edges());
        Self { dataset: Some(dataset.name.clone()), nodes, training_edges, held_out_edges }
    }

    /// The explanation of plans for a machine with these rates.
    pub(crate) fn explained(
        self,
        config: String,
        (machine, rates): (&Machine, &'static str),
        memory_limit: Option<u64>,
        stages: Vec<StagePlan>,
    ) -> Explanation {
        Explanation {
            config,
            dataset: self.dataset,
            nodes: self.nodes,
            edges: self.training_edges + self.held_out_edges,
            training_edges: self.training_edges,
            held_out_edges: self.held_out_edges,
            workers: machine.workers,
            processes: machine.processes,
            rates,
            memory_limit,
            kinds: KindPlan::of_stages(&stages),
            stages,
        }
    }
}
