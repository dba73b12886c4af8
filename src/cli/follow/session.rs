//! A graph that follows a stream of updates, its embedding, and what is printed and written.

mod cause;
mod results;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::super::{Error, Format, Request, print_text};
use super::complaints::Complaints;
use super::held_out::HeldOut;
use super::state::State;
use super::target::Target;
use super::translate::{Remark, Rules, are_times, check, translate};
use super::{Follow, FollowError};
use crate::dataset::format::Weights;
use crate::dataset::stream::{Batch, Entry, Log, Notice, Record, Refusal, StreamError, Time, Update};
use crate::dataset::{Budget, Dataset, Ids, OverBudget, Source};
use crate::engine::Monitor;
use crate::experiment::event::{Running, Task};
use crate::experiment::follow::{BatchFigures, EmbeddingFigures, FollowFigures};
use crate::experiment::metrics::{EMBEDDING, Seconds, Stage};
use crate::experiment::{Observer, RunError, decomposition_of};
use crate::graph::Graph;
use crate::graph::evolve::EdgeChange;
use crate::model::embedding::ModelError;
use crate::model::follow::{Applied, Follower};
use crate::report::follow::write_changes;
use crate::report::output::Folder;

/// What progress is labelled with.
const FOLLOW: &str = "follow";

pub(super) struct Session<'a> {
    arguments: &'a Follow,
    request: &'a Request,
    observer: Arc<dyn Observer>,
    folder: Folder,
    changes: Option<Target>,
    dataset: Dataset,
    held_out: HeldOut,
    rules: Rules,
    /// Empty only while it is replaced by one that resumes from an embedding.
    follower: Option<Follower>,
    ids: Ids,
    run: u32,
    /// The last batch that was applied.
    batch: u64,
    embedded: Option<Embedded>,
    since: Since,
    /// Whether the graph changed since it was embedded.
    is_behind: bool,
    saved: Option<Saved>,
    complaints: Complaints,
    totals: FollowFigures,
    start: Instant,
    seconds: Seconds,
}

/// The last embedding, and the graph that it is of.
struct Embedded {
    batch: u64,
    edges: usize,
    /// Held-out pairs that were not among them.
    held_out: usize,
    figures: EmbeddingFigures,
}

/// The batches since the last embedding, and the state at it.
#[derive(Default)]
struct Since {
    at: Mark,
    /// What each batch did.
    applied: Vec<Applied>,
}

/// The state between two batches.
#[derive(Clone, Default)]
struct Mark {
    batch: u64,
    ids: usize,
    is_behind: bool,
    totals: FollowFigures,
}

/// The embedding that the files in the folder hold.
struct Saved {
    batch: u64,
    at: Instant,
}

/// How a batch is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// From the stream.
    Live,
    /// From the log, after the last saved embedding.
    Again,
    /// From the log, before the last saved embedding.
    Silent,
}

/// Bytes that an update takes while it is logged and applied, without its texts, about: the record,
/// its line, operations, and changes of the graph.
const TO_APPLY: u64 = 400;

fn tell_refused(complaints: &mut Complaints, refusal: &Refusal) {
    complaints.tell(refusal.problem.name(), || format!("{}: left out", refusal.error));
}

/// The updates of a record. Only their order matters.
fn updates_of(record: &Record) -> Vec<Update> {
    let time: Option<Time> = record.position.time().and_then(|time| time.parse().ok());
    let stand_in: Time = time.or_else(|| "0".parse().ok()).unwrap_or_else(|| unreachable!("0 is a time"));
    record.updates.iter().map(|entry| entry.update(stand_in)).collect()
}

/// The error of a batch after which the graph cannot be embedded.
fn unembeddable(record: &Record, source: Box<ModelError>) -> FollowError {
    FollowError::Unembeddable { batch: record.batch, name: record.name.clone(), source }
}

