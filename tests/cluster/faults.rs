//! If a process is lost, the others end in time and name it.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::folder;
use crate::world::{LONG, Process, free_addresses, member, program, start};

const PATIENCE: &str = "--peer-timeout=3";
/// An allowance for a busy machine.
const SLACK: Duration = Duration::from_secs(5);

/// Injects a fault into one of three processes during a run, and checks how the others end.
fn lose(victim: usize, after: Duration, signal: Signal, most: Duration) {
    let (folder, addresses) = (folder(), free_addresses(3));
    let mut processes = start(folder.path(), &addresses, &[LONG, &[PATIENCE]].concat());
    sleep(after);
    assert!(processes.iter_mut().all(Process::is_running), "the run is long enough to be interrupted");
    let gone = processes.remove(victim);
    gone.signal(signal);
    for process in processes {
        let end = process.end();
        end.assert(4, &[&format!("process {victim} ({})", addresses[victim]), "the last step here: "]);
        assert_eq!(end.stderr.lines().count(), 1, "{}", end.stderr);
        assert!(end.after < most + SLACK, "{:?}", end.after);
    }
    assert!(!folder.path().join("results/metrics.json").exists(), "no result");
}

#[test]
fn a_process_that_is_killed() {
    for (victim, moment) in [(0, 300), (1, 1500), (2, 700)] {
        lose(victim, Duration::from_millis(moment), Signal::KILL, Duration::ZERO);
    }
}

#[test]
fn a_process_that_is_frozen() {
    lose(2, Duration::from_millis(1000), Signal::STOP, Duration::from_secs(3));
}

/// A frozen process that continues is told that the others have ended.
#[test]
fn a_process_that_was_frozen_too_long() {
    let (folder, addresses) = (folder(), free_addresses(2));
    let mut processes = start(folder.path(), &addresses, &[LONG, &[PATIENCE]].concat());
    sleep(Duration::from_millis(1000));
    let frozen = processes.remove(1);
    frozen.signal(Signal::STOP);
    processes.remove(0).end().assert(4, &[&format!("process 1 ({})", addresses[1]), "it sent nothing for 3 s"]);
    frozen.signal(Signal::CONT);
    frozen.end().assert(4, &[&format!("process 0 ({})", addresses[0])]);
}

/// A short delay is not taken for a loss.
#[test]
fn a_process_that_was_frozen_for_a_moment_goes_on() {
    let (folder, addresses) = (folder(), free_addresses(2));
    let arguments = ["--workers=1", "--set=dataset=rmat-14", "--set=seeds=10", "--peer-timeout=10"];
    let processes = start(folder.path(), &addresses, &arguments);
    sleep(Duration::from_millis(500));
    processes[1].signal(Signal::STOP);
    sleep(Duration::from_millis(1500));
    processes[1].signal(Signal::CONT);
    for process in processes {
        let end = process.end();
        end.assert(0, &[]);
        assert_eq!(end.stderr, "");
    }
}

#[test]
fn a_process_that_never_starts_is_named_by_all_others() {
    let (folder, addresses) = (folder(), free_addresses(3));
    let start = |process| Process::start(member(folder.path(), &addresses, process, &["--connect-timeout=2"]));
    for process in [start(0), start(2)] {
        let end = process.end();
        end.assert(4, &["no connection within 2 s", &format!("process 1 ({})", addresses[1])]);
        assert!(end.after < Duration::from_secs(2) + SLACK, "{:?}", end.after);
    }
}

/// An error of one process ends the others with its message, and it keeps its own exit code.
#[test]
fn an_error_of_one_process_is_reported_by_all() {
    let (folder, addresses) = (folder(), free_addresses(3));
    fs::write(folder.path().join("results"), "a file is in the way").unwrap();
    for (number, process) in start(folder.path(), &addresses, LONG).into_iter().enumerate() {
        let code = if number == 0 { 1 } else { 4 };
        process.end().assert(code, &["cannot write into the folder results"]);
    }
}

/// An error of all processes is reported by each of them.
#[test]
fn an_error_of_all_processes_is_reported_by_each() {
    let (folder, addresses) = (folder(), free_addresses(3));
    let overflow = ["--workers=2", "--matrix=1e30 * A @ (1e30 * A)"];
    for process in start(folder.path(), &addresses, &overflow) {
        process.end().assert(1, &["not finite"]);
    }
}

#[test]
fn launch_fails_as_its_processes_do() {
    let folder = folder();
    let launch = |arguments: &[&str]| {
        let mut program = program(folder.path());
        program.args(["launch", "-n", "3", "--restarts=2", "--workers=1"]).args(arguments);
        Process::start(program)
    };
    let overflow = launch(&["--matrix=1e30 * A @ (1e30 * A)"]).end();
    overflow.assert(1, &["[0] error: ", "[1] error: ", "[2] error: ", "not finite", "failed with exit code 1"]);
    assert!(!overflow.stderr.contains("starting again"), "the same would happen again: {}", overflow.stderr);
    launch(&["--config=nowhere.toml"]).end().assert(2, &["nowhere.toml"]);
    launch(&["--hosts=x", "--process=0"]).end().assert(2, &["leave --hosts and --cluster out"]);
    let ended = launch(&LONG[1..]);
    sleep(Duration::from_millis(1000));
    ended.signal(Signal::TERM);
    let ended = ended.end();
    assert_ne!(ended.code, Some(0));
    assert!(!ended.stderr.contains("starting again"), "it was called off: {}", ended.stderr);
}
