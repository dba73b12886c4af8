//! The allocators of timely over the connections of a mesh.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks};

use super::{ClusterAgreement, Mesh};
use crate::engine::cluster::Transport;
use crate::plan::Program;

/// The allocators of workers, and the network threads, which must outlive them.
pub(in crate::engine) type Communication = (Vec<AllocatorBuilder>, Box<dyn Any + Send>);

impl Mesh {
    /// Opens the connections of a run with `workers` workers in each process.
    pub(in crate::engine) fn communication(
        &'static self,
        workers: usize,
        transport: Transport,
        programs: &[Arc<Program>],
    ) -> Result<Communication, String> {
        let generation = 1 + self.runs.fetch_add(1, Ordering::Relaxed);
        let agreement = self.agreement_of_run(workers, programs);
        let links = self.connect_data(generation, &agreement).unwrap_or_else(|error| self.end(&error));
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

    /// The settings that must agree for all workers to build the same dataflows.
    fn agreement_of_run(&self, workers: usize, programs: &[Arc<Program>]) -> ClusterAgreement {
        let mut agreement = self.agreement.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        agreement.add("the number of workers", workers);
        for (number, program) in programs.iter().enumerate() {
            let text = format!("{} rows to {}: {program}", program.input_rows(), program.output_rows());
            agreement.add_digest(format!("the plan of program {number}"), &text);
        }
        agreement
    }
}
