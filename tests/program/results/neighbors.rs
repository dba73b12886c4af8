//! `isvd-dist neighbors`

use std::fs;

use serde_json::Value;

use super::world::{World, cosine, dot};
use crate::support::{assert_done, assert_refused, text};

/// Neighbours from JSON: the id of each node, and the ids and scores of the nearest nodes.
fn asked(world: &World, arguments: &[&str]) -> Vec<(String, Vec<(String, f64)>)> {
    let output = world.ask("neighbors", &[arguments, &["--json"]].concat());
    assert_done(&output);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let one = |value: &Value| (value["node"].as_str().unwrap().to_owned(), value["score"].as_f64().unwrap());
    let of = |value: &Value| {
        let neighbors = value["neighbors"].as_array().unwrap().iter().map(one).collect();
        (value["node"].as_str().unwrap().to_owned(), neighbors)
    };
    answer.as_array().unwrap().iter().map(of).collect()
}

/// Compares all pairs, and checks that the answers are the nearest nodes.
fn assert_nearest(world: &World, found: &[(String, Vec<(String, f64)>)], score: impl Fn(usize, usize) -> f64) {
    let ids = world.ids();
    let row = |id: &String| ids.iter().position(|other| other == id).unwrap();
    for (id, neighbors) in found {
        let own = row(id);
        let mut expected: Vec<f64> =
            (0..ids.len()).filter(|&other| other != own).map(|other| score(own, other)).collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        for ((other, found), expected) in neighbors.iter().zip(expected) {
            assert_ne!(other, id);
            assert!((score(own, row(other)) - found).abs() < 1e-6, "{id} and {other}");
            assert!((found - expected).abs() < 1e-6, "{id}: {found} for {expected}");
        }
    }
}

#[test]
fn neighbors_are_those_of_comparing_all_pairs() {
    let world = World::new(&[]);
    fs::write(world.path("ids.txt"), world.ids().join("\n")).unwrap();
    let (left, right) = (world.rows("out/left.npy"), world.rows("out/right.npy"));
    let found = asked(&world, &["--nodes=ids.txt", "--top=7"]);
    assert_eq!(found.len(), world.ids().len());
    assert!(found.iter().all(|(_, neighbors)| neighbors.len() == 7));
    assert_nearest(&world, &found, |a, b| cosine(&left[a], &left[b]));
    for workers in ["--workers=1", "--workers=2", "--workers=3"] {
        assert_eq!(asked(&world, &["--nodes=ids.txt", "--top=7", workers]), found);
    }
    let of_right = asked(&world, &["--node=New York", "--which=right"]);
    assert_nearest(&world, &of_right, |a, b| cosine(&right[a], &right[b]));
    let both = |row: usize| [&left[row][..], &right[row]].concat();
    let of_both = asked(&world, &["--node=New York", "--node=a,b", "--which=both"]);
    assert_nearest(&world, &of_both, |a, b| cosine(&both(a), &both(b)));
    let by_score = asked(&world, &["--nodes=ids.txt", "--by=score"]);
    assert_nearest(&world, &by_score, |a, b| (dot(&left[a], &right[b]) + dot(&left[b], &right[a])) / 2.0);
}

#[test]
fn links_of_a_directed_graph_lead_from_the_node_that_is_asked_for() {
    let world = World::new(&["--set=data.directed=true"]);
    let (left, right) = (world.rows("out/left.npy"), world.rows("out/right.npy"));
    let found = asked(&world, &["--node=New York", "--node=node 77", "--by=score", "--top=20"]);
    assert_nearest(&world, &found, |a, b| dot(&left[a], &right[b]));
}

#[test]
fn answers_come_as_text_and_as_a_table_too() {
    let world = World::new(&[]);
    let output = world.ask("neighbors", &["--node=New York", "--node=a,b", "--top=2"]);
    assert_done(&output);
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!((lines.len(), lines[0], lines[3], lines[4]), (7, "New York", "", "a,b"));
    assert!(lines[1].starts_with("    1  ") && lines[2].starts_with("    2  "), "{lines:?}");
    let json = asked(&world, &["--node=a,b", "--top=3"]);
    let output = world.ask("neighbors", &["--node=a,b", "--top=3", "--csv"]);
    assert_done(&output);
    let expected = |(rank, (id, score)): (usize, &(String, f64))| {
        let id = if id.contains([',', '"']) { format!("\"{}\"", id.replace('"', "\"\"")) } else { id.clone() };
        format!("\"a,b\",{},{id},{score}\n", rank + 1)
    };
    let table: String = json[0].1.iter().enumerate().map(expected).collect();
    assert_eq!(text(&output.stdout), format!("node,rank,neighbor,score\n{table}"));
}

