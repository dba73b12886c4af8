//! Stores, and what runs on them leave behind.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{assert_done, run, text};

/// What the files of a run hold, as far as it must not depend on who computed it or where the data came from.
pub type Results = BTreeMap<String, Vec<u8>>;

/// Converts the dataset of a config to `store` in the folder.
#[track_caller]
pub fn convert(folder: &Path, arguments: &[&str]) {
    assert_done(&run(folder, &[&["convert", "--out=store"], arguments].concat()));
}

/// Runs an experiment.
#[track_caller]
pub fn results(folder: &Path, workers: usize, arguments: &[&str]) -> Results {
    let workers = format!("--workers={workers}");
    assert_done(&run(folder, &[&["--out=results", &workers], arguments].concat()));
    let mut files = Results::new();
    for name in crate::support::names(&folder.join("results")) {
        let content = fs::read(folder.join("results").join(&name)).unwrap();
        match name.as_str() {
            // It says where the data are.
            "model.json" => {}
            "metrics.json" => drop(files.insert(name, without_circumstances(&content))),
            _ => drop(files.insert(name, content)),
        }
    }
    fs::remove_dir_all(folder.join("results")).unwrap();
    files
}

fn without_circumstances(metrics: &[u8]) -> Vec<u8> {
    let mut metrics: Value = serde_json::from_slice(metrics).unwrap();
    let object = metrics.as_object_mut().unwrap();
    for name in ["workers", "seconds", "peak_memory_bytes"] {
        object.shift_remove(name);
    }
    for stage in object["stages"].as_array_mut().unwrap() {
        stage.as_object_mut().unwrap().shift_remove("seconds");
    }
    metrics.to_string().into_bytes()
}

#[track_caller]
pub fn assert_same(one: &Results, other: &Results, what: &str) {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>(), "{what}");
    for (name, content) in one {
        let same = *content == other[name];
        assert!(same || name != "metrics.json", "{what}: {}\n{}", text(content), text(&other[name]));
        assert!(same, "{what}: {name} differs");
    }
}

/// Runs on the original and on its store, which is made first, by 1, 2 and 3 workers.
#[track_caller]
pub fn assert_store_is_as_good(folder: &Path, convert_by: &[&str], run_by: &[&str]) {
    convert(folder, convert_by);
    assert_same_from_store(folder, run_by);
}

/// Runs on the original, and by 1, 2 and 3 workers on `store`.
#[track_caller]
pub fn assert_same_from_store(folder: &Path, run_by: &[&str]) {
    let original = results(folder, 1, run_by);
    for workers in [1, 2, 3] {
        let stored = results(folder, workers, &[run_by, &["--set=dataset=./store"]].concat());
        assert_same(&original, &stored, &format!("{run_by:?}, {workers} workers"));
    }
}

/// The files of a store.
pub fn files(store: &Path) -> Vec<String> {
    crate::support::names(store)
}
