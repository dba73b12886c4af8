use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::cluster::{in_company, state_data};
use super::error::note;
use super::explain::planned;
use super::memory::PROGRAM_BYTES;
use super::nodes::NodeData;
use super::report::{self, Known};
use super::{Error, Format, Request, links, nodes, signals};
use crate::config::{Experiment, NodeTask};
use crate::dataset::gauge::BYTES_READ;
use crate::dataset::{Budget, Dataset, EdgeList, Edges, Source, Taken};
use crate::engine::checkpoint::Interrupt;
use crate::engine::mesh::Mesh;
use crate::engine::worker_times;
use crate::graph::{Graph, Import, Order, TILES_MADE};
use crate::kernel::buffer::{give_back_blocks, release_unused};
use crate::report::details::{Degrees, Mapped, log_odds};
use crate::report::memory;
use crate::report::metrics::{Metrics, Seconds, Stage, WorkerFigures, merge};
use crate::report::output::{Folder, ResultFile, Results};
use crate::report::progress::{Bar, Voice, tell};
use crate::report::saved::prediction_files;
use crate::report::table::{Table, thousands};
use crate::report::trace::{Timeline, listen};

/// Edges from which on memory counts for more than the time to get it anew.
const MANY_EDGES: usize = 1 << 20;

/// Loads, computes, evaluates, writes and prints; of several processes the first alone does the last two.
pub fn run(request: &Request) -> Result<(), Error> {
    let process = request.company.as_ref().map_or(0, |company| company.process);
    let make = |path: &PathBuf| {
        Timeline::create(path, process).map_err(|source| Error::Timeline { path: path.clone(), source })
    };
    let timeline = request.timeline.as_ref().map(make).transpose()?;
    listen(request.log, timeline.as_ref());
    let interrupt = signals::watch(request);
    in_company(request, |request| match carry_out(request, &interrupt) {
        // Whatever failed did so because the run was asked to end.
        Err(_) if interrupt.is_met() => Err(request.interrupted()),
        other => other,
    })?;
    timeline
        .map_or(Ok(()), |timeline| timeline.finish().map_err(|source| Error::Timeline { path: timeline.path, source }))
}

fn carry_out(request: &Request, interrupt: &Interrupt) -> Result<(), Error> {
    let folder = request.cluster.is_leader().then(|| Folder::prepare(&request.out)).transpose()?;
    let folder = folder.as_ref();
    let experiment = &request.experiment;
    let start = Instant::now();
    let mut dataset = load(&experiment.dataset, request.data.as_deref(), experiment.seed, request.voice)?;
    check_weights(experiment, &dataset)?;
    let (nodes, edges, seconds) = (dataset.graph.nodes(), dataset.graph.len(), start.elapsed().as_secs_f64());
    if edges >= MANY_EDGES {
        give_back_blocks();
    }
    // What reading left behind would stay in the way.
    release_unused();
    tracing::info!(dataset = dataset.name, nodes, edges, seconds, "loaded");
    state_data(&request.cluster, &dataset);
    let request = &request.beside(PROGRAM_BYTES + dataset.bytes()).with_keeper(&dataset, interrupt)?;
    match &experiment.nodes {
        None => {
            let order = renumber(experiment, &mut dataset)?;
            predict_links(request, folder, start, &dataset, order.as_ref())
        }
        Some(task) => classify_nodes(request, task, folder, start, dataset),
    }
}

/// Makes or reads a dataset, for somebody to watch.
pub(super) fn load(source: &Source, data: Option<&Path>, seed: u64, voice: Voice) -> Result<Dataset, Error> {
    let bar = Bar::gauged(format!("load {source}"), voice, &BYTES_READ, true);
    let dataset = source.load(data, seed)?;
    bar.done(&format!("{} nodes", thousands(dataset.graph.nodes())));
    name_remarks(&dataset, voice);
    Ok(dataset)
}

/// Names what was decided by what a file holds, in one line.
pub(super) fn name_remarks(dataset: &Dataset, voice: Voice) {
    if !dataset.remarks.is_empty() {
        let remarks: Vec<String> = dataset.remarks.iter().map(ToString::to_string).collect();
        tell(&format!("{}: {}", dataset.name, remarks.join("; ")), voice);
    }
}

/// Refuses negative weights where walks are taken; a store has been read without that question.
pub(super) fn check_weights(experiment: &Experiment, dataset: &Dataset) -> Result<(), Error> {
    match experiment.matrix.is_none() && dataset.graph.is_signed() {
        true => Err(Error::NegativeWeights { dataset: dataset.name.clone() }),
        false => Ok(()),
    }
}

/// Whether nodes may get other rows. A matrix of the user's own may name single nodes, so its graph stays as it is.
pub(super) fn may_renumber(experiment: &Experiment) -> bool {
    experiment.may_renumber && experiment.matrix.is_none() && experiment.nodes.is_none()
}

