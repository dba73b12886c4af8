//! The matrices that an experiment decomposes.

use std::path::Path;
use std::sync::Arc;

use clap::Args;

use crate::cli::Error;
use crate::cli::nodes::NodeData;
use crate::cli::run::{graph_of, load, renumber};
use crate::config::{Experiment, NodeTask};
use crate::dataset::Dataset;
use crate::engine::Cluster;
use crate::graph::{Graph, Sparse};
use crate::matrix::{Dense, Matrix};
use crate::model::classifier::{self, ClassifierError, Design, Examples, Labels, Rows};
use crate::model::embedding::{self, ModelError};
use crate::model::features::{FeatureError, center, outline_centred, with_embedding};
use crate::model::named::Named;
use crate::model::propagation::Propagation;
use crate::report::metrics::{CLASSIFIER, EMBEDDING, FEATURES};
use crate::report::progress::Voice;
use crate::svd::{self, Surrogate};

/// The size of a graph that is not at hand.
#[derive(Debug, Clone, Args)]
pub struct Sizes {
    /// Plan for a graph of so many nodes instead of the dataset, which is then not read
    #[arg(long, value_name = "N", requires = "edges")]
    pub nodes: Option<usize>,

    /// And of so many edges
    #[arg(long, value_name = "N", requires = "nodes")]
    pub edges: Option<usize>,

    /// Whose edges have a direction
    #[arg(long, requires = "nodes")]
    pub directed: bool,

    /// How many features each node carries, where nodes are classified
    #[arg(long, value_name = "N", requires = "nodes")]
    pub features: Option<usize>,

    /// Into how many classes
    #[arg(long, value_name = "N", requires = "nodes")]
    pub classes: Option<usize>,

    /// And how many of the nodes have a label to learn from
    #[arg(long, value_name = "N", requires = "nodes")]
    pub labelled: Option<usize>,
}

impl Sizes {
    /// The sizes, if they were given.
    pub(super) fn given(&self) -> Result<Option<GraphSize>, Error> {
        let (Some(nodes), Some(edges)) = (self.nodes, self.edges) else { return Ok(None) };
        let graph = Graph::outline(nodes, edges, self.directed)
            .map_err(|source| Error::Graph { dataset: "--nodes".to_owned(), source })?;
        Ok(Some(GraphSize { graph, edges, sizes: self.clone() }))
    }
}

/// A graph in outline.
pub(super) struct GraphSize {
    graph: Graph,
    edges: usize,
    sizes: Sizes,
}

/// Everything that is decomposed.
pub(super) struct Subjects {
    pub(super) dataset: Option<String>,
    pub(super) nodes: usize,
    pub(super) training_edges: usize,
    pub(super) held_out_edges: usize,
    /// Bytes of what was read, which stay in memory beside the matrices.
    pub(super) data_bytes: u64,
    pub(super) stages: Vec<Subject>,
}

/// A matrix, and how it is decomposed.
pub(super) struct Subject {
    pub(super) stage: &'static str,
    pub(super) matrix: Matrix,
    pub(super) options: svd::Options,
    /// What bases are grown with in place of the matrix, if there is a surrogate.
    pub(super) surrogate: Option<Surrogate>,
    /// Whether it is written down, whatever it costs, if it fits: something is to be dropped from its entries.
    pub(super) is_formed: bool,
}

impl Subject {
    fn new(stage: &'static str, matrix: Matrix, options: &svd::Options) -> Self {
        Self { stage, matrix, options: options.clone(), surrogate: None, is_formed: false }
    }

    /// The same, with the rank cut to what the matrix has.
    fn cut(stage: &'static str, matrix: Matrix, options: &svd::Options) -> Self {
        let rank = options.rank.min(matrix.shape().smaller_side());
        Self::new(stage, matrix, &svd::Options { rank, ..options.clone() })
    }
}

impl Subjects {
    /// Over the data of the experiment.
    pub(super) fn of_data(
        experiment: &Experiment,
        data: Option<&Path>,
        cluster: Cluster,
        voice: Voice,
    ) -> Result<Self, Error> {
        let mut dataset = load(&experiment.dataset, data, experiment.seed, voice)?;
        renumber(experiment, &mut dataset)?;
        let (name, nodes) = (dataset.name.clone(), dataset.graph.nodes());
        let held_out_edges = dataset.held_out_edges();
        let (data_bytes, training_edges, stages) = match &experiment.nodes {
            None => {
                let graph = graph_of(&dataset.graph, experiment.import, &dataset.name, voice)?;
                (dataset.bytes(), graph.report.edges, vec![link_stage(experiment, &graph, &dataset, cluster)?])
            }
            Some(task) => {
                let data = NodeData::new(dataset, experiment.import, task, voice)?;
                let stages = NodeStages { has_entries: true, ..NodeStages::of_data(experiment, task, &data) };
                (data.dataset.bytes(), data.edges, stages.all(|features| center(features, cluster))?)
            }
        };
        Ok(Self { dataset: Some(name), nodes, training_edges, held_out_edges, data_bytes, stages })
    }

