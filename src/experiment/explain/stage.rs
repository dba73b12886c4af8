//! The plan of one matrix.

use std::sync::Arc;
use std::time::Instant;

use super::subjects::Subject;
use super::{Alternative, FormedPart, MemoryPlan, SidePlan, StagePlan, StepPlan};
use crate::engine::{Cluster, Measured, analyze, with_formed};
use crate::experiment::RunError;
use crate::experiment::memory::{self, PROGRAM_BYTES};
use crate::matrix::{Dense, Matrix};
use crate::plan::cost::{Estimate, Machine, Traffic};
use crate::plan::{Effort, Program, Side, Step, Value};
use crate::svd::{Planned, Prepared};

/// Products that are measured.
const ROUNDS: usize = 5;
/// A matrix that takes more products than this when written out is not written out to count them.
const MOST_WRITTEN: u64 = 512;

/// A plan, with the programs and the matrix that it is of.
pub(crate) struct PlannedStage {
    pub(crate) plan: StagePlan,
    matrix: Matrix,
    parts: Vec<Matrix>,
    programs: Vec<Arc<Program>>,
}

/// The measured cost of products.
pub(crate) struct Taken {
    sides: Vec<Measured>,
    /// By how many bytes the process grew.
    growth: Option<u64>,
}

/// Plans a stage as a run would.
pub(crate) fn plan_stage(
    subject: &Subject,
    data_bytes: u64,
    machine: &Machine,
    cluster: Cluster,
) -> Result<PlannedStage, RunError> {
    let start = Instant::now();
    let (matrix, options) = (&subject.matrix, &subject.options);
    // What does not fit is explained, not refused.
    let roomy = Cluster { memory: None, ..cluster };
    let prepared = Prepared::new(matrix, options, roomy)?;
    let forming = prepared.forming(matrix, subject.is_formed, cluster);
    let multiplied = forming.outlined(matrix);
    let prepared = Prepared::new(&multiplied, options, roomy)?;
    let surrogate = subject.surrogate.as_ref().filter(|_| forming.parts.is_empty());
    let prepared = prepared.with_surrogate(surrogate);
    let surrogate = surrogate.filter(|_| prepared.has_surrogate()).map(|surrogate| &surrogate.matrix);
    let (formed, took) = (&forming.parts[..], start.elapsed());
    let planned = Planned { matrix, formed, surrogate, prepared: &prepared, took };
    let mut plan = StagePlan::new(subject.stage, &planned, machine, Traffic::Counted);
    plan.memory.add_data(data_bytes, machine);
    plan.alternatives = alternatives(surrogate.unwrap_or(&multiplied), plan.block, machine);
    let programs = prepared.growing().to_vec();
    Ok(PlannedStage { plan, matrix: matrix.clone(), parts: forming.parts, programs })
}

impl StagePlan {
    /// The plan of a stage, without its data and without alternatives.
    pub(super) fn new(name: &'static str, planned: &Planned<'_>, machine: &Machine, traffic: Traffic) -> Self {
        let Planned { matrix, formed, surrogate, prepared, took } = planned;
        let (block, work, shape) = (prepared.work().block, prepared.work(), matrix.shape());
        let titles = if surrogate.is_some() { ["N·G", "Nᵀ·G"] } else { ["M·G", "Mᵀ·G"] };
        let sides = titles.into_iter().zip(prepared.growing());
        let sides = sides.map(|(title, program)| side_plan(title, program, block, (machine, traffic))).collect();
        let demand = prepared.memory(machine);
        Self {
            name,
            matrix: matrix.to_string(),
            shape: [shape.rows, shape.columns],
            rank: prepared.rank(),
            block,
            method: prepared.method(),
            formed: formed.iter().map(formed_part).collect(),
            near: surrogate.map(ToString::to_string),
            sides,
            traffic,
            alternatives: Vec::new(),
            turns: [work.plain, work.transposed],
            memory: MemoryPlan {
                data: PROGRAM_BYTES,
                matrices: demand.leaves,
                panels: demand.panels,
                gathered: demand.gathered,
                total: PROGRAM_BYTES + demand.total(),
                product: None,
            },
            planning_ms: took.as_secs_f64() * 1e3,
        }
    }
}

