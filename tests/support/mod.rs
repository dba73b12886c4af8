//! Running the program in a folder, and assertions about its output.

// Each test program uses a part of this module.
#![allow(dead_code)]

pub mod answer;
pub mod browser;
pub mod load;
pub mod need;
pub mod python;
pub mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;
use tempfile::TempDir;

use need::{Need, found_or_skip};

/// The smallest settings of a run.
pub const SMALL: &[&str] = &["--workers=1", "--set=embedding.rank=4", "--set=embedding.iterations=1"];

/// The folder of real datasets: `ISVD_DATA`, or `../shared/data`.
pub fn data_folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    std::env::var_os("ISVD_DATA").map_or(beside, PathBuf::from)
}

/// A part of the real datasets. `None` if it is missing; the test is then skipped.
#[track_caller]
pub fn data_part(part: &str) -> Option<PathBuf> {
    let path = data_folder().join(part);
    let found = if path.exists() { Ok(path) } else { Err(path.display().to_string()) };
    found_or_skip(Need::Data, found)
}

/// The folder of all real datasets. `None` if it is missing; the test is then skipped.
#[track_caller]
pub fn data() -> Option<PathBuf> {
    data_part("")
}

pub fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

pub fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = cargo_bin_cmd!("isvd-dist");
    command.current_dir(folder).env_remove("ISVD_DATA").args(arguments);
    command.output().unwrap()
}

pub fn small(folder: &Path, arguments: &[&str]) -> Output {
    run(folder, &[SMALL, arguments].concat())
}

#[track_caller]
pub fn assert_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(said(text(&output.stderr)), "", "nothing but progress goes to stderr");
}

/// Whether a line of stderr is progress. It starts with the seconds since the start, as in
/// `[    0.03 s] load demo`, and `launch` adds the number of the process in front.
pub fn is_progress(line: &str) -> bool {
    let launched = line.strip_prefix('[').and_then(|line| line.split_once("] "));
    let line = launched.filter(|(process, _)| process.parse::<u32>().is_ok()).map_or(line, |(_, line)| line);
    let seconds = line.strip_prefix('[').and_then(|line| line.split_once(" s] "));
    seconds.is_some_and(|(seconds, _)| seconds.trim_start().parse::<f64>().is_ok())
}

/// Whether a line of stderr recommends a number of workers, which depends on the machine.
pub fn is_advice(line: &str) -> bool {
    line.contains(": --workers ") && line.trim_end().ends_with(" would be faster")
}

/// Whether a line of stderr warns of a missed tolerance or rank, as runs with small settings do.
pub fn is_shortfall(line: &str) -> bool {
    line.contains("warning: ") && (line.contains("above the tolerance of") || line.contains("singular triplets: "))
}

/// The lines of stderr except progress, recommendations and warnings of missed tolerances.
pub fn said(stderr: &str) -> String {
    let is_usual = |line: &&str| is_progress(line) || is_advice(line) || is_shortfall(line);
    stderr.split_inclusive('\n').filter(|line| !is_usual(line)).collect()
}

#[track_caller]
pub fn assert_refused(output: &Output, code: i32, words: &[&str]) {
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert_eq!(text(&output.stdout), "", "stdout is for results");
    assert!(!message.contains("panicked"), "{message}");
    for word in words {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub fn write_config(folder: &Path, content: &str) {
    fs::write(folder.join("mine.toml"), content).unwrap();
}

pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
