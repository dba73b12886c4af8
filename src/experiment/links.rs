//! The stages of link prediction, each computed, timed and scored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::context::Context;
use super::details::{CURVE_POINTS, SplitCurves, StageDetails};
use super::event::{End, Measure, Task};
use super::memory::peak_bytes;
use super::metrics::{Decomposition, EMBEDDING, FINETUNE, KernelFigures, Scores, Stage, UPDATE};
use super::{RunError, Stages};
use crate::config::{Experiment, Statement};
use crate::dataset::{Dataset, LinkSplit};
use crate::engine::Cluster;
use crate::evaluate::{Metric, curves};
use crate::finetune::{Kernel, Tuned, tune};
use crate::graph::Graph;
use crate::graph::evolve::Operation;
use crate::matrix::Shape;
use crate::model::embedding::{self, Embedding, embed, embed_matrix};
use crate::model::follow::Follower;
use crate::model::names::GraphNames;
use crate::model::rank::choose_rank;
use crate::svd::{self, Keep};

/// Runs every stage that the experiment asks for.
pub(super) fn run(
    context: &Context<'_>,
    experiment: &Experiment,
    dataset: &Dataset,
    graph: &Graph,
) -> Result<Stages<Embedding>, RunError> {
    let mut runner = Runner { context, experiment, dataset, stages: Vec::new(), evaluate: 0.0 };
    let (mut embedding, mut weights) = runner.embedding(graph)?;
    let mut power = 1.0;
    if runner.experiment.finetune.is_some() {
        // Every process trains on pairs of all nodes.
        let shared = Arc::new(embedding.gathered(context.cluster)?);
        let tuned = runner.finetune(&shared)?;
        power = tuned.kernel.mean;
        weights = tuned.kernel.weights(&shared.singular_values);
        embedding = Arc::unwrap_or_clone(shared);
    }
    if runner.experiment.update.is_some() {
        (embedding, weights) = runner.update(graph, &embedding, power)?;
    }
    Ok(Stages { found: embedding.weighted(&weights), stages: runner.stages, evaluate: runner.evaluate })
}

struct Runner<'a> {
    context: &'a Context<'a>,
    experiment: &'a Experiment,
    dataset: &'a Dataset,
    stages: Vec<Stage>,
    evaluate: f64,
}