impl PlannedStage {
    /// Multiplies a panel, and measures time and memory.
    pub(crate) fn multiply(&self, cluster: Cluster) -> Result<Taken, RunError> {
        let mut programs = self.programs.clone();
        if !self.parts.is_empty() {
            let formed = with_formed(&self.matrix, &self.parts, cluster)?;
            let sides = [Side::Plain, Side::Transposed];
            programs = sides.map(|side| Arc::new(Program::compile(&formed, side))).to_vec();
        }
        let before = memory::reset_peak();
        let sides = analyze(&programs, self.plan.block, ROUNDS, cluster)?;
        let growth = memory::peak_bytes().zip(before).map(|(peak, before)| peak.saturating_sub(before));
        Ok(Taken { sides, growth })
    }

    /// Adds measurements to the estimates.
    pub(crate) fn note(&mut self, taken: Taken, cluster: Cluster) {
        for (side, measured) in self.plan.sides.iter_mut().zip(taken.sides) {
            side.measured = Some(measured.total);
            side.steps.iter_mut().zip(measured.steps).for_each(|(step, took)| step.measured = Some(took));
        }
        let machine = Machine { workers: cluster.workers, ..Machine::REFERENCE };
        let panels = self.programs.iter().map(|program| program.product_memory(self.plan.block, &machine).panels);
        let estimated = panels.max().unwrap_or(0);
        self.plan.memory.product = taken.growth.map(|growth| [estimated, growth]);
    }
}

fn formed_part(part: &Matrix) -> FormedPart {
    let shape = part.shape();
    let bytes = Dense::outline(shape.rows, shape.columns).bytes();
    FormedPart { part: part.to_string(), shape: [shape.rows, shape.columns], bytes }
}

fn side_plan(side: &'static str, program: &Program, block: usize, (machine, traffic): (&Machine, Traffic)) -> SidePlan {
    let rewritten = program.rewritten();
    let estimates = program.estimate_steps(block, machine, traffic);
    let total = program.total(block, &estimates);
    let steps = estimates.into_iter().zip(program.steps()).enumerate();
    let step = |(position, (estimate, step)): (usize, (Estimate, &Step))| StepPlan {
        value: Value(position + 1).to_string(),
        step: step.to_string(),
        flops: estimate.count.flops,
        bytes: estimate.count.bytes,
        network_bytes: estimate.network_bytes,
        seconds: estimate.seconds,
        measured: None,
    };
    SidePlan {
        side,
        rewritten: rewritten.answer,
        shared: rewritten.shared,
        steps: steps.map(step).collect(),
        sparse_products: program.sparse_products(),
        flops: total.count.flops,
        bytes: total.count.bytes,
        network_bytes: total.network_bytes,
        seconds: total.seconds + total.before,
        between: total.before,
        measured: None,
    }
}

/// The cost of products with less planning.
fn alternatives(matrix: &Matrix, block: usize, machine: &Machine) -> Vec<Alternative> {
    let is_countable = matrix.written_products() <= MOST_WRITTEN;
    let efforts = [("both, shared", Effort::Shared), ("both, written", Effort::Written)];
    let efforts = efforts.into_iter().filter(|(_, effort)| is_countable || *effort != Effort::Written);
    let alternative = |(effort, how): (&'static str, Effort)| {
        let programs = [Side::Plain, Side::Transposed].map(|side| Program::compile_with(matrix, side, how));
        let seconds = programs.iter().map(|program| program.estimate(block, machine));
        Alternative {
            effort,
            sparse_products: [programs[0].sparse_products(), programs[1].sparse_products()],
            seconds: seconds.map(|estimate| estimate.seconds + estimate.before).sum(),
        }
    };
    efforts.map(alternative).collect()
}
