//! Saves and restores the state of a solver between iterations.

use std::collections::HashSet;
use std::io;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::file::CheckpointFile;
use super::manifest::Record;
use super::monitor::{Monitor, Work};
use super::notice::CheckpointError;
use crate::engine::leader::decode;
use crate::engine::{EngineError, Session, Shard};

/// The checkpoints of one stage, on one worker. All workers must call its methods in the same
/// order.
pub struct CheckpointLog {
    work: Option<Work>,
    label: Label,
    /// Whether the next call ends an iteration.
    has_begun: bool,
    /// Names of the panels in the last checkpoint, which are not written again.
    written: HashSet<String>,
}

/// What identifies the problem of a stage.
enum Label {
    Known(String),
    /// Found when it is first needed, by all workers together.
    Deferred(Option<FindLabel>),
}

type FindLabel = Box<dyn FnOnce(&mut Session<'_>) -> Result<String, EngineError>>;

impl Label {
    fn get(&mut self, session: &mut Session<'_>) -> Result<&str, EngineError> {
        if let Self::Deferred(find) = self {
            *self = Self::Known(find.take().map_or(Ok(String::new()), |find| find(session))?);
        }
        match self {
            Self::Known(label) => Ok(label),
            Self::Deferred(_) => Ok(""),
        }
    }
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
        Self::labelled(monitor, Label::Known(label.into()))
    }

    /// A log whose label takes products to find: `find` is called on all workers, if a checkpoint
    /// is read or written.
    pub fn with_label<P: ?Sized>(
        monitor: &Monitor<P>,
        find: impl FnOnce(&mut Session<'_>) -> Result<String, EngineError> + 'static,
    ) -> Self {
        Self::labelled(monitor, Label::Deferred(Some(Box::new(find))))
    }

    fn labelled<P: ?Sized>(monitor: &Monitor<P>, label: Label) -> Self {
        let work = monitor.work().cloned();
        if let Some(work) = &work {
            work.writer.interrupt().hold();
        }
        Self { work, label, has_begun: false, written: HashSet::new() }
    }

    /// The numbers of the state to resume from, if there is one, and this worker's rows of its
    /// panels.
    pub fn resume<N: DeserializeOwned>(
        &mut self,
        session: &mut Session<'_>,
    ) -> Result<Option<(N, Vec<Shard>)>, EngineError> {
        let Some(work) = self.work.as_ref().filter(|work| work.writer.is_resuming()) else { return Ok(None) };
        let label = self.label.get(session)?;
        let Some(StoredState { numbers, names, panels }) = find(work, session, label, false)? else {
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
        let label = self.label.get(session)?.to_owned();
        let (start, is_first) = (Instant::now(), session.worker() == 0);
        let mut files = Ok(Vec::with_capacity(panels.len()));
        for (name, panel) in &panels {
            let file = format!("{}-{name}", work.number);
            match self.written.contains(name) {
                // The first worker alone: it keeps the store locked while others send it rows.
                true if is_first => find_written(work, &file, &mut files),
                true => {}
                false => write_rows(work, session, &file, panel, &mut files)?,
            }
        }
        let mut written = Ok(());
        if is_first {
            written = work.writer.commit(start, |store| {
                let (numbers, panels) = (work.write_numbers(store, &numbers)?, files?);
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

/// The files of a checkpoint that are written so far, on the first worker.
type Files = Result<Vec<CheckpointFile>, CheckpointError>;

/// Adds a file that an earlier checkpoint wrote, on the first worker.
fn find_written(work: &Work, file: &str, files: &mut Files) {
    if let (Ok(written), Some(store)) = (&mut *files, work.writer.store()) {
        let pieces = store.record(work.number).into_iter().flat_map(|record| &record.panels);
        match pieces.clone().find(|piece| piece.file == file) {
            Some(piece) => written.push(piece.clone()),
            None => *files = Err(store.lost(file)),
        }
    }
}

/// Writes the rows of a panel on the first worker, to which all workers send theirs, and adds the
/// file. A failure to write is an error of `files`.
pub(super) fn write_rows(
    work: &Work,
    session: &mut Session<'_>,
    file: &str,
    panel: &Shard,
    files: &mut Files,
) -> Result<(), EngineError> {
    let is_leader = session.worker() == 0;
    // Inside a process rows are shared by pointer.
    let all = if session.has_other_processes() { None } else { Some(session.gathered(panel)?) };
    let mut stream = |take: &mut dyn FnMut(Vec<f32>)| match all {
        Some(_) => Ok(()),
        None => session.stream_rows(panel, take),
    };
    let store = if is_leader { work.writer.store() } else { None };
    let (Ok(written), Some(mut store)) = (&mut *files, store) else { return stream(&mut |_| ()) };
    // How the rows were sent: once, although a write to a full disk is tried again.
    let mut sent = None;
    let found = store.write_panel(file, panel.total_rows(), panel.cols(), |writer| {
        let mut push = |row: &[f32]| writer.push(bytemuck::cast_slice(row));
        if let Some(all) = &all {
            return all.rows_in_order().try_for_each(push);
        }
        if sent.is_some() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut result = Ok(());
        sent = Some(stream(&mut |rows| {
            if result.is_ok() {
                result = rows.chunks_exact(panel.cols().max(1)).try_for_each(&mut push);
            }
        }));
        result
    });
    match found {
        Ok(piece) => written.push(piece),
        Err(error) => *files = Err(error),
    }
    sent.unwrap_or_else(|| stream(&mut |_| ()))
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
