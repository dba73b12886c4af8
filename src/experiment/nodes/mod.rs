//! The stages of node classification, each computed, timed and scored.

mod apply;
mod data;
mod trained;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

pub(crate) use apply::{Nodes, ready_features, scores};
pub(super) use data::NodeData;
pub(crate) use trained::VERSION;
pub use trained::{Recipe, SavedConfig, TrainedClassifier, Weights};

use super::context::Context;
use super::details::{Confusion, StageDetails};
use super::event::Task;
use super::links::{decomposition_of, embed_nodes};
use super::memory::peak_bytes;
use super::metrics::{
    ACCURACY, CLASSIFIER, DROPOUT, DROPOUT_LABELS, Decomposition, EMBEDDING, FEATURES, FINETUNE, NetworkFigures,
    Scores, Stage,
};
use super::{RunError, Stages};
use crate::config::{Experiment, LearnFrom, NodeTask};
use crate::dataset::{NodeSplitFrom, Source};
use crate::evaluate::{accuracy, confusion};
use crate::finetune::network::{self, Network, NetworkShape};
use crate::matrix::{Dense, Matrix};
use crate::model::classifier::{self, Design, Examples, Fitted, fit, probabilities};
use crate::model::embedding::Embedding;
use crate::model::features::{reduce, with_embedding};
use apply::problem;

/// Runs every stage that the experiment asks for.
pub(super) fn run(
    context: &Context<'_>,
    experiment: &Experiment,
    data: &NodeData,
) -> Result<Stages<(TrainedClassifier, Dense)>, RunError> {
    let Some(task) = &experiment.nodes else { unreachable!("asked for") };
    let mut runner = Runner { context, experiment, task, data, stages: Vec::new(), evaluate: 0.0 };
    let mut model = runner.prepare();
    let features = runner.features(&mut model)?;
    let mut last = Dense::default();
    let learn = data.learn(task.learn_from);
    let mut examples = None;
    for (name, options) in closed_forms(&task.classifier) {
        last = runner.classify(name, &options, &mut model, &features, &learn, &mut examples)?;
    }
    drop(examples);
    if let Some(options) = &task.network {
        last = runner.finetune(options, &mut model, &features)?;
    }
    let Runner { stages, evaluate, .. } = runner;
    Ok(Stages { found: (model, probabilities(&last)), stages, evaluate })
}

/// The closed forms to fit, each with something more than the one before.
fn closed_forms(options: &classifier::Options) -> Vec<(&'static str, classifier::Options)> {
    let plain = classifier::Options { label_dropout: false, dropout_copies: 0, ..options.clone() };
    let mut forms = vec![(CLASSIFIER, plain.clone())];
    if options.label_dropout && options.label_reuse {
        forms.push((DROPOUT_LABELS, classifier::Options { label_dropout: true, ..plain }));
    }
    if options.dropout_copies > 0 {
        forms.push((DROPOUT, options.clone()));
    }
    forms
}

struct Runner<'a> {
    context: &'a Context<'a>,
    experiment: &'a Experiment,
    task: &'a NodeTask,
    data: &'a NodeData,
    stages: Vec<Stage>,
    evaluate: f64,
}