    /// Over a graph that was embedded. What a run of several processes reads together is not read again.
    pub(super) fn of_links(experiment: &Experiment, graph: &Graph, dataset: &Dataset) -> Result<Self, Error> {
        let stage = link_stage(experiment, graph, dataset, Cluster::threads(1))?;
        Ok(Self::of(dataset, graph.report.edges, vec![stage]))
    }

    /// Over nodes that were classified.
    pub(super) fn of_nodes(experiment: &Experiment, task: &NodeTask, data: &NodeData) -> Result<Self, Error> {
        let stages = NodeStages::of_data(experiment, task, data).all(|features| Ok(outline_centred(features)?))?;
        Ok(Self::of(&data.dataset, data.edges, stages))
    }

    fn of(dataset: &Dataset, training_edges: usize, stages: Vec<Subject>) -> Self {
        let (nodes, held_out_edges) = (dataset.graph.nodes(), dataset.held_out_edges());
        let (dataset, data_bytes) = (Some(dataset.name.clone()), dataset.bytes());
        Self { dataset, nodes, training_edges, held_out_edges, data_bytes, stages }
    }

    /// Over a graph of which only the size is known.
    pub(super) fn of_sizes(experiment: &Experiment, size: &GraphSize) -> Result<Self, Error> {
        let GraphSize { graph, edges, sizes } = size;
        let nodes = graph.nodes();
        let stages = match &experiment.nodes {
            None => vec![link_stage(experiment, graph, &Dataset::default(), Cluster::threads(1))?],
            Some(task) => {
                let missing = |size| Error::MissingSize { size };
                let features = sizes.features.ok_or(missing("--features"))?;
                let classes = sizes.classes.ok_or(missing("--classes"))?;
                let labelled = sizes.labelled.ok_or(missing("--labelled"))?.min(nodes);
                let labels = Sparse::outline(nodes, classes, labelled, false);
                let labels = labels.map_err(|source| Error::Graph { dataset: "--classes".to_owned(), source })?;
                let stages = NodeStages {
                    experiment,
                    task,
                    graph: Some(graph).filter(|_| task.embedding),
                    propagation: &Propagation::new(graph).map_err(ClassifierError::from)?,
                    features: outline("X", nodes, features)?,
                    labels: Labels::Known(Arc::new(labels)),
                    classes,
                    learn: (0..labelled as u32).collect(),
                    has_entries: false,
                };
                stages.all(|features| Ok(features.clone()))?
            }
        };
        // The edges as they were read, in both numbers of four bytes.
        let data_bytes = 8 * *edges as u64;
        Ok(Self { dataset: None, nodes, training_edges: *edges, held_out_edges: 0, data_bytes, stages })
    }
}

/// The matrix of the embedding, or that of the text.
fn link_stage(experiment: &Experiment, graph: &Graph, dataset: &Dataset, cluster: Cluster) -> Result<Subject, Error> {
    let matrix = match &experiment.matrix {
        None => return embedding_stage(graph, experiment),
        Some(statement) => {
            let mut names = Named::new(graph, dataset, cluster, experiment.seed);
            let matrix = statement.formula.evaluate(&mut names);
            matrix.map_err(|error| Error::Statement { place: statement.place.clone(), error })?
        }
    };
    Ok(Subject::new(EMBEDDING, matrix, &experiment.embedding.svd))
}

fn embedding_stage(graph: &Graph, experiment: &Experiment) -> Result<Subject, Error> {
    let options = &experiment.embedding;
    let failed = |source: ModelError| Error::Embed { dataset: experiment.name.clone(), source: source.into() };
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
    /// Those of data that is at hand.
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

    fn all(self, center: impl Fn(&Matrix) -> Result<Matrix, FeatureError>) -> Result<Vec<Subject>, Error> {
        let failed = |source| Error::Features { dataset: self.experiment.name.clone(), source: Box::new(source) };
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

fn outline(name: &str, rows: usize, columns: usize) -> Result<Matrix, Error> {
    Matrix::dense(name, Dense::outline(rows, columns)).map_err(|source| ClassifierError::from(source).into())
}
