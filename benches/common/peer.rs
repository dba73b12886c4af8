//! A Python script as a contender, which works on command.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running script. It prints `ready` when its modules are imported, and then the seconds of the
/// work for every line that it reads.
pub struct Peer {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts a script with a path as its argument. `None` if Python or a module is not installed.
    pub fn start(script: &str, path: &Path) -> Option<Self> {
        Self::start_with(Path::new("python3"), script, path)
    }

    /// Starts a script with a given interpreter.
    pub fn start_with(python: &Path, script: &str, path: &Path) -> Option<Self> {
        let mut command = Command::new(python);
        command.args(["-c", script]).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (orders, answers) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let mut peer = Self { child, orders, answers };
        (peer.answer()? == "ready").then_some(peer)
    }

    /// Sends a line. Returns the seconds of the work.
    pub fn time(&mut self, what: &str) -> Option<f64> {
        writeln!(self.orders, "{what}").ok()?;
        self.answer()?.parse().ok()
    }

    fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).ok()?;
        Some(line.trim().to_owned())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
