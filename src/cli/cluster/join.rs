//! A run that several processes share.

use std::process;

use super::super::{Error, Request, error, signals};
use crate::engine::Cluster;
use crate::engine::mesh::{ClusterAgreement, Mesh, MeshError};

/// Entries of a config that may differ from machine to machine: what is in the files is compared
/// instead.
const FILES: [&str; 6] = ["data.path", "data.features", "data.labels", "data.train", "data.valid", "data.test"];

/// Carries a request out, together with the other processes if there are any. An error of this
/// process ends all of them.
pub(in crate::cli) fn with_peers(
    request: &Request,
    carry_out: impl Fn(&Request) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(settings) = &request.peers else { return carry_out(request) };
    let mesh = Mesh::join(settings.clone(), &facts_of(request), end)?;
    signals::notify_at_exit(mesh);
    let cluster = Cluster { mesh: Some(mesh), memory: mesh.memory(), ..request.cluster };
    let outcome = carry_out(&Request { cluster, ..request.clone() });
    match &outcome {
        // Of an interrupted run all processes end alike.
        Ok(()) | Err(Error::Interrupted { .. }) => mesh.leave(),
        Err(error) => mesh.fail(&error::in_one_line(error)),
    }
    outcome
}

/// Ends this process because another one was lost or ended the run.
fn end(error: &MeshError) -> ! {
    if signals::is_cause_of(error) {
        signals::end();
    }
    error::print_line(error);
    process::exit(Error::CLUSTER.into())
}

/// The settings that all processes must agree on before anything is loaded.
fn facts_of(request: &Request) -> ClusterAgreement {
    let experiment = &request.experiment;
    let mut facts = ClusterAgreement::default();
    facts.add("the version", env!("CARGO_PKG_VERSION"));
    facts.add("the config", &experiment.name);
    facts.add("seed", experiment.seed);
    let stated = experiment.settings.iter().filter(|(key, _)| !FILES.contains(&key.as_str()) && *key != "seed");
    stated.for_each(|(key, value)| facts.add(key, value));
    facts.add("--workers", request.cluster.workers);
    // All read a checkpoint together, and write one together, however often that is.
    facts.add("--checkpoint", if request.checkpoint.0.is_some() { "not off" } else { "off" });
    facts.add("--resume", if request.resume { "given" } else { "not given" });
    facts.memory = request.cluster.memory;
    facts
}
