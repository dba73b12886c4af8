//! Timely channels: to all workers, or to the receiver of a message.

use std::rc::Rc;

use timely::communication::{Pull, Push};
use timely::dataflow::channels::Message as TimelyMessage;
use timely::dataflow::channels::pact::{LogPuller, ParallelizationContract};
use timely::logging::TimelyLogger;
use timely::worker::Worker;

use super::message::Message;

type Pushed = TimelyMessage<u64, Message>;
type Puller = LogPuller<Box<dyn Pull<Pushed>>>;

/// Sends a message to all workers: one copy to each worker of this process, and one to each other
/// process.
pub(super) struct Broadcast;

/// Sends a message to its receiver, [`Message::to`].
pub(super) struct Directed;

impl ParallelizationContract<u64, Message> for Broadcast {
    type Pusher = BroadcastPusher;
    type Puller = Puller;

    fn connect(
        self,
        worker: &Worker,
        identifier: usize,
        address: Rc<[usize]>,
        logging: Option<TimelyLogger>,
    ) -> (Self::Pusher, Self::Puller) {
        let (pusher, puller) = worker.broadcast::<Pushed>(identifier, address);
        (BroadcastPusher(pusher), LogPuller::new(puller, worker.index(), identifier, logging))
    }
}

impl ParallelizationContract<u64, Message> for Directed {
    type Pusher = DirectedPusher;
    type Puller = Puller;

    fn connect(
        self,
        worker: &Worker,
        identifier: usize,
        address: Rc<[usize]>,
        logging: Option<TimelyLogger>,
    ) -> (Self::Pusher, Self::Puller) {
        let (pushers, puller) = worker.allocate::<Pushed>(identifier, address);
        (DirectedPusher(pushers), LogPuller::new(puller, worker.index(), identifier, logging))
    }
}

/// Sets the weight of a message to one. Progress tracking counted it once for each worker when it
/// was sent, and each worker counts the copy that it receives.
pub(super) struct BroadcastPusher(Box<dyn Push<Pushed>>);

impl Push<Pushed> for BroadcastPusher {
    fn push(&mut self, element: &mut Option<Pushed>) {
        if let Some(message) = element {
            message.data.weight = 1;
        }
        self.0.push(element);
    }
}

/// One pusher for each worker.
pub(super) struct DirectedPusher(Vec<Box<dyn Push<Pushed>>>);

impl Push<Pushed> for DirectedPusher {
    fn push(&mut self, element: &mut Option<Pushed>) {
        match element {
            Some(message) => self.0[message.data.to].push(element),
            // `None` flushes.
            None => self.0.iter_mut().for_each(|pusher| pusher.push(&mut None)),
        }
    }
}