/// Gives the nodes of a graph to embed other rows where that makes products faster.
pub(super) fn renumber(experiment: &Experiment, dataset: &mut Dataset) -> Result<Option<Order>, Error> {
    if !may_renumber(experiment) {
        return Ok(None);
    }
    let order = match dataset.graph.stored_order()? {
        Some(known) => known,
        None => {
            let list = dataset.graph.list()?;
            let _room = room_to_build(list, &dataset.name)?;
            Order::by_degree(list)
        }
    };
    let Some(order) = order else { return Ok(None) };
    dataset.graph.renumber(order.rows());
    for split in [&mut dataset.valid, &mut dataset.test].into_iter().flatten() {
        order.renumber(&mut split.edges);
        order.renumber(&mut split.non_edges);
    }
    Ok(Some(order))
}

fn predict_links(
    request: &Request,
    folder: Option<&Folder>,
    start: Instant,
    dataset: &Dataset,
    order: Option<&Order>,
) -> Result<(), Error> {
    let (edges, import) = (&dataset.graph, request.experiment.import);
    let graph = match request.experiment.matrix {
        // Each process looks at the tiles that it multiplies by.
        None => unread_graph_of(edges, import, &dataset.name, request.voice)?,
        Some(_) => graph_of(edges, import, &dataset.name, request.voice)?,
    };
    let mut clock = Clock::new(start);
    let mut first = None;
    let mut runs = Vec::new();
    for experiment in request.experiment.runs() {
        let outcome = links::run(request, &experiment, dataset, &graph)?;
        clock.add(&outcome.stages, outcome.evaluate);
        runs.push(outcome.stages);
        first.get_or_insert_with(|| match order {
            None => outcome.embedding,
            Some(order) => outcome.embedding.with_rows(|panel, rank| order.by_node(panel, rank)),
        });
    }
    let metrics = metrics(request, dataset, graph.report.edges, runs, clock)?;
    let has_node_rows = first.as_ref().is_none_or(|embedding| embedding.nodes == graph.nodes());
    let ids = Some(&dataset.ids).filter(|_| has_node_rows);
    let files = first.as_ref().map(ResultFile::of_embedding).unwrap_or_default();
    let known = || Known {
        degrees: Some(Degrees::of(&graph.degrees, graph.report.isolated)),
        classes: &[],
        mapped: first.as_ref().map(|embedding| Mapped {
            of: "embedding",
            vectors: &embedding.left,
            rank: embedding.rank,
            rows: embedding.nodes,
            ids,
            labels: ids.and(dataset.labels.as_deref()).map(|labels| (labels, &dataset.classes[..])),
            seed: request.experiment.seed,
        }),
        plan: planned::links(request, &graph, dataset),
    };
    finish(request, folder, Results { metrics: &metrics, ids, files }, known)
}

fn classify_nodes(
    request: &Request,
    task: &NodeTask,
    folder: Option<&Folder>,
    start: Instant,
    dataset: Dataset,
) -> Result<(), Error> {
    let data = NodeData::new(dataset, request.experiment.import, task, request.voice)?;
    let mut clock = Clock::new(start);
    let mut first = None;
    let mut runs = Vec::new();
    for experiment in request.experiment.runs() {
        let outcome = nodes::run(request, &experiment, &data)?;
        clock.add(&outcome.stages, outcome.evaluate);
        runs.push(outcome.stages);
        first.get_or_insert((outcome.model, outcome.probabilities));
    }
    let metrics = metrics(request, &data.dataset, data.edges, runs, clock)?;
    let mut files = Vec::new();
    if let Some((model, probabilities)) = &first {
        files = model.files();
        files.extend(prediction_files(probabilities, &data.dataset.classes, &data.dataset.ids));
    }
    let ids = Some(&data.dataset.ids);
    let classified = first.as_ref().filter(|_| folder.is_some() && request.report);
    let odds = classified.map(|(_, probabilities)| log_odds(probabilities));
    let known = || Known {
        degrees: Some(data.degrees.clone()),
        classes: &data.dataset.classes,
        mapped: odds.as_ref().map(|odds| Mapped {
            of: "class probabilities",
            vectors: odds.data(),
            rank: odds.columns(),
            rows: odds.rows(),
            ids,
            labels: Some((data.labels(), &data.dataset.classes)),
            seed: request.experiment.seed,
        }),
        plan: planned::nodes(request, task, &data),
    };
    finish(request, folder, Results { metrics: &metrics, ids, files }, known)
}

