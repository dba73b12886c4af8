//! An experiment from end to end: load a graph, embed it or classify its nodes, fine-tune, and
//! evaluate.
//!
//! An [`Experiment`] is a validated config. [`Experiment::run`] carries it out and returns an
//! [`Outcome`]: the figures of every stage, the vectors or the classifier, and what a report shows
//! besides. [`Experiment::run_with`] takes [`Settings`] as well: workers, a limit of memory,
//! checkpoints, and an [`Observer`] that is told of every [`Event`]. Nothing here prints or writes
//! results.
//!
//! ```
//! use isvd_dist::config::Experiment;
//! use isvd_dist::experiment::Found;
//!
//! let experiment = Experiment::load("demo".as_ref(), &["embedding.rank=16".to_owned()])?;
//! let outcome = experiment.run()?;
//! let test = outcome.metrics.stages[0].test.as_ref().expect("the demo holds edges out");
//! assert!(test.get("auc") > Some(0.8));
//! let Found::Embedding(embedding) = &outcome.found else { unreachable!("the demo embeds") };
//! assert_eq!(embedding.rank, 16);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | stage | where | what it finds |
//! |---|---|---|
//! | `embedding` | all | the vectors of the nodes, or of the rows and columns of a stated matrix |
//! | `finetune` | `[finetune]` | a kernel over the powers of the singular values |
//! | `update` | `[update]` | the embedding with the validation edges in the graph |
//! | `features` | `[features]` | the principal components of the features |
//! | `classifier`, `dropout-labels`, `dropout` | `[classifier]` | weights in closed form, each with more than the one before |
//! | `finetune` | `[network]` | a network, from these weights |

// Commands of the program use parts of an experiment on their own.
#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports))]

mod context;
pub mod details;
mod error;
pub mod event;
pub mod explain;
pub mod follow;
mod links;
mod load;
pub mod memory;
pub mod metrics;
mod nodes;

use std::sync::Arc;
use std::time::Instant;

use crate::config::{Experiment, NodeTask};
use crate::dataset::{Budget, Dataset, Ids};
use crate::engine::checkpoint::Space;
use crate::engine::mesh::{ClusterAgreement, Mesh};
use crate::engine::{CheckpointWriter, Cluster, worker_times};
use crate::graph::Order;
use crate::kernel::buffer::{give_back_blocks, release_unused};
use crate::matrix::Dense;
use crate::model::embedding::Embedding;
use crate::model::map::{Sample, sample};

use context::Context;
pub(crate) use context::identity;
pub use context::{Checkpoints, Settings};
use details::{Degrees, MAP_POINTS};
pub use error::RunError;
pub use event::{Event, Observer};
use explain::Explanation;
pub(crate) use links::{decomposition_of, scores};
pub(crate) use load::{check_weights, graph_of, load, may_renumber, renumber};
use memory::{PROGRAM_BYTES, peak_bytes};
use metrics::{Metrics, Seconds, Stage, WorkerFigures, merge};
use nodes::NodeData;
pub(crate) use nodes::{Nodes, VERSION, ready_features, scores as classifier_scores};
pub use nodes::{Recipe, SavedConfig, TrainedClassifier, Weights};

/// Edges from which on memory counts for more than the time to get it anew.
const MANY_EDGES: usize = 1 << 20;

/// What an experiment finds.
pub struct Outcome {
    /// The figures.
    pub metrics: Metrics,
    /// What the first run found.
    pub found: Found,
    /// The data, with the user's own ids of the nodes. What became part of a matrix is not in it
    /// any more.
    pub dataset: Dataset,
    /// How many neighbours nodes have.
    pub degrees: Degrees,
    /// How the matrices were multiplied by, where details were asked for.
    pub plan: Option<Explanation>,
    /// Left vectors of an embedding to draw a map of, where details were asked for.
    pub sample: Option<Sample>,
    /// The checkpoints of the run.
    checkpoints: Option<Arc<CheckpointWriter>>,
    mesh: Option<&'static Mesh>,
}

/// What was computed.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Two vectors for every node, or for the rows and columns of a stated matrix.
    Embedding(Box<Embedding>),
    /// A classifier of nodes.
    Classifier {
        /// How scores are made.
        model: Box<TrainedClassifier>,
        /// The probability of every class, one row a node.
        probabilities: Dense,
    },
}

