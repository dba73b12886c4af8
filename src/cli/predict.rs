//! `isvd-dist predict`: a trained classifier on the same graph or on a new one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;

use super::arguments::worker_count;
use super::print::print_results;
use super::request::data_folder;
use super::{Error, signals};
use crate::config::Experiment;
use crate::dataset::format::EdgeOptions;
use crate::dataset::{Dataset, EdgeFile, Holdout, NodeFiles, NodeSplitFrom, Source, UNLABELLED};
use crate::engine::Cluster;
use crate::experiment::{
    Nodes, Observer, RunError, TrainedClassifier, classifier_scores, graph_of, load, ready_features,
};
use crate::graph::{Import, SelfLoops};
use crate::kernel::cores;
use crate::model::classifier::{ClassifierError, probabilities};
use crate::model::features::of_dataset;
use crate::model::propagation::Propagation;
use crate::report::output::{Folder, IDS, ResultFile};
use crate::report::progress::{ProgressObserver, ProgressSink};
use crate::report::saved::{PREDICTIONS, prediction_files};
use crate::report::table::predictions;

/// Apply a trained classifier: writes the class and the probabilities of every node
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// The --out folder of the run that trained it
    #[arg(long, value_name = "DIR")]
    pub model: PathBuf,

    /// A new graph: an edge file whose ids are the rows of --features [default: the graph it was
    /// trained on]
    #[arg(long, value_name = "FILE", requires = "features")]
    pub graph: Option<PathBuf>,

    /// What the nodes of the new graph carry, one row a node
    #[arg(long, value_name = "FILE", requires = "graph")]
    pub features: Option<PathBuf>,

    /// Classes of nodes of the new graph that are known, for a model with label re-use
    #[arg(long, value_name = "FILE", requires = "graph")]
    pub labels: Option<PathBuf>,

    /// The folder that holds datasets [default: $ISVD_DATA, ./data, the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// The folder that predictions are written to [default: predictions/ in the folder of the
    /// model]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// How many worker threads compute [default: all threads]. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = worker_count())]
    pub workers: Option<usize>,

    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist predict --model results
  isvd-dist predict --model results --graph new-edges.txt --features new.npy --out new";

/// Nodes to predict, and those whose labels are known.
struct Loaded {
    dataset: Dataset,
    import: Import,
    known: Vec<u32>,
}

impl Predict {
    fn observer(&self) -> Arc<dyn Observer> {
        ProgressObserver::shared(ProgressSink::for_stderr(self.quiet))
    }

    /// Loads, scores, writes and prints.
    pub fn run(&self) -> Result<(), Error> {
        signals::end_at_once("interrupted: nothing was written", || ());
        let out = self.out.clone().unwrap_or_else(|| self.model.join("predictions"));
        let model = TrainedClassifier::load(&self.model)?;
        let folder = Folder::prepare(&out)?;
        let start = Instant::now();
        let Loaded { mut dataset, import, known } = match &self.graph {
            None => self.same_graph(&model)?,
            Some(graph) => self.new_graph(&model, graph)?,
        };
        dataset.graph.forget_direction();
        let graph = graph_of(
            &dataset.graph,
            Import { self_loops: SelfLoops::Drop, ..import },
            &dataset.name,
            &self.observer(),
        )?;
        let failed = |source| RunError::Features { dataset: dataset.name.clone(), source: Box::new(source) };
        let cluster = Cluster::threads(self.workers.unwrap_or_else(cores));
        let features = of_dataset(&dataset).map_err(failed)?;
        let features = ready_features(&model, &features, cluster).map_err(failed)?;
        let none = vec![UNLABELLED; dataset.graph.nodes()];
        let labels = dataset.labels.as_deref().unwrap_or(&none);
        let propagation = Propagation::new(&graph).map_err(ClassifierError::from)?;
        let nodes = Nodes { propagation: &propagation, features: &features, labels, known: &known };
        let probabilities = probabilities(&classifier_scores(&model, &nodes, cluster)?);
        let classes = &model.recipe.classes;
        let mut files = prediction_files(&probabilities, classes, &dataset.ids);
        files.push(ResultFile::new(IDS, |mut file| dataset.ids.write(&mut file)));
        folder.write_files(files)?;
        let text = predictions(&dataset, &probabilities, classes, start.elapsed(), &folder.path().join(PREDICTIONS));
        print_results(Ok(text), &folder)
    }

    /// The data that the model was trained on, loaded again.
    fn same_graph(&self, model: &TrainedClassifier) -> Result<Loaded, Error> {
        let config = &model.recipe.config;
        let experiment = trained_by(model)?;
        let data = data_folder(self.data.clone())?;
        let mut dataset = load(&experiment.dataset, data.as_deref(), config.data_seed, &self.observer())?;
        if dataset.graph.nodes() != model.recipe.nodes {
            return Err(Error::OtherGraph { found: dataset.graph.nodes(), expected: model.recipe.nodes });
        }
        rename_classes(&mut dataset, &model.recipe.classes)?;
        let split = dataset.node_split.clone().unwrap_or_default();
        let valid = split.valid.into_iter().filter(|_| config.learnt_from_valid);
        let known = split.train.into_iter().chain(valid).collect();
        Ok(Loaded { dataset, import: experiment.import, known })
    }

    /// A graph that the model has not seen.
    fn new_graph(&self, model: &TrainedClassifier, graph: &std::path::Path) -> Result<Loaded, Error> {
        if model.recipe.embedding {
            return Err(Error::OwnEmbedding { model: self.model.clone() });
        }
        let everything = NodeSplitFrom::Fractions { train: 1.0, valid: 0.0, test: 0.0 };
        let files = NodeFiles { features: self.features.clone(), labels: self.labels.clone(), split: everything };
        let experiment = trained_by(model)?;
        let options = match experiment.dataset {
            Source::Edges(trained_on) => trained_on.options,
            _ => EdgeOptions::default(),
        };
        let source = Source::Edges(EdgeFile {
            path: graph.to_owned(),
            options,
            holdout: Holdout::default(),
            nodes: Some(files),
        });
        let mut dataset = load(&source, None, model.recipe.config.data_seed, &self.observer())?;
        let known = rename_classes(&mut dataset, &model.recipe.classes)?;
        Ok(Loaded { dataset, import: experiment.import, known })
    }
}

/// The experiment that a model comes from.
fn trained_by(model: &TrainedClassifier) -> Result<Experiment, Error> {
    let config = &model.recipe.config;
    Ok(Experiment::parse(&config.name, &config.name, &config.text, &config.set)?)
}

fn quoted(classes: &[String]) -> String {
    classes.iter().map(|class| format!("`{class}`")).collect::<Vec<_>>().join(", ")
}

/// Numbers the classes of a dataset as a model does; returns the nodes that have one.
fn rename_classes(dataset: &mut Dataset, classes: &[String]) -> Result<Vec<u32>, Error> {
    let number = |name: &String| match classes.iter().position(|other| other == name) {
        Some(class) => Ok(class as u32),
        None => Err(Error::UnknownClass { class: name.clone(), known: quoted(classes) }),
    };
    let numbers = dataset.classes.iter().map(number).collect::<Result<Vec<u32>, Error>>()?;
    let Some(labels) = &mut dataset.labels else { return Ok(Vec::new()) };
    let mut known = Vec::new();
    for (node, label) in (0..).zip(labels.iter_mut()).filter(|(_, label)| **label != UNLABELLED) {
        *label = numbers[*label as usize];
        known.push(node);
    }
    dataset.classes = classes.to_vec();
    Ok(known)
}