impl<'a> Session<'a> {
    pub(super) fn new(
        (arguments, request): (&'a Follow, &'a Request),
        observer: Arc<dyn Observer>,
        folder: Folder,
        dataset: Dataset,
        graph: Graph,
        start: Instant,
        run: u32,
    ) -> Result<Self, Error> {
        let weights = match &request.experiment.dataset {
            Source::Edges(file) => file.options.weights,
            _ => Weights::Auto,
        };
        let rules = Rules { weights, self_loops: request.experiment.import.self_loops };
        let is_directed = dataset.graph.is_directed();
        let options = request.experiment.embedding.clone();
        let held_out = HeldOut::new(&dataset, &graph);
        let follower = Follower::new(graph, is_directed, options, request.cluster)
            .map_err(|source| RunError::Embed { dataset: dataset.name.clone(), source: source.into() })?;
        let changes = arguments.changes.as_deref().map(|path| Target::prepare(path, &folder)).transpose()?;
        let seconds = Seconds { load: start.elapsed().as_secs_f64(), ..Seconds::default() };
        let mut session = Self {
            arguments,
            request,
            observer,
            folder,
            changes,
            held_out,
            rules,
            ids: dataset.ids.clone(),
            dataset,
            follower: Some(follower),
            run,
            batch: 0,
            embedded: None,
            since: Since::default(),
            is_behind: true,
            saved: None,
            complaints: Complaints::default(),
            totals: FollowFigures::default(),
            start,
            seconds,
        };
        session.totals.ledger_bytes_per_edge = session.bytes_per_edge();
        Ok(session)
    }

