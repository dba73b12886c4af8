use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::cluster::with_peers;
use super::error::note;
use super::hint::worded_notice;
use super::print::print_results;
use super::{Error, Format, Request, report, signals};
use crate::engine::checkpoint::Interrupt;
use crate::experiment::metrics::{Metrics, Stage};
use crate::experiment::{Event, Found, Observer, RunError, Settings};
use crate::report::output::{Folder, ResultFile, Results};
use crate::report::progress::{ProgressObserver, ProgressSink};
use crate::report::saved::prediction_files;
use crate::report::table::Table;
use crate::report::trace::{Timeline, listen};

/// Loads, computes, evaluates, writes and prints; of several processes the first alone does the
/// last two.
pub fn run(request: &Request) -> Result<(), Error> {
    let process = request.peers.as_ref().map_or(0, |peers| peers.process);
    let make = |path: &PathBuf| {
        Timeline::create(path, process).map_err(|source| Error::Timeline { path: path.clone(), source })
    };
    let timeline = request.timeline.as_ref().map(make).transpose()?;
    listen(request.log, timeline.as_ref());
    let interrupt = signals::install(request);
    with_peers(request, |request| match carry_out(request, &interrupt) {
        // Whatever failed did so because the run was asked to end.
        Err(_) if interrupt.is_met() => Err(request.interrupted()),
        other => other,
    })?;
    timeline
        .map_or(Ok(()), |timeline| timeline.finish().map_err(|source| Error::Timeline { path: timeline.path, source }))
}

fn carry_out(request: &Request, interrupt: &Interrupt) -> Result<(), Error> {
    let folder = request.cluster.is_leader().then(|| Folder::prepare(&request.out)).transpose()?;
    let outcome = request.experiment.run_with(&Settings {
        cluster: request.cluster,
        data: request.data.clone(),
        observer: observer(request.progress),
        checkpoints: Some(request.checkpoints(interrupt)),
        details: request.report,
    })?;
    let mut files = match &outcome.found {
        Found::Embedding(embedding) => ResultFile::of_embedding(embedding, request.cluster),
        Found::Classifier { model, probabilities } => {
            let predicted = prediction_files(probabilities, &outcome.dataset.classes, &outcome.dataset.ids);
            model.files().into_iter().chain(predicted).collect()
        }
    };
    let Some(folder) = folder else {
        files.iter().try_for_each(ResultFile::send_rows).map_err(RunError::from)?;
        outcome.leave();
        return Ok(());
    };
    if request.report {
        files.extend(report::files(&outcome));
    }
    let results = Results { metrics: &outcome.metrics, ids: outcome.ids(), files };
    folder.write(results, &|needed| outcome.free_disk_space(needed))?;
    outcome.leave();
    outcome.remove_checkpoints();
    show(&outcome.metrics, request.format, &folder)
}

/// Shows the events of a run. A notice of a checkpoint names the option that belongs to it.
fn observer(sink: ProgressSink) -> Arc<dyn Observer> {
    let progress = ProgressObserver::shared(sink);
    Arc::new(move |event: Event<'_>| match event {
        Event::Checkpoint(notice) => note(&format!("note: {}", worded_notice(&notice))),
        event => progress.observe(event),
    })
}

/// Prints the figures, and on stderr what falls short of what was asked for.
fn show(metrics: &Metrics, format: Format, folder: &Folder) -> Result<(), Error> {
    let shortfalls = metrics.stages.iter().flat_map(Stage::shortfalls);
    shortfalls.for_each(|shortfall| note(&format!("warning: {shortfall}")));
    let text = match format {
        Format::Table => Ok(Table { metrics, folder: folder.path() }.to_string()),
        Format::Json => metrics.to_json().map_err(io::Error::from),
    };
    print_results(text, folder)
}
