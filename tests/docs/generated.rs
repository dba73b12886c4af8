//! Generated pages are up to date.

use std::fmt::Write as _;
use std::fs;

use clap::{Command, CommandFactory};
use isvd_dist::cli::Arguments;
use isvd_dist::config::{KEYS, shipped};

use crate::page::project;

/// If this variable is set, the pages are written.
const RENEW: &str = "ISVD_RENEW";

#[track_caller]
fn compare(path: &str, expected: &str) {
    let place = project().join(path);
    if std::env::var_os(RENEW).is_some() {
        fs::write(&place, expected).unwrap();
    }
    let found = fs::read_to_string(&place).unwrap_or_default();
    let differs = found.lines().zip(expected.lines()).position(|(found, expected)| found != expected);
    let line = differs.unwrap_or_else(|| found.lines().count().min(expected.lines().count())) + 1;
    assert!(
        found == expected,
        "{path} is stale from line {line} on: type {RENEW}=1 cargo test --release --test docs generated"
    );
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Every key of a config, table by table.
#[test]
fn the_page_of_configs() {
    let mut page = "# Configs

A config is TOML. `--config` takes the path of one, or the name of one that is part of the program; `--set KEY=VALUE` overrides an entry. A key
that does not exist, or a value that makes no sense, is refused with its line and what would be accepted. This page is made from the code.

"
    .to_owned();
    let _ = writeln!(page, "Part of the program are {}.\n", shipped::names());
    let mut table = None;
    for key in KEYS {
        let (of, name) = key.path.rsplit_once('.').unwrap_or(("", key.path));
        if table != Some(of) {
            let heading = if of.is_empty() { "At the top".to_owned() } else { format!("`[{of}]`") };
            let _ = write!(
                page,
                "{}## {heading}\n\n| key | what it is | accepted | default |\n|---|---|---|---|\n",
                if table.is_none() { "" } else { "\n" }
            );
            table = Some(of);
        }
        let default = key.default().map_or("none".to_owned(), |default| format!("`{default}`"));
        let _ = writeln!(page, "| `{name}` | {} | {} | {} |", cell(key.about), cell(key.accepts), cell(&default));
    }
    compare("docs/config.md", &page);
}

fn command_page(page: &mut String, command: &mut Command, name: &str) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end());
    let inner: Vec<String> =
        command.get_subcommands().map(|inner| inner.get_name().to_owned()).filter(|inner| inner != "help").collect();
    for inner in inner {
        if let Some(command) = command.find_subcommand_mut(&inner) {
            command_page(page, command, &format!("{name} {inner}"));
        }
    }
}

/// The `--help` of every command.
#[test]
fn the_page_of_commands() {
    let mut page = "# Commands

What `isvd-dist --help` and the `--help` of every command say; `-h` is shorter. `isvd-dist man` prints the same as a manual page, and
`isvd-dist completions bash` what a shell needs to complete it. This page is made from the code.
"
    .to_owned();
    let mut command = Arguments::command().term_width(100);
    command.build();
    command_page(&mut page, &mut command, "isvd-dist");
    compare("docs/commands.md", &page);
}
