//! Which of the batches that are embedded together is the cause if that fails.
//!
//! The batches since the last embedding are taken back and applied again one at a time. After each
//! the graph is embedded from the vectors of the last embedding, only to see whether it can be. The
//! first batch after which it cannot is the cause. Nothing of these trials is kept: the vectors are
//! those of a stream that never had the batch, and a run that is cut off on the way finds the same.

use std::path::Path;
use std::time::Instant;

use super::{FOLLOW, Mark, Mode, Session, unembeddable, updates_of};
use crate::cli::Error;
use crate::cli::follow::FollowError;
use crate::dataset::stream::{Log, Record};
use crate::engine::Monitor;
use crate::experiment::RunError;
use crate::experiment::event::{Running, Task};
use crate::experiment::follow::BatchFigures;
use crate::model::embedding::ModelError;
use crate::model::follow::Applied;

/// What batches that cannot be embedded are called together.
const UNEMBEDDABLE: &str = "batches that cannot be embedded";

impl Session<'_> {
    /// Embeds the graph after all batches so far; those that make that impossible are left out.
    /// `figures` are those of the last batch, or of the end of the stream.
    pub(super) fn embed_all(
        &mut self,
        mut figures: BatchFigures,
        is_end: bool,
        log: &mut Log,
    ) -> Result<BatchFigures, Error> {
        let mut sound = self.since.at.batch;
        while self.is_behind {
            match self.embed(figures.clone()) {
                Err(Error::Run(RunError::Embed { source, .. }))
                    if source.is_of_numbers() && !self.since.applied.is_empty() =>
                {
                    let last = self.leave_out_cause(&mut sound, source, log)?;
                    figures = if is_end { self.end() } else { last };
                }
                done => return done,
            }
        }
        Ok(figures)
    }

    /// Finds the first batch since the last embedding after which the graph cannot be embedded,
    /// leaves it out, and applies those after it again. It can be embedded after every batch up to
    /// `sound`, which becomes the batch that was left out. The figures are those of the last batch.
    fn leave_out_cause(
        &mut self,
        sound: &mut u64,
        mut source: Box<ModelError>,
        log: &mut Log,
    ) -> Result<BatchFigures, Error> {
        let last = self.batch;
        self.take_back(self.since.at.clone(), 0)?;
        let mut records = log.records_after(self.batch).map_err(FollowError::from)?;
        records.retain(|record| record.batch <= last);
        let mut cause = records.len().saturating_sub(1);
        let before_last = cause;
        for (place, record) in records.iter().enumerate().take(before_last) {
            let (mark, kept) = (self.mark(), self.since.applied.len());
            self.apply_again(record)?;
            if record.batch <= *sound {
                continue;
            }
            match self.try_embed() {
                Err(found) if found.is_of_numbers() => {
                    self.take_back(mark, kept)?;
                    (cause, source) = (place, found.into());
                    break;
                }
                tried => tried.map_err(|source| self.cannot_embed(source))?,
            }
        }
        let Some(record) = records.get(cause).filter(|record| !record.updates.is_empty()) else {
            return Err(self.cannot_embed(*source));
        };
        let left_out = self.leave_out(record, unembeddable(record, source), log)?;
        *sound = left_out.batch;
        let mut figures = self.apply_again(&left_out)?;
        for record in &records[cause + 1..] {
            // The figures that were printed for this batch have changed.
            self.print(&figures)?;
            figures = self.apply_again(record)?;
        }
        Ok(figures)
    }

    /// Applies a batch that was taken back.
    fn apply_again(&mut self, record: &Record) -> Result<BatchFigures, Error> {
        self.apply(record, &updates_of(record), Path::new(""), Mode::Again)
    }

    /// Embeds the graph, and keeps nothing of it.
    fn try_embed(&mut self) -> Result<(), ModelError> {
        let start = Instant::now();
        let running = Running::begin(&self.observer, Task::Stage(FOLLOW));
        let tried = self.follower().try_embed(Monitor::new(running.iterations()));
        running.done();
        self.seconds.train += start.elapsed().as_secs_f64();
        tried
    }

    /// Takes a batch that cannot be embedded out of the log, which ends the run unless such batches
    /// are tolerated. Then it is in the log without its updates, before those that come after it.
    pub(super) fn leave_out(&mut self, record: &Record, error: FollowError, log: &mut Log) -> Result<Record, Error> {
        let FollowError::Unembeddable { batch, name, source } = &error else { return Err(error.into()) };
        let later =
            if self.arguments.tolerate { log.records_after(*batch).map_err(FollowError::from)? } else { Vec::new() };
        log.cut(*batch).map_err(FollowError::from)?;
        if !self.arguments.tolerate {
            return Err(error.into());
        }
        self.complaints.tell(UNEMBEDDABLE, || format!("batch {batch} ({name}) cannot be embedded: left out: {source}"));
        let mut counts = self.complaints.take();
        record.counts.iter().for_each(|(what, count)| *counts.entry(what.clone()).or_default() += count);
        let left_out = Record { counts, updates: Vec::new(), ..record.clone() };
        let mut records = std::iter::once(&left_out).chain(&later);
        records.try_for_each(|record| log.append(record)).map_err(FollowError::from)?;
        Ok(left_out)
    }

    /// Where the session is.
    pub(super) fn mark(&self) -> Mark {
        Mark { batch: self.batch, ids: self.ids.len(), is_behind: self.is_behind, totals: self.totals.clone() }
    }

    /// Takes back batches, from the last one, until `left` of those since the last embedding
    /// remain. The mark is the state after them.
    fn take_back(&mut self, mark: Mark, left: usize) -> Result<(), Error> {
        while self.since.applied.len() > left {
            let Some(applied) = self.since.applied.pop() else { break };
            self.undo(&applied)?;
        }
        self.ids.truncate(mark.ids);
        (self.batch, self.is_behind, self.totals) = (mark.batch, mark.is_behind, mark.totals);
        Ok(())
    }

    /// Takes the batch that was applied last out of the graph.
    pub(super) fn undo(&mut self, applied: &Applied) -> Result<(), Error> {
        let undone = self.follower_mut().undo(applied);
        undone.map_err(|source| self.cannot_embed(source))?;
        self.held_out.undo(&applied.changes.edges);
        Ok(())
    }
}
