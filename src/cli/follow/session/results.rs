//! The files of a run, kept current, and its summary.

use std::time::Instant;

use super::super::super::{Error, Format, print_text};
use super::super::state::State;
use super::{Embedded, Saved, Session};
use crate::dataset::LinkSplit;
use crate::engine::worker_times;
use crate::experiment::metrics::{EMBEDDING, Metrics, Scores, Seconds, Stage, WorkerFigures};
use crate::experiment::{memory, scores};
use crate::report::output::{IDS, ResultFile, Results};

impl Session<'_> {
    /// The figures of the config on its held-out pairs.
    pub(super) fn scores(&mut self) -> Result<(Option<Scores>, Option<Scores>), Error> {
        let start = Instant::now();
        let Some(embedding) = self.follower().embedding() else { return Ok((None, None)) };
        let (experiment, weights) = (&self.request.experiment, embedding.plain_weights());
        let of = |split: &Option<LinkSplit>, name| {
            let of = (experiment, &self.dataset);
            let scores = |pairs| {
                scores(of, (embedding, &weights), (name, pairs), false, self.request.cluster).map(|(scores, _)| scores)
            };
            split.as_ref().map(scores).transpose()
        };
        let scores = (of(&self.dataset.valid, "valid")?, of(&self.dataset.test, "test")?);
        self.seconds.evaluate += start.elapsed().as_secs_f64();
        Ok(scores)
    }

    /// Writes the results if the last ones are old.
    pub(in crate::cli::follow) fn save_if_due(&mut self) -> Result<(), Error> {
        let is_due = |saved: &Saved| self.arguments.save.0.is_some_and(|every| saved.at.elapsed() >= every);
        match self.is_new() && self.saved.as_ref().is_none_or(is_due) {
            true => self.save(),
            false => Ok(()),
        }
    }

    /// Whether there is an embedding that is not in the folder.
    fn is_new(&self) -> bool {
        self.embedded.as_ref().map(|embedded| embedded.batch) != self.saved.as_ref().map(|saved| saved.batch)
    }

    /// Writes the results, and says how it went.
    pub(in crate::cli::follow) fn finish(&mut self) -> Result<(), Error> {
        self.totals.count(&self.complaints.take());
        self.save()?;
        let folder = self.folder.path().display();
        let (nodes, edges) = (self.graph().nodes(), self.follower().ledger().edges);
        print_text(match self.request.format {
            Format::Json => {
                let figures = serde_json::json!({ "summary": self.totals, "nodes": nodes, "edges": edges, "out": folder.to_string() });
                format!("{figures}\n")
            }
            Format::Table => {
                let batch = self.totals.embedded_batch;
                format!("{}{nodes} nodes and {edges} edges\nembedding after batch {batch} in {folder}\n", self.totals)
            }
        })
    }

    /// Writes the results.
    pub(super) fn save(&mut self) -> Result<(), Error> {
        let (valid, test) = self.scores()?;
        let Some(Embedded { batch, edges, held_out, figures }) = &self.embedded else { return Ok(()) };
        let (batch, edges, held_out_edges) = (*batch, *edges, *held_out);
        let Some(follower) = &self.follower else { return Ok(()) };
        let (Some(embedding), Some(rotation)) = (follower.embedding(), follower.rotation()) else { return Ok(()) };
        self.totals.embedded_batch = batch;
        let decomposition = Some(figures.decomposition);
        let stage = Stage { valid, test, decomposition, ..Stage::new(EMBEDDING, figures.seconds) };
        let experiment = &self.request.experiment;
        let metrics = Metrics {
            config: experiment.name.clone(),
            dataset: self.dataset.name.clone(),
            nodes: embedding.nodes,
            edges: edges + held_out_edges,
            training_edges: edges,
            held_out_edges,
            directed: self.dataset.graph.is_directed(),
            workers: self.request.cluster.all_workers(),
            processes: self.request.cluster.processes(),
            network_bytes_sent: None,
            seed: experiment.seed,
            seeds: None,
            stages: vec![stage],
            seconds: Seconds { total: self.start.elapsed().as_secs_f64(), ..self.seconds },
            peak_memory_bytes: memory::peak_bytes(),
            time_by_worker: WorkerFigures::of_all(&worker_times(self.request.cluster)?),
            follow: Some(self.totals.clone()),
        };
        let mut files = ResultFile::of_embedding(embedding, self.request.cluster);
        let (ids, nodes) = (&self.ids, embedding.nodes);
        // Nodes that came later have no rows yet.
        files.push(ResultFile::new(IDS, move |file| ids.iter().take(nodes).try_for_each(|id| writeln!(file, "{id}"))));
        self.folder.write(Results { metrics: &metrics, ids: None, files }, &|_| false)?;
        if self.saved.as_ref().is_none_or(|saved| saved.batch != batch) {
            State::new(self.run, batch, embedding, rotation).save(&self.folder)?;
        }
        self.saved = Some(Saved { batch, at: Instant::now() });
        Ok(())
    }
}
