//! Executes every command of every page. Each page has a folder of its own.
//!
//! bash runs a block of `sh` with the program in its path. Missing files that a block names are
//! generated before. A comment right before a block states its requirements, or why it is not run:
//!
//! | comment | treatment |
//! |---|---|
//! | `<!-- needs: dataset NAME -->` | run if the dataset is available |
//! | `<!-- needs: program NAME -->` | run if the program is available |
//! | `<!-- runs until stopped -->` | interrupted after a while; must succeed or exit with 130 |
//! | `<!-- not run: REASON -->` | skipped |

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use isvd_dist::config::Experiment;
use isvd_dist::dataset::catalog::{ENTRIES, locate_among};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::page::{Block, Page, pages};
use crate::support::need::{Need, found_or_skip};
use crate::support::{data_folder, folder, text};

/// The time limit of a block.
const MOST: Duration = Duration::from_secs(600);
/// The time after which a block that runs until stopped is interrupted.
const A_WHILE: Duration = Duration::from_secs(3);

/// The size of generated graphs, features and labels.
const NODES: usize = 400;
const COMMUNITIES: usize = 5;
const FEATURES: usize = 120;

/// The treatment of a block.
enum Treatment {
    Run,
    Stop,
    Skip(String),
    /// A requirement is missing.
    Lacks(Need, String),
}

fn treatment(block: &Block) -> Treatment {
    let Some(mark) = block.mark.as_deref() else { return Treatment::Run };
    if mark == "runs until stopped" {
        return Treatment::Stop;
    }
    if let Some(reason) = mark.strip_prefix("not run: ") {
        return Treatment::Skip(reason.to_owned());
    }
    let (need, name, is_met) = if let Some(name) = mark.strip_prefix("needs: dataset ") {
        let is_named = |entry: &&isvd_dist::dataset::catalog::Entry| {
            entry.name == name || entry.name.strip_suffix(name).is_some_and(|rest| rest.ends_with('-'))
        };
        let entry = ENTRIES.iter().find(is_named).unwrap_or_else(|| panic!("no dataset is called {name}"));
        (Need::Data, name, locate_among(entry, &[data_folder()]).is_ok())
    } else if let Some(name) = mark.strip_prefix("needs: program ") {
        let path = std::env::var_os("PATH").unwrap_or_default();
        (Need::Programs, name, std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
    } else {
        panic!("line {}: what does `{mark}` mean?", block.line)
    };
    if is_met { Treatment::Run } else { Treatment::Lacks(need, name.to_owned()) }
}

/// Generates the files that a block names.
fn make_files(folder: &Path, block: &str) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let mut names: Vec<&str> = block.split(|c| !is_part(c)).filter(|name| !name.contains('/')).collect();
    if block.contains("--model out/demo") && !folder.join("out/demo").exists() {
        let made = run(folder, "isvd-dist --quiet", false);
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    if block.contains("--config nodes") {
        names.extend(["edges.txt", "x.npy", "labels.txt"]);
    }
    if block.contains("--config links") || names.iter().any(|name| name.ends_with(".toml")) {
        names.push("edges.txt");
    }
    for name in names {
        let path = folder.join(name);
        if path.exists() {
            continue;
        }
        match name {
            _ if name.ends_with("edges.txt") => fs::write(path, edges()).unwrap(),
            _ if name.ends_with("labels.txt") => {
                fs::write(path, (0..NODES).map(|node| format!("kind{}\n", node % COMMUNITIES)).collect::<String>())
                    .unwrap();
            }
            "x.npy" | "new.npy" => write_features(&path),
            "mine.toml" => fs::write(path, include_str!("../../configs/links.toml")).unwrap(),
            _ => {}
        }
    }
}

/// Pseudo-random numbers.
fn draw(number: usize) -> usize {
    (number as u64 ^ 0x5bd1_e995)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9) as usize
        >> 11
}

/// Edges that are mostly within a community. Nodes of a community are congruent modulo their
/// number.
fn edges() -> String {
    let edge = |number: usize| {
        let from = number % NODES;
        let near = (from + COMMUNITIES * (1 + draw(number) % 20)) % NODES;
        let to = if number.is_multiple_of(10) { (from + 1 + draw(number) % (NODES - 1)) % NODES } else { near };
        format!("{from} {to}\n")
    };
    (0..10 * NODES).map(edge).collect()
}