#[test]
fn ids_come_from_stdin_and_stay_in_their_order() {
    let world = World::new(&[]);
    let output =
        world.ask_with("neighbors", &["--nodes=-", "--top=1", "--csv"], "🦀 crab\r\n\n  it's\nNew York\nit's\n");
    assert_done(&output);
    let firsts: Vec<&str> = text(&output.stdout).lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(firsts, ["🦀 crab", "it's", "New York", "it's"]);
}

#[test]
fn unknown_nodes_are_named_with_what_was_probably_meant() {
    let world = World::new(&[]);
    let refused =
        |arguments: &[&str], code, words: &[&str]| assert_refused(&world.ask("neighbors", arguments), code, words);
    refused(&["--node=New Yrok"], 2, &["there is no node `New Yrok`", "did you mean `New York`?"]);
    refused(&["--node=something else altogether"], 2, &["no node `something else", "the first one is `New York`"]);
    fs::write(world.path("list.txt"), "a,b\nnode 9x\n").unwrap();
    refused(&["--nodes=list.txt"], 3, &["list.txt, line 2", "`node 9x`", "did you mean `node "]);
    refused(&["--nodes=nothing.txt"], 3, &["cannot read the nodes of nothing.txt", "one id a line"]);
    refused(&[], 2, &["--node <ID>"]);
    refused(&["--node=a,b", "--json", "--csv"], 2, &["cannot be used with"]);
}

#[test]
fn folders_without_vectors_are_refused_with_the_way_out() {
    let world = World::new(&[]);
    let elsewhere = world.run(&["neighbors", "--model=nowhere", "--node=1"]);
    assert_refused(&elsewhere, 3, &["nowhere holds no finished run", "its --out folder"]);
    let metrics = fs::read_to_string(world.path("out/metrics.json")).unwrap();
    fs::write(world.path("out/metrics.json"), metrics.replace("\"directed\": false,", "")).unwrap();
    assert_done(&world.ask("neighbors", &["--node=a,b"]));
    let words = ["metrics.json", "direction", "run the experiment again"];
    assert_refused(&world.ask("neighbors", &["--node=a,b", "--by=score"]), 3, &words);
    fs::write(world.path("out/metrics.json"), "{").unwrap();
    assert_refused(&world.ask("neighbors", &["--node=a,b"]), 3, &["metrics.json is damaged"]);
    let lengthen = |name: &str, bytes| {
        fs::File::options().write(true).open(world.path(name)).unwrap().set_len(bytes).unwrap();
        assert_refused(&world.ask("neighbors", &["--node=a,b"]), 3, &[name, "more than", "bytes"]);
    };
    lengthen("out/metrics.json", 1 << 40);
    fs::write(world.path("out/metrics.json"), metrics).unwrap();
    let ids = world.ids();
    lengthen("out/ids.txt", 1 << 40);
    fs::write(world.path("out/ids.txt"), ids[1..].join("\n") + "\n").unwrap();
    assert_refused(&world.ask("neighbors", &["--node=a,b"]), 3, &["ids.txt", "149 ids", "150 rows"]);
    fs::write(world.path("out/ids.txt"), format!("{}\n{}\n", ids[1], ids[1..].join("\n"))).unwrap();
    assert_refused(&world.ask("neighbors", &["--node=a,b"]), 3, &["ids.txt is damaged", "line 2", &ids[1]]);
    fs::write(world.path("out/left.npy"), "not an array").unwrap();
    assert_refused(&world.ask("neighbors", &["--node=a,b"]), 3, &["left.npy"]);
}

#[test]
fn vectors_of_a_matrix_of_ones_own() {
    let world = World::new(&["--matrix=rows(A, [0, 1, 2, 3, 4, 5, 6, 7])", "--set=embedding.rank=2"]);
    let found = asked(&world, &["--node=3", "--top=20"]);
    assert_eq!((found[0].0.as_str(), found[0].1.len()), ("3", 7), "rows that are no nodes go by their numbers");
    let words = ["8 × 150", "scores no pairs"];
    assert_refused(&world.ask("neighbors", &["--node=3", "--by=score"]), 3, &words);
    assert_refused(
        &world.ask("neighbors", &["--node=3", "--which=both"]),
        3,
        &["8 rows and 150 columns", "left or right"],
    );
}
