//! Operators that compute on one payload of each input.

use std::collections::BTreeMap;
use std::mem;

use timely::container::NoopBuilder;
use timely::dataflow::channels::pact::Pipeline;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;
use timely::dataflow::{Scope, Stream};

use super::error::EngineError;
use super::mesh;
use super::message::{Message, Payload};
use super::stop::catch;
use super::trace;

/// A stream of messages; times are epochs.
pub(super) type Link<'scope> = Stream<'scope, u64, Message>;

/// Sends each message at once.
pub(super) type MessageBuilder = NoopBuilder<Message>;

/// The inputs of an epoch that have arrived.
struct Waiting {
    capability: Capability<u64>,
    arrived: Vec<Option<Payload>>,
}

/// Adds an operator that computes on this worker's payloads. An error on an input passes through; a
/// panic becomes an error.
pub(super) fn local<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    inputs: &[Link<'scope>],
    mut compute: impl FnMut(&[Payload]) -> Result<Payload, EngineError> + 'static,
) -> Link<'scope> {
    let worker = scope.index();
    let name = name.to_owned();
    let mut builder = OperatorBuilder::new(name.clone(), scope);
    let mut handles: Vec<_> = inputs.iter().map(|input| builder.new_input(input.clone(), Pipeline)).collect();
    let (output, stream) = builder.new_output::<Message>();
    let mut output = OutputBuilder::<u64, MessageBuilder>::from(output);
    builder.build(move |_| {
        let mut epochs: BTreeMap<u64, Waiting> = BTreeMap::new();
        move |_| {
            let ports = handles.len();
            for (port, handle) in handles.iter_mut().enumerate() {
                handle.for_each(|capability, message| {
                    let waiting = epochs
                        .entry(*capability.time())
                        .or_insert_with(|| Waiting { capability: capability.retain(0), arrived: vec![None; ports] });
                    waiting.arrived[port] = Some(mem::take(message).payload);
                });
            }
            let mut output = output.activate();
            while let Some(first) = epochs.first_entry().filter(|e| e.get().arrived.iter().all(Option::is_some)) {
                let Waiting { capability, arrived } = first.remove();
                let payloads: Vec<Payload> = arrived.into_iter().flatten().collect();
                let payload = outcome(worker, &name, &payloads, &mut compute);
                output.session_with_builder(&capability).give_container(&mut Message::local(payload));
            }
        }
    });
    stream
}

/// The first failure among the inputs, or the result.
pub(super) fn outcome(
    worker: usize,
    name: &str,
    payloads: &[Payload],
    compute: &mut impl FnMut(&[Payload]) -> Result<Payload, EngineError>,
) -> Payload {
    mesh::last_step::note(name);
    if let Some(failure) = payloads.iter().find(|payload| matches!(payload, Payload::Failure(_))) {
        return failure.clone();
    }
    let result = catch(worker, name, || trace::computing(name, || compute(payloads))).and_then(|result| result);
    result.unwrap_or_else(|error| Payload::Failure(error.into()))
}
