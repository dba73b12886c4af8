//! Help for new users: `doctor`, short and long help, completions, the manual, and errors that name
//! the next command.

use std::fs;
use std::process::Command;

use clap::CommandFactory;
use isvd_dist::cli::Arguments;
use serde_json::Value;

use crate::support::need::{Need, found_or_skip};
use crate::support::{assert_done, assert_refused, folder, names, run, text};

/// All commands, with their subcommands.
fn commands() -> Vec<Vec<String>> {
    fn visit(command: &clap::Command, words: &[String], all: &mut Vec<Vec<String>>) {
        all.push(words.to_vec());
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help") {
            visit(inner, &[words, &[inner.get_name().to_owned()]].concat(), all);
        }
    }
    let mut all = Vec::new();
    visit(&Arguments::command(), &[], &mut all);
    all
}

#[test]
fn doctor_accepts_a_sound_machine() {
    let folder = folder();
    let output = run(folder.path(), &["doctor"]);
    assert_done(&output);
    let printed = text(&output.stdout);
    for words in [
        env!("CARGO_PKG_VERSION"),
        "cores",
        "memory",
        "instruction set",
        "computing",
        "ports",
        "results",
        "dataset ppi",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    assert!(printed.contains("isvd-dist datasets fetch ") && !printed.contains("BROKEN"), "{printed}");
    assert_eq!(names(folder.path()), [""; 0], "looking leaves nothing behind");
    let output = run(folder.path(), &["doctor", "--json"]);
    let checkup: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = checkup["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["state"] != "broken"), "{checkup}");
    let ports = findings.iter().find(|finding| finding["name"] == "ports").unwrap();
    assert_eq!(ports["state"], "good");
}

#[test]
fn doctor_reports_what_is_broken() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    let output = run(folder.path(), &["doctor", "--out=file/results", "--data=missing"]);
    assert_eq!(output.status.code(), Some(1));
    let printed = text(&output.stdout);
    assert_eq!(printed.lines().filter(|line| line.starts_with("BROKEN")).count(), 2, "{printed}");
    assert!(printed.contains("--out") && printed.contains("mkdir -p missing"), "the way out: {printed}");
    assert!(text(&output.stderr).starts_with("error: 2 of these"), "{}", text(&output.stderr));
    let output = run(folder.path(), &["doctor", "--out=file", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let checkup: Value = serde_json::from_slice(&output.stdout).unwrap();
    let broken = checkup["findings"].as_array().unwrap().iter().find(|finding| finding["state"] == "broken").unwrap();
    assert!(broken["remedy"].as_str().unwrap().contains("--out"), "{checkup}");
}

#[test]
fn short_help_is_short_and_long_help_has_examples() {
    let folder = folder();
    let short = run(folder.path(), &["-h"]);
    assert_done(&short);
    let lines = text(&short.stdout).lines().count();
    assert!(lines <= 45, "{lines} lines: {}", text(&short.stdout));
    assert!(!text(&short.stdout).contains("--tls-cert") && text(&short.stdout).contains("--config"));
    assert!(commands().len() > 10);
    for command in commands() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let long = run(folder.path(), &words);
        assert_done(&long);
        let printed = text(&long.stdout);
        let (_, examples) =
            printed.split_once("Examples:").unwrap_or_else(|| panic!("{command:?} has no example: {printed}"));
        let example = format!("isvd-dist {}", command.join(" "));
        assert!(examples.contains(example.trim_end()), "{command:?}: {examples}");
        assert!(!printed.contains('\x1b'), "no colours without a terminal");
    }
    let long = run(folder.path(), &["--help"]);
    assert!(text(&long.stdout).contains("--tls-cert"), "nothing is hidden for good");
}

#[test]
fn shells_accept_the_completions() {
    let folder = folder();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(folder.path(), &["completions", shell]);
        assert_done(&output);
        assert!(text(&output.stdout).contains("isvd-dist") && text(&output.stdout).contains("doctor"), "{shell}");
        fs::write(folder.path().join(shell), &output.stdout).unwrap();
    }
    // What bash calls when somebody types `isvd-dist doc` and presses Tab.
    let script = "source ./bash && function=$(complete -p isvd-dist | sed 's/.* -F \\([^ ]*\\) .*/\\1/') && \
                  COMP_WORDS=(isvd-dist doc) COMP_CWORD=1 && $function isvd-dist doc isvd-dist && echo \"${COMPREPLY[@]}\"";
    let completed = Command::new("bash").args(["-c", script]).current_dir(folder.path()).output();
    let completed = completed.map_err(|error| format!("bash: {error}"));
    let Some(output) = found_or_skip(Need::Programs, completed) else { return };
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).lines().last().unwrap().split(' ').any(|word| word == "doctor"),
        "{}",
        text(&output.stdout)
    );
    assert_refused(&run(folder.path(), &["completions", "tcsh"]), 2, &["tcsh", "bash"]);
}

