//! Saves and restores the state of a solver between iterations.

use std::collections::HashSet;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::file::CheckpointFile;
use super::manifest::Record;
use super::monitor::{Monitor, Work};
use super::notice::CheckpointError;
use super::store::Store;
use crate::engine::leader::decode;
use crate::engine::message::GatheredPanel;
use crate::engine::{EngineError, Session, Shard};

/// The checkpoints of one stage, on one worker. All workers must call its methods in the same
/// order.
pub struct CheckpointLog {
    work: Option<Work>,
    label: String,
    /// Whether the next call ends an iteration.
    has_begun: bool,
    /// Names of the panels in the last checkpoint, which are not written again.
    written: HashSet<String>,
}

/// The state that a stage resumes from.
pub struct State<'a, N> {
    /// Scalars and small matrices: the same on every worker.
    pub numbers: N,
    /// This worker's rows of the panels. Within a stage, a name always has the same content.
    pub panels: Vec<(String, &'a Shard)>,
}

/// A state read from a checkpoint, on every worker.
pub(super) struct StoredState<N> {
    pub(super) numbers: N,
    pub(super) names: Vec<String>,
    pub(super) panels: Vec<Shard>,
}

impl CheckpointLog {
    /// The log of a monitored stage. `label` identifies the problem; states of other problems are
    /// ignored.
    pub fn new<P: ?Sized>(monitor: &Monitor<P>, label: impl Into<String>) -> Self {
        let work = monitor.work().cloned();
        if let Some(work) = &work {
            work.writer.interrupt().hold();
        }
        Self { work, label: label.into(), has_begun: false, written: HashSet::new() }
    }

    /// The numbers of the state to resume from, if there is one, and this worker's rows of its
    /// panels.
    pub fn resume<N: DeserializeOwned>(
        &mut self,
        session: &mut Session<'_>,
    ) -> Result<Option<(N, Vec<Shard>)>, EngineError> {
        let Some(work) = self.work.as_ref().filter(|work| work.writer.is_resuming()) else { return Ok(None) };
        let Some(StoredState { numbers, names, panels }) = find(work, session, &self.label, false)? else {
            return Ok(None);
        };
        self.written = names.into_iter().collect();
        Ok(Some((numbers, panels)))
    }

    /// Writes a checkpoint if one is due, on all workers alike; to be called before every
    /// iteration. Returns [`EngineError::Interrupted`] if the run was asked to end.
    pub fn keep<'a, N: Serialize>(
        &mut self,
        session: &mut Session<'_>,
        state: impl FnOnce() -> State<'a, N>,
    ) -> Result<(), EngineError> {
        let Some(work) = self.work.clone() else { return Ok(()) };
        let writer = &work.writer;
        let is_first = session.worker() == 0;
        if std::mem::replace(&mut self.has_begun, true) && is_first {
            writer.count();
        }
        // The first worker decides when a checkpoint is due; any process may be asked to end.
        let own = [is_first && writer.is_due(), writer.interrupt().is_asked()];
        let [is_due, is_interrupted] = session.any(own)?;
        if writer.is_writing() && (is_due || is_interrupted) {
            match self.write(session, state())? {
                Err(error) if is_interrupted => return Err(error),
                Err(error) if is_first => writer.warn(&error),
                _ => {}
            }
        }
        if is_interrupted { Err(work.interrupted()) } else { Ok(()) }
    }

    /// Writes a checkpoint. All workers learn of a failure.
    fn write<N: Serialize>(
        &mut self,
        session: &mut Session<'_>,
        State { numbers, panels }: State<'_, N>,
    ) -> Result<Result<(), EngineError>, EngineError> {
        let Some(work) = &self.work else { return Ok(Ok(())) };
        let (start, is_first) = (Instant::now(), session.worker() == 0);
        let mut files = Ok(Vec::with_capacity(panels.len()));
        for (name, panel) in &panels {
            // One panel is gathered at a time.
            let gathered = match self.written.contains(name) {
                true => None,
                false => Some(session.gathered(panel)?),
            };
            if is_first && let (Ok(written), Some(mut store)) = (&mut files, work.writer.store()) {
                match piece(work, &mut store, name, gathered.as_deref()) {
                    Ok(piece) => written.push(piece),
                    Err(error) => files = Err(error),
                }
            }
        }
        let mut written = Ok(());
        if is_first {
            written = work.writer.commit(start, |store| {
                let (label, panels) = (self.label.clone(), files?);
                let numbers = work.write_numbers(store, &numbers)?;
                Ok(Record { work: work.number, label, is_finished: false, numbers, panels })
            });
        }
        let shared = share(session, &reason_of(written))?;
        if shared.is_ok() {
            self.written = panels.into_iter().map(|(name, _)| name).collect();
        }
        Ok(shared)
    }
}

