//! Where checkpoints are and when.

use std::path::PathBuf;
use std::time::Duration;

use super::Request;
use crate::engine::checkpoint::{CheckpointPolicy, Every, Interrupt, is_there};
use crate::experiment;

/// Seconds from one checkpoint to the next.
pub(super) const DEFAULT_SECONDS: &str = "60";
/// What follows a number of iterations.
const ITERATIONS: &str = "it";
/// The folder of checkpoints, within that of the results.
const FOLDER: &str = "checkpoint";

/// How often there is a checkpoint, as the command line spells it: a number of seconds, of
/// iterations, or `off`.
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

    /// Where checkpoints are and when, for a run that this interrupt may end.
    pub(super) fn checkpoints(&self, interrupt: &Interrupt) -> experiment::Checkpoints {
        experiment::Checkpoints {
            folder: self.checkpoint_folder(),
            policy: CheckpointPolicy { every: self.checkpoint.0, resume: self.resume },
            interrupt: interrupt.clone(),
        }
    }
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
