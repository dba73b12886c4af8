//! The channel on which a parcel reaches every worker.

use std::rc::Rc;

use timely::communication::{Pull, Push};
use timely::dataflow::channels::Message;
use timely::dataflow::channels::pact::{LogPuller, ParallelizationContract};
use timely::logging::TimelyLogger;
use timely::worker::Worker;

use super::parcel::Parcel;

/// One copy of every parcel to each worker, and one only to each other process.
pub(super) struct Broadcast;

type Pushed = Message<u64, Parcel>;

impl ParallelizationContract<u64, Parcel> for Broadcast {
    type Pusher = Unweighing;
    type Puller = LogPuller<Box<dyn Pull<Pushed>>>;

    fn connect(
        self,
        worker: &Worker,
        identifier: usize,
        address: Rc<[usize]>,
        logging: Option<TimelyLogger>,
    ) -> (Self::Pusher, Self::Puller) {
        let (pusher, puller) = worker.broadcast::<Pushed>(identifier, address);
        (Unweighing { pusher }, LogPuller::new(puller, worker.index(), identifier, logging))
    }
}

/// Makes a parcel count as one again: it was counted once for every worker when it was sent, and each of them counts the
/// copy that it gets.
pub(super) struct Unweighing {
    pusher: Box<dyn Push<Pushed>>,
}

impl Push<Pushed> for Unweighing {
    fn push(&mut self, element: &mut Option<Pushed>) {
        if let Some(message) = element {
            message.data.weight = 1;
        }
        self.pusher.push(element);
    }
}