/// The error as text; empty if there is none.
pub(super) fn reason_of(written: Result<(), CheckpointError>) -> String {
    written.err().map_or_else(String::new, |error| error.to_string())
}

/// Shares the error of the first worker, if there is one, after it has written the checkpoint.
pub(super) fn share(session: &mut Session<'_>, reason: &str) -> Result<Result<(), EngineError>, EngineError> {
    let reason: String = session.on_leader(|| Ok::<_, EngineError>(reason.to_owned()))?;
    Ok(if reason.is_empty() { Ok(()) } else { Err(EngineError::Checkpoint { reason }) })
}

/// The file of a panel: written now, or by the last checkpoint if `panel` is `None`.
fn piece(
    work: &Work,
    store: &mut Store,
    name: &str,
    panel: Option<&GatheredPanel>,
) -> Result<CheckpointFile, CheckpointError> {
    let file = format!("{}-{name}", work.number);
    let Some(panel) = panel else {
        let known = store.record(work.number).and_then(|record| record.panels.iter().find(|piece| piece.file == file));
        return known.cloned().ok_or_else(|| store.lost(&file));
    };
    store.write_panel(&file, panel.total_rows, panel.cols, || panel.rows_in_order())
}

/// Broadcast before the panels.
#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) numbers: Vec<u8>,
    /// The name, rows and columns of every panel.
    pub(super) panels: Vec<(String, usize, usize)>,
}

/// The state or the result of a stage, read by the first worker and distributed.
pub(super) fn find<N: DeserializeOwned>(
    work: &Work,
    session: &mut Session<'_>,
    label: &str,
    is_finished: bool,
) -> Result<Option<StoredState<N>>, EngineError> {
    // The store stays locked while the panels are distributed.
    let store = if session.worker() == 0 { work.writer.store() } else { None };
    let record = store.as_ref().and_then(|store| work.record(store, label, is_finished));
    let known = store.zip(record);
    let header = session.on_leader(|| {
        let Some((store, record)) = &known else { return Ok(None) };
        // File names begin with the number of the stage.
        let name = |piece: &CheckpointFile| piece.file.split_once('-').map_or("", |(_, name)| name).to_owned();
        let panels = record.panels.iter().map(|piece| (name(piece), piece.rows as usize, piece.columns()));
        Ok::<_, EngineError>(Some(Header { numbers: store.read(&record.numbers)?, panels: panels.collect() }))
    })?;
    let parts = header.and_then(|Header { numbers, panels }| Some((decode(&numbers)?, panels)));
    let Some((numbers, headings)) = parts else {
        if known.is_some() {
            work.report_other();
        }
        return Ok(None);
    };
    let (mut names, mut panels) = (Vec::new(), Vec::new());
    for (place, (name, rows, cols)) in headings.into_iter().enumerate() {
        let entries = match &known {
            Some((store, record)) => store.read_panel(&record.panels[place])?,
            None => Vec::new(),
        };
        panels.push(session.scatter(rows, cols, &entries)?);
        names.push(name);
    }
    Ok(Some(StoredState { numbers, names, panels }))
}
