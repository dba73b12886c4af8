//! A test whose requirement is missing is skipped, and one line per kind reports it. It fails
//! instead if `ISVD_REQUIRE` lists the kind.

use std::env;
use std::process::{Command, Output};

use crate::page::Page;
use crate::support::need::{Need, found_or_skip};
use crate::support::text;

/// The missing kinds in the process that a test starts.
const LACKED: &str = "ISVD_TEST_LACKED";

/// Runs the tests at the end of this file in a separate process, in which some kinds are missing
/// and some required.
fn run(lacked: &str, required: &str) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["needs::lacking_", "--ignored"]).env(LACKED, lacked).env("ISVD_REQUIRE", required);
    command.output().unwrap()
}

#[track_caller]
fn assert_fails(output: &Output, words: &str) {
    let said = [text(&output.stdout), text(&output.stderr)].concat();
    assert!(!output.status.success() && said.contains(words), "`{words}` is not in: {said}");
}

/// Catches invisible skips: the harness captures the output of tests.
#[test]
fn skips_are_reported_in_one_line_per_kind() {
    let output = run("data,browser", "");
    assert!(output.status.success(), "{}", text(&output.stdout));
    let told: Vec<&str> = text(&output.stderr).lines().collect();
    let expected = [
        "skipped for want of data: 2 tests, whole or in part; missing: data of one, data of other (",
        "skipped for want of browser: 2 tests, whole or in part; missing: browser of one, browser of other (",
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    assert!(told.iter().zip(expected).all(|(told, expected)| told.starts_with(expected)), "{told:?}");
}

#[test]
fn what_is_required_is_not_skipped() {
    for need in Need::ALL.map(Need::word) {
        let output = run(need, need);
        assert_fails(&output, &format!("ISVD_REQUIRE has `{need}`, but this is missing: {need} of one ("));
        assert!(!text(&output.stderr).contains("skipped"), "{}", text(&output.stderr));
    }
    let others = run("browser", "data,python");
    assert!(others.status.success(), "{}", text(&others.stdout));
    let complete = run("", &Need::ALL.map(Need::word).join(","));
    assert!(complete.status.success(), "{}", text(&complete.stdout));
    assert_eq!(text(&complete.stderr), "");
}

#[test]
fn an_unknown_kind_is_an_error() {
    assert_fails(&run("", "data,brwoser"), "ISVD_REQUIRE: `brwoser` is none of data, browser, namespaces, ");
    found_or_skip(Need::Data, Ok(())).expect("the words of this very run are known");
}

#[test]
fn the_contributing_page_lists_every_kind() {
    let example = format!("ISVD_REQUIRE={} ", Need::ALL.map(Need::word).join(","));
    assert!(Page::read("CONTRIBUTING.md".into()).text.contains(&example), "{example}");
}

fn lack(test: &str) {
    let Ok(lacked) = env::var(LACKED) else { return };
    for need in Need::ALL {
        let is_there = lacked.split(',').all(|word| word != need.word());
        let found = is_there.then_some(()).ok_or_else(|| format!("{} of {test}", need.word()));
        assert_eq!(found_or_skip(need, found).is_some(), is_there);
    }
}

#[test]
#[ignore = "a test that other tests run"]
fn lacking_one() {
    lack("one");
}

#[test]
#[ignore = "a test that other tests run"]
fn lacking_other() {
    lack("other");
}
