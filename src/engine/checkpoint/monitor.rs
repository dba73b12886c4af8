//! The monitor of one stage of a run.

use std::cell::LazyCell;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
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
use crate::engine::{Cluster, Collected, EngineError, Sharded, run, run_on};

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
    fn panels(&self) -> Vec<Sharded>;

    /// The result of these parts; `None` if they do not fit each other. All processes call this.
    fn from_parts(numbers: Self::Numbers, panels: Vec<Sharded>, cluster: Cluster) -> Result<Option<Self>, EngineError>;
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
        self.once_with(|| label.to_owned(), cluster, work)
    }

    /// [`Monitor::once`] with a label that takes work to find: `find_label` is called on all
    /// processes, if a result is read or written.
    pub fn once_with<A: StoredResult, E: From<EngineError>>(
        &self,
        find_label: impl FnOnce() -> String,
        cluster: Cluster,
        work: impl FnOnce() -> Result<A, E>,
    ) -> Result<A, E> {
        let Some(stage) = &self.work else { return work() };
        let label = LazyCell::new(find_label);
        if stage.writer.is_resuming()
            && let Some(result) = stage.recall(&label, cluster)?
        {
            return Ok(result);
        }
        let result = work()?;
        stage.finish(&label, &result, cluster)?;
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
        let (work, label, collected) = (self.clone(), label.to_owned(), Arc::new(Mutex::new(Vec::new())));
        let kept = collected.clone();
        let numbers = run(cluster, Vec::new(), move |session| {
            let Some(StoredState { numbers, panels, .. }) = log::find::<A::Numbers>(&work, session, &label, true)?
            else {
                return Ok(None);
            };
            let collected: Vec<Collected> = {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.resize_with(panels.len(), Collected::default);
                kept.clone()
            };
            panels.iter().zip(&collected).for_each(|(panel, collected)| session.keep(panel, collected));
            Ok::<_, EngineError>(Some(numbers))
        })?;
        let Some(numbers) = numbers else { return Ok(None) };
        let panels = std::mem::take(&mut *collected.lock().unwrap_or_else(PoisonError::into_inner));
        let result = A::from_parts(numbers, panels.iter().filter_map(Collected::take).collect(), cluster)?;
        if result.is_none() {
            self.report_other();
        }
        Ok(result)
    }

    /// Stores the result, if it took long enough; ends the run if it was asked to.
    fn finish<A: StoredResult>(
        &self,
        label: &impl Deref<Target = String>,
        result: &A,
        cluster: Cluster,
    ) -> Result<(), EngineError> {
        let [is_interrupted, is_worth_keeping] = self.is_interrupted(cluster)?;
        let mut kept = Ok(());
        if self.writer.is_writing() && (is_worth_keeping || is_interrupted) {
            kept = match cluster.processes() {
                1 => self.write(label, result).map_err(EngineError::from),
                _ => self.write_sharded(label, result, cluster)?,
            };
        }
        if is_interrupted {
            kept?;
            return Err(self.interrupted());
        }
        if let Err(error) = kept {
            self.writer.warn(&error);
        }
        Ok(())
    }

    /// Whether any process was asked to end, and whether the stage took long enough to be stored.
    /// From here on this process may be ended at once.
    fn is_interrupted(&self, cluster: Cluster) -> Result<[bool; 2], EngineError> {
        let (interrupt, is_worth_keeping) = (self.writer.interrupt(), self.writer.is_worth_keeping());
        if cluster.mesh.is_none() {
            return Ok([interrupt.release(), is_worth_keeping]);
        }
        let (asked, is_worth_keeping) = (interrupt.clone(), is_worth_keeping && cluster.is_leader());
        let agreed = run(cluster, Vec::new(), move |session| session.any([asked.is_asked(), is_worth_keeping]))?;
        if interrupt.release() && !agreed[0] {
            // Too late for the others here: the next stage will tell them.
            interrupt.hold();
        }
        Ok(agreed)
    }

    /// Writes a result of which this process has all rows.
    fn write<A: StoredResult>(&self, label: &str, result: &A) -> Result<(), CheckpointError> {
        self.writer.commit(Instant::now(), |store| {
            let of_panel = |(place, panel): (usize, &Sharded)| {
                let name = format!("{}-result-{place}", self.number);
                let rows = panel.data().chunks_exact(panel.columns().max(1));
                store.write_panel(&name, panel.rows(), panel.columns(), |writer| {
                    rows.clone().try_for_each(|row| writer.push(bytemuck::cast_slice(row)))
                })
            };
            let panels = result.panels().iter().enumerate().map(of_panel).collect::<Result<_, _>>()?;
            let numbers = self.write_numbers(store, &result.numbers())?;
            Ok(Record { work: self.number, label: label.to_owned(), is_finished: true, numbers, panels })
        })
    }

    /// Writes a result whose rows processes share. All of them return when it is written.
    fn write_sharded<A: StoredResult>(
        &self,
        label: &str,
        result: &A,
        cluster: Cluster,
    ) -> Result<Result<(), EngineError>, EngineError> {
        let (work, label, panels) = (self.clone(), label.to_owned(), result.panels());
        let (numbers, owners) = (encode(&result.numbers()), panels.clone());
        run_on(cluster, &owners.iter().collect::<Vec<_>>(), move |session| {
            let (start, mut files) = (Instant::now(), Ok(Vec::new()));
            for (place, panel) in panels.iter().enumerate() {
                let shard = session.shard_of(panel)?;
                log::write_rows(&work, session, &format!("{}-result-{place}", work.number), &shard, &mut files)?;
            }
            let mut written = Ok(());
            if session.worker() == 0 {
                written = work.writer.commit(start, |store| {
                    let (panels, numbers) = (files?, work.write_encoded(store, &numbers)?);
                    Ok(Record { work: work.number, label: label.clone(), is_finished: true, numbers, panels })
                });
            }
            log::share(session, &log::reason_of(written))
        })
    }

    /// Writes everything but the panels.
    pub(super) fn write_numbers(
        &self,
        store: &mut Store,
        numbers: &impl Serialize,
    ) -> Result<CheckpointFile, CheckpointError> {
        self.write_encoded(store, &encode(numbers))
    }

    fn write_encoded(&self, store: &mut Store, bytes: &[u8]) -> Result<CheckpointFile, CheckpointError> {
        // These change from checkpoint to checkpoint, and get a new name each time.
        let name = format!("{}-numbers-{}", self.number, store.next_number());
        store.write(&name, (1, bytes.len()), 1, |writer| writer.push(bytes))
    }

    /// Records that the run ends because it was asked to.
    pub(super) fn interrupted(&self) -> EngineError {
        self.writer.interrupt().acknowledge();
        EngineError::Interrupted
    }
}
