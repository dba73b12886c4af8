use std::fmt::Write as _;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use tracing::level_filters::LevelFilter;

use super::checkpoints::{Checkpoints, DEFAULT_SECONDS};
use super::cluster::ClusterArguments;
use super::convert::Convert;
use super::datasets::Datasets;
use super::doctor::Doctor;
use super::explain::Explain;
use super::follow::Follow;
#[cfg(unix)]
use super::launch::Launch;
use super::predict::Predict;
use super::report::Report;
use super::results::export::Export;
use super::results::neighbors::Neighbors;
use super::results::score::Score;
use super::serve::Serve;
use super::shell::{Completions, Man};
use super::workers::Workers;
use crate::config::{KEYS, shipped};
use crate::engine::Transport;

/// More threads than this in one process is a slip of the finger.
const MOST_WORKERS: u64 = 1024;

/// Reads a number of workers.
pub(super) fn worker_count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::<usize>::new().range(1..=MOST_WORKERS)
}

/// Truncated SVD of matrices that are never formed, over graphs: run an experiment and read how far
/// to trust it.
#[derive(Debug, Clone, Parser)]
#[command(name = "isvd-dist", version, after_help = AFTER, after_long_help = after_long())]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// What to do instead of running an experiment
    #[command(subcommand)]
    pub command: Option<Command>,

    /// What to compute
    #[command(flatten)]
    pub what: What,

    /// How many compute
    #[command(flatten)]
    pub workers: Workers,

    /// The most memory to use, such as 16GB [default: three quarters of what the machine has]
    #[arg(long, value_name = "BYTES", value_parser = super::memory::parse, hide_short_help = true)]
    pub memory: Option<u64>,

    /// The folder that results are written to [default: out/ and the config's name]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write a checkpoint every so many seconds or iterations (10it), or off. A run that was
    /// interrupted goes on from the newest with --resume
    #[arg(long, value_name = "SECONDS|Nit|off", default_value = DEFAULT_SECONDS,
          value_parser = super::checkpoints::parse, hide_short_help = true)]
    pub checkpoint: Checkpoints,

    /// Go on from the newest checkpoint in the --out folder, if there is one; any number of workers
    /// will do
    #[arg(long)]
    pub resume: bool,

    /// Write no report.html: saves some tenths of a second
    #[arg(long)]
    pub no_report: bool,

    /// Print the content of metrics.json on stdout instead of a table
    #[arg(long)]
    pub json: bool,

    /// Show no progress
    #[arg(long)]
    pub quiet: bool,

    /// Tell on stderr what happens, down to every step of every worker
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = log_level(), hide_short_help = true)]
    pub log: LevelFilter,

    /// Write a time line of every step of every worker to this file, which Perfetto and Chrome's
    /// tracing page open
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub trace: Option<PathBuf>,

    /// How blocks travel between the workers of a process: for tests of the way between processes
    #[arg(long, value_enum, default_value = "pointers", hide = true)]
    pub transport: Transport,

    /// The other processes
    #[command(flatten)]
    pub peers: ClusterArguments,
}

impl Arguments {
    /// What a person typed; ends the program with an explanation where that makes no sense.
    pub fn typed() -> Self {
        let words = std::env::args_os();
        #[cfg(unix)]
        let words = super::launch::spelled_out(words);
        Self::parse_from(words)
    }
}

/// What to compute, and on which data.
#[derive(Debug, Clone, Args)]
pub struct What {
    /// The experiment: a shipped config by name (ddi, or ddi.toml where there is no such file), or
    /// your own TOML file by path
    #[arg(long, value_name = "NAME|PATH", default_value = shipped::DEFAULT)]
    pub config: PathBuf,

    /// The folder that holds datasets [default: $ISVD_DATA, ./data, the user's cache folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Override an entry of the config, such as embedding.rank=64; may be repeated, the last one
    /// wins
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Decompose this matrix, such as "walk(T, 5) - 0.02 * (J - A)", instead of that of the config:
    /// as --set matrix=TEXT
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, hide_short_help = true)]
    pub matrix: Option<String>,

    /// Override the seed of the config
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

impl What {
    /// The entries of the config that are overridden.
    pub fn assignments(&self) -> Vec<String> {
        let matrix = self.matrix.iter().map(|text| format!("matrix={text}"));
        self.set.iter().cloned().chain(matrix).collect()
    }
}

/// What to do instead of running an experiment.
#[derive(Debug, Clone, Subcommand)]
#[non_exhaustive]
pub enum Command {
    /// List datasets, tell about one, or download some
    Datasets(Datasets),
    /// Apply a trained classifier to its graph or to a new one
    Predict(Predict),
    /// List the nodes nearest to some nodes
    Neighbors(Neighbors),
    /// Score pairs of nodes by how likely they are edges
    Score(Score),
    /// Write the vectors of all nodes to a file for another program
    Export(Export),
    /// Answer questions about results over HTTP, with a page to look around
    Serve(Serve),
    /// Show how a matrix will be multiplied by, and what that takes, before running anything
    Explain(Explain),
    /// Write a dataset as a folder that opens at once, whatever its size
    Convert(Convert),
    /// Write the report of a run again, or one that compares several
    Report(Report),
    /// Keep the embedding of a graph up to date while a stream changes its edges
    Follow(Follow),
    /// Run an experiment on several processes of this machine
    #[cfg(unix)]
    Launch(Launch),
    /// Look at this machine: cores, memory, instruction set, ports, folders and datasets
    Doctor(Doctor),
    /// Print what a shell needs to complete commands
    Completions(Completions),
    /// Print the manual page, or write those of all commands into a folder
    Man(Man),
}

/// Reads a level of the log.
pub(super) fn log_level() -> impl TypedValueParser<Value = LevelFilter> {
    let level = |name: &'static str, help: &'static str| PossibleValue::new(name).help(help);
    let levels = PossibleValuesParser::new([
        level("off", "Nothing"),
        level("error", "What went wrong"),
        level("warn", "What may be wrong"),
        level("info", "Every stage"),
        level("debug", "Every iteration"),
        level("trace", "Every step of every worker"),
    ]);
    levels.try_map(|name| name.parse::<LevelFilter>())
}

const AFTER: &str = "\
Examples:
  isvd-dist                                                           the demo
  isvd-dist --config links --set data.path=edges.txt --out results    embed a graph of your own
  isvd-dist --config nodes --out results                              classify nodes
  isvd-dist doctor                                                    what this machine has

All options, config keys, their defaults and exit codes: isvd-dist --help";

const EXAMPLES: &str = "\
Examples:
  isvd-dist
  isvd-dist --config links --set data.path=edges.txt --out results
  isvd-dist --config nodes --workers 4 --seed 2 --out results
  isvd-dist --config mine.toml --json --quiet";

fn after_long() -> String {
    let mut text =
        format!("{EXAMPLES}\n\nShipped configs: {}\n\nConfig keys, which --set can override:\n", shipped::names());
    for key in KEYS {
        let default = key.default().map_or("required".to_owned(), |default| format!("default: {default}"));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<26}{} [{default}]\n{:28}{}", key.path, key.about, "", key.accepts);
    }
    text.push_str(
        "\nExit codes: 0 done, 1 failed, 2 wrong usage or config, 3 bad input data, 4 cluster, 130 interrupted.",
    );
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_help_names_every_key_with_its_default() {
        let help = Arguments::command().render_long_help().to_string();
        for key in KEYS {
            assert!(help.contains(key.path), "{}", key.path);
            assert!(help.contains(&key.default().unwrap_or("required".to_owned())), "{}", key.path);
        }
    }
}
