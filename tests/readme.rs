//! What the README tells people to write and to type is accepted by the program.

use assert_cmd::cargo::cargo_bin_cmd;
use clap::Parser;
use isvd_dist::cli::Arguments;
use isvd_dist::config::Experiment;

const README: &str = include_str!("../README.md");

/// The contents of the fenced blocks of one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    README.split(&fence).skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block).collect()
}

#[test]
fn the_configs_are_complete() {
    let configs = blocks("toml");
    assert!(!configs.is_empty());
    for config in configs {
        Experiment::parse("readme", "README.md", config, &[]).unwrap();
    }
}

/// The words of a command, as a shell splits them: what stands in double quotes is one word.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut is_quoted, mut is_inside) = (Vec::new(), false, false);
    for character in command.chars() {
        let is_space = character.is_whitespace() && !is_quoted;
        if !is_space && !is_inside {
            words.push(String::new());
        }
        is_inside = !is_space;
        match character {
            '"' => is_quoted = !is_quoted,
            _ if is_space => {}
            _ => words.last_mut().unwrap().push(character),
        }
    }
    assert!(!is_quoted, "{command}: a quote is not closed");
    words
}

#[test]
fn quotes_keep_words_together() {
    assert_eq!(words("a  --b \"c d\" e=\"f g\""), ["a", "--b", "c d", "e=f g"]);
}

#[test]
fn the_commands_parse() {
    let commands = blocks("sh").into_iter().flat_map(str::lines).filter(|line| line.starts_with("isvd-dist"));
    let mut count = 0;
    for command in commands {
        let arguments = Arguments::try_parse_from(words(command)).unwrap();
        let assignments = arguments.what.assignments();
        // A config of the reader's own is a copy of the template.
        let config = Some(arguments.what.config).filter(|config| config.extension().is_none());
        if arguments.command.is_none() {
            Experiment::load(&config.unwrap_or("links".into()), &assignments).unwrap();
        }
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn the_command_that_runs_all_tests_is_the_one_of_the_checks() {
    let command = "cargo test --release";
    assert!(README.contains(&format!("```sh\n{command}\n```")));
    assert!(include_str!("../.ci/run").lines().any(|line| line.starts_with(command)));
}

/// Every line but those that say who computed it, how long it took and how much memory it needed.
#[test]
fn the_demo_prints_what_the_readme_shows() {
    let folder = tempfile::tempdir().unwrap();
    let output = cargo_bin_cmd!("isvd-dist").current_dir(folder.path()).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let lasting = |text: &str| -> Vec<String> {
        let passing = ["workers", "seconds", "peak memory"];
        text.lines().filter(|line| !passing.iter().any(|word| line.starts_with(word))).map(str::to_owned).collect()
    };
    assert_eq!(lasting(&printed), lasting(blocks("text")[0]));
}
