//! A graph that is followed, and all that is told and written of it.

mod results;

use std::path::Path;
use std::time::Instant;

use super::super::{Error, Format, Request, links, print_text};
use super::complaints::Complaints;
use super::state::State;
use super::target::Target;
use super::translate::{Remark, Rules, check, translate};
use super::{Follow, FollowError};
use crate::dataset::format::Weights;
use crate::dataset::stream::{Batch, Entry, Log, Notice, Record, Refusal, StreamError, Time, Update};
use crate::dataset::{Dataset, Ids, Source};
use crate::graph::Graph;
use crate::graph::evolve::EdgeChange;
use crate::model::follow::Follower;
use crate::report::follow::{BatchFigures, EmbeddingFigures, FollowFigures, write_changes};
use crate::report::metrics::{EMBEDDING, Seconds, Stage};
use crate::report::output::Folder;
use crate::report::progress::Bar;

/// What progress is labelled with.
const FOLLOW: &str = "follow";

pub(super) struct Session<'a> {
    arguments: &'a Follow,
    request: &'a Request,
    folder: Folder,
    changes: Option<Target>,
    dataset: Dataset,
    rules: Rules,
    /// Taken only while it is replaced by one that goes on from an embedding.
    follower: Option<Follower>,
    ids: Ids,
    run: u32,
    /// The last batch that was applied.
    batch: u64,
    embedded: Option<Embedded>,
    /// Whether the graph is another one than the one embedded.
    is_behind: bool,
    saved: Option<Saved>,
    complaints: Complaints,
    totals: FollowFigures,
    start: Instant,
    seconds: Seconds,
}

/// What the last embedding is of.
struct Embedded {
    batch: u64,
    edges: usize,
    figures: EmbeddingFigures,
}

/// What the files in the folder are of.
struct Saved {
    batch: u64,
    at: Instant,
}

/// How a batch is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// As it comes.
    Live,
    /// It was accepted before, and what comes after it is not embedded yet.
    Again,
    /// It was accepted before, and an embedding after it is there.
    Silent,
}

/// What batches that cannot be embedded are called together.
const UNEMBEDDABLE: &str = "batches that cannot be embedded";

/// Says of an embedding of several batches that one of them is the cause, if so.
fn since(error: Error, batch: u64) -> Error {
    match error {
        Error::Embed { source, .. } if source.is_of_numbers() => {
            FollowError::UnembeddableSince { batch, source }.into()
        }
        error => error,
    }
}

