//! The stages of link prediction, each computed, timed and scored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::{Error, Request};
use crate::config::{Experiment, Statement};
use crate::dataset::{Dataset, LinkSplit};
use crate::evaluate::{Metric, curves};
use crate::finetune::{Kernel, Tuned, tune};
use crate::graph::Graph;
use crate::graph::evolve::Operation;
use crate::matrix::Shape;
use crate::model::embedding::{self, Embedding, embed, embed_matrix};
use crate::model::follow::Follower;
use crate::model::named::Named;
use crate::model::rank::choose_rank;
use crate::report::details::{CURVE_POINTS, SplitCurves, StageDetails};
use crate::report::memory::peak_bytes;
use crate::report::metrics::{Decomposition, EMBEDDING, FINETUNE, KernelFigures, Scores, Stage, UPDATE};
use crate::report::progress::{Bar, Voice};
use crate::svd::{self, Keep};

/// What the stages leave behind.
pub(super) struct Outcome {
    /// The embedding to write: of the last stage, its weights multiplied in.
    pub(super) embedding: Embedding,
    /// In the order in which they ran.
    pub(super) stages: Vec<Stage>,
    /// Seconds spent on scoring.
    pub(super) evaluate: f64,
}

/// Runs every stage that the experiment asks for.
pub(super) fn run(
    request: &Request,
    experiment: &Experiment,
    dataset: &Dataset,
    graph: &Graph,
) -> Result<Outcome, Error> {
    let mut runner = Runner { request, experiment, dataset, stages: Vec::new(), evaluate: 0.0 };
    let (mut embedding, mut weights) = runner.embedding(graph)?;
    let mut power = 1.0;
    if runner.experiment.finetune.is_some() {
        let shared = Arc::new(embedding);
        let tuned = runner.finetune(&shared)?;
        power = tuned.kernel.mean;
        weights = tuned.kernel.weights(&shared.singular_values);
        embedding = Arc::unwrap_or_clone(shared);
    }
    if runner.experiment.update.is_some() {
        (embedding, weights) = runner.update(graph, &embedding, power)?;
    }
    Ok(Outcome { embedding: embedding.weighted(&weights), stages: runner.stages, evaluate: runner.evaluate })
}

pub(super) struct Runner<'a> {
    pub(super) request: &'a Request,
    pub(super) experiment: &'a Experiment,
    pub(super) dataset: &'a Dataset,
    pub(super) stages: Vec<Stage>,
    pub(super) evaluate: f64,
}

