//! The command line: arguments in, exit code out.
//!
//! [`execute`] carries out [`Arguments`]. The arguments of an experiment become a validated
//! [`Request`], which [`run`] carries out; a [`Command`] carries itself out. An [`Error`] knows its
//! exit code.

mod arguments;
mod checkpoints;
mod cluster;
mod convert;
mod datasets;
mod doctor;
mod error;
mod explain;
mod follow;
mod hint;
#[cfg(unix)]
mod launch;
mod memory;
mod predict;
mod print;
mod report;
mod request;
mod results;
mod run;
mod serve;
mod shell;
mod signals;
mod workers;

use crate::kernel::buffer::give_back_large_blocks;
pub use arguments::{Arguments, Command, What};
pub use checkpoints::Checkpoints;
pub use cluster::{ClusterArguments, ClusterError, Scheduler};
pub use convert::Convert;
pub use datasets::Datasets;
pub use doctor::Doctor;
pub use error::{Error, print};
pub use explain::Explain;
pub use follow::{Cadence, Follow, FollowError};
#[cfg(unix)]
pub use launch::Launch;
pub use predict::Predict;
use print::{print_as, print_json, print_text};
pub use report::Report;
pub use request::{Format, Request};
pub use results::export::Export;
pub use results::neighbors::Neighbors;
pub use results::score::Score;
pub use run::run;
pub use serve::Serve;
pub use shell::{Completions, Man};

/// Carries out what a person typed.
pub fn execute(arguments: Arguments) -> Result<(), Error> {
    give_back_large_blocks();
    match &arguments.command {
        Some(Command::Datasets(datasets)) => datasets.run(),
        Some(Command::Predict(predict)) => memory::bounded(None, || predict.run()),
        Some(Command::Explain(explain)) => memory::bounded(explain.memory, || explain.run()),
        Some(Command::Report(report)) => report.run(),
        #[cfg(unix)]
        Some(Command::Launch(launch)) => launch.run(),
        Some(Command::Convert(convert)) => memory::bounded(None, || convert.run()),
        Some(Command::Doctor(doctor)) => doctor.run(),
        Some(Command::Completions(completions)) => completions.run(),
        Some(Command::Man(man)) => man.run(),
        Some(Command::Neighbors(neighbors)) => neighbors.run(),
        Some(Command::Score(score)) => memory::bounded(None, || score.run()),
        Some(Command::Export(export)) => export.run(),
        Some(Command::Serve(serve)) => serve.run(),
        Some(Command::Follow(follow)) => memory::bounded(follow.memory, || follow.run()),
        None => {
            #[cfg(unix)]
            launch::end_with_launcher();
            let (workers, is_quiet) = (arguments.workers, arguments.quiet);
            let request = Request::new(arguments)?;
            // `launch` has said it for all of its processes.
            if !is_quiet && !cluster::is_launched() {
                workers.advise(1);
            }
            memory::bounded(request.cluster.memory, || run(&request))
        }
    }
}
