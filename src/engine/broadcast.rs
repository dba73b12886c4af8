//! A timely channel that sends every message to all workers.

use std::rc::Rc;

use timely::communication::{Pull, Push};
use timely::dataflow::channels::Message as TimelyMessage;
use timely::dataflow::channels::pact::{LogPuller, ParallelizationContract};
use timely::logging::TimelyLogger;
use timely::worker::Worker;

use super::message::Message;

/// One copy to each worker of this process, and one to each other process.
pub(super) struct Broadcast;

type Pushed = TimelyMessage<u64, Message>;

impl ParallelizationContract<u64, Message> for Broadcast {
    type Pusher = BroadcastPusher;
    type Puller = LogPuller<Box<dyn Pull<Pushed>>>;

    fn connect(
        self,
        worker: &Worker,
        identifier: usize,
        address: Rc<[usize]>,
        logging: Option<TimelyLogger>,
    ) -> (Self::Pusher, Self::Puller) {
        let (pusher, puller) = worker.broadcast::<Pushed>(identifier, address);
        (BroadcastPusher { pusher }, LogPuller::new(puller, worker.index(), identifier, logging))
    }
}

/// Sets the weight of a message to one: progress tracking counted it once for every worker when it
/// was sent, and each worker counts the copy that it receives.
pub(super) struct BroadcastPusher {
    pusher: Box<dyn Push<Pushed>>,
}

impl Push<Pushed> for BroadcastPusher {
    fn push(&mut self, element: &mut Option<Pushed>) {
        if let Some(message) = element {
            message.data.weight = 1;
        }
        self.pusher.push(element);
    }
}
