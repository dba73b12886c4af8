//! Where checkpoints are and when, and what tells runs apart.

use std::path::PathBuf;
use std::time::Duration;

use super::{Error, Request, error};
use crate::dataset::Dataset;
use crate::engine::checkpoint::{CheckpointPolicy, CheckpointWriter, Every, Identity, Interrupt, Notice, is_there};
use crate::kernel::simd::Simd;

/// Seconds from one checkpoint to the next.
pub(super) const DEFAULT_SECONDS: &str = "60";
/// What follows a number of iterations.
const ITERATIONS: &str = "it";
/// The folder of checkpoints, within that of the results.
const FOLDER: &str = "checkpoint";
/// Settings that change what is measured, and nothing that is computed.
const MEASURED: &str = "evaluate.";

/// How often there is a checkpoint, as the command line spells it: a number of seconds, of iterations, or `off`.
pub(super) fn parse(text: &str) -> Result<Checkpoints, String> {
    let expected = || {
        format!("give a number of seconds, such as {DEFAULT_SECONDS}, of iterations, such as 10{ITERATIONS}, or off")
    };
    if text == "off" {
        return Ok(Checkpoints(None));
    }
    let every = match text.strip_suffix(ITERATIONS) {
        Some(count) => count.parse().ok().map(Every::Iterations),
        None => {
            let seconds = text.strip_suffix('s').unwrap_or(text).parse().ok();
            seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).map(Every::Time)
        }
    };
    every.map(|every| Checkpoints(Some(every))).ok_or_else(expected)
}

/// How often there is a checkpoint, if there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoints(pub Option<Every>);

impl Request {
    /// Where the checkpoints of this run are.
    fn checkpoint_folder(&self) -> PathBuf {
        self.out.join(FOLDER)
    }

    /// Whether there is a checkpoint to go on from.
    pub(super) fn has_checkpoint(&self) -> bool {
        is_there(&self.checkpoint_folder())
    }

    /// The same with a keeper of checkpoints.
    pub(super) fn with_keeper(self, dataset: &Dataset, interrupt: &Interrupt) -> Result<Self, Error> {
        let rhythm = CheckpointPolicy { every: self.checkpoint.0, resume: self.resume };
        let (folder, run) = (self.checkpoint_folder(), self.identity(dataset));
        let folder = self.cluster.is_leader().then_some(folder);
        let keeper = CheckpointWriter::new(folder.as_deref(), run, rhythm, interrupt.clone(), tell)?;
        Ok(Self { keeper: Some(keeper), ..self })
    }

    /// What tells this run from others that give other results.
    pub(super) fn identity(&self, dataset: &Dataset) -> Identity {
        let settings = self.experiment.settings.iter().filter(|(key, _)| !key.starts_with(MEASURED));
        let mut identity: Identity = settings.map(|(key, value)| (key.clone(), value.clone())).collect();
        let (nodes, edges) = (dataset.graph.nodes(), dataset.graph.len());
        identity.extend([
            ("seed".to_owned(), self.experiment.seed.to_string()),
            ("the program".to_owned(), format!("version {}", env!("CARGO_PKG_VERSION"))),
            ("the data".to_owned(), format!("{nodes} nodes and {edges} edges ({:08x})", dataset.checksum())),
            ("the instruction set".to_owned(), Simd::best().name().to_owned()),
        ]);
        identity
    }
}

/// Tells a person.
fn tell(notice: Notice) {
    error::note(&format!("note: {notice}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_iterations_or_off() {
        let time = |milliseconds| Ok(Checkpoints(Some(Every::Time(Duration::from_millis(milliseconds)))));
        assert_eq!(parse("60"), time(60_000));
        assert_eq!(parse("60s"), time(60_000));
        assert_eq!(parse("0.5"), time(500));
        assert_eq!(parse("10it"), Ok(Checkpoints(Some(Every::Iterations(10.try_into().unwrap())))));
        assert_eq!(parse("off"), Ok(Checkpoints(None)));
        for text in ["", "-1", "nan", "inf", "1e30", "often", "s", "it", "0it", "-1it", "1.5it", "10its", "10 it"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
