//! Several processes on one store: each reads its own tiles only.

use std::fs;

use super::world::{convert, flip};
use crate::support::{assert_done, folder, run, text};

const ON_STORE: [&str; 5] =
    ["--config=demo", "--set=dataset=./store", "--set=embedding.rank=4", "--set=embedding.iterations=1", "--workers=1"];

/// The last tile belongs to the last process. The first process does not read it and receives the
/// error of the other.
#[test]
fn a_damaged_tile_ends_the_process_that_has_it_and_the_others_name_it() {
    let folder = folder();
    convert(folder.path(), &["--config=demo"]);
    let tiles = folder.path().join("store/adjacency.tiles");
    let last_byte = fs::metadata(&tiles).unwrap().len() as usize - 1;
    for (processes, last) in [("2", "[1]"), ("3", "[2]")] {
        flip(&tiles, last_byte);
        let output = run(folder.path(), &[&["launch", "-n", processes], &ON_STORE[..]].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{message}");
        assert!(!message.contains("panicked") && !folder.path().join("out/demo/metrics.json").exists(), "{message}");
        let says =
            |process: &str, word: &str| message.lines().any(|line| line.contains(process) && line.contains(word));
        assert!(says(last, "adjacency.tiles, tile ") && says(last, "isvd-dist convert"), "{message}");
        assert!(says("[0]", "adjacency.tiles, tile ") && says("[0]", "process "), "{message}");
        flip(&tiles, last_byte);
    }
    assert_done(&run(folder.path(), &[&["launch", "-n", "2", "--quiet"], &ON_STORE[..]].concat()));
}
