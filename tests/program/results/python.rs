//! Exports, read by other programs.

use std::process::Command;

use super::world::World;
use crate::support::need::{Need, found_or_skip};
use crate::support::python::python;
use crate::support::{assert_done, text};

const CHECK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/check.py");

/// NumPy, pandas, polars, gensim and scikit-learn find the ids and the numbers that the folder of
/// results holds.
#[test]
fn other_programs_open_the_exports() {
    let Some(python) = found_or_skip(Need::Python, python()) else { return };
    let worlds = [World::new(&[]), World::demo(), numbered()];
    for world in &worlds {
        for which in ["left", "right", "both"] {
            for format in ["npy", "npz", "csv", "tsv", "parquet", "word2vec"] {
                let (which, out) = (format!("--which={which}"), format!("--out={which}.{format}"));
                assert_done(&world.ask("export", &[&format!("--format={format}"), &which, &out]));
            }
        }
        let output = world.ask("neighbors", &["--nodes=out/ids.txt", "--top=5", "--csv"]);
        assert_done(&output);
        std::fs::write(world.path("neighbors.csv"), &output.stdout).unwrap();
    }
    let folders = worlds.iter().map(|world| world.path(""));
    let output = Command::new(python).arg(CHECK).args(folders).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), "numpy pandas polars gensim sklearn");
}

/// A graph whose ids are numbers with gaps.
fn numbered() -> World {
    let world = World::new(&[]);
    let edges: String = (0..200u64).map(|node| format!("{} {}\n", 10 + 3 * node, 10 + 3 * (node * 7 % 200))).collect();
    std::fs::write(world.path("numbers.txt"), edges).unwrap();
    let arguments = ["--config=links", "--set=data.path=numbers.txt", "--set=embedding.rank=6", "--out=out"];
    assert_done(&world.run(&arguments));
    world
}
