//! The interpreter of programs: one loop over the steps for both schedules.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::error::EngineError;
use crate::engine::message::Payload;
use crate::engine::step::{Context, compute, reads};
use crate::kernel::elementwise::all_finite;
use crate::plan::{Access, Program, Value};

/// The operations of a schedule on values. A value is a panel, or a stream of panels.
pub(super) trait Backend {
    type Value: Clone;

    /// All rows of a value, from the shards of all workers.
    fn gather(&mut self, value: Value, own: &Self::Value) -> Self::Value;

    /// The result of the step at `position`.
    fn compute(&mut self, position: usize, inputs: Vec<Self::Value>) -> Result<Self::Value, EngineError>;

    /// The reduced value, from the partial sums of all workers.
    fn reduce(&mut self, value: Value, partial: Self::Value) -> Result<Self::Value, EngineError>;
}

/// A program and the data flow between its steps.
pub(super) struct Interpreter {
    pub(super) program: Arc<Program>,
    steps: Vec<StepUse>,
}

/// The reads of a step, and the values that it is the last to read.
struct StepUse {
    name: String,
    reads: Vec<(Value, Access)>,
    /// Values that no later step reads.
    dead: Vec<Value>,
}

impl Interpreter {
    pub(super) fn new(program: Arc<Program>) -> Self {
        let mut last_read: BTreeMap<Value, usize> = BTreeMap::new();
        let step_use = |(position, step)| {
            let reads = reads(step);
            last_read.extend(reads.iter().map(|(value, _)| (*value, position)));
            StepUse { name: format!("{} = {step}", Value(position + 1)), reads, dead: Vec::new() }
        };
        let mut steps: Vec<StepUse> = program.steps().iter().enumerate().map(step_use).collect();
        last_read.remove(&program.output());
        last_read.into_iter().for_each(|(value, position)| steps[position].dead.push(value));
        Self { program, steps }
    }

    /// The output of the program. A value is gathered once, for all steps that read all its rows.
    pub(super) fn run<B: Backend>(&self, input: B::Value, backend: &mut B) -> Result<B::Value, EngineError> {
        let mut own = BTreeMap::from([(Value::INPUT, input)]);
        let mut gathered: BTreeMap<Value, B::Value> = BTreeMap::new();
        for (position, (step, StepUse { reads, dead, .. })) in self.program.steps().iter().zip(&self.steps).enumerate()
        {
            let input = |&(value, access): &(Value, Access)| match access {
                Access::OwnRows | Access::Reduced => own[&value].clone(),
                Access::AllRows => gathered.entry(value).or_insert_with(|| backend.gather(value, &own[&value])).clone(),
            };
            let inputs = reads.iter().map(input).collect();
            let (value, made) = (Value(position + 1), backend.compute(position, inputs)?);
            own.insert(value, if step.action.is_reduced() { backend.reduce(value, made)? } else { made });
            for value in dead {
                own.remove(value);
                gathered.remove(value);
            }
        }
        Ok(own.remove(&self.program.output()).expect("a step computes the output"))
    }

    pub(super) fn name(&self, position: usize) -> &str {
        &self.steps[position].name
    }

    /// Computes a step. Only the output is checked for non-finite numbers, since they propagate.
    pub(super) fn compute(
        &self,
        position: usize,
        inputs: &[Payload],
        context: &Context,
    ) -> Result<Payload, EngineError> {
        let StepUse { name, reads, .. } = &self.steps[position];
        let made = compute(&self.program.steps()[position], reads, inputs, context)?;
        match &made {
            Payload::Shard(shard)
                if Value(position + 1) == self.program.output() && !all_finite(shard.panel().data()) =>
            {
                Err(EngineError::NotFinite { step: name.clone() })
            }
            _ => Ok(made),
        }
    }
}
