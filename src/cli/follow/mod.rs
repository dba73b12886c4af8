//! `isvd-dist follow`: a graph, a stream of updates, and an embedding that keeps up.
//!
//! A batch is read and checked, put into the log, applied, and then embedded. What the log holds is
//! what was applied: a run that was cut off replays it on the graph that it began with, takes the
//! embedding that was saved last, embeds again what came after that, and reads on where the last
//! batch in the log ends.

mod arguments;
mod complaints;
mod error;
mod held_out;
mod session;
mod state;
mod target;
mod translate;

pub use arguments::{Cadence, Follow};
pub use error::FollowError;

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::error::note;
use super::{Error, signals};
use crate::dataset::stream::{Batches, Log, Next, Opened, Position, Record};
use crate::dataset::{Dataset, EdgeList};
use crate::engine::checkpoint::{CheckpointError, Identity, Interrupt, differences};
use crate::experiment::{Event, check_weights, graph_of, identity};
use crate::kernel::buffer::release_unused;
use crate::report::output::Folder;
use crate::report::progress::ProgressObserver;
use crate::report::trace::listen;
use session::Session;
use state::State;

/// The log of accepted batches, in the folder of the results.
const LOG: &str = "follow.log";
/// How long to rest when there is nothing to do.
const REST: Duration = Duration::from_millis(20);

impl Follow {
    /// Loads, embeds, and follows the stream to its end.
    pub fn run(&self) -> Result<(), Error> {
        let (request, origin) = self.request()?;
        listen(request.log, None);
        let interrupt = signals::install(&request);
        let start = Instant::now();
        let folder = Folder::prepare(&request.out)?;
        let experiment = &request.experiment;
        let mut dataset = experiment.dataset.load(request.data.as_deref(), experiment.seed)?;
        check_weights(experiment, &dataset)?;
        let observer = ProgressObserver::shared(request.progress);
        observer.observe(Event::Remarks(&dataset));
        release_unused();
        let run = identity(experiment, &dataset);
        let history = self.history(&folder, &run)?;
        // Errors of the stream are found before anything is computed.
        let done: Vec<Position> = history.records.iter().map(|record| record.position.clone()).collect();
        let batches =
            Batches::open(&origin, self.rule(), self.watch, self.tolerate, &done).map_err(FollowError::from)?;
        if experiment.finetune.is_some() || experiment.update.is_some() || experiment.seeds > 1 {
            note("note: follow embeds, with the first seed: [finetune], [update] and evaluate.seeds are left aside");
        }
        let graph = graph_of(&dataset.graph, experiment.import, &dataset.name, &observer)?;
        forget_list(&mut dataset);
        let mut log = history.log.map_or_else(|| self.begin(&folder, &run), Ok)?;
        let run = crc32fast::hash(format!("{run:?}").as_bytes());
        let mut session = Session::new((self, &request), observer, folder, dataset, graph, start, run)?;
        let outcome = session
            .catch_up(&history.records, self.resume, &mut log)
            .and_then(|()| self.follow(&mut session, batches, log, &interrupt));
        // The last embedding is saved however the run ends.
        interrupt.hold();
        let saved = if session.is_embedded() { session.finish() } else { Ok(()) };
        outcome?;
        saved?;
        match interrupt.is_asked() {
            true => Err(Error::Interrupted { is_kept: true, is_told: false }),
            false => Ok(()),
        }
    }

    /// The batches that an earlier run accepted, if this run resumes it. Changes no file.
    fn history(&self, folder: &Folder, run: &Identity) -> Result<History, Error> {
        let path = folder.path().join(LOG);
        if !self.resume {
            return Ok(History::default());
        }
        let Some(opened) = Log::open(&path).map_err(FollowError::from)? else {
            let folder = folder.path().display();
            note(&format!("note: there is nothing to resume in {folder}: starting from the beginning"));
            return Ok(History::default());
        };
        let Opened { log, run: was, records, dropped, repeated } = opened;
        let differences = differences(&was, run);
        if !differences.is_empty() {
            return Err(CheckpointError::OtherRun { folder: folder.path().to_owned(), differences }.into());
        }
        tell_of_log(&path, dropped, repeated, &records);
        Ok(History { log: Some(log), records })
    }

    /// Begins a log, in place of one of an earlier run.
    fn begin(&self, folder: &Folder, run: &Identity) -> Result<Log, FollowError> {
        let path = folder.path().join(LOG);
        if path.is_file() && !self.resume {
            let path = path.display();
            note(&format!("note: {path} is the log of an earlier run, and is replaced: to go on, give --resume"));
        }
        State::remove(folder.path());
        Ok(Log::create(&path, run)?)
    }

    /// Applies the batches of the stream, until it ends or a signal asks the run to end.
    fn follow(
        &self,
        session: &mut Session<'_>,
        mut batches: Batches,
        mut log: Log,
        interrupt: &Interrupt,
    ) -> Result<(), Error> {
        // From here on a signal takes effect between two batches.
        interrupt.hold();
        let mut last = Instant::now();
        while !interrupt.is_asked() {
            let mut next = batches.next_batch().map_err(FollowError::from);
            session.tell(batches.take_notices());
            if matches!(next, Ok(Next::Nothing))
                && self.linger.is_some_and(|linger| last.elapsed() >= linger)
                && let Some(batch) = batches.flush()
            {
                next = Ok(Next::Batch(batch));
            }
            match next? {
                Next::Batch(batch) => {
                    session.accept(batch, &mut log)?;
                    last = Instant::now();
                }
                Next::Nothing => {
                    session.save_if_due()?;
                    sleep(REST);
                }
                Next::End(refused) => {
                    session.refuse(&refused);
                    return session.embed_rest(&mut log);
                }
            }
        }
        Ok(())
    }
}

/// What an earlier run left.
#[derive(Default)]
struct History {
    log: Option<Log>,
    records: Vec<Record>,
}

fn tell_of_log(path: &Path, dropped: usize, repeated: usize, records: &[Record]) {
    let shown = path.display();
    if dropped > 0 {
        note(&format!("note: the last record of {shown} was not finished ({dropped} bytes): its batch is read again"));
    }
    if repeated > 0 {
        note(&format!("note: {repeated} batches are in {shown} more than once: each counts once"));
    }
    note(&format!("note: resumed after {} batches in {shown}", records.len()));
}

/// Drops the list of edges, which the graph holds now. What is left says whether edges have a
/// direction.
fn forget_list(dataset: &mut Dataset) {
    let (nodes, directed) = (dataset.graph.nodes(), dataset.graph.is_directed());
    dataset.graph = EdgeList { nodes, directed, ..EdgeList::default() }.into();
}