    /// Whether there is an embedding.
    pub(super) fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Restores the state of an earlier run, or embeds the graph that the stream begins with.
    pub(super) fn catch_up(&mut self, records: &[Record], may_resume: bool, log: &mut Log) -> Result<(), Error> {
        let state =
            State::load(self.folder.path(), self.run).filter(|state| may_resume && state.batch <= records.len() as u64);
        let known = state.as_ref().map_or(0, |state| state.batch as usize);
        for record in &records[..known] {
            self.replay(record, Mode::Silent, log)?;
        }
        match state.filter(|state| state.fits(self.graph().nodes())) {
            Some(state) => self.go_on_from(state)?,
            None if known == 0 => self.begin()?,
            // The saved embedding does not fit the graph, so the graph is embedded anew.
            None => {
                let figures = self.embed(BatchFigures { batch: self.batch, ..BatchFigures::default() })?;
                self.print(&figures)?;
            }
        }
        for record in &records[known..] {
            self.replay(record, Mode::Again, log)?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Error> {
        let size = self.follower().ledger();
        let figures = BatchFigures {
            name: self.dataset.name.clone(),
            nodes: self.graph().nodes(),
            edges: size.edges,
            ledger_bytes_per_edge: self.bytes_per_edge(),
            ..BatchFigures::default()
        };
        let figures = self.embed(figures)?;
        self.print(&figures)?;
        self.save()
    }

    fn go_on_from(&mut self, state: State<'_>) -> Result<(), Error> {
        let batch = state.batch;
        let (embedding, rotation) = state.embedding();
        let figures = EmbeddingFigures {
            decomposition: decomposition_of(&embedding, &self.request.experiment.embedding.svd),
            seconds: 0.0,
            rows_moved: None,
            valid: None,
            test: None,
        };
        let Some(follower) = self.follower.take() else { unreachable!("it is only away here") };
        self.follower = Some(follower.resume(embedding, Some(rotation)));
        let (edges, held_out) = (self.follower().ledger().edges, self.held_out.count());
        self.embedded = Some(Embedded { batch, edges, held_out, figures });
        self.saved = Some(Saved { batch, at: Instant::now() });
        self.is_behind = false;
        self.since = Since { at: self.mark(), applied: Vec::new() };
        Ok(())
    }

    /// Applies a batch of the log.
    fn replay(&mut self, record: &Record, mode: Mode, log: &mut Log) -> Result<(), Error> {
        self.carry_out(record, &updates_of(record), Path::new(""), mode, log)
    }

    /// Checks a batch, appends it to the log, and applies it.
    pub(super) fn accept(&mut self, batch: Batch, log: &mut Log) -> Result<(), Error> {
        let Batch { name, path, mut updates, refused, position, memory: _memory } = batch;
        self.refuse(&refused);
        drop(refused);
        let are_times = are_times(&updates, self.rules);
        let mut ends_run = None;
        updates.retain(|update| {
            let time = || if are_times { Refusal::of_time(&path, update) } else { None };
            let Some(refusal) = check(update, &self.ids, &path).err().or_else(time) else { return true };
            match self.arguments.tolerate {
                true => tell_refused(&mut self.complaints, &refusal),
                false => ends_run = ends_run.take().or(Some(refusal)),
            }
            false
        });
        if let Some(refusal) = ends_run {
            return Err(FollowError::from(StreamError::Refused(refusal)).into());
        }
        let over = |over: OverBudget| FollowError::from(StreamError::from(over.reading(&path)));
        let needed = updates.iter().map(|update| update.text_bytes() + TO_APPLY).sum();
        let _reserved = Budget::current().reserve(needed).map_err(over)?;
        let entries = updates.iter().map(Entry::from).collect();
        // Counts of refused lines are logged. Those that follow from the updates are found again.
        let counts = self.complaints.take();
        let mut record = Record { batch: self.batch + 1, name, position, counts, updates: entries };
        log.append(&record).map_err(FollowError::from)?;
        record.updates = Vec::new();
        self.carry_out(&record, &updates, &path, Mode::Live, log)?;
        self.save_if_due()
    }

    /// Counts lines that are left out.
    pub(super) fn refuse(&mut self, refused: &[Refusal]) {
        refused.iter().for_each(|refusal| tell_refused(&mut self.complaints, refusal));
    }

    /// Warns of notices of the stream.
    pub(super) fn tell(&mut self, notices: Vec<Notice>) {
        notices.into_iter().for_each(|notice| self.complaints.tell(notice.name(), || notice.to_string()));
    }

    /// Applies a batch that is in the log, and embeds the graph if that is due. A batch that cannot
    /// be embedded is left out.
    fn carry_out(
        &mut self,
        record: &Record,
        updates: &[Update],
        path: &Path,
        mode: Mode,
        log: &mut Log,
    ) -> Result<(), Error> {
        let figures = match self.apply(record, updates, path, mode) {
            Err(Error::Follow(error)) => {
                let left_out = self.leave_out(record, *error, log)?;
                self.apply(&left_out, &[], path, mode)?
            }
            figures => figures?,
        };
        if mode == Mode::Silent {
            return Ok(());
        }
        let is_due = self.arguments.embed.is_due(record.batch) && self.is_behind;
        let figures = if is_due { self.embed_all(figures, false, log)? } else { figures };
        self.print(&figures)
    }

    /// Applies a batch; one after which degrees are infinite is taken back.
    fn apply(&mut self, record: &Record, updates: &[Update], path: &Path, mode: Mode) -> Result<BatchFigures, Error> {
        let start = Instant::now();
        let (nodes_before, ids_before) = (self.graph().nodes(), self.ids.len());
        let translated = translate(updates, &mut self.ids, self.rules);
        let nodes = self.ids.len().max(nodes_before);
        let applied = self.follower_mut().apply(nodes, &translated.operations);
        let applied = applied.map_err(|source| self.cannot_embed(source))?;
        let patch_seconds = start.elapsed().as_secs_f64();
        let effects = translated.origins.iter().zip(&applied.effects);
        let of_effects = effects.filter_map(|(&place, &effect)| Some((place, Remark::of(effect)?)));
        let mut remarks: Vec<(usize, Remark)> = translated.remarks.iter().copied().chain(of_effects).collect();
        remarks.sort_by_key(|(place, _)| *place);
        for (place, remark) in remarks {
            let update = &updates[place];
            match mode {
                Mode::Live => self.complaints.tell(remark.name(), || {
                    format!("{}, line {}: {}", path.display(), update.line, remark.text(update))
                }),
                _ => self.complaints.count(remark.name()),
            }
        }
        let mut counts = self.complaints.take();
        record.counts.iter().for_each(|(what, count)| *counts.entry(what.clone()).or_default() += count);
        let changed = |is: fn(&EdgeChange) -> bool| applied.changes.edges.iter().filter(|change| is(change)).count();
        let figures = BatchFigures {
            batch: record.batch,
            name: record.name.clone(),
            time: record.position.time().map(str::to_owned),
            updates: updates.len(),
            edges_added: changed(|change| change.before.is_none()),
            edges_removed: changed(|change| change.after.is_none()),
            edges_reweighted: changed(|change| change.before.is_some() && change.after.is_some()),
            new_nodes: nodes - nodes_before,
            isolated: applied.patched.isolated.iter().map(|&row| self.id(row)).collect(),
            rows_touched: applied.patched.rows.len(),
            nodes,
            edges: self.follower().ledger().edges,
            ledger_bytes_per_edge: self.bytes_per_edge(),
            patch_seconds,
            counts,
            embedding: None,
        };
        self.held_out.apply(&applied.changes.edges);
        if let Err(source) = self.follower().check(&applied, |row| self.id(row)) {
            self.undo(&applied)?;
            self.ids.truncate(ids_before);
            return Err(unembeddable(record, source.into()).into());
        }
        self.is_behind |= !applied.changes.edges.is_empty() || nodes > nodes_before;
        self.batch = record.batch;
        self.totals.add(&figures);
        self.totals.isolated_nodes = self.graph().report.isolated;
        if mode != Mode::Silent {
            self.since.applied.push(applied);
        }
        Ok(figures)
    }

    /// Embeds the graph at the end of the stream, if it changed since the last embedding.
    pub(super) fn embed_rest(&mut self, log: &mut Log) -> Result<(), Error> {
        if !self.is_behind {
            return Ok(());
        }
        let figures = self.embed_all(self.end(), true, log)?;
        self.print(&figures)
    }

    /// The figures of the graph at the end of the stream.
    fn end(&self) -> BatchFigures {
        BatchFigures {
            batch: self.batch,
            name: "the end".to_owned(),
            time: self.totals.time.clone(),
            nodes: self.graph().nodes(),
            edges: self.follower().ledger().edges,
            ledger_bytes_per_edge: self.bytes_per_edge(),
            ..BatchFigures::default()
        }
    }

    /// Embeds the graph as it is, and writes the rows that moved.
    fn embed(&mut self, figures: BatchFigures) -> Result<BatchFigures, Error> {
        let start = Instant::now();
        let running = Running::begin(&self.observer, Task::Stage(FOLLOW));
        let watch = Monitor::new(running.iterations());
        let experiment = &self.request.experiment;
        let found = self.follower_mut().embed(watch);
        let found = found.map(|embedding| decomposition_of(embedding, &experiment.embedding.svd));
        let decomposition = found.map_err(|source| self.cannot_embed(source))?;
        running.done();
        let seconds = start.elapsed().as_secs_f64();
        let stage = Stage { decomposition: Some(decomposition), ..Stage::new(EMBEDDING, seconds) };
        if let Some(shortfall) = stage.shortfalls().into_iter().next() {
            // Later batches say it in their lines.
            self.complaints.tell_once("shortfall", || format!("batch {}, {shortfall}", figures.batch));
        }
        self.totals.embeddings += 1;
        self.totals.operator_columns += decomposition.operator_columns;
        self.seconds.train += seconds;
        let is_first = self.embedded.is_none();
        let rows_moved = if is_first { None } else { self.write_changes(figures.batch)? };
        let (valid, test) = match self.arguments.evaluate {
            true => self.scores()?,
            false => (None, None),
        };
        let embedding = EmbeddingFigures { decomposition, seconds, rows_moved, valid, test };
        let (batch, edges, held_out) = (figures.batch, figures.edges, self.held_out.count());
        self.embedded = Some(Embedded { batch, edges, held_out, figures: embedding.clone() });
        self.is_behind = false;
        self.since = Since { at: self.mark(), applied: Vec::new() };
        Ok(BatchFigures { embedding: Some(embedding), ..figures })
    }

    fn write_changes(&self, batch: u64) -> Result<Option<usize>, Error> {
        let Some(target) = &self.changes else { return Ok(None) };
        let rows = self.follower().moved(self.arguments.epsilon);
        let (folder, name) = target.place(batch);
        folder.write_one(&name, |file| write_changes(file, &rows, &self.ids, self.follower()))?;
        Ok(Some(rows.len()))
    }

    fn print(&self, figures: &BatchFigures) -> Result<(), Error> {
        if self.arguments.quiet {
            return Ok(());
        }
        let text = match self.request.format {
            Format::Table => format!("{figures}\n"),
            Format::Json => serde_json::to_string(figures).map_err(|error| Error::Stdout(error.into()))? + "\n",
        };
        print_text(text)
    }

    fn follower(&self) -> &Follower {
        match &self.follower {
            Some(follower) => follower,
            None => unreachable!("it is only away while it is replaced"),
        }
    }

    fn follower_mut(&mut self) -> &mut Follower {
        match &mut self.follower {
            Some(follower) => follower,
            None => unreachable!("it is only away while it is replaced"),
        }
    }

    fn cannot_embed(&self, source: ModelError) -> Error {
        let dataset = self.request.experiment.dataset.to_string();
        RunError::Embed { dataset, source: source.into() }.into()
    }

    fn graph(&self) -> &Graph {
        self.follower().graph()
    }

    fn id(&self, row: u32) -> String {
        self.ids.get(row as usize).unwrap_or_default().into_owned()
    }

    fn bytes_per_edge(&self) -> f64 {
        let size = self.follower().ledger();
        size.bytes as f64 / size.edges.max(1) as f64
    }
}
