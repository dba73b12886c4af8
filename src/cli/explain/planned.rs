//! The plan of a run that is over, for its report.

use super::stage::plan_stage;
use super::subjects::Subjects;
use crate::cli::nodes::NodeData;
use crate::cli::{Error, Request};
use crate::config::NodeTask;
use crate::dataset::Dataset;
use crate::engine::Cluster;
use crate::graph::Graph;
use crate::plan::cost::{Machine, Rates};
use crate::report::explain::{Explanation, KindPlan, StagePlan};

/// How the matrix of an embedding was multiplied by. A plan that cannot be told again is no reason to lose a result.
pub(in crate::cli) fn links(request: &Request, graph: &Graph, dataset: &Dataset) -> Option<String> {
    text(request, Subjects::of_links(&request.experiment, graph, dataset)).ok()
}

/// How the matrices of a classifier were multiplied by.
pub(in crate::cli) fn nodes(request: &Request, task: &NodeTask, data: &NodeData) -> Option<String> {
    text(request, Subjects::of_nodes(&request.experiment, task, data)).ok()
}

fn text(request: &Request, subjects: Result<Subjects, Error>) -> Result<String, Error> {
    let subjects = subjects?;
    let (workers, processes) = (request.cluster.workers, request.cluster.processes());
    let machine = Machine { workers, processes, rates: Rates::REFERENCE };
    let cluster = Cluster { memory: request.cluster.memory, ..Cluster::threads(workers) };
    let plan = |subject| plan_stage(subject, subjects.data_bytes, &machine, cluster).map(|planned| planned.plan);
    let stages = subjects.stages.iter().map(plan).collect::<Result<Vec<StagePlan>, _>>()?;
    let explanation = Explanation {
        config: request.experiment.name.clone(),
        dataset: subjects.dataset,
        nodes: subjects.nodes,
        edges: subjects.training_edges + subjects.held_out_edges,
        training_edges: subjects.training_edges,
        held_out_edges: subjects.held_out_edges,
        workers,
        processes,
        rates: "rates of a machine of reference",
        memory_limit: request.cluster.memory,
        kinds: KindPlan::of_stages(&stages),
        stages,
    };
    Ok(explanation.to_string())
}
