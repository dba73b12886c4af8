//! The matrices that an experiment decomposes.

use std::path::Path;
use std::sync::Arc;

use super::GraphSizes;
use crate::config::{Experiment, NodeTask};
use crate::dataset::Dataset;
use crate::engine::Cluster;
use crate::experiment::RunError;
use crate::experiment::event::Observer;
use crate::experiment::load::{graph_of, load, renumber};
use crate::experiment::metrics::{CLASSIFIER, EMBEDDING, FEATURES};
use crate::experiment::nodes::NodeData;
use crate::graph::{Graph, Sparse};
use crate::matrix::{Dense, Matrix};
use crate::model::classifier::{self, ClassifierError, Design, Examples, Labels, Rows};
use crate::model::embedding::{self, ModelError};
use crate::model::features::{FeatureError, center, with_embedding};
use crate::model::names::GraphNames;
use crate::model::propagation::Propagation;
use crate::svd::{self, Surrogate};

/// The size of a graph that is not at hand.
pub(crate) struct GraphSize {
    /// The graph in outline.
    pub(crate) graph: Graph,
    pub(crate) edges: usize,
    /// Of its nodes, where they are classified.
    pub(crate) nodes: Option<NodeSize>,
}

/// The size of what nodes carry.
pub(crate) struct NodeSize {
    /// Features of each.
    pub(crate) features: usize,
    /// The labels in outline: one column a class.
    pub(crate) labels: Sparse,
    /// How many nodes have a label to learn from.
    pub(crate) labelled: usize,
}

/// Everything that is decomposed.
pub(crate) struct Subjects {
    pub(crate) graph: GraphSizes,
    /// Bytes of the data that stay in memory.
    pub(crate) data_bytes: u64,
    pub(crate) stages: Vec<Subject>,
}

/// A matrix, and how it is decomposed.
pub(crate) struct Subject {
    pub(crate) stage: &'static str,
    pub(crate) matrix: Matrix,
    pub(crate) options: svd::Options,
    /// What bases are grown with in place of the matrix, if there is a surrogate.
    pub(crate) surrogate: Option<Surrogate>,
    /// Whether it is written down, whatever it costs, if it fits: something is to be dropped from
    /// its entries.
    pub(crate) is_formed: bool,
}

impl Subject {
    fn new(stage: &'static str, matrix: Matrix, options: &svd::Options) -> Self {
        Self { stage, matrix, options: options.clone(), surrogate: None, is_formed: false }
    }

    /// The same, with at most the rank of the matrix.
    fn cut(stage: &'static str, matrix: Matrix, options: &svd::Options) -> Self {
        let rank = options.rank.min(matrix.shape().smaller_side());
        Self::new(stage, matrix, &svd::Options { rank, ..options.clone() })
    }
}

impl Subjects {
    /// Over the data of the experiment.
    pub(crate) fn of_data(
        experiment: &Experiment,
        data: Option<&Path>,
        cluster: Cluster,
        observer: &Arc<dyn Observer>,
    ) -> Result<Self, RunError> {
        let mut dataset = load(&experiment.dataset, data, experiment.seed, observer)?;
        renumber(experiment, &mut dataset)?;
        let (name, nodes) = (dataset.name.clone(), dataset.graph.nodes());
        let held_out_edges = dataset.held_out_edges();
        let (data_bytes, training_edges, stages) = match &experiment.nodes {
            None => {
                let graph = graph_of(&dataset.graph, experiment.import, &dataset.name, observer)?;
                (dataset.bytes(), graph.report.edges, vec![link_stage(experiment, &graph, &dataset, cluster)?])
            }
            Some(task) => {
                let data = NodeData::new(dataset, experiment.import, task, observer)?;
                let stages = NodeStages { has_entries: true, ..NodeStages::of_data(experiment, task, &data) };
                (data.dataset.bytes(), data.edges, stages.all(|features| center(features, cluster))?)
            }
        };
        let graph = GraphSizes { dataset: Some(name), nodes, training_edges, held_out_edges };
        Ok(Self { graph, data_bytes, stages })
    }

    /// Over a graph of which only the size is known.
    pub(crate) fn of_size(experiment: &Experiment, size: GraphSize) -> Result<Self, RunError> {
        let GraphSize { graph, edges, nodes: node_size } = size;
        let nodes = graph.nodes();
        let graph = &graph;
        let stages = match (&experiment.nodes, node_size) {
            (Some(task), Some(size)) => {
                let stages = NodeStages {
                    experiment,
                    task,
                    graph: Some(graph).filter(|_| task.embedding),
                    propagation: &Propagation::new(graph).map_err(ClassifierError::from)?,
                    features: outline("X", nodes, size.features)?,
                    classes: size.labels.cols(),
                    labels: Labels::Known(Arc::new(size.labels)),
                    learn: (0..size.labelled as u32).collect(),
                    has_entries: false,
                };
                stages.all(|features| Ok(features.clone()))?
            }
            _ => vec![link_stage(experiment, graph, &Dataset::default(), Cluster::threads(1))?],
        };
        // The edges as they were read, in both numbers of four bytes.
        let data_bytes = 8 * edges as u64;
        let graph = GraphSizes { dataset: None, nodes, training_edges: edges, held_out_edges: 0 };
        Ok(Self { graph, data_bytes, stages })
    }
}

