//! `launch`: a cluster of processes on this machine, started, watched and ended together.

mod children;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::Path;

use clap::{Args, Parser};

use super::cluster::{ClusterError, check_shared};
use super::{Arguments, Error, Request, error};
use crate::engine::mesh::Secret;
use crate::kernel::cores;
pub(super) use children::end_with_launcher;
use children::{Children, Ended, code_of, in_words};

/// More processes than this on one machine is a slip of the finger.
const MOST_PROCESSES: u64 = 256;

/// The arguments added when a run is started again after a failure.
const ON_RESTART: &[&str] = &["--resume"];

/// Runs an experiment on several processes of this machine.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Launch {
    /// How many processes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 2)]
    #[arg(value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=MOST_PROCESSES))]
    pub processes: usize,

    /// How often a run is started again whose processes lost each other or were killed
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub restarts: usize,

    /// What each process is given: anything that an experiment takes, such as --workers 1 --config
    /// ppi
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist launch -n 3 --workers 1 --config demo
  isvd-dist launch -n 2 --restarts 3 --config links --set data.path=edges.txt --out results";

impl Launch {
    /// Starts the processes, waits for them, and fails as they did.
    pub(super) fn run(&self) -> Result<(), Error> {
        let parsed =
            Arguments::try_parse_from(std::iter::once(OsString::from("isvd-dist")).chain(self.arguments.clone()));
        let parsed = parsed.unwrap_or_else(|error| error.exit());
        let arguments = self.arguments_of_each(&parsed);
        let what = match () {
            () if parsed.command.is_some() => Some("other commands"),
            () if parsed.peers.is_asked_for() => Some("--hosts and --cluster"),
            () => None,
        };
        what.map_or(Ok(()), |what| Err(ClusterError::NotForLaunch { what }))?;
        // An error of the config is printed once, and not by every process.
        let (workers, is_quiet) = (parsed.workers, parsed.quiet);
        let request = Request::new(parsed)?;
        check_shared(&request.experiment.dataset, self.processes)?;
        if !is_quiet {
            workers.advise(self.processes);
        }
        for restart in 0.. {
            let more = if restart == 0 || request.resume { &[] } else { ON_RESTART };
            let ended = self.attempt(&arguments, more).map_err(Error::Launch)?;
            match ended {
                Ended::Well => return Ok(()),
                Ended::Interrupted => return Err(request.interrupted()),
                Ended::Badly { process, status, may_restart } if may_restart && restart < self.restarts => {
                    let (how, left) = (in_words(status), self.restarts - restart - 1);
                    error::note(&format!("process {process} {how}: starting again, {left} more times at most"));
                }
                Ended::Badly { process, status, .. } => {
                    return Err(Error::Launched { process, how: in_words(status), code: code_of(status) });
                }
            }
        }
        unreachable!("every attempt ends")
    }

    /// The processes share the machine: its threads and its memory.
    fn arguments_of_each(&self, parsed: &Arguments) -> Vec<OsString> {
        let mut arguments = self.arguments.clone();
        if parsed.workers.asked.is_none() {
            arguments.push(format!("--workers={}", (cores() / self.processes).max(1)).into());
        }
        if let (None, Some(memory)) = (parsed.memory, super::memory::share()) {
            arguments.push(format!("--memory={}", memory / self.processes as u64).into());
        }
        arguments
    }

    fn attempt(&self, arguments: &[OsString], more: &[&str]) -> io::Result<Ended> {
        let folder = tempfile::tempdir()?;
        let hosts = folder.path().join("hosts");
        write_hosts(&hosts, self.processes)?;
        let secret = Secret::random()?;
        let mut children = Children::new()?;
        for process in 0..self.processes {
            let mut own = arguments.to_vec();
            own.extend(more.iter().map(OsString::from));
            own.extend(["--hosts".into(), hosts.clone().into(), "--process".into(), process.to_string().into()]);
            children.start(&own, &secret)?;
        }
        children.wait()
    }
}

/// `-n3` as `-n 3`. Words with hyphens may follow that are not for `launch`, so clap would take it
/// for the first of them.
pub(super) fn spelled_out(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|word| word == "launch") {
        let is_number = |text: &&str| text.starts_with(|c: char| c == '=' || c.is_ascii_digit());
        let spell_out = |word: OsString| match word.to_str().and_then(|word| word.strip_prefix("-n")).filter(is_number)
        {
            Some(number) => vec!["-n".into(), number.trim_start_matches('=').into()],
            None => vec![word],
        };
        words = words.into_iter().flat_map(spell_out).collect();
    }
    words
}

/// Finds a free port of this machine for each process. All are taken at once, so that none is found
/// twice.
fn write_hosts(path: &Path, processes: usize) -> io::Result<()> {
    let taken: Vec<_> = (0..processes).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<_>>()?;
    let addresses: Vec<_> = taken.iter().map(TcpListener::local_addr).collect::<io::Result<_>>()?;
    fs::write(path, addresses.iter().map(|address| format!("{address}\n")).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_stand_next_to_its_option() {
        let spelled_out = |text: &str| spelled_out(text.split(' ').map(OsString::from)).join(" ".as_ref());
        for text in ["isvd-dist launch -n3 --workers 1", "isvd-dist launch -n=3 --workers 1"] {
            assert_eq!(spelled_out(text), "isvd-dist launch -n 3 --workers 1");
        }
        for text in ["isvd-dist launch --restarts 2 -n 3 -negative", "isvd-dist --matrix -n3"] {
            assert_eq!(spelled_out(text), text);
        }
    }
}