impl Runner<'_> {
    /// Finds the rank if it is to be found, and embeds.
    fn embedding(&mut self, graph: &Graph) -> Result<(Embedding, Vec<f64>), RunError> {
        let start = Instant::now();
        let mut options = self.experiment.embedding.clone();
        let mut ranks_tried = None;
        if let Some(search) = &self.experiment.rank_search {
            let running = self.context.begin(Task::Rank);
            let (edges, import) = (self.dataset.graph.list()?, self.experiment.import);
            let choice = choose_rank(
                edges,
                import,
                search,
                &options,
                self.context.cluster,
                self.context.monitor(running.iterations()),
            )
            .map_err(|source| RunError::Rank { dataset: self.dataset.name.clone(), source: source.into() })?;
            running.ends(End::Rank(choice.rank));
            options.svd.rank = choice.rank;
            ranks_tried = Some(choice.tried.into_iter().collect());
        }
        let embedding = match &self.experiment.matrix {
            None => embed_nodes(self.context, &self.dataset.name, graph, &options)?,
            Some(statement) => self.decompose(statement, graph, &options.svd)?,
        };
        let weights = embedding.plain_weights();
        let found = decomposition_of(&embedding, &options.svd);
        self.record(EMBEDDING, start, (&embedding, found), &weights, None, ranks_tried)?;
        Ok((embedding, weights))
    }

    /// Trains the kernel over the powers of the singular values.
    fn finetune(&mut self, embedding: &Arc<Embedding>) -> Result<Tuned, RunError> {
        let start = Instant::now();
        let Some(options) = &self.experiment.finetune else { unreachable!("asked for") };
        let list = self.dataset.graph.list()?;
        let back = list.edges.iter().filter(|_| !list.directed).map(|&(from, to)| (to, from));
        let edges = list.edges.iter().copied().chain(back).collect();
        let running = self.context.begin(Task::Kernel(&|| self.measure(embedding)));
        let monitor = self.context.monitor(running.batches());
        let tuned = tune(embedding.clone(), edges, options, self.context.cluster, monitor)
            .map_err(|source| RunError::Tune { dataset: self.dataset.name.clone(), source })?;
        running.done();
        let weights = tuned.kernel.weights(&embedding.singular_values);
        let kernel = KernelFigures { mean: tuned.kernel.mean, sharpness: tuned.kernel.sharpness, loss: tuned.loss };
        let found = self.stages.last().and_then(|stage| stage.decomposition);
        let found = found.unwrap_or_else(|| decomposition_of(embedding, &self.experiment.embedding.svd));
        self.record(FINETUNE, start, (embedding, found), &weights, Some((kernel, tuned.losses.clone())), None)?;
        Ok(tuned)
    }

    /// The quality of a kernel during training: the first figure on the validation pairs.
    fn measure(&self, embedding: &Arc<Embedding>) -> Measure {
        let (embedding, is_directed) = (embedding.clone(), self.dataset.graph.is_directed());
        let measured = self.experiment.metrics.first().copied().zip(self.dataset.valid.clone());
        Box::new(move |kernel: Kernel| {
            let (metric, pairs) = measured.as_ref()?;
            let weights = kernel.weights(&embedding.singular_values);
            let score = |pairs| embedding.score(pairs, is_directed, &weights);
            let value = metric.evaluate(&score(&pairs.edges), &score(&pairs.non_edges)).ok()?;
            Some((*metric, value))
        })
    }

    /// Embeds again with the validation edges in the graph, and scores with the singular values to
    /// the trained power.
    fn update(&mut self, graph: &Graph, before: &Embedding, power: f64) -> Result<(Embedding, Vec<f64>), RunError> {
        let start = Instant::now();
        let Some(update) = &self.experiment.update else { unreachable!("asked for") };
        let valid = self.dataset.valid.as_ref().filter(|valid| !valid.edges.is_empty());
        let valid = valid.ok_or_else(|| RunError::NothingToAdd { dataset: self.dataset.name.clone() })?;
        let mut options = self.experiment.embedding.clone();
        (options.svd.rank, options.svd.keep) = (before.rank, Keep::All);
        options.svd.iterations = update.iterations.unwrap_or(options.svd.iterations);
        let failed = |source| RunError::Embed { dataset: self.dataset.name.clone(), source: Box::new(source) };
        let is_directed = self.dataset.graph.is_directed();
        graph.ready()?;
        let asked = options.svd.clone();
        let follower = Follower::new(graph.clone(), is_directed, options, self.context.cluster).map_err(failed)?;
        // One embedding is compared with no other, so no rotation is needed.
        let follower = follower.without_comparison();
        let mut follower = if update.warm_start { follower.resume(before.clone(), None) } else { follower };
        let added: Vec<_> = valid.edges.iter().map(|&edge| (edge, Operation::Add(1.0))).collect();
        follower.apply(graph.nodes(), &added).map_err(failed)?;
        let running = self.context.begin(Task::Stage(UPDATE));
        let monitor = self.context.monitor(running.iterations());
        self.context.record_plan(UPDATE, || follower.embed(monitor).map(|_| ())).map_err(failed)?;
        running.done();
        let embedding = trusted(follower.into_embedding().unwrap_or_else(|| before.clone()))?;
        let weights = embedding.power_weights(power);
        let found = decomposition_of(&embedding, &asked);
        self.record(UPDATE, start, (&embedding, found), &weights, None, None)?;
        Ok((embedding, weights))
    }

    /// Embeds by a matrix of the user's own.
    fn decompose(&self, statement: &Statement, graph: &Graph, options: &svd::Options) -> Result<Embedding, RunError> {
        let cluster = self.context.cluster;
        let place = || statement.place.clone();
        let mut names = GraphNames::new(graph, self.dataset, cluster, self.experiment.seed);
        let matrix =
            statement.formula.evaluate(&mut names).map_err(|error| RunError::Statement { place: place(), error })?;
        let (shape, nodes) = (matrix.shape(), graph.nodes());
        if self.experiment.finetune.is_some() && shape != Shape::new(nodes, nodes) {
            return Err(RunError::NoPairs { place: place(), shape, nodes });
        }
        let running = self.context.begin(Task::Stage(EMBEDDING));
        let monitor = self.context.monitor(running.iterations());
        let embedding = self
            .context
            .record_plan(EMBEDDING, || embed_matrix(&matrix, options, cluster, monitor))
            .map_err(|source| RunError::Decompose { place: place(), shape, source: source.into() })?;
        running.done();
        trusted(embedding)
    }

    /// Scores the result of a stage, and records it.
    fn record(
        &mut self,
        name: &'static str,
        start: Instant,
        (embedding, decomposition): (&Embedding, Decomposition),
        weights: &[f64],
        trained: Option<(KernelFigures, Vec<f64>)>,
        ranks_tried: Option<BTreeMap<usize, f64>>,
    ) -> Result<(), RunError> {
        let (kernel, losses) = trained.map_or((None, Vec::new()), |(kernel, losses)| (Some(kernel), losses));
        let seconds = start.elapsed().as_secs_f64();
        let began = Instant::now();
        // Only a matrix of all nodes by all nodes says something of pairs.
        let nodes = self.dataset.graph.nodes();
        let has_pairs = (embedding.nodes, embedding.right_rows()) == (nodes, nodes);
        let score = |split: &Option<LinkSplit>, name| {
            let of = (self.experiment, self.dataset);
            let scores = |pairs| {
                scores(of, (embedding, weights), (name, pairs), self.context.settings.details, self.context.cluster)
            };
            split.as_ref().filter(|_| has_pairs).map(scores).transpose()
        };
        let (valid, test) = (score(&self.dataset.valid, "valid")?.unzip(), score(&self.dataset.test, "test")?.unzip());
        self.evaluate += began.elapsed().as_secs_f64();
        // A kernel is trained over the triplets of the stage before.
        let found = if kernel.is_none() { StageDetails::of_embedding(embedding) } else { StageDetails::default() };
        let details = StageDetails { curves: test.1.flatten().or(valid.1.flatten()), losses, ..found };
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
}