impl Outcome {
    /// The user's own ids of the rows, if rows are nodes.
    pub fn ids(&self) -> Option<&Ids> {
        let has_node_rows = match &self.found {
            Found::Embedding(embedding) => embedding.nodes == self.dataset.graph.nodes(),
            Found::Classifier { .. } => true,
        };
        has_node_rows.then_some(&self.dataset.ids)
    }

    /// Ends the connections to other processes: all results are written, and the loss of another
    /// process is no error.
    pub fn leave(&self) {
        if let Some(mesh) = self.mesh {
            mesh.leave();
        }
    }

    /// Removes the checkpoints of the run, once its results are written.
    pub fn remove_checkpoints(&self) {
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.finish();
        }
    }

    /// Removes checkpoints where the disk lacks the space for results. Returns whether that freed
    /// any.
    pub(crate) fn free_disk_space(&self, needed: Space) -> bool {
        self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.make_space(needed))
    }
}

/// What the stages of a run leave behind.
struct Stages<T> {
    found: T,
    /// In the order in which they ran.
    stages: Vec<Stage>,
    /// Seconds spent on scoring.
    evaluate: f64,
}

impl Experiment {
    /// Carries the experiment out on all cores, with at most three quarters of the memory.
    pub fn run(&self) -> Result<Outcome, RunError> {
        let settings = Settings::default();
        let budget = settings.cluster.memory.map_or_else(Budget::unlimited, Budget::new);
        budget.within(|| self.run_with(&settings))
    }

    /// Carries the experiment out as the settings say. Reading takes as much memory as the current
    /// [`Budget`] allows. Of several processes the first alone has a plan and the vectors.
    pub fn run_with(&self, settings: &Settings) -> Result<Outcome, RunError> {
        let start = Instant::now();
        let mut dataset = load(&self.dataset, settings.data.as_deref(), self.seed, &settings.observer)?;
        check_weights(self, &dataset)?;
        let (nodes, edges, seconds) = (dataset.graph.nodes(), dataset.graph.len(), start.elapsed().as_secs_f64());
        if edges >= MANY_EDGES {
            give_back_blocks();
        }
        // What reading left behind would stay in the way.
        release_unused();
        tracing::info!(dataset = dataset.name, nodes, edges, seconds, "loaded");
        compare_data(&settings.cluster, &dataset);
        let context = Context::new(self, settings, &dataset, PROGRAM_BYTES + dataset.bytes())?;
        let clock = Clock::new(start);
        match &self.nodes {
            None => {
                let order = renumber(self, &mut dataset)?;
                context.predict_links(clock, dataset, order.as_ref())
            }
            Some(task) => context.classify_nodes(clock, dataset, task),
        }
    }
}

/// Compares the dataset with that of the other processes, before anything is computed from it.
fn compare_data(cluster: &Cluster, dataset: &Dataset) {
    let Some(mesh) = cluster.mesh else { return };
    let mut facts = ClusterAgreement::default();
    facts.add("the number of nodes", dataset.graph.nodes());
    facts.add("the number of edges", dataset.graph.len());
    facts.add("the checksum of the data", format_args!("{:08x}", dataset.checksum()));
    mesh.agree_on(facts);
}

