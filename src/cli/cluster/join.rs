//! A run in the company of other processes.

use std::process;

use super::super::{Error, Request, error};
use crate::dataset::{Dataset, LinkSplit};
use crate::engine::Cluster;
use crate::engine::mesh::{Facts, Mesh, MeshError};

/// Entries of a config that may differ from machine to machine: what is in the files is compared instead.
const FILES: [&str; 6] = ["data.path", "data.features", "data.labels", "data.train", "data.valid", "data.test"];

/// Carries a request out, together with other processes if there are any. Whatever ends it ends them, too.
pub(in crate::cli) fn in_company(
    request: &Request,
    carry_out: impl Fn(&Request) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(settings) = &request.company else { return carry_out(request) };
    let mesh = Mesh::join(settings.clone(), &facts_of(request), end)?;
    let cluster = Cluster { mesh: Some(mesh), memory: mesh.memory(), ..request.cluster };
    let outcome = carry_out(&Request { cluster, ..request.clone() });
    match &outcome {
        Ok(()) => mesh.leave(),
        Err(error) => mesh.fail(&error::in_one_line(error)),
    }
    outcome
}

/// Another process was lost, or ended the run.
fn end(error: &MeshError) -> ! {
    error::print_line(error);
    process::exit(Error::CLUSTER.into())
}

/// What is known before anything is loaded.
fn facts_of(request: &Request) -> Facts {
    let experiment = &request.experiment;
    let mut facts = Facts::default();
    facts.add("the version", env!("CARGO_PKG_VERSION"));
    facts.add("the config", &experiment.name);
    facts.add("seed", experiment.seed);
    let stated = experiment.stated.iter().filter(|(key, _)| !FILES.contains(key) && *key != "seed");
    stated.for_each(|(key, value)| facts.add(*key, value));
    facts.add("--workers", request.cluster.workers);
    facts.memory = request.cluster.memory;
    facts
}

/// Has the data compared with that of the other processes, before anything is computed from it.
pub(in crate::cli) fn state_data(cluster: &Cluster, dataset: &Dataset) {
    let Some(mesh) = cluster.mesh else { return };
    let mut facts = Facts::default();
    facts.add("the number of nodes", dataset.graph.nodes);
    facts.add("the number of edges", dataset.graph.edges.len());
    facts.add("the checksum of the data", format_args!("{:016x}", checksum(dataset)));
    mesh.state(facts);
}

/// Differs for data that differ by accident.
fn checksum(dataset: &Dataset) -> u64 {
    let mut sum = Checksum(dataset.graph.nodes as u64);
    let graph = &dataset.graph;
    sum.pairs(&graph.edges);
    sum.numbers(graph.weights.as_deref());
    for LinkSplit { edges, non_edges } in [&dataset.valid, &dataset.test].into_iter().flatten() {
        sum.pairs(edges);
        sum.pairs(non_edges);
    }
    sum.numbers(dataset.features.as_deref());
    if let Some(sparse) = &dataset.sparse_features {
        sum.words(&sparse.columns);
        sum.numbers(Some(&sparse.values));
    }
    sum.words(dataset.labels.as_deref().unwrap_or_default());
    if let Some(split) = &dataset.node_split {
        [&split.train, &split.valid, &split.test].into_iter().for_each(|nodes| sum.words(nodes));
    }
    sum.0
}

struct Checksum(u64);

impl Checksum {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn pairs(&mut self, pairs: &[(u32, u32)]) {
        self.add(pairs.len() as u64);
        pairs.iter().for_each(|&(from, to)| self.add(u64::from(from) << 32 | u64::from(to)));
    }

    fn words(&mut self, words: &[u32]) {
        self.add(words.len() as u64);
        words.iter().for_each(|&word| self.add(word.into()));
    }

    fn numbers(&mut self, numbers: Option<&[f32]>) {
        let numbers = numbers.unwrap_or_default();
        self.add(numbers.len() as u64);
        numbers.iter().for_each(|number| self.add(number.to_bits().into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_change_of_the_data_changes_its_checksum() {
        let mut dataset = Dataset::default();
        dataset.graph.edges = vec![(1, 2), (2, 3)];
        let before = checksum(&dataset);
        let swapped = |edit: fn(&mut Dataset)| {
            let mut other = dataset.clone();
            edit(&mut other);
            checksum(&other)
        };
        assert_ne!(swapped(|other| other.graph.edges.swap(0, 1)), before);
        assert_ne!(swapped(|other| other.graph.edges[0].1 = 3), before);
        assert_ne!(swapped(|other| other.graph.weights = Some(vec![1.0, 2.0])), before);
        assert_ne!(swapped(|other| other.labels = Some(vec![7])), before);
        assert_ne!(swapped(|other| other.valid = Some(LinkSplit::default())), before);
    }
}
