//! Operators that send messages, and operators that receive and count them.
//!
//! [`send`] divides payloads into messages. Each carries the number of messages of its sender.
//! [`receive`] counts them and combines them into one payload. A message that is missing or arrives
//! twice is an error.

use std::collections::BTreeMap;
use std::mem;

use timely::dataflow::Scope;
use timely::dataflow::channels::pact::{ParallelizationContract, Pipeline};
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::generic::builder_rc::OperatorBuilder;

use super::error::EngineError;
use super::message::{Message, Payload};
use super::operator::{Link, MessageBuilder, outcome};
use super::trace::Waiting;

/// Sends the messages into which `route` divides each payload, given with the number of its input.
pub(super) fn send<'scope, const N: usize>(
    scope: Scope<'scope, u64>,
    name: &str,
    inputs: [&Link<'scope>; N],
    mut route: impl FnMut(usize, Payload, &mut dyn FnMut(Message)) + 'static,
) -> Link<'scope> {
    let mut builder = OperatorBuilder::new(name.into(), scope);
    let mut handles = inputs.map(|input| builder.new_input(input.clone(), Pipeline));
    let (output, stream) = builder.new_output::<Message>();
    let mut output = OutputBuilder::<u64, MessageBuilder>::from(output);
    builder.build(move |_| {
        move |_| {
            let mut output = output.activate();
            for (port, handle) in handles.iter_mut().enumerate() {
                handle.for_each(|capability, message| {
                    let mut session = output.session_with_builder(&capability);
                    // The memory of a message is free again before the next is created.
                    route(port, mem::take(message).payload, &mut |mut message| session.give_container(&mut message));
                });
            }
        }
    });
    stream
}

/// Combines the messages of all senders into one payload.
pub(super) fn receive<'scope>(
    scope: Scope<'scope, u64>,
    name: &str,
    sent: &Link<'scope>,
    pact: impl ParallelizationContract<u64, Message>,
    senders: impl IntoIterator<Item = usize>,
    mut finish: impl FnMut(&[Payload]) -> Result<Payload, EngineError> + 'static,
) -> Link<'scope> {
    let (worker, name) = (scope.index(), name.to_owned());
    let nothing = Arrivals::of(senders);
    let mut builder = OperatorBuilder::new(name.clone(), scope);
    let mut handle = builder.new_input(sent.clone(), pact);
    let (output, stream) = builder.new_output::<Message>();
    let mut output = OutputBuilder::<u64, MessageBuilder>::from(output);
    builder.build(move |_| {
        let mut epochs: BTreeMap<u64, (Capability<u64>, Arrivals)> = BTreeMap::new();
        move |frontiers| {
            handle.for_each(|capability, message| {
                let (_, arrivals) =
                    epochs.entry(*capability.time()).or_insert_with(|| (capability.retain(0), nothing.clone()));
                arrivals.add(mem::take(message), worker);
            });
            let mut output = output.activate();
            while let Some(first) = epochs.first_entry() {
                let is_over = !frontiers[0].less_equal(first.key());
                let is_complete = first.get().1.is_complete();
                if !is_over && !is_complete {
                    break;
                }
                let (capability, arrivals) = first.remove();
                if let Some(waiting) = arrivals.waiting {
                    waiting.end(&name, arrivals.last);
                }
                let payload = outcome(worker, &name, &arrivals.payloads, &mut |payloads| {
                    if is_complete { finish(payloads) } else { Err(arrivals.missing(&name, worker)) }
                });
                output.session_with_builder(&capability).give_container(&mut Message::local(payload));
            }
        }
    });
    stream
}

/// The messages of an epoch, and how many are expected.
#[derive(Clone)]
struct Arrivals {
    /// By sender: the number of its messages, once known, and the number that arrived.
    counts: BTreeMap<usize, (Option<usize>, usize)>,
    payloads: Vec<Payload>,
    /// Set when this worker's own message arrives.
    waiting: Option<Waiting>,
    /// The sender of the last message.
    last: usize,
}

impl Arrivals {
    /// No messages yet from these senders.
    fn of(senders: impl IntoIterator<Item = usize>) -> Self {
        let counts = senders.into_iter().map(|sender| (sender, (None, 0))).collect();
        Self { counts, payloads: Vec::new(), waiting: None, last: 0 }
    }

    /// Takes a message that arrived at this worker.
    fn add(&mut self, message: Message, worker: usize) {
        if message.sender == worker && self.waiting.is_none() {
            self.waiting = Some(Waiting::start());
        }
        self.last = message.sender;
        if let Some((expected, received)) = self.counts.get_mut(&message.sender) {
            *expected = Some(message.of);
            *received += 1;
        }
        self.payloads.push(message.payload);
    }

    fn is_complete(&self) -> bool {
        self.counts.values().all(|&(expected, received)| expected == Some(received))
    }

    fn missing(&self, name: &str, worker: usize) -> EngineError {
        EngineError::BlocksMissing {
            step: name.into(),
            worker,
            received: self.counts.values().map(|count| count.1).sum(),
            // Every sender sends at least one message.
            expected: self.counts.values().map(|count| count.0.unwrap_or(1)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(sender: usize, of: usize) -> Message {
        Message { weight: 1, to: 0, sender, of, payload: Payload::Nothing }
    }

    #[test]
    fn messages_are_counted_for_each_sender() {
        let mut arrivals = Arrivals::of([0, 1]);
        arrivals.add(message(0, 1), 0);
        assert!(!arrivals.is_complete(), "nothing from the second worker");
        arrivals.add(message(1, 2), 0);
        assert!(!arrivals.is_complete(), "one of two");
        let missing = arrivals.missing("here", 0);
        assert_eq!(missing, EngineError::BlocksMissing { step: "here".into(), worker: 0, received: 2, expected: 3 });
        arrivals.add(message(1, 2), 0);
        assert!(arrivals.is_complete());
        arrivals.add(message(1, 2), 0);
        assert!(!arrivals.is_complete(), "one too many");
    }
}
