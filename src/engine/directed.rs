//! A timely channel that sends every message to one worker.

use std::rc::Rc;

use timely::communication::{Pull, Push};
use timely::dataflow::channels::Message as TimelyMessage;
use timely::dataflow::channels::pact::{LogPuller, ParallelizationContract};
use timely::logging::TimelyLogger;
use timely::worker::Worker;

use super::message::Message;

/// To the worker that the message names.
pub(super) struct Directed;

type Pushed = TimelyMessage<u64, Message>;

impl ParallelizationContract<u64, Message> for Directed {
    type Pusher = DirectedPusher;
    type Puller = LogPuller<Box<dyn Pull<Pushed>>>;

    fn connect(
        self,
        worker: &Worker,
        identifier: usize,
        address: Rc<[usize]>,
        logging: Option<TimelyLogger>,
    ) -> (Self::Pusher, Self::Puller) {
        let (pushers, puller) = worker.allocate::<Pushed>(identifier, address);
        (DirectedPusher { pushers }, LogPuller::new(puller, worker.index(), identifier, logging))
    }
}

/// Pushes messages to their destinations.
pub(super) struct DirectedPusher {
    /// By worker.
    pushers: Vec<Box<dyn Push<Pushed>>>,
}

impl Push<Pushed> for DirectedPusher {
    fn push(&mut self, element: &mut Option<Pushed>) {
        match element {
            Some(message) => self.pushers[message.data.to].push(element),
            // `None` flushes.
            None => self.pushers.iter_mut().for_each(|pusher| pusher.push(&mut None)),
        }
    }
}
