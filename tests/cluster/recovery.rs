//! An interrupted cluster resumes on other numbers of processes and workers, and ends with the bits
//! of an uninterrupted run.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{SMALL, folder};
use crate::world::{
    CUT_OFF, End, IN_TIME, Process, Shape, assert_ends_well, assert_same_folders, fractions, free_addresses,
    has_checkpoint, in_the_middle, program, start, wait_for_checkpoint, whole,
};

const SHAPES: [Shape; 5] = [(3, 1), (2, 2), (2, 1), (3, 2), (4, 1)];
const INTERRUPTED: &str = "interrupted: to go on from the checkpoint, give the same command and --resume\n";

fn cluster(folder: &Path, (processes, workers): Shape, more: &[&str]) -> Vec<Process> {
    let workers = format!("--workers={workers}");
    start(folder, &free_addresses(processes), &[CUT_OFF, &[&workers], more].concat())
}

fn launch(folder: &Path, options: &[&str], more: &[&str]) -> Process {
    let mut command = program(folder);
    command.arg("launch").args(options).args(["--out=results", "--workers=1", "--quiet"]).args(CUT_OFF).args(more);
    Process::start(command)
}

/// Resumes to the end, and compares the results. True if there was a checkpoint.
#[track_caller]
fn assert_goes_on(folder: &Path, shape: Shape, what: &str) -> bool {
    assert_ends_well(cluster(folder, shape, &["--resume"]), folder, what)
}

/// Kills one process after a pause. The others must name it in time. False if the run had ended
/// before.
fn lose_one(folder: &Path, (processes, workers): Shape, victim: usize, pause: Duration) -> bool {
    let (addresses, workers) = (free_addresses(processes), format!("--workers={workers}"));
    let mut processes = start(folder, &addresses, &[CUT_OFF, &[&workers]].concat());
    sleep(pause);
    processes.remove(victim).signal(Signal::KILL);
    let killed = Instant::now();
    let ends: Vec<End> = processes.into_iter().map(Process::end).collect();
    assert!(killed.elapsed() < IN_TIME, "{:?}", killed.elapsed());
    if ends.iter().any(|end| end.code == Some(0)) {
        return false;
    }
    for end in &ends {
        end.assert(4, &[&format!("process {victim} ({})", addresses[victim])]);
        assert_eq!(end.stderr.lines().count(), 1, "{}", end.stderr);
    }
    true
}

#[test]
fn a_process_killed_at_twenty_moments() {
    let (_, took) = whole();
    let mut resumed = 0;
    for (number, fraction) in fractions(20).enumerate() {
        let (shape, next) = (SHAPES[number % 5], SHAPES[(number + 1 + number / 5) % 5]);
        let victim = (fraction * 1000.0) as usize % shape.0;
        let kill = |pause| {
            let folder = folder();
            lose_one(folder.path(), shape, victim, pause).then_some(folder)
        };
        let folder = in_the_middle(took.mul_f64(fraction), kill);
        let what = format!("process {victim} of {shape:?} killed at {fraction:.2}, resumed on {next:?}");
        resumed += usize::from(assert_goes_on(folder.path(), next, &what));
    }
    assert!(resumed >= 10, "{resumed} had a checkpoint");
}

/// A signal to the launcher at any moment ends all its processes, with one line on stderr.
#[test]
fn a_signal_to_the_launcher_ends_the_run() {
    let (_, took) = whole();
    for (number, fraction) in fractions(8).enumerate() {
        let ask = |pause| {
            let folder = folder();
            let run = launch(folder.path(), &["-n3", "--restarts=3"], &[]);
            sleep(pause);
            run.signal(if number % 2 == 0 { Signal::INT } else { Signal::TERM });
            let end = run.end();
            (end.code != Some(0)).then_some((folder, end))
        };
        let (folder, end) = in_the_middle(took.mul_f64(fraction), ask);
        end.assert(130, &[]);
        let expected = if has_checkpoint(folder.path()) { INTERRUPTED } else { "interrupted\n" };
        assert_eq!(end.stderr, expected);
        assert!(!folder.path().join("results/metrics.json").exists(), "no result");
        assert_goes_on(folder.path(), SHAPES[number % 5], &format!("interrupted at {fraction:.2}"));
    }
}

