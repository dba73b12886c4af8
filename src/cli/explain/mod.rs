//! `isvd-dist explain`: the plan of an experiment, and what it takes, before it is run.

mod sizes;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use super::arguments::{What, worker_count};
use super::request::data_folder;
use super::{Error, memory, print_as, signals};
use crate::engine::{Cluster, measure_rates};
use crate::experiment::explain::{StagePlan, Subjects, plan_stage};
use crate::kernel::cores;
use crate::plan::cost::Machine;
use crate::report::progress::{ProgressObserver, ProgressSink};
use sizes::Sizes;

/// More processes than this is a slip of the finger.
const MOST_PROCESSES: u64 = 65536;

/// Show how a matrix will be multiplied by, and what that takes.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Explain {
    /// What to compute
    #[command(flatten)]
    pub what: What,

    /// How many worker threads each process has [default: all threads of this machine]
    #[arg(long, value_name = "N", value_parser = worker_count())]
    pub workers: Option<usize>,

    /// How many processes, each on a machine like this one
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=MOST_PROCESSES))]
    pub processes: usize,

    /// The most memory that a process may use, such as 64GB [default: three quarters of what this
    /// machine has]
    #[arg(long, value_name = "BYTES", value_parser = memory::parse)]
    pub memory: Option<u64>,

    /// The size of the graph
    #[command(flatten)]
    pub sizes: Sizes,

    /// Multiply a random panel once by the matrix and once by its transpose, and set what it took
    /// beside the estimates
    #[arg(long, conflicts_with_all = ["nodes", "edges", "processes"])]
    pub analyze: bool,

    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,

    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist explain --config demo
  isvd-dist explain --config demo --analyze
  isvd-dist explain --config demo --nodes 111059956 --edges 1615685872 --processes 16 --workers 16 --memory 64GB";

impl Explain {
    /// Plans, and prints the plan.
    pub fn run(&self) -> Result<(), Error> {
        signals::end_at_once("interrupted", || ());
        let experiment = self.what.experiment()?;
        let observer = ProgressObserver::shared(ProgressSink::for_stderr(self.quiet));
        let workers = self.workers.unwrap_or_else(cores);
        let limit = self.memory.or_else(memory::share);
        let cluster = Cluster { memory: limit, ..Cluster::threads(workers) };
        let subjects = match self.sizes.given(&experiment)? {
            Some(sizes) => Subjects::of_size(&experiment, sizes)?,
            None => {
                Subjects::of_data(&experiment, data_folder(self.what.data.clone())?.as_deref(), cluster, &observer)?
            }
        };
        let plan = |machine: &Machine| {
            let stages = subjects.stages.iter();
            stages
                .map(|subject| plan_stage(subject, subjects.data_bytes, machine, cluster))
                .collect::<Result<Vec<_>, _>>()
        };
        // First, while nothing else was ever in memory.
        let taken = match self.analyze {
            false => Vec::new(),
            true => {
                let planned = plan(&Machine::REFERENCE)?;
                planned.iter().map(|planned| planned.multiply(cluster)).collect::<Result<Vec<_>, _>>()?
            }
        };
        // As many workers as there are threads show how fast each of them is.
        let rates = measure_rates(Cluster::threads(workers.min(cores())))?;
        let machine = Machine { workers, processes: self.processes, rates };
        let mut stages = plan(&machine)?;
        stages.iter_mut().zip(taken).for_each(|(stage, taken)| stage.note(taken, cluster));
        let stages: Vec<StagePlan> = stages.into_iter().map(|planned| planned.plan).collect();
        let explanation =
            subjects.graph.explained(experiment.name, (&machine, "rates as measured here"), limit, stages);
        print_as(&explanation, self.json)
    }
}
