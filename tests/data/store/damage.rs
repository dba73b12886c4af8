//! Damage is detected and named. It causes neither panics nor wrong results.

use std::fs;
use std::path::Path;

use isvd_dist::dataset::catalog::sha256;
use isvd_dist::dataset::store::{Store, StoreError};
use isvd_dist::graph::Import;

use super::made_up::{small, write};
use super::world::{convert, files, flip};
use crate::support::{assert_done, assert_refused, folder, run};

/// Reads all pieces of the store.
fn use_all(store: &Path) -> Result<(), StoreError> {
    let dataset = Store::open(store)?.dataset()?;
    dataset.graph.list()?;
    Ok(dataset.graph.stored_graph(Import::default())?.expect("made in this way").ready()?)
}

/// Every changed byte of every file is detected.
#[test]
fn every_changed_byte_is_detected() {
    let folder = folder();
    let store = folder.path().join("store");
    write(&small(), Import::default(), &store);
    use_all(&store).unwrap();
    for name in files(&store) {
        let path = store.join(&name);
        let whole = fs::read(&path).unwrap();
        for byte in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[byte] ^= 1 << (byte % 8);
            fs::write(&path, damaged).unwrap();
            assert!(Store::open(&store).and_then(|store| store.verify()).is_err(), "byte {byte} of {name}");
            assert!(use_all(&store).is_err(), "byte {byte} of {name}");
        }
        fs::write(&path, whole).unwrap();
    }
    use_all(&store).unwrap();
}

#[test]
fn missing_and_truncated_files_are_detected() {
    let folder = folder();
    let store = folder.path().join("store");
    write(&small(), Import::default(), &store);
    for name in files(&store) {
        let path = store.join(&name);
        let whole = fs::read(&path).unwrap();
        let longer = [&whole[..], &[0]].concat();
        for other in [&whole[..whole.len().saturating_sub(1)], &whole[..whole.len() / 2], &[], &longer] {
            if other.len() != whole.len() {
                fs::write(&path, other).unwrap();
                let error = Store::open(&store).expect_err(&name).to_string();
                assert!(error.contains(&name) && error.contains("convert the dataset"), "{error}");
            }
        }
        fs::remove_file(&path).unwrap();
        let error = Store::open(&store).expect_err(&name).to_string();
        assert!(error.contains(&name) && error.contains("convert the dataset"), "{error}");
        fs::write(&path, whole).unwrap();
    }
    use_all(&store).unwrap();
}

#[test]
fn the_program_names_the_file_the_tile_and_the_way_out() {
    let folder = folder();
    let on_store = ["--config=demo", "--set=dataset=./store", "--set=embedding.rank=4", "--set=embedding.iterations=1"];
    convert(folder.path(), &["--config=demo"]);
    let store = folder.path().join("store");
    flip(&store.join("adjacency.tiles"), 0);
    let words = ["adjacency.tiles, tile 0", "isvd-dist convert"];
    assert_refused(&run(folder.path(), &on_store), 3, &words);
    assert_refused(&run(folder.path(), &[&["explain"], &on_store[..]].concat()), 3, &words);

    convert(folder.path(), &["--config=demo"]);
    flip(&store.join("edges.u32"), 0);
    assert_done(&run(folder.path(), &on_store));
    let tuned = [&on_store[..], &["--set=finetune.epochs=1"]].concat();
    assert_refused(&run(folder.path(), &tuned), 3, &["edges.u32 was damaged", "isvd-dist convert"]);
}

#[test]
fn a_store_of_another_format_is_refused() {
    let folder = folder();
    convert(folder.path(), &["--config=demo"]);
    let manifest = folder.path().join("store/store.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("\"version\": 2", "\"version\": 1", 1)).unwrap();
    let sum = format!("{}  store.json\n", sha256(&manifest).unwrap());
    fs::write(folder.path().join("store/store.sum"), sum).unwrap();
    let on_store = ["--config=demo", "--set=dataset=./store"];
    assert_refused(
        &run(folder.path(), &on_store),
        3,
        &["store.json", "format 1", "reads format 2", "isvd-dist convert"],
    );
}

/// A store with valid checksums and impossible numbers is also refused.
#[test]
fn impossible_numbers_are_refused() {
    let folder = folder();
    let store = folder.path().join("store");
    let manifest = store.join("store.json");
    let changes = [
        ("\"nodes\": 5", "\"nodes\": 4"),
        ("\"nodes\": 5", "\"nodes\": 18446744073709551615"),
        ("\"edges\": 4", "\"edges\": 5"),
        ("\"features\": 3", "\"features\": 0"),
        ("\"runs\": 4", "\"runs\": 18446744073709551615"),
        ("\"nonzeros\": 4", "\"nonzeros\": 400"),
        ("\"weighted\": true", "\"weighted\": false"),
        ("\"labels.u32\"", "\"../store/labels.u32\""),
        ("\"tile_rows\": 64", "\"tile_rows\": 0"),
        ("\"bytes\": 320", "\"bytes\": 18446744073709551615"),
    ];
    for (before, after) in changes {
        write(&small(), Import::default(), &store);
        let text = fs::read_to_string(&manifest).unwrap();
        assert!(text.contains(before), "{before} is not in {text}");
        fs::write(&manifest, text.replacen(before, after, 1)).unwrap();
        fs::write(store.join("store.sum"), format!("{}  store.json\n", sha256(&manifest).unwrap())).unwrap();
        let used = use_all(&store);
        // Only classification reads the features, and the number of values is known only from the
        // arrays.
        assert!(used.is_err() || ["\"features\": 3", "\"weighted\": true"].contains(&before), "{before} → {after}");
    }
}
