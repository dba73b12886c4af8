//! `isvd-dist export`

use std::fs;

use super::world::{World, rows};
use crate::support::{assert_done, assert_refused, names, text};

#[test]
fn a_table_has_every_number_to_the_last_bit() {
    let world = World::demo();
    let output = world.ask("export", &["--format=csv", "--which=both", "--out=made/vectors.csv"]);
    assert_done(&output);
    assert!(text(&output.stdout).contains("5,000 × 8") && text(&output.stdout).contains("made/vectors.csv"));
    let (left, right) = (world.rows("out/left.npy"), world.rows("out/right.npy"));
    let table = fs::read_to_string(world.path("made/vectors.csv")).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("id,left_0,left_1,left_2,left_3,right_0,right_1,right_2,right_3"));
    for (row, (line, id)) in lines.zip(world.ids()).enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        let numbers: Vec<f64> = fields[1..].iter().map(|field| f64::from(field.parse::<f32>().unwrap())).collect();
        assert_eq!((fields[0], &numbers[..4], &numbers[4..]), (id.as_str(), &left[row][..], &right[row][..]));
    }
    assert_eq!(names(&world.path("made")), ["vectors.csv"]);
}

#[test]
fn an_array_has_its_ids_beside_it() {
    let world = World::new(&[]);
    assert_done(&world.ask("export", &["--format=npy", "--out=v.npy"]));
    assert_eq!(rows(&world.path("v.npy")), world.rows("out/left.npy"));
    assert_eq!(fs::read(world.path("v.ids.txt")).unwrap(), fs::read(world.path("out/ids.txt")).unwrap());
}

#[test]
fn what_cannot_be_exported_is_refused_and_nothing_is_left() {
    let world = World::new(&["--matrix=rows(A, [0, 1, 2])", "--set=embedding.rank=2"]);
    let before = names(world.path("out").parent().unwrap());
    let refused =
        |arguments: &[&str], code, words: &[&str]| assert_refused(&world.ask("export", arguments), code, words);
    refused(&["--format=csv", "--which=both", "--out=v.csv"], 2, &["3 rows and 150 columns", "left or right"]);
    refused(&["--format=csv", "--which=right", "--out=v.csv"], 3, &["150 vectors", "3 ids"]);
    refused(&["--format=xlsx", "--out=v"], 2, &["xlsx", "parquet"]);
    refused(&["--format=csv", "--out=out"], 1, &["is no file"]);
    assert_eq!(names(world.path("out").parent().unwrap()), before);
    assert_done(&world.ask("export", &["--format=npz", "--which=both", "--out=v.npz"]));
}
