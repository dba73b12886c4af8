//! Dataflows with one input and one output in each epoch.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::{Input, Probe};
use timely::dataflow::{InputHandle, ProbeHandle, Scope};
use timely::worker::Worker;

use super::collective::{agree, all_gather, all_reduce, gather_bytes};
use super::message::{Message, Payload};
use super::operator::{Link, MessageBuilder};
use super::step::Context;

/// A dataflow with one input and one output in each epoch.
pub(super) struct Flow {
    pub(super) input: InputHandle<u64, MessageBuilder>,
    /// The outputs of this worker.
    pub(super) answers: Slot,
    /// An entry for each epoch in which every worker has its output.
    pub(super) agreements: Slot,
    pub(super) probe: ProbeHandle<u64>,
}

/// Outputs by epoch.
pub(super) type Slot = Rc<RefCell<BTreeMap<u64, Payload>>>;

/// Builds the dataflow that all-reduces partial sums.
pub(super) fn reduce_flow(worker: &mut Worker) -> Flow {
    flow(worker, "reduce", |scope, input| all_reduce(scope, "sums", &input))
}

/// Builds the dataflow that all-gathers a panel.
pub(super) fn gather_flow(worker: &mut Worker, context: &Rc<Context>) -> Flow {
    flow(worker, "gather", |scope, input| all_gather(scope, "panel", &input, context.transfer, &context.pool))
}

/// Builds the dataflow that gathers the bytes of every worker.
pub(super) fn values_flow(worker: &mut Worker) -> Flow {
    flow(worker, "values", |scope, input| gather_bytes(scope, &input))
}

/// Builds a dataflow; `build` adds the operators between its input and its output.
pub(super) fn flow(
    worker: &mut Worker,
    name: &str,
    build: impl for<'scope> FnOnce(Scope<'scope, u64>, Link<'scope>) -> Link<'scope>,
) -> Flow {
    worker.dataflow_named::<u64, _, _>(name, |scope| {
        let (input, stream) = scope.new_input_with_builder::<MessageBuilder>();
        let output = build(scope, stream);
        let (answers, agreements) = (Slot::default(), Slot::default());
        let agreed = agree(scope, &output);
        let (probe, _) = store(&agreed, &agreements).probe();
        store(&output, &answers);
        Flow { input, answers, agreements, probe }
    })
}

/// Stores the output of each epoch.
fn store<'scope>(stream: &Link<'scope>, slot: &Slot) -> Link<'scope> {
    let slot = slot.clone();
    stream.clone().unary::<MessageBuilder, _, _, _>(Pipeline, "answer", |_, _| {
        move |input, _| {
            input.for_each(|capability, message| {
                slot.borrow_mut().insert(*capability.time(), std::mem::take::<Message>(message).payload);
            });
        }
    })
}