impl Context<'_> {
    fn predict_links(self, mut clock: Clock, dataset: Dataset, order: Option<&Order>) -> Result<Outcome, RunError> {
        let (edges, import, observer) = (&dataset.graph, self.experiment.import, &self.settings.observer);
        let graph = match self.experiment.matrix {
            // Each process looks at the tiles that it multiplies by.
            None => load::unread_graph_of(edges, import, &dataset.name, observer)?,
            Some(_) => graph_of(edges, import, &dataset.name, observer)?,
        };
        clock.is_loaded();
        let found = self.all_runs(&mut clock, |experiment| links::run(&self, experiment, &dataset, &graph));
        let (first, runs) = found.map_err(|error| error.with_node_name(&dataset.ids, order))?;
        let embedding = match order {
            None => first,
            Some(order) => first.permuted(order.rows(), self.cluster)?,
        };
        let sample = match self.settings.details {
            false => None,
            true => {
                let rows = sample(embedding.nodes, MAP_POINTS, self.experiment.seed);
                let vectors = embedding.left.rows_at(self.cluster, &rows)?;
                Some(Sample { rows, vectors })
            }
        };
        let metrics = self.metrics(&dataset, graph.report.edges, runs, clock)?;
        let plan = self.finish(&dataset, graph.report.edges);
        let degrees = Degrees::of(&graph.degrees, graph.report.isolated);
        let (found, checkpoints, mesh) = (Found::Embedding(Box::new(embedding)), self.checkpoints, self.cluster.mesh);
        Ok(Outcome { metrics, found, dataset, degrees, plan, sample, checkpoints, mesh })
    }

    fn classify_nodes(self, mut clock: Clock, dataset: Dataset, task: &NodeTask) -> Result<Outcome, RunError> {
        let data = NodeData::new(dataset, self.experiment.import, task, &self.settings.observer)?;
        clock.is_loaded();
        let ((model, probabilities), runs) =
            self.all_runs(&mut clock, |experiment| nodes::run(&self, experiment, &data))?;
        let metrics = self.metrics(&data.dataset, data.edges, runs, clock)?;
        let plan = self.finish(&data.dataset, data.edges);
        let NodeData { dataset, degrees, .. } = data;
        let found = Found::Classifier { model: Box::new(model), probabilities };
        let (checkpoints, mesh) = (self.checkpoints, self.cluster.mesh);
        Ok(Outcome { metrics, found, dataset, degrees, plan, sample: None, checkpoints, mesh })
    }

    /// Runs the experiment with each of its seeds: what the first run finds, and the stages of all.
    fn all_runs<T>(
        &self,
        clock: &mut Clock,
        run: impl Fn(&Experiment) -> Result<Stages<T>, RunError>,
    ) -> Result<(T, Vec<Vec<Stage>>), RunError> {
        let (mut first, mut all) = (None, Vec::new());
        for experiment in self.experiment.runs() {
            let Stages { found, stages, evaluate } = run(&experiment)?;
            clock.add(&stages, evaluate);
            all.push(stages);
            first.get_or_insert(found);
        }
        let Some(first) = first else { unreachable!("there is at least one seed") };
        Ok((first, all))
    }

    /// Ends the part of the run that several processes share. From here on signals wait until the
    /// results are written, and the loss of another process is no error.
    /// Returns the plans of its stages.
    fn finish(&self, dataset: &Dataset, training_edges: usize) -> Option<Explanation> {
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.interrupt().hold();
        }
        self.plans.as_ref().map(|plans| plans.explanation(self, dataset, training_edges))
    }

    fn metrics(
        &self,
        dataset: &Dataset,
        training_edges: usize,
        runs: Vec<Vec<Stage>>,
        clock: Clock,
    ) -> Result<Metrics, RunError> {
        let held_out_edges = dataset.held_out_edges();
        let times = worker_times(self.cluster)?;
        Ok(Metrics {
            config: self.experiment.name.clone(),
            dataset: dataset.name.clone(),
            nodes: dataset.graph.nodes(),
            edges: training_edges + held_out_edges,
            training_edges,
            held_out_edges,
            directed: dataset.graph.is_directed(),
            workers: self.cluster.all_workers(),
            processes: self.cluster.processes(),
            network_bytes_sent: self.cluster.mesh.map(Mesh::bytes_sent),
            seed: self.experiment.seed,
            seeds: Some(runs.len()).filter(|&runs| runs > 1),
            stages: merge(runs),
            seconds: Seconds { total: clock.start.elapsed().as_secs_f64(), ..clock.seconds },
            peak_memory_bytes: peak_bytes(),
            time_by_worker: WorkerFigures::of_all(&times),
            follow: None,
        })
    }
}

/// Where the time goes.
struct Clock {
    start: Instant,
    seconds: Seconds,
}

impl Clock {
    fn new(start: Instant) -> Self {
        Self { start, seconds: Seconds::default() }
    }

    /// Everything is loaded.
    fn is_loaded(&mut self) {
        self.seconds.load = self.start.elapsed().as_secs_f64();
    }

    /// A run is over.
    fn add(&mut self, stages: &[Stage], evaluate: f64) {
        self.seconds.train += stages.iter().map(|stage| stage.seconds).sum::<f64>();
        self.seconds.evaluate += evaluate;
    }
}
