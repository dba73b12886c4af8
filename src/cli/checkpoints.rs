//! Where checkpoints are and when, and what tells runs apart.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::{Error, Request};
use crate::dataset::Dataset;
use crate::engine::checkpoint::{Identity, Interrupt, Keeper, Notice, Rhythm, is_there};
use crate::kernel::simd::Simd;

/// Seconds from one checkpoint to the next.
pub(super) const DEFAULT_SECONDS: &str = "60";
/// The folder of checkpoints, within that of the results.
const FOLDER: &str = "checkpoint";
/// Settings that change what is measured, and nothing that is computed.
const MEASURED: &str = "evaluate.";

/// How often there is a checkpoint, as the command line spells it: a number of seconds, or `off`.
pub(super) fn parse(text: &str) -> Result<Every, String> {
    let expected = || format!("give a number of seconds, such as {DEFAULT_SECONDS}, or off");
    if text == "off" {
        return Ok(Every(None));
    }
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.map(|every| Every(Some(every))).ok_or_else(expected)
}

/// The time from one checkpoint to the next, if there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every(pub Option<Duration>);

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
        let rhythm = Rhythm { every: self.checkpoint.0, resume: self.resume };
        let (folder, run) = (self.checkpoint_folder(), self.identity(dataset));
        let folder = self.cluster.speaks().then_some(folder);
        let keeper = Keeper::new(folder.as_deref(), run, rhythm, interrupt.clone(), tell)?;
        Ok(Self { keeper: Some(keeper), ..self })
    }

    /// What tells this run from others that give other results.
    pub(super) fn identity(&self, dataset: &Dataset) -> Identity {
        let settings = self.experiment.settings.iter().filter(|(key, _)| !key.starts_with(MEASURED));
        let mut identity: Identity = settings.map(|(key, value)| (key.clone(), value.clone())).collect();
        let instructions = if Simd::best().is_fast() { "AVX2" } else { "portable" };
        let (nodes, edges) = (dataset.graph.nodes(), dataset.graph.len());
        identity.extend([
            ("seed".to_owned(), self.experiment.seed.to_string()),
            ("the program".to_owned(), format!("version {}", env!("CARGO_PKG_VERSION"))),
            ("the data".to_owned(), format!("{nodes} nodes and {edges} edges ({:08x})", dataset.checksum())),
            ("the instruction set".to_owned(), instructions.to_owned()),
        ]);
        identity
    }
}

/// Tells a person on stderr. A closed stderr is no reason to fail.
fn tell(notice: Notice) {
    let _ = writeln!(io::stderr().lock(), "note: {notice}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_or_off() {
        assert_eq!(parse("60"), Ok(Every(Some(Duration::from_secs(60)))));
        assert_eq!(parse("0.5"), Ok(Every(Some(Duration::from_millis(500)))));
        assert_eq!(parse("off"), Ok(Every(None)));
        for text in ["", "-1", "nan", "inf", "1e30", "often"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
