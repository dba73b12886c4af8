use std::io::{self, Write};
use std::time::Instant;

use super::{Error, Format, Request};
use crate::dataset::{Dataset, LinkSplit};
use crate::evaluate::Metric;
use crate::model::embedding::{Embedding, embed};
use crate::report::memory;
use crate::report::metrics::{EMBEDDING, Metrics, Scores, Seconds, Stage};
use crate::report::output::{Folder, Results};
use crate::report::progress::Bar;
use crate::report::table::Table;

/// Loads, embeds, evaluates, writes and prints.
pub fn run(request: &Request) -> Result<(), Error> {
    let folder = Folder::prepare(&request.out)?;
    let experiment = &request.experiment;
    let start = Instant::now();
    let dataset = experiment.dataset.load(request.data.as_deref());
    let load = start.elapsed().as_secs_f64();

    let began = Instant::now();
    let embedding = compute(request, &dataset)?;
    let train = began.elapsed().as_secs_f64();

    let began = Instant::now();
    let score = |split: &Option<LinkSplit>, name| {
        split.as_ref().map(|split| evaluate(&embedding, split, name, &dataset.name, &experiment.metrics)).transpose()
    };
    let (valid, test) = (score(&dataset.valid, "valid")?, score(&dataset.test, "test")?);
    let evaluate = began.elapsed().as_secs_f64();

    let stage = Stage {
        name: EMBEDDING,
        seconds: train,
        valid,
        test,
        rank: embedding.rank,
        operator_columns: embedding.operator_columns,
        max_relative_residual: embedding.relative_residuals.iter().copied().reduce(f64::max),
        iterations: embedding.iterations,
    };
    let metrics = Metrics {
        config: experiment.name.clone(),
        dataset: dataset.name,
        nodes: dataset.graph.nodes,
        edges: dataset.graph.edges.len(),
        workers: request.cluster.workers,
        processes: 1,
        seed: experiment.seed,
        stages: vec![stage],
        seconds: Seconds { load, train, evaluate, total: start.elapsed().as_secs_f64() },
        peak_memory_bytes: memory::peak_bytes(),
    };
    folder.write(Results { metrics: &metrics, embedding: &embedding, ids: &dataset.ids })?;
    show(&metrics, request.format, &folder)
}

/// Embeds the nodes, and refuses an embedding whose residuals cannot vouch for it.
fn compute(request: &Request, dataset: &Dataset) -> Result<Embedding, Error> {
    let bar = Bar::new(EMBEDDING, request.quiet);
    let options = &request.experiment.embedding;
    let embedding = embed(&dataset.graph, options, request.cluster, bar.callback())
        .map_err(|source| Error::Embed { dataset: dataset.name.clone(), source: source.into() })?;
    let broken = embedding.relative_residuals.iter().position(|residual| !residual.is_finite());
    match broken {
        Some(triplet) => Err(Error::BrokenDown { triplet, residual: embedding.relative_residuals[triplet] }),
        None => Ok(embedding),
    }
}

fn evaluate(
    embedding: &Embedding,
    pairs: &LinkSplit,
    split: &'static str,
    dataset: &str,
    metrics: &[Metric],
) -> Result<Scores, Error> {
    let edges = embedding.score_undirected(&pairs.edges);
    let non_edges = embedding.score_undirected(&pairs.non_edges);
    let figure = |&metric: &Metric| match metric.evaluate(&edges, &non_edges) {
        Ok(value) => Ok((metric, value)),
        Err(source) => Err(Error::Evaluate { metric, split, dataset: dataset.to_owned(), source }),
    };
    metrics.iter().map(figure).collect::<Result<_, _>>().map(Scores)
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
