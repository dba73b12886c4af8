//! How many workers a process starts.

use clap::Args;

use super::arguments::worker_count;
use super::error::note;
use crate::kernel;

/// How many compute.
#[derive(Debug, Clone, Copy, Args)]
pub struct Workers {
    /// How many worker threads of this process compute [default: one a core]. The results do not
    /// depend on it
    #[arg(long = "workers", value_name = "N", value_parser = worker_count())]
    pub asked: Option<usize>,
}

impl Workers {
    /// How many to start.
    pub(super) fn count(self) -> usize {
        self.asked.unwrap_or_else(kernel::cores)
    }

    /// Prints a faster number of workers on stderr, if the workers of all `processes` on this
    /// machine are more than its cores.
    pub(super) fn advise(self, processes: usize) {
        if let Some(advice) = self.advice(processes, kernel::cores()) {
            note(&advice);
        }
    }

    /// All workers of a process are woken at every step: four on two cores take 1.1 times as long
    /// as two on ogbl-ddi, and 1.4 times on R-MAT graphs of 2^18 nodes.
    fn advice(self, processes: usize, cores: usize) -> Option<String> {
        let (asked, better) = (self.asked?, (cores / processes).max(1));
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let together = match processes {
            1 => counted(asked, "worker"),
            _ => format!("{processes} processes of {}", counted(asked, "worker")),
        };
        (asked > better)
            .then(|| format!("{together} on {}: --workers {better} would be faster", counted(cores, "core")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_given_where_fewer_workers_would_be_faster() {
        let advice = |asked, processes, cores| Workers { asked }.advice(processes, cores);
        let says = |text: &str| Some(text.to_owned());
        assert_eq!(advice(Some(8), 1, 2), says("8 workers on 2 cores: --workers 2 would be faster"));
        assert_eq!(advice(Some(2), 1, 1), says("2 workers on 1 core: --workers 1 would be faster"));
        assert_eq!(advice(Some(4), 2, 4), says("2 processes of 4 workers on 4 cores: --workers 2 would be faster"));
        // The number of processes is what was asked for, and none can have fewer than one worker.
        for (asked, processes) in [(None, 1), (None, 3), (Some(1), 3), (Some(2), 1)] {
            assert_eq!(advice(asked, processes, 2), None);
        }
    }
}
