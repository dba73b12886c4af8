//! The nodes to classify, checked and made ready once for all runs.

use std::sync::Arc;

use crate::config::{LearnFrom, NodeTask};
use crate::dataset::{Dataset, NodeSplit, check_nodes};
use crate::experiment::RunError;
use crate::experiment::details::Degrees;
use crate::experiment::event::Observer;
use crate::experiment::load::graph_of;
use crate::graph::{Graph, Import, SelfLoops};
use crate::matrix::Matrix;
use crate::model::classifier::ClassifierError;
use crate::model::features;
use crate::model::propagation::Propagation;

/// A dataset of nodes with features, labels and a split.
pub struct NodeData {
    /// The dataset, its edges without direction.
    pub dataset: Dataset,
    /// The graph to embed, if something is to be embedded.
    pub graph: Option<Graph>,
    /// The graph to classify on: without self-loops, since Â adds its own.
    pub propagation: Propagation,
    /// Distinct edges, without self-loops.
    pub edges: usize,
    /// How many neighbours nodes have.
    pub degrees: Degrees,
    /// The features as they came.
    pub features: Matrix,
}

impl NodeData {
    /// Checks a dataset and builds its graphs. An edge counts in both directions.
    pub fn new(
        mut dataset: Dataset,
        import: Import,
        task: &NodeTask,
        observer: &Arc<dyn Observer>,
    ) -> Result<Self, RunError> {
        check_nodes(&dataset)
            .map_err(|source| RunError::Nodes { dataset: dataset.name.clone(), source: Box::new(source) })?;
        dataset.graph.forget_direction();
        // Random choices depend on positions, and the order of lines in a file must not matter.
        if let Some(split) = &mut dataset.node_split {
            [&mut split.train, &mut split.valid, &mut split.test].into_iter().for_each(|part| part.sort_unstable());
        }
        let without_loops = Import { self_loops: SelfLoops::Drop, ..import };
        let graph = graph_of(&dataset.graph, without_loops, &dataset.name, observer)?;
        let edges = graph.report.edges;
        let degrees = Degrees::of(&graph.degrees, graph.report.isolated);
        let propagation = Propagation::new(&graph).map_err(ClassifierError::from)?;
        let graph = match task.embedding {
            false => None,
            true if import == without_loops => Some(graph),
            true => Some(graph_of(&dataset.graph, import, &dataset.name, observer)?),
        };
        let features = features::of_dataset(&dataset)
            .map_err(|source| RunError::Features { dataset: dataset.name.clone(), source: Box::new(source) })?;
        // The matrix holds them from here on.
        (dataset.features, dataset.sparse_features) = (None, None);
        Ok(Self { dataset, graph, propagation, edges, degrees, features })
    }

    /// The class of every node.
    pub fn labels(&self) -> &[u32] {
        self.dataset.labels.as_deref().unwrap_or_default()
    }

    /// Which nodes are for what.
    pub fn split(&self) -> &NodeSplit {
        static NONE: NodeSplit = NodeSplit { train: Vec::new(), valid: Vec::new(), test: Vec::new() };
        self.dataset.node_split.as_ref().unwrap_or(&NONE)
    }

    /// The nodes to learn from.
    pub fn learn(&self, from: LearnFrom) -> Vec<u32> {
        let valid = self.split().valid.iter().filter(|_| from == LearnFrom::TrainAndValid);
        self.split().train.iter().chain(valid).copied().collect()
    }
}
