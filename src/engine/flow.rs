//! Dataflows with one input and one answer an epoch.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::{Input, Probe};
use timely::dataflow::{InputHandle, ProbeHandle, Scope};
use timely::worker::Worker;

use super::collective::{agree, all_gather, all_reduce, broadcast};
use super::message::{Message, Payload};
use super::operator::{Link, MessageBuilder};
use super::step::Context;

/// A dataflow with one input and one answer an epoch.
pub(super) struct Flow {
    pub(super) input: InputHandle<u64, MessageBuilder>,
    /// This worker's answers.
    pub(super) answers: Slot,
    /// An entry for each epoch in which every worker has its answer.
    pub(super) agreements: Slot,
    pub(super) probe: ProbeHandle<u64>,
}

/// Outputs of a dataflow, by epoch.
pub(super) type Slot = Rc<RefCell<BTreeMap<u64, Payload>>>;

/// Builds the dataflow that combines partial sums.
pub(super) fn reduce_flow(worker: &mut Worker) -> Flow {
    flow(worker, "reduce", |scope, input| all_reduce(scope, "sums", &input))
}

/// Builds the dataflow that brings a panel together.
pub(super) fn gather_flow(worker: &mut Worker, context: &Rc<Context>) -> Flow {
    flow(worker, "gather", |scope, input| all_gather(scope, "panel", &input, context.transfer, &context.pool))
}

/// Builds the dataflow that brings the bytes of one worker to all.
pub(super) fn broadcast_flow(worker: &mut Worker) -> Flow {
    flow(worker, "broadcast", |scope, input| broadcast(scope, &input))
}

/// Builds a dataflow from what it makes of its input.
pub(super) fn flow(
    worker: &mut Worker,
    name: &str,
    build: impl for<'scope> FnOnce(Scope<'scope, u64>, Link<'scope>) -> Link<'scope>,
) -> Flow {
    worker.dataflow_named::<u64, _, _>(name, |scope| {
        let (input, stream) = scope.new_input_with_builder::<MessageBuilder>();
        let made = build(scope, stream);
        let (answers, agreements) = (Slot::default(), Slot::default());
        let agreed = agree(scope, &made);
        let (probe, _) = leave(&agreed, &agreements).probe();
        leave(&made, &answers);
        Flow { input, answers, agreements, probe }
    })
}

/// Stores the output of each epoch.
fn leave<'scope>(stream: &Link<'scope>, slot: &Slot) -> Link<'scope> {
    let slot = slot.clone();
    stream.clone().unary::<MessageBuilder, _, _, _>(Pipeline, "answer", |_, _| {
        move |input, _| {
            input.for_each(|capability, message| {
                slot.borrow_mut().insert(*capability.time(), std::mem::take::<Message>(message).payload);
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Transport;
    use crate::engine::error::EngineError;
    use crate::engine::operator::local;
    use timely::{CommunicationConfig, Config, WorkerConfig};

    /// Runs one epoch of a flow with one local operator, on several numbers of workers and by both
    /// transports, and checks the agreement.
    fn one_epoch(compute: fn(usize) -> Result<Payload, EngineError>, check: fn(Option<EngineError>)) {
        for (workers, transport) in
            [1, 2, 3].into_iter().flat_map(|n| [(n, Transport::Pointers), (n, Transport::Bytes)])
        {
            let communication = match transport {
                Transport::Pointers => CommunicationConfig::Process(workers),
                Transport::Bytes => CommunicationConfig::ProcessBinary(workers),
            };
            let config = Config { communication, worker: WorkerConfig::default() };
            let guards = timely::execute(config, move |worker| {
                let mut flow = flow(worker, "test", |scope, input| {
                    let index = scope.index();
                    local(scope, "the step", &[input], move |_| compute(index))
                });
                flow.input.send_batch(&mut Message::local(Payload::Nothing));
                flow.input.advance_to(1);
                // The probe passes only if sent and received copies balance.
                let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
                while flow.agreements.borrow().is_empty() || flow.probe.less_equal(&0) {
                    assert!(std::time::Instant::now() < deadline, "still running after a minute");
                    worker.step_or_park(Some(std::time::Duration::from_millis(10)));
                }
                match flow.agreements.borrow_mut().remove(&0) {
                    Some(Payload::Failure(error)) => Some((*error).clone()),
                    _ => None,
                }
            });
            guards.unwrap().join().into_iter().for_each(|result| check(result.unwrap()));
        }
    }

    #[test]
    fn an_epoch_ends_for_everybody() {
        one_epoch(|_| Ok(Payload::Nothing), |error| assert_eq!(error, None));
    }

    #[test]
    fn a_panic_in_an_operator_reaches_every_worker_as_an_error() {
        let compute = |index| if index == 0 { panic!("on purpose") } else { Ok(Payload::Nothing) };
        one_epoch(compute, |error| {
            let Some(EngineError::Panicked { worker: 0, step, message }) = error else { panic!("{error:?}") };
            assert_eq!(step, "the step");
            assert!(message.starts_with("on purpose (at "), "{message}");
        });
    }

    #[test]
    fn an_error_in_an_operator_reaches_every_worker() {
        let compute = |_| Err(EngineError::NotFinite { step: "here".into() });
        one_epoch(compute, |error| assert_eq!(error, Some(EngineError::NotFinite { step: "here".into() })));
    }
}
