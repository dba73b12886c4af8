//! The README shows the actual output and figures.

use crate::page::Page;
use crate::support::{assert_done, data, data_part, folder, run, text};

#[test]
fn the_command_that_runs_all_tests_is_the_one_of_the_checks() {
    let command = "cargo test --release";
    let readme = Page::read("README.md".into());
    assert!(readme.blocks().iter().any(|block| block.language == "sh" && block.text.trim() == command));
    assert!(include_str!("../../.ci/run").lines().any(|line| line.starts_with(command)));
}

/// Compares all lines except workers, time and memory.
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

/// Catches outdated figures, for configs that take seconds. `benches/figures/run` measures all
/// figures.
#[test]
fn the_figures_are_those_of_the_program() {
    let readme = std::fs::read_to_string("README.md").unwrap();
    for (config, part) in [("ppi", "ppi"), ("facebook", "soc-facebook"), ("hepth", "ca-HepTh")] {
        let Some(_) = data_part(&format!("asymproj/{part}")) else { continue };
        let Some(data) = data() else { continue };
        let row = readme.lines().find(|line| line.contains(&format!("`isvd-dist --config {config}`"))).unwrap();
        let shown = row.trim_end_matches('|').rsplit('|').next().unwrap().trim();
        let folder = folder();
        let data = data.to_str().unwrap();
        let arguments = ["--config", config, "--data", data, "--set=seeds=5", "--json", "--quiet", "--no-report"];
        let output = run(folder.path(), &arguments);
        assert_done(&output);
        let metrics: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let stage = &metrics["stages"][0];
        let [mean, spread] = ["test", "test_spread"].map(|kind| stage[kind]["auc"].as_f64().unwrap());
        assert_eq!(format!("{mean:.4} ± {spread:.4}"), shown, "{config}: run benches/figures/run");
    }
}
