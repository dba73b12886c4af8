//! The results of a run, without the parts that depend on workers and processes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

/// Results that must be equal bit for bit.
#[derive(PartialEq)]
pub struct Answer {
    pub left: Vec<u8>,
    pub right: Vec<u8>,
    pub singular_values: Vec<u8>,
    pub ids: Vec<u8>,
    pub metrics: Value,
}

pub fn run(workers: usize, transport: &str, more: &[&str]) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let output = cargo_bin_cmd!("isvd-dist")
        .current_dir(folder.path())
        .arg(format!("--workers={workers}"))
        .arg(format!("--transport={transport}"))
        .args(["--json", "--out=results"])
        .args(more)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metrics: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(metrics["workers"], workers);
    let read = |name: &str| fs::read(folder.path().join("results").join(name)).unwrap();
    Answer {
        left: read("left.npy"),
        right: read("right.npy"),
        singular_values: read("singular_values.npy"),
        ids: read("ids.txt"),
        metrics: without_circumstances(metrics),
    }
}

/// Removes workers, processes, times, memory and traffic, which may differ.
pub fn without_circumstances(mut metrics: Value) -> Value {
    let object = metrics.as_object_mut().unwrap();
    for name in ["workers", "processes", "seconds", "peak_memory_bytes"] {
        assert!(object.shift_remove(name).is_some(), "{name}");
    }
    for name in ["network_bytes_sent", "time_by_worker"] {
        object.shift_remove(name);
    }
    without_seconds(&mut object["stages"]);
    metrics
}

/// Removes the command, the date and the plan, which may differ between reports.
fn without_occasion(mut details: Value) -> Value {
    let object = details.as_object_mut().unwrap();
    for name in ["command", "written", "plan"] {
        assert!(object.shift_remove(name).is_some(), "{name}");
    }
    details
}

/// Stages and epochs have times and memory peaks.
fn without_seconds(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.shift_remove("seconds");
            entries.shift_remove("peak_memory_bytes");
            entries.values_mut().for_each(without_seconds);
        }
        Value::Array(values) => values.iter_mut().for_each(without_seconds),
        _ => {}
    }
}

/// The files of a folder of results.
pub type Results = BTreeMap<String, Vec<u8>>;

/// Every file of a folder of results, without the parts that depend on workers and processes. The
/// report is omitted, because it is made of two other files.
pub fn results(folder: &Path) -> Results {
    let read = |name: String| {
        let content = fs::read(folder.join(&name)).unwrap();
        let content = match name.as_str() {
            "metrics.json" => without_circumstances(serde_json::from_slice(&content).unwrap()).to_string().into_bytes(),
            "report.json" => without_occasion(serde_json::from_slice(&content).unwrap()).to_string().into_bytes(),
            "report.html" => Vec::new(),
            _ => content,
        };
        (name, content)
    };
    super::names(folder).into_iter().map(read).collect()
}

#[track_caller]
pub fn assert_same_results(one: &Results, other: &Results, what: &str) {
    assert!(one.keys().eq(other.keys()), "{what}: {:?} and {:?}", one.keys(), other.keys());
    for (name, content) in one {
        let same = *content == other[name];
        assert!(same || name != "metrics.json", "{what}: {}\n{}", super::text(content), super::text(&other[name]));
        assert!(same, "{what}: {name} differs");
    }
}

#[track_caller]
pub fn assert_same(one: &Answer, other: &Answer, what: &str) {
    assert!(one.singular_values == other.singular_values, "{what}: singular values differ");
    assert!(one.left == other.left, "{what}: left vectors differ");
    assert!(one.right == other.right, "{what}: right vectors differ");
    assert!(one.ids == other.ids, "{what}: ids differ");
    assert_eq!(one.metrics, other.metrics, "{what}");
}
