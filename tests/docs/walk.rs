//! The first steps of a new user with the README and an edge list.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use crate::commands::run;
use crate::page::Page;
use crate::support::{folder, text};

/// The section with the first steps.
const SECTION: &str = "## Your own graph in three steps";
/// The largest number of commands.
const MOST_COMMANDS: usize = 5;

/// Two groups of people, with names as ids.
fn edges() -> String {
    let name = |crowd: &str, number: usize| format!("{crowd}-{}", number % 60);
    let mut text = "# who knows whom\n".to_owned();
    for number in 0..60 {
        for step in [1, 2, 3, 5, 7] {
            let _ = writeln!(text, "{} {}", name("ann", number), name("ann", number + step));
            let _ = writeln!(text, "{} {}", name("bob", number), name("bob", number + step));
        }
    }
    text.push_str("ann-0 bob-0\n");
    text
}

#[test]
fn from_nothing_to_the_nearest_neighbours_in_ones_own_edge_list() {
    let readme = Page::read("README.md".into());
    let section = readme.text.split_once(SECTION).unwrap().1.split("\n## ").next().unwrap();
    let blocks = Page { path: readme.path, text: section.to_owned() }.blocks();
    let commands: Vec<String> = blocks
        .iter()
        .filter(|block| block.language == "sh")
        .flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert!(commands.len() <= MOST_COMMANDS, "{commands:?}");
    assert!(commands[0].starts_with("cargo install"), "the program is built from this source: {commands:?}");

    let folder = folder();
    fs::write(folder.path().join("edges.txt"), edges()).unwrap();
    let mut printed = String::new();
    for command in &commands[1..] {
        // The README uses 17 as an id.
        let output = run(folder.path(), &command.replace("--node 17", "--node ann-7"), false);
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        text(&output.stdout).clone_into(&mut printed);
    }
    let results = folder.path().join("results");
    let ids = fs::read_to_string(results.join("ids.txt")).unwrap();
    let people: BTreeSet<&str> = ids.lines().collect();
    assert_eq!(people.len(), 120);
    assert!(people.contains("ann-7") && people.contains("bob-59"));
    let left = isvd_dist::dataset::format::read_npy(&results.join("left.npy")).unwrap();
    assert_eq!(left.shape[0], 120, "a vector for everybody");

    // The queried node, and then the nearest nodes.
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines[0], lines.len()), ("ann-7", 11), "{printed}");
    let nearest: Vec<&str> = lines[1..].iter().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert!(
        nearest.iter().all(|name| name.starts_with("ann-") && people.contains(name)),
        "of the same crowd: {printed}"
    );
}
