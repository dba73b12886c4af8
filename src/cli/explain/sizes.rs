//! The size of a graph that is not at hand, as the command line gives it.

use clap::Args;

use crate::cli::Error;
use crate::config::Experiment;
use crate::experiment::RunError;
use crate::experiment::explain::{GraphSize, NodeSize};
use crate::graph::{Graph, GraphError, Sparse};

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
    pub(super) fn given(&self, experiment: &Experiment) -> Result<Option<GraphSize>, Error> {
        let (Some(nodes), Some(edges)) = (self.nodes, self.edges) else { return Ok(None) };
        let refused =
            |option: &str, source: GraphError| Error::from(RunError::Graph { dataset: option.to_owned(), source });
        let graph = Graph::outline(nodes, edges, self.directed).map_err(|source| refused("--nodes", source))?;
        let mut of_nodes = None;
        if experiment.nodes.is_some() {
            let missing = |size| Error::MissingSize { size };
            let features = self.features.ok_or(missing("--features"))?;
            let classes = self.classes.ok_or(missing("--classes"))?;
            let labelled = self.labelled.ok_or(missing("--labelled"))?.min(nodes);
            let labels = Sparse::outline(nodes, classes, labelled, false);
            let labels = labels.map_err(|source| refused("--classes", source))?;
            of_nodes = Some(NodeSize { features, labels, labelled });
        }
        Ok(Some(GraphSize { graph, edges, nodes: of_nodes }))
    }
}
