//! How many workers a process starts.

use clap::Args;

use super::arguments::worker_count;
use super::error::note;
use crate::kernel;

/// How many compute.
#[derive(Debug, Clone, Copy, Args)]
pub struct Workers {
    /// How many worker threads of this process compute [default: all threads]; at most one a core is started, unless several
    /// processes work together. The results do not depend on it
    #[arg(long = "workers", value_name = "N", value_parser = worker_count())]
    pub asked: Option<usize>,

    /// Start as many workers as --workers says, however few cores there are
    #[arg(long = "oversubscribe", requires = "asked", hide_short_help = true)]
    pub are_all_started: bool,
}

impl Workers {
    /// How many to start in a process that works alone: no more than help. Nothing in a result says how many there were, and more than
    /// one a core take longer together: four on two cores 1.1 times as long as two on ogbl-ddi, and 1.4 times on R-MAT graphs of 2^18 nodes.
    pub(super) fn alone(self, is_quiet: bool) -> usize {
        let (cores, asked) = (kernel::cores(), self.together());
        if self.are_all_started || asked <= cores {
            return asked;
        }
        if !is_quiet {
            let (why, way_out) = ("would wait for each other", "--oversubscribe starts all");
            note(&format!("{asked} workers on {cores} cores {why}: {cores} are started ({way_out})"));
        }
        cores
    }

    /// How many to start where processes work together: each has to have as many as was said.
    pub(super) fn together(self) -> usize {
        self.asked.unwrap_or_else(kernel::cores)
    }
}
