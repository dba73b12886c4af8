//! What the README shows is what there is.

use crate::page::Page;
use crate::support::{folder, run, text};

#[test]
fn the_command_that_runs_all_tests_is_the_one_of_the_checks() {
    let command = "cargo test --release";
    let readme = Page::read("README.md".into());
    assert!(readme.blocks().iter().any(|block| block.language == "sh" && block.text.trim() == command));
    assert!(include_str!("../../.ci/run").lines().any(|line| line.starts_with(command)));
}

/// Every line but those that say who computed it, how long it took and how much memory it needed.
#[test]
fn the_demo_prints_what_the_readme_shows() {
    let folder = folder();
    let output = run(folder.path(), &[]);
    let lasting = |text: &str| -> Vec<String> {
        let passing = ["workers", "seconds", "peak memory"];
        text.lines().filter(|line| !passing.iter().any(|word| line.starts_with(word))).map(str::to_owned).collect()
    };
    let blocks = Page::read("README.md".into()).blocks();
    let shown = blocks.iter().find(|block| block.language == "text").unwrap();
    assert_eq!(lasting(text(&output.stdout)), lasting(&shown.text));
}