impl<'a> Session<'a> {
    pub(super) fn new(
        arguments: &'a Follow,
        request: &'a Request,
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
        let follower = Follower::new(graph, is_directed, options, request.cluster)
            .map_err(|source| Error::Embed { dataset: dataset.name.clone(), source: source.into() })?;
        let changes = arguments.changes.as_deref().map(|path| Target::prepare(path, &folder)).transpose()?;
        let seconds = Seconds { load: start.elapsed().as_secs_f64(), ..Seconds::default() };
        let mut session = Self {
            arguments,
            request,
            folder,
            changes,
            rules,
            ids: dataset.ids.clone(),
            dataset,
            follower: Some(follower),
            run,
            batch: 0,
            embedded: None,
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

    /// Comes to where an earlier run was, or embeds the graph that the stream begins with.
    pub(super) fn catch_up(&mut self, records: &[Record], may_resume: bool, log: &mut Log) -> Result<(), Error> {
        let state =
            State::load(self.folder.path(), self.run).filter(|state| may_resume && state.batch <= records.len() as u64);
        let known = state.as_ref().map_or(0, |state| state.batch as usize);
        for place in 0..known {
            self.replay(&records[place..], Mode::Silent, log)?;
        }
        match state.filter(|state| state.fits(self.graph().nodes())) {
            Some(state) => self.go_on_from(state)?,
            None if known == 0 => self.begin()?,
            // What was saved is of no use, and the rest began from it.
            None => {
                let figures = self.embed(BatchFigures { batch: self.batch, ..BatchFigures::default() })?;
                self.print(&figures)?;
            }
        }
        for place in known..records.len() {
            self.replay(&records[place..], Mode::Again, log)?;
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

    fn go_on_from(&mut self, state: State) -> Result<(), Error> {
        let (batch, embedding) = (state.batch, state.embedding());
        let figures = EmbeddingFigures {
            decomposition: links::decomposition_of(&embedding, &self.request.experiment.embedding.svd),
            seconds: 0.0,
            rows_moved: None,
            valid: None,
            test: None,
        };
        let Some(follower) = self.follower.take() else { unreachable!("it is only away here") };
        self.follower = Some(follower.resume(embedding));
        self.embedded = Some(Embedded { batch, edges: self.follower().ledger().edges, figures });
        self.saved = Some(Saved { batch, at: Instant::now() });
        self.is_behind = false;
        Ok(())
    }

    /// Applies the first of some batches of the log once more; the others are those after it.
    fn replay(&mut self, records: &[Record], mode: Mode, log: &mut Log) -> Result<(), Error> {
        let Some((record, later)) = records.split_first() else { return Ok(()) };
        let time: Option<Time> = record.position.time().and_then(|time| time.parse().ok());
        // Only the order of updates matters from here on.
        let stand_in: Time = time.or_else(|| "0".parse().ok()).unwrap_or_else(|| unreachable!("0 is a time"));
        let updates: Vec<Update> = record.updates.iter().map(|entry| entry.update(stand_in)).collect();
        match self.carry_out(record, &updates, Path::new(""), mode) {
            Err(Error::Follow(error)) => {
                let left_out = self.leave_out(record, *error, log)?;
                later.iter().try_for_each(|record| log.append(record)).map_err(FollowError::from)?;
                self.carry_out(&left_out, &[], Path::new(""), mode)
            }
            done => done,
        }
    }

    /// Takes a batch that cannot be embedded out of the log, which ends the run unless such batches are tolerated. Then it is in the
    /// log without its updates.
    fn leave_out(&mut self, record: &Record, error: FollowError, log: &mut Log) -> Result<Record, Error> {
        let FollowError::Unembeddable { batch, name, source } = &error else { return Err(error.into()) };
        log.cut(*batch).map_err(FollowError::from)?;
        if !self.arguments.tolerate {
            return Err(error.into());
        }
        self.complaints.tell(UNEMBEDDABLE, || format!("batch {batch} ({name}) cannot be embedded: left out: {source}"));
        let mut counts = self.complaints.take();
        record.counts.iter().for_each(|(what, count)| *counts.entry(what.clone()).or_default() += count);
        let left_out = Record { counts, updates: Vec::new(), ..record.clone() };
        log.append(&left_out).map_err(FollowError::from)?;
        Ok(left_out)
    }

    /// Takes a batch: checks it, puts it into the log, and carries it out.
    pub(super) fn accept(&mut self, batch: Batch, log: &mut Log) -> Result<(), Error> {
        let Batch { name, path, updates, mut refused, position } = batch;
        let mut accepted = Vec::with_capacity(updates.len());
        for update in updates {
            match check(&update, &self.ids, &path) {
                Ok(()) => accepted.push(update),
                Err(refusal) if self.arguments.tolerate => refused.push(refusal),
                Err(refusal) => return Err(FollowError::from(StreamError::Refused(refusal)).into()),
            }
        }
        self.refuse(&refused);
        let entries = accepted.iter().map(Entry::from).collect();
        // These are in the log; what follows from the updates follows from them again.
        let counts = self.complaints.take();
        let record = Record { batch: self.batch + 1, name, position, counts, updates: entries };
        log.append(&record).map_err(FollowError::from)?;
        match self.carry_out(&record, &accepted, &path, Mode::Live) {
            Err(Error::Follow(error)) => {
                let left_out = self.leave_out(&record, *error, log)?;
                self.carry_out(&left_out, &[], &path, Mode::Live)?;
            }
            done => done?,
        }
        self.save_if_due()
    }

    /// Counts lines that are left out.
    pub(super) fn refuse(&mut self, refused: &[Refusal]) {
        for refusal in refused {
            self.complaints.tell(refusal.problem.name(), || format!("{}: left out", refusal.error));
        }
    }

    /// Tells what is out of the ordinary about the stream.
    pub(super) fn tell(&mut self, notices: Vec<Notice>) {
        notices.into_iter().for_each(|notice| self.complaints.tell(notice.name(), || notice.to_string()));
    }

    /// Applies a batch, and embeds the graph if that is due. A batch that cannot be embedded is taken back.
    fn carry_out(&mut self, record: &Record, updates: &[Update], path: &Path, mode: Mode) -> Result<(), Error> {
        let start = Instant::now();
        let (nodes_before, ids_before, was_behind) = (self.graph().nodes(), self.ids.len(), self.is_behind);
        let translated = translate(updates, &mut self.ids, self.rules);
        let nodes = self.ids.len().max(nodes_before);
        let failed = |source: crate::model::embedding::ModelError| Error::Embed {
            dataset: self.request.experiment.dataset.to_string(),
            source: source.into(),
        };
        let Some(follower) = &mut self.follower else { unreachable!("it is only away while it is replaced") };
        let applied = follower.apply(nodes, &translated.operations).map_err(failed)?;
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
        self.is_behind |= !applied.changes.edges.is_empty() || nodes > nodes_before;
        let is_due = mode != Mode::Silent && self.arguments.embed.is_due(record.batch) && self.is_behind;
        let (checked, mut is_cause) = (self.follower().check(&applied, |row| self.id(row)), true);
        let done = match checked {
            Err(source) => Err(failed(source)),
            Ok(()) if is_due => {
                is_cause = !was_behind;
                self.embed(figures.clone())
            }
            Ok(()) => Ok(figures.clone()),
        };
        let done = match done {
            Err(Error::Embed { source, .. }) if source.is_of_numbers() && is_cause => {
                let Some(follower) = &mut self.follower else { unreachable!("it is only away while it is replaced") };
                follower.undo(&applied).map_err(failed)?;
                self.ids.truncate(ids_before);
                self.is_behind = was_behind;
                let (batch, name) = (record.batch, record.name.clone());
                return Err(FollowError::Unembeddable { batch, name, source }.into());
            }
            done => done.map_err(|error| since(error, record.batch))?,
        };
        self.batch = record.batch;
        self.totals.add(&figures);
        self.totals.isolated_nodes = self.graph().report.isolated;
        match mode {
            Mode::Silent => Ok(()),
            _ => self.print(&done),
        }
    }

    /// Embeds what is not yet, at the end of the stream.
    pub(super) fn embed_rest(&mut self) -> Result<(), Error> {
        if !self.is_behind {
            return Ok(());
        }
        let figures = BatchFigures {
            batch: self.batch,
            name: "the end".to_owned(),
            time: self.totals.time.clone(),
            nodes: self.graph().nodes(),
            edges: self.follower().ledger().edges,
            ledger_bytes_per_edge: self.bytes_per_edge(),
            ..BatchFigures::default()
        };
        let figures = self.embed(figures).map_err(|error| since(error, self.batch))?;
        self.print(&figures)
    }

    /// Embeds the graph as it is, and writes the rows that moved.
    fn embed(&mut self, figures: BatchFigures) -> Result<BatchFigures, Error> {
        let start = Instant::now();
        let bar = Bar::new(FOLLOW, self.request.voice);
        let watch = self.request.watch(bar.callback());
        let dataset = || self.request.experiment.dataset.to_string();
        let Some(follower) = &mut self.follower else { unreachable!("it is only away while it is replaced") };
        let embedding =
            follower.embed(watch).map_err(|source| Error::Embed { dataset: dataset(), source: source.into() })?;
        bar.done("");
        let decomposition = links::decomposition_of(embedding, &self.request.experiment.embedding.svd);
        let seconds = start.elapsed().as_secs_f64();
        let stage = Stage { decomposition: Some(decomposition), ..Stage::new(EMBEDDING, seconds) };
        if let Some(shortfall) = stage.shortfalls().into_iter().next() {
            // The lines of later batches are marked.
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
        self.embedded = Some(Embedded { batch: figures.batch, edges: figures.edges, figures: embedding.clone() });
        self.is_behind = false;
        Ok(BatchFigures { embedding: Some(embedding), ..figures })
    }

    fn write_changes(&self, batch: u64) -> Result<Option<usize>, Error> {
        let (Some(target), Some(embedding)) = (&self.changes, self.follower().embedding()) else { return Ok(None) };
        let rows = self.follower().moved(self.arguments.epsilon);
        let (folder, name) = target.place(batch);
        folder.write_one(&name, |file| write_changes(file, &rows, &self.ids, embedding))?;
        Ok(Some(rows.len()))
    }

    fn print(&self, figures: &BatchFigures) -> Result<(), Error> {
        if self.arguments.quiet {
            return Ok(());
        }
        let text = match self.request.format {
            Format::Table => format!("{figures}\n"),
            Format::Json => serde_json::to_string(figures).map_err(|error| Error::Show(error.into()))? + "\n",
        };
        print_text(text)
    }

    fn follower(&self) -> &Follower {
        match &self.follower {
            Some(follower) => follower,
            None => unreachable!("it is only away while it is replaced"),
        }
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
