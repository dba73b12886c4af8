//! The monitor of one stage of a run.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::file::CheckpointFile;
use super::log::{self, StoredState};
use super::manifest::Record;
use super::notice::{CheckpointError, Notice};
use super::store::Store;
use super::writer::CheckpointWriter;
use crate::engine::leader::encode;
use crate::engine::{Cluster, EngineError, run};
use crate::matrix::Dense;

/// Reports the progress of a stage, and stores its result if checkpoints are written.
pub struct Monitor<P: ?Sized> {
    progress: Arc<P>,
    work: Option<Work>,
}

/// One stage of a run.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) writer: Arc<CheckpointWriter>,
    /// The number of the stage in the run, from 0.
    pub(super) number: usize,
}

/// A result that a checkpoint can store: numbers and matrices.
pub trait StoredResult: Sized {
    /// Everything but the matrices.
    type Numbers: Serialize + DeserializeOwned + Send + 'static;

    /// Everything but the matrices.
    fn numbers(&self) -> Self::Numbers;

    /// The matrices.
    fn panels(&self) -> Vec<&Dense>;

    /// The result with these parts; `None` if they are inconsistent.
    fn from_parts(numbers: Self::Numbers, panels: Vec<Dense>) -> Option<Self>;
}

impl<P: ?Sized> Clone for Monitor<P> {
    fn clone(&self) -> Self {
        Self { progress: self.progress.clone(), work: self.work.clone() }
    }
}

impl<P: ?Sized> Monitor<P> {
    /// A monitor without checkpoints.
    pub fn new(progress: Arc<P>) -> Self {
        Self { progress, work: None }
    }

    /// The monitor without checkpoints.
    pub fn unkept(&self) -> Self {
        Self::new(self.progress.clone())
    }

    pub(super) fn kept(progress: Arc<P>, work: Work) -> Self {
        Self { progress, work: Some(work) }
    }

    /// Whether the stage keeps checkpoints.
    pub fn keeps_checkpoints(&self) -> bool {
        self.work.is_some()
    }

    /// The receiver of progress.
    pub fn progress(&self) -> &P {
        &self.progress
    }

    pub(super) fn work(&self) -> Option<&Work> {
        self.work.as_ref()
    }

    /// The stored result of the stage, if there is one. Otherwise `work` computes it, and it is
    /// stored. `label` identifies the problem.
    pub fn once<A: StoredResult, E: From<EngineError>>(
        &self,
        label: &str,
        cluster: Cluster,
        work: impl FnOnce() -> Result<A, E>,
    ) -> Result<A, E> {
        let Some(stage) = &self.work else { return work() };
        if let Some(result) = stage.recall(label, cluster)? {
            return Ok(result);
        }
        let result = work()?;
        stage.finish(label, &result, cluster)?;
        Ok(result)
    }
}

impl Work {
    /// The record of this stage with this label, finished or not as asked.
    pub(super) fn record(&self, store: &Store, label: &str, is_finished: bool) -> Option<Record> {
        let record = store.record(self.number).filter(|record| record.is_finished == is_finished)?;
        if record.label != label {
            self.report_other();
            return None;
        }
        Some(record.clone())
    }

    /// Reports that the checkpoint is of another problem.
    pub(super) fn report_other(&self) {
        self.writer.tell(Notice::OtherWork { work: self.number });
    }

    /// The stored result.
    fn recall<A: StoredResult>(&self, label: &str, cluster: Cluster) -> Result<Option<A>, EngineError> {
        if !self.writer.is_resuming() {
            return Ok(None);
        }
        let (work, label) = (self.clone(), label.to_owned());
        let parts = run(cluster, Vec::new(), move |session| {
            let Some(StoredState { numbers, panels, .. }) = log::find::<A::Numbers>(&work, session, &label, true)?
            else {
                return Ok(None);
            };
            // All workers gather every panel, and the first of each process gets it.
            let panels = panels.iter().map(|panel| session.collect(panel)).collect::<Result<Vec<_>, _>>()?;
            let panels: Option<Vec<_>> = panels.into_iter().collect();
            Ok::<_, EngineError>(panels.map(|panels| (numbers, panels)))
        })?;
        let Some((numbers, panels)) = parts else { return Ok(None) };
        let result = A::from_parts(numbers, panels);
        if result.is_none() {
            self.report_other();
        }
        Ok(result)
    }

    /// Stores the result, if it took long enough; ends the run if it was asked to.
    fn finish<A: StoredResult>(&self, label: &str, result: &A, cluster: Cluster) -> Result<(), EngineError> {
        let is_interrupted = self.is_interrupted(cluster)?;
        let mut written = Ok(());
        if self.writer.is_worth_keeping() || (is_interrupted && self.writer.is_writing()) {
            written = self.writer.commit(Instant::now(), |store| self.write(store, label, result));
        }
        if is_interrupted {
            // No process ends before the checkpoint is written: some schedulers then end the
            // others.
            let reason = log::reason_of(written);
            run(cluster, Vec::new(), move |session| log::share(session, &reason))??;
            return Err(self.interrupted());
        }
        if let Err(error) = written {
            self.writer.warn(&error.into());
        }
        Ok(())
    }

    /// Whether any process was asked to end. From now on this one may be ended at once.
    fn is_interrupted(&self, cluster: Cluster) -> Result<bool, EngineError> {
        let interrupt = self.writer.interrupt();
        if cluster.mesh.is_none() {
            return Ok(interrupt.release());
        }
        let asked = interrupt.clone();
        let [is_interrupted] = run(cluster, Vec::new(), move |session| session.any([asked.is_asked()]))?;
        if interrupt.release() && !is_interrupted {
            // The others did not see the request: the next stage reports it to them.
            interrupt.hold();
        }
        Ok(is_interrupted)
    }

    fn write<A: StoredResult>(&self, store: &mut Store, label: &str, result: &A) -> Result<Record, CheckpointError> {
        let of_panel = |(number, panel): (usize, &&Dense)| {
            let file = format!("{}-result-{number}", self.number);
            let rows = || (0..panel.rows()).map(|row| panel.row(row));
            store.write_panel(&file, panel.rows(), panel.columns(), rows)
        };
        let panels = result.panels().iter().enumerate().map(of_panel).collect::<Result<_, _>>()?;
        let numbers = self.write_numbers(store, &result.numbers())?;
        Ok(Record { work: self.number, label: label.to_owned(), is_finished: true, numbers, panels })
    }

    /// Writes everything but the panels.
    pub(super) fn write_numbers(
        &self,
        store: &mut Store,
        numbers: &impl Serialize,
    ) -> Result<CheckpointFile, CheckpointError> {
        let bytes = encode(numbers);
        // The numbers change with each checkpoint, and so does the name of their file.
        let name = format!("{}-numbers-{}", self.number, store.next_number());
        store.write(&name, (1, bytes.len()), 1, |writer| writer.push(&bytes))
    }

    /// Records that the run ends because it was asked to.
    pub(super) fn interrupted(&self) -> EngineError {
        self.writer.interrupt().acknowledge();
        EngineError::Interrupted
    }
}