/// The stage that embeds, or that decomposes a stated matrix.
fn link_stage(
    experiment: &Experiment,
    graph: &Graph,
    dataset: &Dataset,
    cluster: Cluster,
) -> Result<Subject, RunError> {
    let matrix = match &experiment.matrix {
        None => return embedding_stage(graph, experiment),
        Some(statement) => {
            let mut names = GraphNames::new(graph, dataset, cluster, experiment.seed);
            let matrix = statement.formula.evaluate(&mut names);
            matrix.map_err(|error| RunError::Statement { place: statement.place.clone(), error })?
        }
    };
    Ok(Subject::new(EMBEDDING, matrix, &experiment.embedding.svd))
}

fn embedding_stage(graph: &Graph, experiment: &Experiment) -> Result<Subject, RunError> {
    let options = &experiment.embedding;
    let failed = |source: ModelError| RunError::Embed { dataset: experiment.name.clone(), source: source.into() };
    let (matrix, surrogate) = embedding::matrix_and_surrogate(graph, options).map_err(failed)?;
    Ok(Subject { surrogate, ..Subject::new(EMBEDDING, matrix, &options.svd) })
}

/// The matrices of node classification.
struct NodeStages<'a> {
    experiment: &'a Experiment,
    task: &'a NodeTask,
    /// The graph to embed, if it is.
    graph: Option<&'a Graph>,
    propagation: &'a Propagation,
    features: Matrix,
    labels: Labels,
    classes: usize,
    learn: Vec<u32>,
    /// Whether what earlier stages will make is to have entries, to multiply with; any will do.
    has_entries: bool,
}

impl<'a> NodeStages<'a> {
    /// The stages over loaded data.
    fn of_data(experiment: &'a Experiment, task: &'a NodeTask, data: &'a NodeData) -> Self {
        let learn = data.learn(task.learn_from);
        Self {
            experiment,
            task,
            graph: data.graph.as_ref(),
            propagation: &data.propagation,
            features: data.features.clone(),
            labels: Labels::known(data.labels(), &learn, data.dataset.classes.len()),
            classes: data.dataset.classes.len(),
            learn,
            has_entries: false,
        }
    }

    fn all(self, center: impl Fn(&Matrix) -> Result<Matrix, FeatureError>) -> Result<Vec<Subject>, RunError> {
        let failed = |source| RunError::Features { dataset: self.experiment.name.clone(), source: Box::new(source) };
        let mut stages = Vec::new();
        let mut features = self.features.clone();
        let nodes = features.shape().rows;
        if let Some(graph) = self.graph {
            let options = &self.experiment.embedding.svd;
            stages.push(embedding_stage(graph, self.experiment)?);
            let side = || self.made(nodes, options.rank);
            features = with_embedding(&features, &(side(), side())).map_err(failed)?;
        }
        if let Some(options) = &self.task.components {
            let subject = Subject::cut(FEATURES, center(&features).map_err(failed)?, options);
            let reduced = Matrix::dense("X", self.made(nodes, subject.options.rank));
            features = reduced.map_err(|source| failed(source.into()))?;
            stages.push(subject);
        }
        let options = &self.task.classifier;
        let label_classes = if options.label_reuse { self.classes } else { 0 };
        let propagation = self.propagation.clone();
        let design = Design { propagation, features, layers: options.layers, label_classes };
        let rows = match options.rows {
            Rows::Labelled => Some(&self.learn[..]),
            Rows::All => None,
        };
        let matrix = Examples::state(&design, &self.labels, rows).map_err(ClassifierError::from)?;
        let rank = classifier::rank_of(options, self.learn.len());
        let svd = svd::Options { rank, ..options.svd.clone() };
        let subject = Subject::cut(CLASSIFIER, matrix, &svd);
        stages.push(Subject { is_formed: classifier::needs_entries(options), ..subject });
        Ok(stages)
    }

    /// What an earlier stage will make.
    fn made(&self, rows: usize, columns: usize) -> Dense {
        let entries = || (0..rows * columns).map(|entry| (entry % 97) as f32 * 1e-3).collect();
        match self.has_entries {
            true => Dense::new(rows, columns, entries()).unwrap_or_default(),
            false => Dense::outline(rows, columns),
        }
    }
}

fn outline(name: &str, rows: usize, columns: usize) -> Result<Matrix, RunError> {
    Matrix::dense(name, Dense::outline(rows, columns)).map_err(|source| ClassifierError::from(source).into())
}