/// The figures of an experiment on pairs, and curves where they are asked for.
pub(crate) fn scores(
    (experiment, dataset): (&Experiment, &Dataset),
    (embedding, weights): (&Embedding, &[f64]),
    (split, pairs): (&'static str, &LinkSplit),
    has_curves: bool,
    cluster: Cluster,
) -> Result<(Scores, Option<SplitCurves>), RunError> {
    let is_directed = dataset.graph.is_directed();
    let score = |pairs| embedding.score_on(cluster, pairs, is_directed, weights);
    let (edges, non_edges) = (score(&pairs.edges)?, score(&pairs.non_edges)?);
    let figure = |&metric: &Metric| match metric.evaluate(&edges, &non_edges) {
        Ok(value) => Ok((metric.to_string(), value)),
        Err(source) => Err(RunError::Evaluate { metric, split, dataset: dataset.name.clone(), source }),
    };
    let scores = experiment.metrics.iter().map(figure).collect::<Result<_, _>>().map(Scores)?;
    // Figures are asked for by name; a curve that there is none of is just not drawn.
    let curves = has_curves.then(|| curves(&edges, &non_edges, CURVE_POINTS).ok()).flatten();
    Ok((scores, curves.map(|curves| SplitCurves { split: split.to_owned(), curves })))
}

/// Embeds, and refuses an embedding whose residuals cannot vouch for it.
pub(super) fn embed_nodes(
    context: &Context<'_>,
    dataset: &str,
    graph: &Graph,
    options: &embedding::Options,
) -> Result<Embedding, RunError> {
    let running = context.begin(Task::Stage(EMBEDDING));
    let monitor = context.monitor(running.iterations());
    let embedding = context
        .record_plan(EMBEDDING, || embed(graph, options, context.cluster, monitor))
        .map_err(|source| RunError::Embed { dataset: dataset.to_owned(), source: source.into() })?;
    running.done();
    trusted(embedding)
}

/// Refuses an embedding whose residuals are not finite.
fn trusted(embedding: Embedding) -> Result<Embedding, RunError> {
    match embedding.certificate.relative_residuals.iter().position(|residual| !residual.is_finite()) {
        Some(triplet) => {
            Err(RunError::BrokenDown { triplet, residual: embedding.certificate.relative_residuals[triplet] })
        }
        None => Ok(embedding),
    }
}

/// The figures of the decomposition behind an embedding, with what was asked for.
pub(crate) fn decomposition_of(embedding: &Embedding, asked: &svd::Options) -> Decomposition {
    let Embedding { rank, certificate, iterations, operator_columns, energy, .. } = embedding;
    let found = Decomposition::new(*rank, certificate, *iterations, *operator_columns);
    Decomposition { energy: *energy, ..found.asked(asked) }
}
