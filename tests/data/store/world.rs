//! Stores, and the results of runs on them.

use std::fs;
use std::path::Path;

use crate::support::answer::{self, Results, assert_same_results};
use crate::support::{assert_done, run};

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
    let mut files = answer::results(&folder.join("results"));
    // It contains the path of the data.
    files.remove("model.json");
    fs::remove_dir_all(folder.join("results")).unwrap();
    files
}

/// Converts a dataset, and runs on the original and on the store with 1, 2 and 3 workers.
#[track_caller]
pub fn assert_store_is_as_good(folder: &Path, convert_by: &[&str], run_by: &[&str]) {
    convert(folder, convert_by);
    assert_same_from_store(folder, run_by);
}

/// Runs on the original, and on `store` with 1, 2 and 3 workers.
#[track_caller]
pub fn assert_same_from_store(folder: &Path, run_by: &[&str]) {
    let original = results(folder, 1, run_by);
    for workers in [1, 2, 3] {
        let stored = results(folder, workers, &[run_by, &["--set=dataset=./store"]].concat());
        assert_same_results(&original, &stored, &format!("{run_by:?}, {workers} workers"));
    }
}

/// The files of a store.
pub fn files(store: &Path) -> Vec<String> {
    crate::support::names(store)
}

/// Changes a bit of a byte of a file.
pub fn flip(path: &Path, byte: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[byte] ^= 1;
    fs::write(path, bytes).unwrap();
}