impl Runner<'_> {
    /// Finds the rank if it is to be found, and embeds.
    fn embedding(&mut self, graph: &Graph) -> Result<(Embedding, Vec<f64>), Error> {
        let start = Instant::now();
        let mut options = self.experiment.embedding.clone();
        let mut ranks_tried = None;
        if let Some(search) = &self.experiment.rank_search {
            let bar = Bar::new("rank", self.request.voice);
            let (edges, import) = (self.dataset.graph.list()?, self.experiment.import);
            let choice =
                choose_rank(edges, import, search, &options, self.request.cluster, self.request.watch(bar.callback()))
                    .map_err(|source| Error::Rank { dataset: self.dataset.name.clone(), source: source.into() })?;
            bar.done(&format!("rank {}", choice.rank));
            options.svd.rank = choice.rank;
            ranks_tried = Some(choice.tried.into_iter().collect());
        }
        let embedding = match &self.experiment.matrix {
            None => self.embed(EMBEDDING, graph, &options)?,
            Some(statement) => self.decompose(statement, graph, &options.svd)?,
        };
        let weights = embedding.plain_weights();
        let found = decomposition_of(&embedding, &options.svd);
        self.record(EMBEDDING, start, (&embedding, found), &weights, None, ranks_tried)?;
        Ok((embedding, weights))
    }

    /// Trains the kernel over the powers of the singular values.
    fn finetune(&mut self, embedding: &Arc<Embedding>) -> Result<Tuned, Error> {
        let start = Instant::now();
        let Some(options) = &self.experiment.finetune else { unreachable!("asked for") };
        let list = self.dataset.graph.list()?;
        let back = list.edges.iter().filter(|_| !list.directed).map(|&(from, to)| (to, from));
        let edges = list.edges.iter().copied().chain(back).collect();
        let (bar, progress) = Bar::measured(FINETUNE, self.request.voice, self.measure(embedding));
        let tuned = tune(embedding.clone(), edges, options, self.request.cluster, self.request.watch(progress))
            .map_err(|source| Error::Tune { dataset: self.dataset.name.clone(), source })?;
        bar.done("");
        let weights = tuned.kernel.weights(&embedding.singular_values);
        let kernel = KernelFigures { mean: tuned.kernel.mean, sharpness: tuned.kernel.sharpness, loss: tuned.loss };
        let found = self.stages.last().and_then(|stage| stage.decomposition);
        let found = found.unwrap_or_else(|| decomposition_of(embedding, &self.experiment.embedding.svd));
        self.record(FINETUNE, start, (embedding, found), &weights, Some((kernel, tuned.losses.clone())), None)?;
        Ok(tuned)
    }

    /// What a kernel that is being trained is worth: the first figure on the validation pairs.
    fn measure(&self, embedding: &Arc<Embedding>) -> impl Fn(Kernel) -> Option<String> + Send + 'static {
        let is_seen = self.request.voice != Voice::Silent;
        let pairs = self.dataset.valid.as_ref().filter(|_| is_seen).cloned();
        let (embedding, is_directed) = (embedding.clone(), self.dataset.graph.is_directed());
        let metric = self.experiment.metrics.first().copied();
        move |kernel| {
            let (metric, pairs) = metric.zip(pairs.as_ref())?;
            let weights = kernel.weights(&embedding.singular_values);
            let score = |pairs| embedding.score(pairs, is_directed, &weights);
            let value = metric.evaluate(&score(&pairs.edges), &score(&pairs.non_edges)).ok()?;
            Some(format!("valid {metric} {value:.4}"))
        }
    }

    /// Embeds again with the validation edges in the graph, and scores with the singular values to the trained power.
    fn update(&mut self, graph: &Graph, before: &Embedding, power: f64) -> Result<(Embedding, Vec<f64>), Error> {
        let start = Instant::now();
        let Some(update) = &self.experiment.update else { unreachable!("asked for") };
        let valid = self.dataset.valid.as_ref().filter(|valid| !valid.edges.is_empty());
        let valid = valid.ok_or_else(|| Error::NothingToAdd { dataset: self.dataset.name.clone() })?;
        let mut options = self.experiment.embedding.clone();
        (options.svd.rank, options.svd.keep) = (before.rank, Keep::All);
        options.svd.iterations = update.iterations.unwrap_or(options.svd.iterations);
        let failed = |source| Error::Embed { dataset: self.dataset.name.clone(), source: Box::new(source) };
        let is_directed = self.dataset.graph.is_directed();
        graph.ready()?;
        let asked = options.svd.clone();
        let follower = Follower::new(graph.clone(), is_directed, options, self.request.cluster).map_err(failed)?;
        // Singular values are raised to a power: vectors must not be turned into each other.
        let follower = follower.unturned();
        let mut follower = if update.warm_start { follower.resume(before.clone()) } else { follower };
        let added: Vec<_> = valid.edges.iter().map(|&edge| (edge, Operation::Add(1.0))).collect();
        follower.apply(graph.nodes(), &added).map_err(failed)?;
        let bar = Bar::new(UPDATE, self.request.voice);
        follower.embed(self.request.watch(bar.callback())).map_err(failed)?;
        bar.done("");
        let embedding = trusted(follower.into_embedding().unwrap_or_else(|| before.clone()))?;
        let weights = embedding.power_weights(power);
        let found = decomposition_of(&embedding, &asked);
        self.record(UPDATE, start, (&embedding, found), &weights, None, None)?;
        Ok((embedding, weights))
    }

    /// Embeds by a matrix of the user's own.
    fn decompose(&self, statement: &Statement, graph: &Graph, options: &svd::Options) -> Result<Embedding, Error> {
        let cluster = self.request.cluster;
        let place = || statement.place.clone();
        let mut names = Named::new(graph, self.dataset, cluster, self.experiment.seed);
        let matrix =
            statement.formula.evaluate(&mut names).map_err(|error| Error::Statement { place: place(), error })?;
        let (shape, nodes) = (matrix.shape(), graph.nodes());
        if self.experiment.finetune.is_some() && shape != Shape::new(nodes, nodes) {
            return Err(Error::NoPairs { place: place(), shape, nodes });
        }
        let bar = Bar::new(EMBEDDING, self.request.voice);
        let embedding = embed_matrix(&matrix, options, cluster, self.request.watch(bar.callback()))
            .map_err(|source| Error::Decompose { place: place(), shape, source: source.into() })?;
        bar.done("");
        trusted(embedding)
    }

    fn embed(&self, stage: &'static str, graph: &Graph, options: &embedding::Options) -> Result<Embedding, Error> {
        embed_nodes(self.request, &self.dataset.name, stage, graph, options)
    }

    /// Scores what a stage found, and notes it down.
    fn record(
        &mut self,
        name: &'static str,
        start: Instant,
        (embedding, decomposition): (&Embedding, Decomposition),
        weights: &[f64],
        trained: Option<(KernelFigures, Vec<f64>)>,
        ranks_tried: Option<BTreeMap<usize, f64>>,
    ) -> Result<(), Error> {
        let (kernel, losses) = trained.map_or((None, Vec::new()), |(kernel, losses)| (Some(kernel), losses));
        let seconds = start.elapsed().as_secs_f64();
        let began = Instant::now();
        // Only a matrix of all nodes by all nodes says something of pairs.
        let nodes = self.dataset.graph.nodes();
        let has_pairs = (embedding.nodes, embedding.right_rows()) == (nodes, nodes);
        let score = |split: &Option<LinkSplit>, name| {
            split.as_ref().filter(|_| has_pairs).map(|split| self.scores(embedding, weights, split, name)).transpose()
        };
        let (valid, test) = (score(&self.dataset.valid, "valid")?.unzip(), score(&self.dataset.test, "test")?.unzip());
        self.evaluate += began.elapsed().as_secs_f64();
        let mut details = StageDetails { curves: test.1.flatten().or(valid.1.flatten()), ..StageDetails::default() };
        // A kernel is trained over the triplets of the stage before.
        if kernel.is_none() {
            details.singular_values = embedding.singular_values.iter().map(|&value| f64::from(value)).collect();
            details.relative_residuals.clone_from(&embedding.relative_residuals);
            details.convergence.clone_from(&embedding.looks);
        }
        details.losses = losses;
        self.stages.push(Stage {
            valid: valid.0,
            test: test.0,
            peak_memory_bytes: peak_bytes(),
            details,
            decomposition: Some(decomposition),
            kernel,
            ranks_tried,
            ..Stage::new(name, seconds)
        });
        Ok(())
    }

    pub(super) fn scores(
        &self,
        embedding: &Embedding,
        weights: &[f64],
        pairs: &LinkSplit,
        split: &'static str,
    ) -> Result<(Scores, Option<SplitCurves>), Error> {
        let is_directed = self.dataset.graph.is_directed();
        let edges = embedding.score(&pairs.edges, is_directed, weights);
        let non_edges = embedding.score(&pairs.non_edges, is_directed, weights);
        let figure = |&metric: &Metric| match metric.evaluate(&edges, &non_edges) {
            Ok(value) => Ok((metric.to_string(), value)),
            Err(source) => Err(Error::Evaluate { metric, split, dataset: self.dataset.name.clone(), source }),
        };
        let scores = self.experiment.metrics.iter().map(figure).collect::<Result<_, _>>().map(Scores)?;
        // Figures are asked for by name; a curve that there is none of is just not drawn.
        let curves = curves(&edges, &non_edges, CURVE_POINTS).ok().filter(|_| self.request.report);
        Ok((scores, curves.map(|curves| SplitCurves { split: split.to_owned(), curves })))
    }
}

