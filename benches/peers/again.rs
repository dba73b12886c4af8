//! `isvd-dist` measured like its peers: a process that loads, warms up, and then embeds on command.
//!
//! `again CONFIG DATA [KEY=VALUE …]`. A command is a line such as `{"seed": 1, "threads": 2, "out":
//! "folder"}`. The answer is a line with the seconds from the loaded graph to U, S and V. These are
//! then written to the folder.

use std::error::Error;
use std::io::{Write, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use isvd_dist::config::Experiment;
use isvd_dist::engine::{Cluster, Monitor};
use isvd_dist::experiment::memory::peak_bytes;
use isvd_dist::graph::Graph;
use isvd_dist::model::embedding::{Embedding, ModelError, embed};
use isvd_dist::report::output::{Folder, ResultFile};
use isvd_kernel as kernel;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Order {
    seed: u64,
    threads: usize,
    out: PathBuf,
}

fn main() -> ExitCode {
    match follow_orders() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn follow_orders() -> Result<(), Box<dyn Error>> {
    kernel::configure();
    let mut arguments = std::env::args().skip(1);
    let (Some(config), Some(data)) = (arguments.next(), arguments.next()) else {
        return Err("say which config, and the folder of the datasets".into());
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let tiny = Task::load(Path::new("demo"), None, &["embedding.rank=8".to_owned()])?;
    tiny.embed(1, cores)?;
    let task = Task::load(config.as_ref(), Some(data.as_ref()), &arguments.collect::<Vec<_>>())?;
    say(&json!({ "ready": true }))?;
    // The first command is to load, which is done already.
    for line in stdin().lines().skip(1) {
        let order: Order = serde_json::from_str(&line?)?;
        // Resets the peak memory, if the system supports it. `reset_peak` would also return the
        // pages that a process keeps for its next decomposition.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        let idle = peak_bytes();
        let start = Instant::now();
        let answer = match task.embed(order.seed, order.threads) {
            Err(error) => json!({ "failed": error.to_string() }),
            Ok(embedding) => {
                let (seconds, peak) = (start.elapsed().as_secs_f64(), peak_bytes());
                Folder::prepare(&order.out)?.write_files(ResultFile::of_embedding(&embedding, Cluster::threads(1)))?;
                let (columns, residuals) = (embedding.operator_columns, &embedding.certificate.relative_residuals);
                let worst = residuals.iter().copied().fold(0.0, f64::max);
                json!({ "seconds": seconds, "columns": columns, "peak_bytes": peak, "idle_bytes": idle,
                    "certificate": worst })
            }
        };
        say(&answer)?;
    }
    Ok(())
}

/// A loaded graph, and the options of its embedding.
struct Task {
    experiment: Experiment,
    graph: Graph,
}

impl Task {
    fn load(config: &Path, data: Option<&Path>, settings: &[String]) -> Result<Self, Box<dyn Error>> {
        let experiment = Experiment::load(config, settings)?;
        let dataset = experiment.dataset.load(data, experiment.seed)?;
        let graph = Graph::from_edges(dataset.graph.list()?, experiment.import)?;
        Ok(Self { experiment, graph })
    }

    fn embed(&self, seed: u64, threads: usize) -> Result<Embedding, ModelError> {
        let options = self.experiment.clone().with_seed(seed).embedding;
        embed(&self.graph, &options, Cluster::threads(threads), Monitor::default())
    }
}

fn say(answer: &serde_json::Value) -> std::io::Result<()> {
    let mut stdout = stdout().lock();
    writeln!(stdout, "{answer}")?;
    stdout.flush()
}