/// Without a launcher, a signal to any process ends all of them, and process 0 reports it.
#[test]
fn a_signal_to_one_process_ends_the_cluster() {
    for asked in 0..3 {
        let folder = folder();
        let processes = cluster(folder.path(), (3, 1), &[]);
        wait_for_checkpoint(folder.path());
        processes[asked].signal(Signal::TERM);
        for (number, process) in processes.into_iter().enumerate() {
            let end = process.end();
            end.assert(130, &[]);
            assert_eq!(end.stderr, if number == 0 { INTERRUPTED } else { "" }, "process {number}, asked {asked}");
        }
        assert!(assert_goes_on(folder.path(), (2, 2), &format!("process {asked} was asked to end")));
    }
}

/// With `--restarts`, a run whose process is killed continues by itself.
#[test]
#[cfg(target_os = "linux")]
fn a_launched_run_that_starts_again() {
    for (victim, more) in [(0, &[][..]), (2, &["--resume"])] {
        let folder = folder();
        let run = launch(folder.path(), &["-n", "3", "--restarts", "1"], more);
        wait_for_checkpoint(folder.path());
        kill_process(child_of(run.id(), victim), Signal::KILL).unwrap();
        let end = run.end();
        let again = format!("process {victim} was killed by signal 9: starting again, 0 more times at most");
        end.assert(0, &[&again, "[0] note: resumed from results/checkpoint/"]);
        let results = folder.path().join("results");
        assert_same_folders(&whole().0.path().join("results"), &results, &format!("process {victim} was killed"));
    }
}

/// A frozen process is detected by the others and killed by the launcher, and the run continues.
#[test]
#[cfg(target_os = "linux")]
fn a_launched_run_with_a_frozen_process_starts_again() {
    let folder = folder();
    let run = launch(folder.path(), &["-n3", "--restarts=1"], &[]);
    wait_for_checkpoint(folder.path());
    kill_process(child_of(run.id(), 1), Signal::STOP).unwrap();
    let end = run.end();
    let missed = ["[0] error: lost process 1", "[2] error: lost process 1", "it sent nothing for 3 s"];
    end.assert(0, &[&missed[..], &["starting again", "[0] note: resumed from results/checkpoint/"]].concat());
    assert_same_folders(&whole().0.path().join("results"), &folder.path().join("results"), "frozen");
}

/// A child of a process, in the order in which they were started.
#[cfg(target_os = "linux")]
fn child_of(process: u32, number: usize) -> Pid {
    Pid::from_raw(children_of(process)[number]).unwrap()
}

#[cfg(target_os = "linux")]
fn children_of(process: u32) -> Vec<i32> {
    let parent_of = |child: &str| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        // After the name, which may contain any character: the state and the parent.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let own = all.filter(|name| name.bytes().all(|c| c.is_ascii_digit()) && parent_of(name) == Some(process));
    let mut own: Vec<i32> = own.map(|name| name.parse().unwrap()).collect();
    own.sort_unstable();
    own
}

/// Catches processes that survive if their launcher is killed before they request to end with it.
#[test]
#[cfg(target_os = "linux")]
fn a_process_whose_launcher_is_gone_ends() {
    for (launcher, is_gone) in [(i32::MAX.to_string(), true), (std::process::id().to_string(), false)] {
        let folder = folder();
        let mut command = program(folder.path());
        command.env("ISVD_LAUNCHED", launcher).args(["--out=results", "--quiet"]).args(SMALL);
        let end = Process::start(command).end();
        assert_eq!(end.code, Some(if is_gone { 130 } else { 0 }), "{}", end.stderr);
        assert_eq!(folder.path().join("results").exists(), !is_gone, "nothing is begun without a launcher");
    }
}

/// If the launcher is killed at any moment, its processes end.
#[test]
#[cfg(target_os = "linux")]
fn the_processes_of_a_killed_launcher_end() {
    for pause in [2, 4, 6, 8, 10, 15, 30, 100, 300] {
        let folder = folder();
        let run = launch(folder.path(), &["-n3"], &["--checkpoint=off", "--set=embedding.iterations=3"]);
        sleep(Duration::from_millis(pause));
        let own = children_of(run.id());
        run.signal(Signal::KILL);
        drop(run);
        let deadline = Instant::now() + Duration::from_secs(30);
        let is_there = |process: &i32| {
            // The process id may have been reused.
            let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            command.windows(14).any(|words| words == b"\0--out=results\0")
        };
        while own.iter().any(is_there) {
            assert!(Instant::now() < deadline, "processes of a launcher killed after {pause} ms run on");
            sleep(Duration::from_millis(10));
        }
    }
}
