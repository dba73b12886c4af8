//! Hands the connections of a mesh to timely.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks};

use super::{ClusterAgreement, Mesh};
use crate::engine::cluster::Transport;
use crate::plan::Program;

/// What timely needs to start workers, and must keep until they have ended.
pub(in crate::engine) type Communication = (Vec<AllocatorBuilder>, Box<dyn Any + Send>);

impl Mesh {
    /// Opens connections for a run with `workers` workers in each process. Inside a process blocks
    /// travel by `transport`.
    pub(in crate::engine) fn communication(
        &'static self,
        workers: usize,
        transport: Transport,
        programs: &[Arc<Program>],
    ) -> Result<Communication, String> {
        let generation = 1 + self.runs.fetch_add(1, Ordering::Relaxed);
        let facts = self.facts_of_run(workers, programs);
        let links = self.connect_data(generation, &facts).unwrap_or_else(|error| self.end(&error));
        let links = links.into_iter().map(|link| link.map(|link| link.counted(&self.sent))).collect();
        let hooks = Hooks::default();
        let inside = match transport {
            Transport::Pointers => ProcessBuilder::new_typed_vector,
            Transport::Bytes => ProcessBuilder::new_bytes_vector,
        };
        let inside = inside(workers, hooks.refill.clone(), hooks.spill.clone());
        let (builders, threads) = initialize_networking_from_sockets(inside, links, self.process(), workers, hooks)
            .map_err(|error| error.to_string())?;
        Ok((builders.into_iter().map(AllocatorBuilder::Tcp).collect(), Box::new(threads)))
    }

    /// Settings that must agree for workers to build the same dataflows.
    fn facts_of_run(&self, workers: usize, programs: &[Arc<Program>]) -> ClusterAgreement {
        let mut facts = self.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        facts.add("the number of workers", workers);
        for (number, program) in programs.iter().enumerate() {
            let text = format!("{} rows to {}: {program}", program.input_rows(), program.output_rows());
            facts.add_digest(format!("the plan of program {number}"), &text);
        }
        facts
    }
}
