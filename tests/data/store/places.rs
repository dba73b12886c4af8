//! The targets of conversions, and the files that are left by failed conversions.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use isvd_dist::dataset::store::Store;

use super::world::convert;
use crate::support::{assert_done, assert_refused, folder, names, run};

#[test]
fn a_target_that_is_no_store_is_not_replaced() {
    let folder = folder();
    let mine = folder.path().join("store");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("thesis.txt"), "years of work").unwrap();
    let refused = |out: &str| {
        let words = [out, "is no store", "--out"];
        assert_refused(&run(folder.path(), &["convert", "--config=demo", "--out", out]), 2, &words);
    };
    refused("store");
    refused("store/thesis.txt");
    assert_eq!(names(folder.path()), ["store"], "nothing else is left");
    assert_eq!(fs::read_to_string(mine.join("thesis.txt")).unwrap(), "years of work");
    fs::remove_file(mine.join("thesis.txt")).unwrap();
    convert(folder.path(), &["--config=demo"]);
    assert_eq!(names(folder.path()), ["store"], "an empty folder becomes the store");
}

#[test]
fn a_store_replaces_another_even_the_one_it_is_made_of() {
    let folder = folder();
    convert(folder.path(), &["--config=demo", "--set=dataset=rmat-8"]);
    convert(folder.path(), &["--config=demo"]);
    let manifest = fs::read(folder.path().join("store/store.json")).unwrap();
    convert(folder.path(), &["--config=demo", "--set=dataset=./store"]);
    assert_eq!(fs::read(folder.path().join("store/store.json")).unwrap(), manifest);
    assert_eq!(names(folder.path()), ["store"]);
}

#[test]
fn a_dataset_that_cannot_be_read_leaves_nothing() {
    let folder = folder();
    let arguments = ["convert", "--config=demo", "--set=dataset=stores/none", "--out=store"];
    assert_refused(&run(folder.path(), &arguments), 3, &["stores/none", "isvd-dist convert"]);
    assert!(names(folder.path()).is_empty());
}

/// A conversion that is killed at any moment leaves no store or a complete one.
#[test]
fn an_interrupted_conversion_leaves_no_partial_store() {
    for delay in [1, 5, 20, 60, 150] {
        let folder = folder();
        let mut conversion = Command::new(cargo_bin!("isvd-dist"))
            .current_dir(folder.path())
            .args(["convert", "--config=demo", "--set=dataset=rmat-14", "--out=store"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        let _ = conversion.kill();
        conversion.wait().unwrap();
        let store = folder.path().join("store");
        if store.exists() {
            Store::open(&store).and_then(|store| store.verify()).unwrap();
        }
        let others = names(folder.path()).into_iter().filter(|name| name != "store");
        assert!(others.into_iter().all(|name| name.starts_with(".store.")), "after {delay} ms");
        convert(folder.path(), &["--config=demo", "--set=dataset=rmat-8"]);
        assert_done(&run(folder.path(), &["explain", "--config=demo", "--set=dataset=./store"]));
    }
}
