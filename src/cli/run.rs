use std::io::{self, Write};
use std::time::Instant;

use super::stages::{self, Outcome};
use super::{Error, Format, Request};
use crate::dataset::EdgeList;
use crate::graph::{Graph, Import};
use crate::report::memory;
use crate::report::metrics::{Metrics, Seconds};
use crate::report::output::{Folder, Results};
use crate::report::table::Table;

/// Loads, computes, evaluates, writes and prints.
pub fn run(request: &Request) -> Result<(), Error> {
    let folder = Folder::prepare(&request.out)?;
    let experiment = &request.experiment;
    let start = Instant::now();
    let dataset = experiment.dataset.load(request.data.as_deref(), experiment.seed)?;
    let graph = graph_of(&dataset.graph, experiment.import, &dataset.name)?;
    let load = start.elapsed().as_secs_f64();
    let Outcome { embedding, stages, evaluate } = stages::run(request, &dataset, &graph)?;
    let metrics = Metrics {
        config: experiment.name.clone(),
        dataset: dataset.name,
        nodes: dataset.graph.nodes,
        edges: dataset.graph.edges.len(),
        workers: request.cluster.workers,
        processes: 1,
        seed: experiment.seed,
        seconds: Seconds {
            load,
            train: stages.iter().map(|stage| stage.seconds).sum(),
            evaluate,
            total: start.elapsed().as_secs_f64(),
        },
        stages,
        peak_memory_bytes: memory::peak_bytes(),
    };
    folder.write(Results { metrics: &metrics, embedding: &embedding, ids: &dataset.ids })?;
    show(&metrics, request.format, &folder)
}

/// The graph of an edge list.
pub(super) fn graph_of(edges: &EdgeList, import: Import, dataset: &str) -> Result<Graph, Error> {
    Graph::from_edges(edges, import).map_err(|source| Error::Graph { dataset: dataset.to_owned(), source })
}

/// Prints the figures. A reader who has seen enough (`| head`) is not an error.
fn show(metrics: &Metrics, format: Format, folder: &Folder) -> Result<(), Error> {
    let text = match format {
        Format::Table => Ok(Table { metrics, folder: folder.path() }.to_string()),
        Format::Json => metrics.to_json().map_err(io::Error::from),
    };
    let mut stdout = io::stdout().lock();
    let printed = text.and_then(|text| {
        stdout.write_all(text.as_bytes())?;
        stdout.flush()
    });
    match printed {
        Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Print { folder: folder.path().to_owned(), source })
        }
        _ => Ok(()),
    }
}
