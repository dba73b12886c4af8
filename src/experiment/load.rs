//! Data, from its source to the graph that stages work on.

use std::path::Path;
use std::sync::Arc;

use super::RunError;
use super::event::{End, Event, Observer, Running, Task};
use crate::config::Experiment;
use crate::dataset::{Budget, Dataset, EdgeList, Edges, Reservation, Source};
use crate::graph::{Graph, Import, Order};

/// Makes or reads a dataset.
pub(crate) fn load(
    source: &Source,
    data: Option<&Path>,
    seed: u64,
    observer: &Arc<dyn Observer>,
) -> Result<Dataset, RunError> {
    let running = Running::begin(observer, Task::Load(source));
    let dataset = source.load(data, seed)?;
    running.ends(End::Loaded(dataset.graph.nodes()));
    observer.observe(Event::Remarks(&dataset));
    Ok(dataset)
}

/// Refuses negative weights where walks are taken; a store has been read without that question.
pub(crate) fn check_weights(experiment: &Experiment, dataset: &Dataset) -> Result<(), RunError> {
    match experiment.matrix.is_none() && dataset.graph.is_signed() {
        true => Err(RunError::NegativeWeights { dataset: dataset.name.clone() }),
        false => Ok(()),
    }
}

/// Whether nodes may get other rows. A matrix of the user's own may name single nodes, so its graph
/// stays as it is.
pub(crate) fn may_renumber(experiment: &Experiment) -> bool {
    experiment.may_renumber && experiment.matrix.is_none() && experiment.nodes.is_none()
}

/// Gives the nodes of a graph to embed other rows where that makes products faster.
pub(crate) fn renumber(experiment: &Experiment, dataset: &mut Dataset) -> Result<Option<Order>, RunError> {
    if !may_renumber(experiment) {
        return Ok(None);
    }
    let order = match dataset.graph.stored_order()? {
        Some(known) => known,
        None => {
            let list = dataset.graph.list()?;
            let _reserved = memory_to_build(list, &dataset.name)?;
            Order::by_degree(list)
        }
    };
    let Some(order) = order else { return Ok(None) };
    dataset.graph.renumber(order.rows());
    for split in [&mut dataset.valid, &mut dataset.test].into_iter().flatten() {
        order.renumber(&mut split.edges);
        order.renumber(&mut split.non_edges);
    }
    Ok(Some(order))
}

/// The graph of some edges, all of whose tiles are read and checked.
pub(crate) fn graph_of(
    edges: &Edges,
    import: Import,
    dataset: &str,
    observer: &Arc<dyn Observer>,
) -> Result<Graph, RunError> {
    let graph = unread_graph_of(edges, import, dataset, observer)?;
    graph.ready()?;
    Ok(graph)
}

/// The graph of some edges: from a store, whose tiles are checked when they are used, or built from
/// the list.
pub(super) fn unread_graph_of(
    edges: &Edges,
    import: Import,
    dataset: &str,
    observer: &Arc<dyn Observer>,
) -> Result<Graph, RunError> {
    match edges.stored_graph(import)? {
        Some(graph) => Ok(graph),
        None => graph_of_list(edges.list()?, import, dataset, observer),
    }
}

/// The graph of a list of edges.
fn graph_of_list(
    edges: &EdgeList,
    import: Import,
    dataset: &str,
    observer: &Arc<dyn Observer>,
) -> Result<Graph, RunError> {
    let _reserved = memory_to_build(edges, dataset)?;
    let running = Running::begin(observer, Task::Import);
    let graph =
        Graph::from_edges(edges, import).map_err(|source| RunError::Graph { dataset: dataset.to_owned(), source })?;
    // A list may name an edge in both directions, so that its length is not the number of edges.
    running.ends(End::Imported(graph.report.edges));
    Ok(graph)
}

/// The memory that it takes to build the matrix of a list: a file may claim any number of nodes.
fn memory_to_build(list: &EdgeList, dataset: &str) -> Result<Reservation, RunError> {
    let reserved = Budget::current().reserve(Graph::bytes_to_build(list));
    reserved.map_err(|source| RunError::TooLarge { dataset: dataset.to_owned(), nodes: list.nodes, source })
}