impl Runner<'_> {
    /// A model that has no weights yet.
    fn prepare(&self) -> TrainedClassifier {
        let config = SavedConfig {
            name: self.experiment.name.clone(),
            text: self.experiment.text.clone(),
            set: self.experiment.overrides.iter().cloned().chain(absolute_files(&self.experiment.dataset)).collect(),
            seed: self.experiment.seed,
            data_seed: self.context.experiment.seed,
            learnt_from_valid: self.task.learn_from == LearnFrom::TrainAndValid,
        };
        let classes = self.data.dataset.classes.clone();
        let recipe = Recipe {
            layers: self.task.classifier.layers,
            label_reuse: self.task.classifier.label_reuse,
            passes: self.task.passes,
            ..Recipe::new(config, self.data.propagation.nodes(), self.data.features.shape().columns, classes)
        };
        TrainedClassifier { recipe, reduction: None, embedding: None, weights: Weights::Linear(Arc::default()) }
    }

    /// Embeds and reduces, as far as that is asked for.
    fn features(&mut self, model: &mut TrainedClassifier) -> Result<Matrix, RunError> {
        let cluster = self.context.cluster;
        let failed = |source| RunError::Features { dataset: self.data.dataset.name.clone(), source: Box::new(source) };
        let mut features = self.data.features.clone();
        if let Some(graph) = &self.data.graph {
            let start = Instant::now();
            let options = &self.experiment.embedding;
            let embedding = embed_nodes(self.context, &self.data.dataset.name, graph, options)?;
            let seconds = start.elapsed().as_secs_f64();
            let decomposition = Some(decomposition_of(&embedding, &options.svd));
            let details = StageDetails::of_embedding(&embedding);
            let peak_memory_bytes = peak_bytes();
            self.stages.push(Stage { decomposition, peak_memory_bytes, details, ..Stage::new(EMBEDDING, seconds) });
            let Embedding { left, right, .. } = embedding;
            // Every process has the features of all nodes.
            let sides = (left.gathered(cluster)?, right.gathered(cluster)?);
            features = with_embedding(&features, &sides).map_err(failed)?;
            model.embedding = Some(sides);
            model.recipe.embedding = true;
        }
        if let Some(options) = &self.task.components {
            let start = Instant::now();
            let running = self.context.begin(Task::Stage(FEATURES));
            let monitor = self.context.monitor(running.iterations());
            let reduced = self.context.record_plan(FEATURES, || reduce(&features, options, cluster, monitor));
            let reduced = reduced.map_err(failed)?;
            running.done();
            let rank = reduced.reduction.directions.columns();
            let found = Decomposition::new(rank, &reduced.certificate, reduced.iterations, reduced.operator_columns);
            // The Gram matrix gives all components at once; those of next to no variance have large
            // relative residuals, which no iteration would improve.
            let is_iterated = reduced.iterations > 0;
            let asked = if is_iterated { found.asked(options) } else { found };
            let decomposition = Decomposition { rank_asked: None, ..asked };
            let seconds = start.elapsed().as_secs_f64();
            let details = StageDetails::of_triplets(reduced.singular_values, &reduced.certificate);
            let (decomposition, peak_memory_bytes) = (Some(decomposition), peak_bytes());
            self.stages.push(Stage { decomposition, peak_memory_bytes, details, ..Stage::new(FEATURES, seconds) });
            (model.reduction, model.recipe.reduced) = (Some(reduced.reduction), true);
        }
        ready_features(model, &self.data.features, cluster).map_err(failed)
    }

    /// Fits a closed form, and scores every node. The first closed form states the rows to fit.
    fn classify(
        &mut self,
        name: &'static str,
        options: &classifier::Options,
        model: &mut TrainedClassifier,
        features: &Matrix,
        learn: &[u32],
        examples: &mut Option<Examples>,
    ) -> Result<Dense, RunError> {
        let start = Instant::now();
        let (cluster, classes) = (self.context.cluster, self.data.dataset.classes.len());
        let running = self.context.begin(Task::Stage(name));
        let examples = match examples {
            Some(examples) => examples,
            None => {
                let design = self.design(features);
                let stated =
                    Examples::new(&design, self.data.labels(), learn, classes, &self.task.classifier, cluster)?;
                examples.insert(stated)
            }
        };
        let monitor = self.context.monitor(running.iterations());
        let fitted = self.context.record_plan(name, || fit(examples, options, cluster, monitor))?;
        running.done();
        let Fitted { weights, singular_values, certificate, iterations, operator_columns, normal_residual } = fitted;
        let found = Decomposition::new(singular_values.len(), &certificate, iterations, operator_columns);
        let found = Decomposition {
            rank_asked: options.rank,
            normal_residual: Some(normal_residual),
            ..found.asked(&options.svd)
        };
        model.weights = Weights::Linear(weights);
        let details = StageDetails::of_triplets(singular_values, &certificate);
        let decomposition = Some(found);
        let stage = Stage { decomposition, details, ..Stage::new(name, start.elapsed().as_secs_f64()) };
        self.score(stage, model, features, learn, self.task.learn_from)
    }

    /// Trains a network from the weights found so far, and scores every node.
    fn finetune(
        &mut self,
        options: &network::Options,
        model: &mut TrainedClassifier,
        features: &Matrix,
    ) -> Result<Dense, RunError> {
        let start = Instant::now();
        let Weights::Linear(weights) = &model.weights else { unreachable!("the closed form comes first") };
        let design = self.design(features);
        let shape = NetworkShape {
            features: features.shape().columns,
            classes: weights.columns(),
            layers: design.layers,
            label_reuse: model.recipe.label_reuse,
        };
        let weights = design.network_weights(weights).map_err(classifier::ClassifierError::from)?;
        let network = Network::from_linear(&weights, shape)?;
        let from = if options.train_on_valid { LearnFrom::TrainAndValid } else { LearnFrom::Train };
        let learn = self.data.learn(from);
        let nodes = self.nodes(features, &learn);
        let problem = Arc::new(problem(&nodes, self.data.split().valid.clone(), self.context.cluster)?);
        let running = self.context.begin(Task::Stage(FINETUNE));
        let monitor = self.context.monitor(running.network_batches());
        let trained = network::train(problem, network, options, self.context.cluster, monitor)?;
        running.done();
        let figures = NetworkFigures {
            parameters: trained.network.parameters().len(),
            kept_epoch: trained.best_epoch,
            start_accuracy: trained.start_accuracy,
            epochs: trained.epochs,
        };
        model.weights = Weights::Network(trained.network);
        model.recipe.network = true;
        model.recipe.config.learnt_from_valid = from == LearnFrom::TrainAndValid;
        let stage = Stage { network: Some(figures), ..Stage::new(FINETUNE, start.elapsed().as_secs_f64()) };
        self.score(stage, model, features, &learn, from)
    }

    fn design(&self, features: &Matrix) -> Design {
        let options = &self.task.classifier;
        Design {
            propagation: self.data.propagation.clone(),
            features: features.clone(),
            layers: options.layers,
            label_classes: if options.label_reuse { self.data.dataset.classes.len() } else { 0 },
        }
    }

    fn nodes<'a>(&'a self, features: &'a Matrix, known: &'a [u32]) -> Nodes<'a> {
        Nodes { propagation: &self.data.propagation, features, labels: self.data.labels(), known }
    }

    /// Scores every node, and records the stage. Accuracy on labels that were learnt from is left
    /// out.
    fn score(
        &mut self,
        mut stage: Stage,
        model: &TrainedClassifier,
        features: &Matrix,
        learn: &[u32],
        from: LearnFrom,
    ) -> Result<Dense, RunError> {
        let start = Instant::now();
        let scores = scores(model, &self.nodes(features, learn), self.context.cluster)?;
        let (labels, split) = (self.data.labels(), self.data.split());
        let figure =
            |nodes: &[u32]| accuracy(&scores, labels, nodes).map(|figure| Scores(vec![(ACCURACY.to_owned(), figure)]));
        let valid = figure(&split.valid).filter(|_| from == LearnFrom::Train);
        let test = figure(&split.test);
        let shown = if split.test.is_empty() { ("valid", &split.valid) } else { ("test", &split.test) };
        if self.context.settings.details && !shown.1.is_empty() {
            let counts = confusion(&scores, labels, shown.1, self.data.dataset.classes.len());
            stage.details.confusion = Confusion::new(shown.0, counts);
        }
        stage.peak_memory_bytes = peak_bytes();
        self.evaluate += start.elapsed().as_secs_f64();
        self.stages.push(Stage { valid, test, ..stage });
        Ok(scores)
    }
}

/// The files of a user's own data as entries of a config that hold wherever the program is run.
fn absolute_files(source: &Source) -> Vec<String> {
    let (mut files, nodes) = match source {
        Source::Edges(file) => (vec![("data.path", Some(&file.path))], file.nodes.as_ref()),
        Source::Store(folder) => (vec![("dataset", Some(folder))], None),
        _ => return Vec::new(),
    };
    if let Some(nodes) = nodes {
        files.extend([("data.features", nodes.features.as_ref()), ("data.labels", nodes.labels.as_ref())]);
        if let NodeSplitFrom::Files { train, valid, test } = &nodes.split {
            files.extend([("data.train", Some(train)), ("data.valid", valid.as_ref()), ("data.test", test.as_ref())]);
        }
    }
    let entry = |(key, path): (&str, Option<&PathBuf>)| {
        let path = std::path::absolute(path?).ok()?;
        Some(format!("{key}={:?}", path.to_str()?))
    };
    files.into_iter().filter_map(entry).collect()
}
