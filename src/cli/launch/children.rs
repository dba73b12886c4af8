//! Processes of this machine, from their start to their end.

use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use rustix::process::getppid;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::super::cluster::{LAUNCHED_VARIABLE, SECRET_VARIABLE};
use super::super::{Error, error};

/// The time between two looks at children and signals.
const GLANCE: Duration = Duration::from_millis(20);
/// The time that the other processes have to end after one has failed. The connected ones learn of
/// it at once.
const GRACE: Duration = Duration::from_secs(5);

/// How the processes of a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// All without an error.
    Well,
    /// Because of a signal.
    Interrupted,
    /// One process failed, and its error is the cause of the others.
    Badly { process: usize, status: ExitStatus, may_restart: bool },
}

pub(super) struct Children {
    running: Vec<Running>,
    /// In the order in which they ended.
    ended: Vec<(usize, ExitStatus)>,
    signals: Signals,
    /// A run that a person ended is not started again.
    is_called_off: bool,
}

struct Running {
    process: usize,
    child: Child,
    /// Forwards the lines that it writes to stderr.
    forwarder: JoinHandle<()>,
}

impl Children {
    pub(super) fn new() -> io::Result<Self> {
        let signals = Signals::new([SIGINT, SIGTERM])?;
        Ok(Self { running: Vec::new(), ended: Vec::new(), signals, is_called_off: false })
    }

    /// Starts the next process. It gets signals from here and not from the terminal as well.
    pub(super) fn start(&mut self, arguments: &[OsString], secret: &str) -> io::Result<()> {
        let process = self.running.len();
        let mut command = Command::new(env::current_exe()?);
        command
            .args(arguments)
            .env(SECRET_VARIABLE, secret)
            .env(LAUNCHED_VARIABLE, std::process::id().to_string())
            .stdin(Stdio::null())
            .stderr(Stdio::piped());
        if process > 0 {
            command.stdout(Stdio::null());
        }
        let mut child = command.process_group(0).spawn()?;
        let words = child.stderr.take().map(BufReader::new);
        let forwarder = thread::spawn(move || {
            for line in words.into_iter().flat_map(|words| words.split(b'\n')).map_while(Result::ok) {
                error::note(&format!("[{process}] {}", String::from_utf8_lossy(&line)));
            }
        });
        self.running.push(Running { process, child, forwarder });
        Ok(())
    }

    /// Waits for all. When one has failed, the others have some time to end by themselves. Of those
    /// that were asked to end one may still write a checkpoint: that takes as long as it takes.
    pub(super) fn wait(mut self) -> io::Result<Ended> {
        let mut give_up = None;
        while !self.running.is_empty() {
            for signal in self.signals.pending().collect::<Vec<_>>() {
                self.forward(signal);
            }
            let mut still = Vec::new();
            for mut running in std::mem::take(&mut self.running) {
                match running.child.try_wait()? {
                    None => still.push(running),
                    Some(status) => {
                        // It panics only if stderr is a broken pipe.
                        let _ = running.forwarder.join();
                        self.ended.push((running.process, status));
                    }
                }
            }
            self.running = still;
            if self.ended.iter().any(|(_, status)| !status.success() && !is_interrupted(status)) {
                let give_up = *give_up.get_or_insert_with(|| Instant::now() + GRACE);
                if Instant::now() > give_up {
                    self.running.iter_mut().try_for_each(|running| running.child.kill())?;
                }
            }
            thread::sleep(GLANCE);
        }
        Ok(match verdict(&self.ended) {
            Ended::Badly { process, status, .. } if self.is_called_off => {
                Ended::Badly { process, status, may_restart: false }
            }
            ended => ended,
        })
    }

    fn forward(&mut self, signal: i32) {
        self.is_called_off = true;
        let signal = if signal == SIGINT { Signal::INT } else { Signal::TERM };
        for running in &self.running {
            // A child that has just ended needs no signal.
            let _ = Pid::from_raw(running.child.id().cast_signed()).map(|child| kill_process(child, signal));
        }
    }
}

/// Has the system end this process with the one that launched it, if one did: a launcher that is
/// killed cannot do so.
pub(in crate::cli) fn end_with_launcher() {
    #[cfg(target_os = "linux")]
    if let Some(launcher) = launcher() {
        // Without it, the process works to its end unseen.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::TERM));
        // A launcher that was killed before that sends nothing any more.
        if getppid() != Some(launcher) {
            std::process::exit(Error::INTERRUPTED.into());
        }
    }
}

/// The process that launched this one, if one did.
#[cfg(target_os = "linux")]
fn launcher() -> Option<Pid> {
    env::var(LAUNCHED_VARIABLE).ok().and_then(|process| Pid::from_raw(process.parse().ok()?))
}

/// Whatever fails here, no child is left behind.
impl Drop for Children {
    fn drop(&mut self) {
        for running in &mut self.running {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

fn is_interrupted(status: &ExitStatus) -> bool {
    status.code() == Some(Error::INTERRUPTED.into())
}

/// The outcome of all processes. A process that lost another one ends with a code of its own: the
/// cause is the other process. An error counts for more than an interruption, since results may not
/// be saved.
fn verdict(ended: &[(usize, ExitStatus)]) -> Ended {
    let failed = || ended.iter().filter(|(_, status)| !status.success());
    let is_echo = |status: &ExitStatus| status.code() == Some(Error::CLUSTER.into());
    let own = failed().find(|(_, status)| status.code().is_some() && !is_echo(status) && !is_interrupted(status));
    if own.is_none() && failed().any(|(_, status)| is_interrupted(status)) {
        return Ended::Interrupted;
    }
    let killed = || failed().find(|(_, status)| status.signal().is_some());
    match own.or_else(killed).or_else(|| failed().next()) {
        None => Ended::Well,
        Some(&(process, status)) => Ended::Badly { process, status, may_restart: code_of(status) == Error::CLUSTER },
    }
}

/// The exit code that stands for the end of a process: one that was killed is lost to the others.
pub(super) fn code_of(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(Error::CLUSTER)
}

/// How a process ended that did not end well.
pub(super) fn in_words(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("was killed by signal {signal}"),
        None => format!("failed with exit code {}", code_of(status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn the_cause_is_told_and_not_its_echoes() {
        let badly = |process, status, may_restart| Ended::Badly { process, status, may_restart };
        let killed = ExitStatus::from_raw(9);
        assert_eq!(verdict(&[(0, exit(0)), (1, exit(0))]), Ended::Well);
        assert_eq!(verdict(&[(2, exit(4)), (1, exit(3)), (0, killed)]), badly(1, exit(3), false));
        assert_eq!(verdict(&[(2, exit(4)), (1, killed), (0, exit(4))]), badly(1, killed, true));
        assert_eq!(verdict(&[(2, exit(4)), (1, exit(0))]), badly(2, exit(4), true));
        assert_eq!(verdict(&[(2, exit(4)), (1, exit(130)), (0, exit(130))]), Ended::Interrupted);
        assert_eq!(verdict(&[(2, exit(130)), (1, exit(130)), (0, exit(1))]), badly(0, exit(1), false));
    }

    #[test]
    fn an_end_is_told_as_it_was() {
        assert_eq!(in_words(exit(3)), "failed with exit code 3");
        assert_eq!(in_words(ExitStatus::from_raw(9)), "was killed by signal 9");
        assert_eq!((code_of(exit(3)), code_of(ExitStatus::from_raw(9))), (3, Error::CLUSTER));
    }
}
