//! `isvd-dist score`

use std::fs;

use super::world::{World, dot};
use crate::support::{assert_done, assert_refused, names, text};

#[test]
fn pairs_are_scored_with_the_users_own_ids() {
    let world = World::new(&[]);
    let (ids, left, right) = (world.ids(), world.rows("out/left.npy"), world.rows("out/right.npy"));
    fs::write(world.path("pairs.tsv"), "New York\ta,b\n🦀 crab\tsay \"hi\"\nNew York\tNew York\n").unwrap();
    let output = world.ask("score", &["--edges=pairs.tsv"]);
    assert_done(&output);
    let mut lines = text(&output.stdout).lines();
    assert_eq!(lines.next(), Some("source\ttarget\tscore"));
    let row = |id: &str| ids.iter().position(|other| other == id).unwrap();
    for (line, (source, target)) in
        lines.zip([("New York", "a,b"), ("🦀 crab", "say \"hi\""), ("New York", "New York")])
    {
        let fields: Vec<&str> = line.split('\t').collect();
        let shown = if target.contains('"') { "\"say \"\"hi\"\"\"" } else { target };
        assert_eq!(fields[..2], [source, shown]);
        let (a, b) = (row(source), row(target));
        let expected = (dot(&left[a], &right[b]) + dot(&left[b], &right[a])) / 2.0;
        assert!((fields[2].parse::<f64>().unwrap() - expected).abs() < 1e-6, "{line}");
    }
    assert_done(&world.ask("score", &["--edges=pairs.tsv", "--out=deep/scores.tsv"]));
    assert_eq!(fs::read_to_string(world.path("deep/scores.tsv")).unwrap(), text(&output.stdout));
    assert_eq!(names(&world.path("deep")), ["scores.tsv"]);
}

#[test]
fn the_best_links_of_a_node_have_the_score_of_the_pair() {
    let world = World::new(&["--set=data.directed=true"]);
    let output = world.ask("neighbors", &["--node=New York", "--by=score", "--csv", "--top=149"]);
    assert_done(&output);
    // Names with quotes are written in quotes in both.
    let listed: Vec<(&str, &str)> = text(&output.stdout)
        .lines()
        .skip(1)
        .filter_map(|line| line.rsplit_once(','))
        .map(|(start, score)| (start.splitn(3, ',').nth(2).unwrap(), score))
        .filter(|(id, _)| !id.contains('"'))
        .collect();
    let pairs: String = listed.iter().map(|(id, _)| format!("New York\t{id}\n")).collect();
    fs::write(world.path("pairs.tsv"), pairs).unwrap();
    let output = world.ask("score", &["--edges=pairs.tsv"]);
    assert_done(&output);
    let scored: Vec<&str> =
        text(&output.stdout).lines().skip(1).map(|line| line.rsplit_once('\t').unwrap().1).collect();
    assert!(scored.len() > 140);
    assert_eq!(scored, listed.iter().map(|(_, score)| *score).collect::<Vec<_>>());
}

#[test]
fn unknown_ids_are_refused_with_their_line_or_counted() {
    let world = World::new(&[]);
    fs::write(world.path("pairs.tsv"), "# pairs\nNew York\ta,b\nNew York\tnode 999\nx\ty\n").unwrap();
    let words = ["pairs.tsv, line 3", "`node 999`", "did you mean `node 99`?", "--skip-unknown"];
    assert_refused(&world.ask("score", &["--edges=pairs.tsv", "--out=scores.tsv"]), 3, &words);
    assert!(!world.path("scores.tsv").exists());
    let output = world.ask("score", &["--edges=pairs.tsv", "--skip-unknown"]);
    assert_eq!((output.status.code(), text(&output.stdout).lines().count()), (Some(0), 2));
    assert!(text(&output.stderr).contains("2 of 3 pairs were left out"), "{}", text(&output.stderr));
    assert_refused(&world.ask("score", &["--edges=nothing.tsv"]), 3, &["nothing.tsv"]);
    fs::write(world.path("empty.tsv"), "").unwrap();
    assert_refused(&world.ask("score", &["--edges=empty.tsv"]), 3, &["empty.tsv is empty"]);
}

#[test]
fn a_place_that_takes_no_file_is_refused_before_anything_is_read() {
    let world = World::new(&[]);
    let refused = world.ask("score", &["--edges=edges.tsv", "--out=out"]);
    assert_refused(&refused, 1, &["out is there and is no file", "--out"]);
    if cfg!(unix) {
        assert_refused(&world.ask("score", &["--edges=edges.tsv", "--out=/dev/null"]), 1, &["/dev/null", "is no file"]);
    }
}