/// Every line of the manual page is text or a known roff request.
fn assert_roff(page: &str) {
    const REQUESTS: &[&str] =
        &[".TH", ".SH", ".SS", ".TP", ".RS", ".RE", ".ie", ".el", ".br", ".nf", ".fi", ".PP", ".IP", ".B", ".I"];
    assert!(page.lines().any(|line| line.starts_with(".TH ")), "{page}");
    for line in page.lines().filter(|line| line.starts_with('.')) {
        assert!(REQUESTS.iter().any(|request| line.split(' ').next() == Some(request)), "{line}");
    }
    for section in [".SH NAME", ".SH SYNOPSIS"] {
        assert!(page.contains(section), "{section}");
    }
}

#[test]
fn the_manual_is_printed_or_written() {
    let folder = folder();
    let output = run(folder.path(), &["man"]);
    assert_done(&output);
    assert_roff(text(&output.stdout));
    assert!(text(&output.stdout).contains("embedding.rank"), "with the keys of configs");
    assert_done(&run(folder.path(), &["man", "pages/man1"]));
    let pages = names(&folder.path().join("pages/man1"));
    for name in ["isvd-dist.1", "isvd-dist-datasets-fetch.1", "isvd-dist-explain.1"] {
        assert!(pages.iter().any(|page| page == name), "{name} among {pages:?}");
    }
    for page in &pages {
        assert_roff(&fs::read_to_string(folder.path().join("pages/man1").join(page)).unwrap());
    }
    fs::write(folder.path().join("file"), "").unwrap();
    assert_refused(&run(folder.path(), &["man", "file"]), 1, &["file"]);
}

#[test]
fn errors_say_what_to_type_next() {
    let folder = folder();
    let refused =
        |arguments: &[&str], code, words: &[&str]| assert_refused(&run(folder.path(), arguments), code, words);
    refused(&["--config=dem0"], 2, &["did you mean `demo`?"]);
    refused(&["--config=cora_dropout"], 2, &["did you mean `cora-dropout`?"]);
    refused(&["--set=dataset=ddi"], 2, &["\"ogbl-ddi\""]);
    refused(&["datasets", "fetch", "ddi"], 2, &["did you mean `ogbl-ddi`?"]);
    refused(&["--set=embedding.rnak=3"], 2, &["did you mean `rank`?"]);
    refused(&["docter"], 2, &["doctor"]);
    refused(&["datasets", "fech", "ppi"], 2, &["fetch"]);
    refused(&["--confg=demo"], 2, &["--config"]);
    let mut missing = assert_cmd::cargo::cargo_bin_cmd!("isvd-dist");
    missing.current_dir(folder.path()).env_remove("ISVD_DATA").env("HOME", folder.path()).env_remove("XDG_CACHE_HOME");
    assert_refused(&missing.args(["--config=ppi"]).output().unwrap(), 3, &["isvd-dist datasets fetch ppi"]);
}
