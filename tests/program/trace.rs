//! Logs and traces of a run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{assert_done, assert_refused, folder, run, said, text};

const DEMO: [&str; 4] = ["--set=embedding.rank=4", "--set=embedding.iterations=2", "--out=results", "--quiet"];

fn events(path: &Path) -> Vec<Value> {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The workers that have an event of this kind. Each has two rows in the trace, the second for
/// waiting.
fn workers(events: &[Value], kind: &str) -> BTreeSet<u64> {
    events.iter().filter(|event| event["cat"] == kind).map(|event| event["tid"].as_u64().unwrap() / 2).collect()
}

#[test]
fn a_time_line_has_every_step_of_every_worker() {
    for count in [1, 2, 3] {
        let folder = folder();
        let workers_option = format!("--workers={count}");
        let output = run(folder.path(), &[&DEMO[..], &[&workers_option, "--trace=steps.json"]].concat());
        assert_done(&output);
        let events = events(&folder.path().join("steps.json"));
        assert_eq!(workers(&events, "step"), (0..count).collect(), "steps of all {count}");
        let products = |worker| {
            let of_worker = events.iter().filter(|event| event["cat"] == "step" && event["tid"] == 2 * worker);
            of_worker.filter(|event| event["name"].as_str().unwrap().contains("A·")).count()
        };
        assert!(products(0) > 10, "the steps of a program have its names");
        assert!((1..count).all(|worker| products(worker) == products(0)), "all workers do the same steps");
        assert!(events.iter().all(|event| event["pid"] == 0));
        assert!(workers(&events, "sent").is_empty(), "nothing goes to other processes");

        let metrics = fs::read_to_string(folder.path().join("results/metrics.json")).unwrap();
        let metrics: Value = serde_json::from_str(&metrics).unwrap();
        match count {
            1 => assert_eq!(metrics["time_by_worker"], Value::Null),
            _ => {
                let figures = metrics["time_by_worker"].as_array().unwrap();
                assert_eq!(figures.len() as u64, count);
                let total = metrics["seconds"]["total"].as_f64().unwrap();
                for (worker, figures) in figures.iter().enumerate() {
                    let [computing, waiting] = ["computing", "waiting"].map(|name| figures[name].as_f64().unwrap());
                    assert!(computing > 0.0 && computing + waiting <= total, "{figures} of {total} seconds");
                    assert_eq!(figures["waiting_for"][worker.to_string()], Value::Null, "no worker waits for itself");
                }
            }
        }
    }
}

#[test]
fn every_process_has_its_own_time_line_and_says_what_it_sent() {
    let folder = folder();
    let output =
        run(folder.path(), &[&["launch", "-n", "2", "--workers=1"], &DEMO[..], &["--trace=steps.json"]].concat());
    assert_done(&output);
    for (process, name) in [(0, "steps.json"), (1, "steps.1.json")] {
        let events = events(&folder.path().join(name));
        assert!(events.iter().all(|event| event["pid"] == process), "{name}");
        assert_eq!(workers(&events, "step"), BTreeSet::from([process]));
        assert_eq!(workers(&events, "sent"), BTreeSet::from([process]));
    }
    let metrics = fs::read_to_string(folder.path().join("results/metrics.json")).unwrap();
    let metrics: Value = serde_json::from_str(&metrics).unwrap();
    let [own, other] = [0, 1].map(|worker| metrics["time_by_worker"][worker]["sent_bytes"].as_u64().unwrap());
    let on_the_wire = metrics["network_bytes_sent"].as_u64().unwrap();
    assert!(own > 0 && other > 0);
    assert!(own < on_the_wire, "{own} bytes of numbers among {on_the_wire} on the wire");
}

#[test]
fn a_time_line_that_cannot_be_written_is_an_error_before_anything_is_computed() {
    let folder = folder();
    let output = run(folder.path(), &[&DEMO[..], &["--trace=missing/steps.json"]].concat());
    assert_refused(&output, 1, &["missing/steps.json", "--trace"]);
    assert!(!folder.path().join("results").exists());
}

#[test]
fn steps_are_logged_on_request() {
    let folder = folder();
    let output = run(folder.path(), &[&DEMO[..], &["--workers=2", "--log=trace"]].concat());
    assert_eq!(output.status.code(), Some(0));
    let mut lines = text(&output.stderr).lines();
    assert!(lines.any(|line| line.contains("worker=1") && line.contains("A·")), "steps of the second worker");
    let output = run(folder.path(), &[&DEMO[..], &["--log=debug"]].concat());
    let lines = text(&output.stderr);
    for words in
        ["loaded dataset=\"demo\" nodes=5000", "begins stage=\"embedding\"", "done=2", "ends stage=\"embedding\""]
    {
        assert!(lines.contains(words), "`{words}` is not in: {lines}");
    }
    assert!(!lines.contains("worker="), "no single steps: {lines}");
    let output = run(folder.path(), &DEMO);
    assert_eq!(said(text(&output.stderr)), "", "nothing unasked");
}
