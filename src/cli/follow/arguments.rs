//! What can be said of a stream to follow.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tracing::level_filters::LevelFilter;

use super::super::arguments::{What, log_level};
use super::super::checkpoints::{Checkpoints, DEFAULT_SECONDS};
use super::super::request::{Format, Request, data_folder};
use super::super::workers::Workers;
use super::super::{Error, memory};
use super::FollowError;
use crate::dataset::stream::{Origin, Rule, Span};
use crate::engine::{Cluster, Transport};
use crate::report::progress::ProgressSink;

/// Updates of a batch where nothing else is said.
const DEFAULT_BATCH: usize = 1000;
/// How far a row may move and count as where it was, of the mean length of a row.
const DEFAULT_EPSILON: &str = "0.01";

/// Keep the embedding of a graph up to date while a stream changes its edges.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Follow {
    /// The graph that the stream begins with, and how it is embedded
    #[command(flatten)]
    pub what: What,

    /// The updates, one a line: time, operation (+, - or =), source, target, and a weight if there
    /// is one. A file, a folder whose files are batches in the order of their names, or - for
    /// standard input
    #[arg(long, value_name = "FILE|DIR|-")]
    pub updates: PathBuf,

    /// Wait for what is appended to the file, or for new files in the folder, until interrupted
    #[arg(long)]
    pub watch: bool,

    /// Apply so many updates at a time [default: 1000]
    #[arg(long, value_name = "N", conflicts_with = "every")]
    pub batch: Option<NonZeroUsize>,

    /// Apply the updates of so much time at a time, such as 1d, 12h, or a number in the unit of the
    /// times
    #[arg(long, value_name = "SPAN")]
    pub every: Option<Span>,

    /// Apply a batch that is not full when nothing more came for so many seconds [default: wait]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub linger: Option<Duration>,

    /// Embed after every so many batches, or only at the end
    #[arg(long, value_name = "N|end", default_value = "1", value_parser = cadence)]
    pub embed: Cadence,

    /// Compute the figures of the config after each embedding, on its held-out pairs
    #[arg(long)]
    pub evaluate: bool,

    /// After each embedding write the rows that moved: a .csv file that is replaced each time, or a
    /// folder of one file a batch
    #[arg(long, value_name = "FILE|DIR")]
    pub changes: Option<PathBuf>,

    /// How far a row must move to count as changed, of the mean length of a row
    #[arg(long, value_name = "ε", default_value = DEFAULT_EPSILON, value_parser = epsilon)]
    pub epsilon: f32,

    /// Count lines that make no sense, and leave them out, instead of ending with exit code 3
    #[arg(long)]
    pub tolerate: bool,

    /// How many compute
    #[command(flatten)]
    pub workers: Workers,

    /// The most memory to use, such as 16GB [default: three quarters of what the machine has]
    #[arg(long, value_name = "BYTES", value_parser = memory::parse)]
    pub memory: Option<u64>,

    /// The folder that results are written to [default: out/ and the config's name]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write the results anew every so many seconds, or off: at the end only
    #[arg(long, value_name = "SECONDS", default_value = DEFAULT_SECONDS, value_parser = saving)]
    pub save: Saving,

    /// Go on after the last batch that was accepted, as the log in the --out folder has it
    #[arg(long)]
    pub resume: bool,

    /// Print a line of JSON for every batch, and one at the end
    #[arg(long)]
    pub json: bool,

    /// Show no progress, and no line for every batch
    #[arg(long)]
    pub quiet: bool,

    /// Tell on stderr what happens, down to every step of every worker
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = log_level())]
    pub log: LevelFilter,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist follow --config links --set data.path=edges.txt --updates updates.txt --every 1d
  tail -n +1 -f feed.txt | isvd-dist follow --config mine.toml --updates - --batch 500 --changes changes/
  isvd-dist follow --config mine.toml --updates inbox/ --watch --resume";

/// When the graph is embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cadence {
    /// After every so many batches.
    Every(u64),
    /// When the stream is over.
    End,
}

impl Cadence {
    /// Whether the graph is embedded after this batch.
    pub(super) fn is_due(self, batch: u64) -> bool {
        matches!(self, Self::Every(count) if batch.is_multiple_of(count))
    }
}

fn cadence(text: &str) -> Result<Cadence, String> {
    match (text, text.parse()) {
        ("end", _) => Ok(Cadence::End),
        ("batch", _) => Ok(Cadence::Every(1)),
        (_, Ok(count)) if count > 0 => Ok(Cadence::Every(count)),
        _ => Err("give a number of batches, such as 10, or end".to_owned()),
    }
}

/// How often results are written, if at all before the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saving(pub Option<Duration>);

fn saving(text: &str) -> Result<Saving, String> {
    match text {
        "off" => Ok(Saving(None)),
        _ => seconds(text).map(|every| Saving(Some(every))).map_err(|error| format!("{error}, or off")),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "give a number of seconds, such as 5".to_owned())
}

fn epsilon(text: &str) -> Result<f32, String> {
    let number = text.parse::<f32>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("give a number of 0 or more, such as {DEFAULT_EPSILON}"))
}

impl Follow {
    /// What ends a batch.
    pub(super) fn rule(&self) -> Rule {
        match (self.every, self.batch) {
            (Some(span), _) => Rule::Time(span),
            (None, count) => Rule::Count(count.map_or(DEFAULT_BATCH, usize::from)),
        }
    }

    /// Reads and checks all that can be before any data is read.
    pub(super) fn request(&self) -> Result<(Request, Origin), Error> {
        let (experiment, data) = (self.what.experiment()?, data_folder(self.what.data.clone())?);
        let refused = |what, remedy| Err(Error::from(FollowError::NotFollowed { what, remedy }));
        if experiment.nodes.is_some() {
            return refused("classify nodes", "give a config without [classifier], such as links");
        }
        if experiment.matrix.is_some() {
            return refused("decompose a matrix given as text", "leave matrix out; [embedding] says how to embed");
        }
        if experiment.rank_search.is_some() {
            return refused("choose the rank", "give one, such as --set embedding.rank=64");
        }
        let origin = Origin::named(&self.updates);
        if origin.is_folder() && (self.batch.is_some() || self.every.is_some() || self.linger.is_some()) {
            return Err(FollowError::BatchesGiven { path: self.updates.clone() }.into());
        }
        if !self.quiet {
            self.workers.advise(1);
        }
        let request = Request {
            cluster: Cluster {
                workers: self.workers.count(),
                transport: Transport::Pointers,
                memory: self.memory.or_else(memory::share),
                mesh: None,
            },
            peers: None,
            data,
            out: self.out.clone().unwrap_or_else(|| Path::new("out").join(&experiment.name)),
            format: if self.json { Format::Json } else { Format::Table },
            progress: ProgressSink::for_stderr(self.quiet),
            checkpoint: Checkpoints(None),
            resume: self.resume,
            log: self.log,
            timeline: None,
            report: false,
            experiment,
        };
        Ok((request, origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_between_embeddings() {
        assert_eq!(
            (cadence("3"), cadence("end"), cadence("batch")),
            (Ok(Cadence::Every(3)), Ok(Cadence::End), Ok(Cadence::Every(1)))
        );
        assert!(["0", "-1", "often", ""].iter().all(|text| cadence(text).is_err()));
        assert!(Cadence::Every(3).is_due(6) && !Cadence::Every(3).is_due(7) && !Cadence::End.is_due(1));
    }
}