/// Writes and prints, where that is this process's part, and removes the checkpoints that led to the results. That takes a
/// moment, in which nobody ends the run. The other processes are needed no more: their end does not matter now.
fn finish<'a>(
    request: &Request,
    folder: Option<&Folder>,
    mut results: Results<'_>,
    known: impl FnOnce() -> Known<'a>,
) -> Result<(), Error> {
    if let Some(keeper) = &request.keeper {
        keeper.interrupt().hold();
    }
    if let Some(mesh) = request.cluster.mesh {
        mesh.leave();
    }
    let Some(folder) = folder else { return Ok(()) };
    let metrics = results.metrics;
    if request.report {
        results.files.extend(report::files(request, metrics, known()));
    }
    let make_room = |needed| request.keeper.as_ref().is_some_and(|keeper| keeper.make_room(needed));
    folder.write(results, &make_room)?;
    if let Some(keeper) = &request.keeper {
        keeper.finish();
    }
    show(metrics, request.format, folder)
}

/// Where the time went.
struct Clock {
    start: Instant,
    seconds: Seconds,
}

impl Clock {
    /// Everything is loaded.
    fn new(start: Instant) -> Self {
        Self { start, seconds: Seconds { load: start.elapsed().as_secs_f64(), ..Seconds::default() } }
    }

    /// A run is over.
    fn add(&mut self, stages: &[Stage], evaluate: f64) {
        self.seconds.train += stages.iter().map(|stage| stage.seconds).sum::<f64>();
        self.seconds.evaluate += evaluate;
    }
}

fn metrics(
    request: &Request,
    dataset: &Dataset,
    training_edges: usize,
    runs: Vec<Vec<Stage>>,
    clock: Clock,
) -> Result<Metrics, Error> {
    let (experiment, held_out_edges) = (&request.experiment, dataset.held_out_edges());
    let times = worker_times(request.cluster)?;
    Ok(Metrics {
        config: experiment.name.clone(),
        dataset: dataset.name.clone(),
        nodes: dataset.graph.nodes(),
        edges: training_edges + held_out_edges,
        training_edges,
        held_out_edges,
        directed: dataset.graph.is_directed(),
        workers: request.cluster.all_workers(),
        processes: request.cluster.processes(),
        network_bytes_sent: request.cluster.mesh.map(Mesh::bytes_sent),
        seed: experiment.seed,
        seeds: Some(runs.len()).filter(|&runs| runs > 1),
        stages: merge(runs),
        seconds: Seconds { total: clock.start.elapsed().as_secs_f64(), ..clock.seconds },
        peak_memory_bytes: memory::peak_bytes(),
        time_by_worker: WorkerFigures::of_all(&times),
        follow: None,
    })
}

/// The graph of some edges, for somebody who uses all of its tiles.
pub(super) fn graph_of(edges: &Edges, import: Import, dataset: &str, voice: Voice) -> Result<Graph, Error> {
    let graph = unread_graph_of(edges, import, dataset, voice)?;
    graph.ready()?;
    Ok(graph)
}

/// The graph of some edges: as a store has it, where its tiles are looked at by whoever uses them, or made of the list.
fn unread_graph_of(edges: &Edges, import: Import, dataset: &str, voice: Voice) -> Result<Graph, Error> {
    match edges.stored_graph(import)? {
        Some(graph) => Ok(graph),
        None => graph_of_list(edges.list()?, import, dataset, voice),
    }
}

/// The graph of a list of edges.
pub(super) fn graph_of_list(edges: &EdgeList, import: Import, dataset: &str, voice: Voice) -> Result<Graph, Error> {
    let _room = room_to_build(edges, dataset)?;
    let bar = Bar::gauged("import", voice, &TILES_MADE, false);
    let graph =
        Graph::from_edges(edges, import).map_err(|source| Error::Graph { dataset: dataset.to_owned(), source })?;
    // A list may name an edge in both directions, so that its length is not the number of edges.
    bar.done(&format!("{} edges", thousands(graph.report.edges)));
    Ok(graph)
}

/// The memory that it takes to build the matrix of a list: a file may claim any number of nodes.
fn room_to_build(list: &EdgeList, dataset: &str) -> Result<Taken, Error> {
    let room = Budget::current().take(Graph::bytes_to_build(list));
    room.map_err(|source| Error::TooLarge { dataset: dataset.to_owned(), nodes: list.nodes, source })
}

/// Prints the figures, and on stderr what falls short of what was asked for.
fn show(metrics: &Metrics, format: Format, folder: &Folder) -> Result<(), Error> {
    let shortfalls = metrics.stages.iter().flat_map(Stage::shortfalls);
    shortfalls.for_each(|shortfall| note(&format!("warning: {shortfall}")));
    let text = match format {
        Format::Table => Ok(Table { metrics, folder: folder.path() }.to_string()),
        Format::Json => metrics.to_json().map_err(io::Error::from),
    };
    print(text, folder)
}

/// Prints on stdout what is in a folder already. A reader who has seen enough (`| head`) is not an error.
pub(super) fn print(text: io::Result<String>, folder: &Folder) -> Result<(), Error> {
    text.and_then(write_out).map_err(|source| Error::Print { folder: folder.path().to_owned(), source })
}

/// Prints on stdout.
pub(super) fn print_text(text: String) -> Result<(), Error> {
    write_out(text).map_err(Error::Show)
}

fn write_out(text: String) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