/// Features that depend on the community.
fn write_features(path: &Path) {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({NODES}, {FEATURES}), }}");
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut file = Vec::new();
    file.extend(b"\x93NUMPY\x01\x00");
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    for node in 0..NODES {
        for feature in 0..FEATURES {
            let noise = (draw(node * FEATURES + feature) % 1000) as f32 / 1000.0;
            let told = if feature % COMMUNITIES == node % COMMUNITIES { 0.5 } else { 0.0 };
            file.extend((noise + told).to_le_bytes());
        }
    }
    fs::File::create(path).unwrap().write_all(&file).unwrap();
}

/// Runs a script; if it runs until stopped, interrupts it after a while.
pub fn run(folder: &Path, script: &str, until_stopped: bool) -> Output {
    let programs = Path::new(env!("CARGO_BIN_EXE_isvd-dist")).parent().unwrap().to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&others))).unwrap();
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]).current_dir(folder).env("PATH", path).process_group(0);
    command.env_remove("ISVD_DATA");
    if data_folder().is_dir() {
        command.env("ISVD_DATA", fs::canonicalize(data_folder()).unwrap());
    }
    let (out, err) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    command.stdin(Stdio::null()).stdout(out.reopen().unwrap()).stderr(err.reopen().unwrap());
    let mut child = command.spawn().unwrap();
    let (start, mut is_stopped) = (Instant::now(), false);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if until_stopped && start.elapsed() > A_WHILE && !is_stopped {
            is_stopped = true;
            kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
        }
        if start.elapsed() > MOST {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            panic!("still running: {script}");
        }
        sleep(Duration::from_millis(20));
    };
    Output { status, stdout: fs::read(out.path()).unwrap(), stderr: fs::read(err.path()).unwrap() }
}

/// The number of blocks that were run, and the blocks that were not.
fn run_page(page: &Page) -> (usize, Vec<String>) {
    let folder = folder();
    let (mut count, mut skipped) = (0, Vec::new());
    for block in page.blocks().iter().filter(|block| block.language == "sh") {
        let place = format!("{}:{}", page.path.display(), block.line);
        let until_stopped = match treatment(block) {
            Treatment::Run => false,
            Treatment::Stop => true,
            Treatment::Skip(reason) => {
                skipped.push(format!("{place}: {reason}"));
                continue;
            }
            Treatment::Lacks(need, name) => {
                skipped.push(format!("{place}: needs {name}"));
                found_or_skip(need, Err::<(), _>(name));
                continue;
            }
        };
        make_files(folder.path(), &block.text);
        let output = run(folder.path(), &block.text, until_stopped);
        let is_good = output.status.success() || until_stopped && output.status.code() == Some(130);
        assert!(is_good, "{place}: {}\n{}{}", output.status, block.text, text(&output.stderr));
        count += 1;
    }
    (count, skipped)
}

#[test]
fn every_command_of_every_page_works() {
    let (mut count, mut skipped) = (0, Vec::new());
    for page in pages() {
        let (run, not_run) = run_page(&page);
        count += run;
        skipped.extend(not_run);
    }
    println!("{count} blocks of commands were run, {} were not:", skipped.len());
    skipped.iter().for_each(|skipped| println!("  {skipped}"));
    assert!(count > 10, "{count}");
}

#[test]
fn marks_of_blocks_are_understood() {
    let block = |mark: &str| Block { language: "sh".into(), text: String::new(), line: 1, mark: Some(mark.into()) };
    assert!(matches!(treatment(&block("not run: needs Slurm")), Treatment::Skip(reason) if reason == "needs Slurm"));
    assert!(matches!(treatment(&block("runs until stopped")), Treatment::Stop));
    assert!(matches!(treatment(&block("needs: program bash")), Treatment::Run));
    assert!(matches!(treatment(&block("needs: program no-such-thing")), Treatment::Lacks(Need::Programs, _)));
}

/// A failing command is detected, and an endless one is stopped.
#[test]
fn a_wrong_page_is_detected() {
    let page = |text: &str| Page { path: PathBuf::from("page.md"), text: text.to_owned() };
    let wrong = page("```sh\nisvd-dist --config nothing\n```\n");
    assert!(std::panic::catch_unwind(|| run_page(&wrong)).is_err());
    let endless = page("<!-- runs until stopped -->\n```sh\ntrap 'exit 130' INT\nsleep 100\n```\n");
    assert_eq!(run_page(&endless).0, 1);
}

#[test]
fn the_configs_are_complete() {
    let mut count = 0;
    for page in pages() {
        for block in page.blocks().into_iter().filter(|block| block.language == "toml") {
            let place = page.path.display().to_string();
            Experiment::parse("page", &place, &block.text, &[]).unwrap_or_else(|error| panic!("{place}: {error}"));
            count += 1;
        }
    }
    assert!(count > 0);
}
