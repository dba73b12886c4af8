//! The report of a run: written, rewritten, compared, and opened in a browser.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::browser::{Browser, Look};
use crate::support::{assert_done, assert_refused, data_part, folder, names, run, small, text};

/// The largest size of a page: it should fit into an e-mail.
const MOST_BYTES: u64 = 2_000_000;
/// The first chart appears within a second; a busy machine gets a few seconds.
const MOST_MILLISECONDS: f64 = 4_000.0;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// All colour schemes and screen sizes.
const LOOKS: [Look; 3] = [
    Look { width: 1280, height: 1000, is_dark: false },
    Look { width: 1280, height: 1000, is_dark: true },
    Look { width: 390, height: 844, is_dark: false },
];

/// Opens a report in every colour scheme and screen size, and checks what must hold in all of them.
fn assert_shows(page: &Path, sections: &[&str], charts: u64) {
    let bytes = fs::metadata(page).unwrap().len();
    assert!(bytes < MOST_BYTES, "{}: {bytes} bytes", page.display());
    let Some(mut browser) = Browser::start() else { return };
    for look in LOOKS {
        browser.open(&format!("file://{}", page.display()), look);
        browser.until("performance.getEntriesByName('first-contentful-paint').length > 0");
        let seen = browser.evaluate(include_str!("probe.js"));
        let what = format!("{} {look:?}: {seen}", page.display());
        assert!(browser.errors.is_empty(), "{what}: {:?}", browser.errors);
        println!("{}: first chart after {} ms", page.display(), seen["milliseconds"]);
        assert_eq!(seen["resources"], Value::Array(vec![]), "nothing is loaded: {what}");
        assert_eq!((&seen["charts"], &seen["empty"]), (&charts.into(), &0.into()), "{what}");
        assert_eq!(seen["overflow"], 0, "nothing is wider than the screen: {what}");
        assert_eq!(seen["dark"], look.is_dark, "{what}");
        let paper = if look.is_dark { "rgb(15, 19, 24)" } else { "rgb(255, 255, 255)" };
        assert_eq!(seen["paper"], paper, "{what}");
        assert!(seen["milliseconds"].as_f64().unwrap() < MOST_MILLISECONDS, "{what}");
        let found: Vec<&str> = seen["sections"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        assert_eq!(found, sections, "{what}");
        assert!(seen["told"].is_string() && seen["told"] == seen["expected"], "hovering names a node: {what}");
        assert_eq!((&seen["tipInside"], &seen["hiddenAfter"]), (&true.into(), &true.into()), "{what}");
    }
}

#[test]
fn the_report_of_the_demo_opens_in_a_browser() {
    let folder = folder();
    assert_done(&run(folder.path(), &["--workers=2", "--out=results"]));
    let sections = ["run", "figures", "map", "decomposition", "quality", "graph", "cost", "plan"];
    // The map, spectrum, residuals, convergence, ROC, precision, degrees, times, memory, workers.
    assert_shows(&folder.path().join("results/report.html"), &sections, 10);
}

#[test]
fn the_reports_of_real_data_open_in_a_browser() {
    let cases = [
        ("cora", "planetoid", &["run", "figures", "map", "decomposition", "quality", "graph", "cost", "plan"][..], 7),
        (
            "ddi",
            "ogbl_ddi",
            &["run", "figures", "map", "decomposition", "quality", "training", "graph", "cost", "plan"],
            11,
        ),
    ];
    for (config, part, sections, charts) in cases {
        let Some(part) = data_part(part) else { continue };
        let (data, folder) = (format!("--data={}", part.parent().unwrap().display()), folder());
        assert_done(&run(folder.path(), &["--workers=2", "--config", config, "--out=results", &data]));
        assert_shows(&folder.path().join("results/report.html"), sections, charts);
    }
}

#[test]
fn a_report_can_be_written_again_from_the_folder() {
    let folder = folder();
    assert_done(&small(folder.path(), &["--out=results"]));
    let path = folder.path().join("results/report.html");
    let first = read(&path);
    for word in ["--out=results", "5,000 nodes", "auc", "n1", "spmm"] {
        assert!(first.contains(word), "{word}");
    }
    fs::remove_file(&path).unwrap();
    let output = run(folder.path(), &["report", "results"]);
    assert_done(&output);
    assert_eq!(text(&output.stdout), "results/report.html\n");
    assert!(read(&path) == first, "the same page");
    assert_done(&run(folder.path(), &["report", "results", "--out=elsewhere/mine.html"]));
    assert!(read(&folder.path().join("elsewhere/mine.html")) == first);
}

#[test]
fn several_runs_are_compared_in_one_page() {
    let folder = folder();
    assert_done(&small(folder.path(), &["--out=a/results"]));
    assert_done(&small(folder.path(), &["--out=b/results", "--seed=2"]));
    assert_done(&small(folder.path(), &["--out=c", "--set=embedding.rank=6", "--no-report"]));
    let output = run(folder.path(), &["report", "a/results", "b/results", "c"]);
    assert_done(&output);
    assert_eq!(text(&output.stdout), "report.html\n");
    let page = read(&folder.path().join("report.html"));
    for word in ["3 runs compared", "a/results", "b/results", "<td>c</td>", "--seed=2"] {
        assert!(page.contains(word), "{word}");
    }
    // Spectrum, residuals, convergence, worst residual, time, memory, and one map per run.
    assert_shows(&folder.path().join("report.html"), &["run", "figures", "decomposition", "cost", "map"], 9);
}

#[test]
fn no_report_skips_the_report() {
    let folder = folder();
    assert_done(&small(folder.path(), &["--out=results"]));
    assert_done(&small(folder.path(), &["--out=results", "--no-report"]));
    let expected = ["ids.txt", "left.npy", "metrics.json", "right.npy", "singular_values.npy"];
    assert_eq!(names(&folder.path().join("results")), expected, "that of an earlier run is gone, too");
    assert_done(&run(folder.path(), &["report", "results"]));
    let page = read(&folder.path().join("results/report.html"));
    assert!(page.contains("2,000 of 5,000 nodes by their embedding, coloured by community"));
    assert!(page.contains("Singular values"));
}

#[test]
fn missing_and_damaged_files_are_named_with_a_remedy() {
    let folder = folder();
    let results = folder.path().join("results");
    assert_refused(&run(folder.path(), &["report"]), 2, &["DIR"]);
    assert_refused(
        &run(folder.path(), &["report", "nowhere"]),
        3,
        &["nowhere holds no finished run", "its --out folder"],
    );
    assert_done(&small(folder.path(), &["--out=results"]));
    let damage = |name: &str, from: &str, to: &str, words: &[&str]| {
        let path = results.join(name);
        let before = fs::read(&path).unwrap();
        let content = String::from_utf8_lossy(&before);
        assert!(content.contains(from), "{name}: {from}");
        fs::write(&path, content.replacen(from, to, 1)).unwrap();
        let output = run(folder.path(), &["report", "results"]);
        assert_refused(&output, 3, &[&["results", name, "run the experiment again"], words].concat());
        fs::write(&path, before).unwrap();
    };
    damage("metrics.json", "\"stages\"", "\"stage\"", &["is damaged", "missing field `stages`"]);
    damage("metrics.json", "}", "", &["is damaged", "line"]);
    damage("metrics.json", "\"ap\": 0.", "\"ap\": null, \"x\": 0.", &["is damaged", "the figure ap"]);
    damage("report.json", "{", "[", &["is damaged"]);
    damage("report.json", "\"version\":1", "\"version\":9", &["has version 9"]);
    damage("report.json", "\"x\":[", "\"x\":[0.5,", &["a map whose lists do not fit"]);
    damage("report.json", "\"stages\":[{", "\"stages\":[{},{", &["of 2 stages, and metrics.json of 1"]);
    fs::remove_file(results.join("report.json")).unwrap();
    fs::write(results.join("left.npy"), "no array").unwrap();
    assert_refused(&run(folder.path(), &["report", "results"]), 3, &["cannot read results/left.npy"]);
    fs::remove_file(results.join("metrics.json")).unwrap();
    assert_refused(&run(folder.path(), &["report", "results"]), 3, &["holds no finished run"]);
    let output = run(folder.path(), &["report", "results", "results", "--out=results"]);
    assert_refused(&output, 3, &["holds no finished run"]);
}

/// Catches isolated nodes that are counted by outgoing edges alone: node 3 of this graph has
/// incoming edges only.
#[test]
fn a_node_with_incoming_edges_only_is_not_isolated() {
    let folder = folder();
    fs::write(folder.path().join("edges.txt"), "0 1\n1 2\n2 0\n0 3\n1 3\n").unwrap();
    let own = ["--config=links", "--set=data.path=edges.txt", "--set=data.test=0", "--set=data.valid=0"];
    let options = ["--set=data.directed=true", "--set=embedding.rank=2", "--out=results"];
    assert_done(&run(folder.path(), &[&own[..], &options].concat()));
    let details: Value = serde_json::from_str(&read(&folder.path().join("results/report.json"))).unwrap();
    assert_eq!(details["degrees"]["isolated"], 0, "{}", details["degrees"]);
}

/// Catches plans that are made for the report alone: only a plan that is recorded while its stage
/// runs is there for the stage that embeds again.
#[test]
fn the_plan_is_that_of_the_stages_that_ran() {
    let folder = folder();
    assert_done(&small(folder.path(), &["--out=results", "--set=update.edges=valid"]));
    let details: Value = serde_json::from_str(&read(&folder.path().join("results/report.json"))).unwrap();
    let plan = details["plan"].as_str().unwrap();
    let stages: Vec<&str> = plan.lines().filter_map(|line| line.strip_prefix("== ")).collect();
    assert_eq!(stages, ["embedding", "update"], "{plan}");
    for word in ["N, nearly M", "N·G", "Nᵀ·G", "spmm ", "rank 4 by ", "planned in", "memory"] {
        assert!(plan.contains(word), "`{word}` is not in:\n{plan}");
    }
    // These would have to be planned for the report.
    assert!(!plan.contains("both, shared"), "{plan}");
}