/// Embeds, and refuses an embedding whose residuals cannot vouch for it.
pub(super) fn embed_nodes(
    request: &Request,
    dataset: &str,
    stage: &'static str,
    graph: &Graph,
    options: &embedding::Options,
) -> Result<Embedding, Error> {
    let bar = Bar::new(stage, request.voice);
    let embedding = embed(graph, options, request.cluster, request.watch(bar.callback()))
        .map_err(|source| Error::Embed { dataset: dataset.to_owned(), source: source.into() })?;
    bar.done("");
    trusted(embedding)
}

/// Refuses an embedding whose residuals cannot vouch for it.
fn trusted(embedding: Embedding) -> Result<Embedding, Error> {
    match embedding.relative_residuals.iter().position(|residual| !residual.is_finite()) {
        Some(triplet) => Err(Error::BrokenDown { triplet, residual: embedding.relative_residuals[triplet] }),
        None => Ok(embedding),
    }
}

/// The figures of the decomposition behind an embedding, with what was asked for.
pub(super) fn decomposition_of(embedding: &Embedding, asked: &svd::Options) -> Decomposition {
    let Embedding { rank, relative_residuals, completeness, iterations, operator_columns, energy, .. } = embedding;
    let found = Decomposition::new(*rank, relative_residuals, *iterations, *operator_columns);
    Decomposition { completeness: *completeness, energy: *energy, ..found.asked(asked) }
}
