//! Processes of a cluster, which a test starts and ends.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::answer::{assert_same_results, results};
use crate::support::{folder, is_progress, said};

/// A run of some seconds, during which faults are injected.
pub const LONG: &[&str] = &["--workers=1", "--set=dataset=rmat-15", "--set=seeds=200"];
/// A run of all stages that takes one or two seconds and writes a checkpoint after every step, for
/// interruptions. Its short timeouts detect a lost process soon, also at the start.
pub const CUT_OFF: &[&str] = &[
    "--config=demo",
    "--set=embedding.window=4",
    "--set=embedding.tolerance=0.001",
    "--set=finetune.batch=500",
    "--set=finetune.negatives=2",
    "--set=update.edges=valid",
    "--checkpoint=0",
    "--peer-timeout=3",
    "--connect-timeout=3",
];
/// The time in which a lost process is detected in such a run, with an allowance for a busy
/// machine.
pub const IN_TIME: Duration = Duration::from_secs(3 + 5);
/// The longest time that a test waits for a process.
const MOST: Duration = Duration::from_secs(120);

/// Free addresses of this machine.
pub fn free_addresses(count: usize) -> Vec<String> {
    let taken: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    taken.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect()
}

/// A process, killed at the end of the test.
pub struct Process {
    child: Child,
}

/// The end of a process.
pub struct End {
    pub code: Option<i32>,
    pub stdout: String,
    /// Without progress.
    pub stderr: String,
    pub progress: String,
    /// The time of waiting.
    pub after: Duration,
}

impl End {
    #[track_caller]
    pub fn assert(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in: {}", self.stderr);
        }
    }
}

impl Process {
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { child: command.spawn().unwrap() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end, with a limit.
    pub fn end(mut self) -> End {
        let start = Instant::now();
        while self.is_running() {
            assert!(start.elapsed() < MOST, "still running");
            thread::sleep(Duration::from_millis(10));
        }
        let after = start.elapsed();
        let code = self.child.wait().unwrap().code();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let progress = stderr.split_inclusive('\n').filter(|line| is_progress(line)).collect();
        End { code, stdout, stderr: said(&stderr), progress, after }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command of the program in a folder.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("isvd-dist"));
    command.current_dir(folder).env_remove("ISVD_DATA").env_remove("ISVD_CLUSTER_SECRET");
    command
}

/// One process of a cluster. It has its own file of hosts, so that it can reach the others by other
/// addresses.
pub fn member(folder: &Path, addresses: &[String], process: usize, arguments: &[&str]) -> Command {
    let hosts = folder.join(format!("hosts-{process}"));
    fs::write(&hosts, addresses.join("\n")).unwrap();
    let mut command = program(folder);
    command.arg("--hosts").arg(hosts).arg(format!("--process={process}")).arg("--out=results").args(arguments);
    command.env("ISVD_CLUSTER_SECRET", "a secret of this test");
    command
}

/// All processes of a cluster.
pub fn start(folder: &Path, addresses: &[String], arguments: &[&str]) -> Vec<Process> {
    (0..addresses.len()).map(|process| Process::start(member(folder, addresses, process, arguments))).collect()
}

/// The number of processes, and of workers in each.
pub type Shape = (usize, usize);

/// The uninterrupted run: its results, and its time on three processes.
pub fn whole() -> &'static (TempDir, Duration) {
    static WHOLE: OnceLock<(TempDir, Duration)> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let (folder, began) = (folder(), Instant::now());
        let processes = start(folder.path(), &free_addresses(3), &[CUT_OFF, &["--workers=1"]].concat());
        processes.into_iter().for_each(|process| process.end().assert(0, &[]));
        let took = began.elapsed();
        // The reference is a single process.
        fs::remove_dir_all(folder.path().join("results")).unwrap();
        let mut alone = program(folder.path());
        alone.args(CUT_OFF).args(["--workers=2", "--out=results"]);
        Process::start(alone).end().assert(0, &[]);
        (folder, took)
    })
}

/// Waits for the end of processes that resumed the run, and compares their results. True if they
/// resumed from a checkpoint.
#[track_caller]
pub fn assert_ends_well(processes: Vec<Process>, folder: &Path, what: &str) -> bool {
    let ends: Vec<End> = processes.into_iter().map(Process::end).collect();
    ends.iter().for_each(|end| end.assert(0, &[]));
    assert!(ends[1..].iter().all(|end| end.stderr.is_empty()), "{what}: process 0 alone speaks");
    assert_same_folders(&whole().0.path().join("results"), &folder.join("results"), what);
    ends[0].stderr.contains("note: resumed from results/checkpoint/")
}

/// Reproducible pseudo-random numbers from 0 to 1.
pub fn fractions(count: u64) -> impl Iterator<Item = f64> {
    (1..=count).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1u64 << 53) as f64)
}

/// Interrupts a run after a pause, and repeats with a shorter pause if the run had ended.
pub fn in_the_middle<T>(pause: Duration, cut_off: impl Fn(Duration) -> Option<T>) -> T {
    let mut pauses = (0..5).map(|times| pause / (1 << times));
    pauses.find_map(cut_off).expect("half a run is shorter than a run")
}

/// Whether the cluster of a folder has left a checkpoint.
pub fn has_checkpoint(folder: &Path) -> bool {
    let entries = fs::read_dir(folder.join("results/checkpoint")).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.path().extension().is_some_and(|ending| ending == "json"))
}

pub fn wait_for_checkpoint(folder: &Path) {
    let began = Instant::now();
    while !has_checkpoint(folder) {
        assert!(began.elapsed() < Duration::from_secs(60), "no checkpoint after a minute");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Compares two folders of results.
#[track_caller]
pub fn assert_same_folders(one: &Path, other: &Path, what: &str) {
    assert_same_results(&results(one), &results(other), what);
}
