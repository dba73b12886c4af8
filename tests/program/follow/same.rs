//! A followed graph equals the graph that is read from its final list of edges.

use std::fs;

use serde_json::Value;

use super::world::{World, array, left_behind};

/// The graph equals the one read from the final list, and singular values agree within both
/// certificates.
#[test]
fn following_ends_with_the_graph_of_the_final_list() {
    let world = World::new(300);
    let scratch = world.anew();
    for arguments in [["--batch=7", "--embed=1"], ["--every=5", "--embed=4"], ["--batch=1000", "--embed=end"]] {
        let followed = world.follow(&[&["--updates=updates.txt"][..], &arguments[..]].concat());
        let out = world.path().join("out/mine");
        let metrics: serde_json::Value = serde_json::from_slice(&fs::read(out.join("metrics.json")).unwrap()).unwrap();
        assert_eq!(metrics["nodes"], scratch["nodes"], "{arguments:?}");
        assert_eq!(metrics["edges"], scratch["edges"], "{arguments:?}");
        assert_eq!(followed.summary()["updates"], world.lines.len(), "{arguments:?}");
        let ids = |folder: &str| fs::read_to_string(world.path().join(folder).join("ids.txt")).unwrap();
        assert_eq!(ids("out/mine"), ids("scratch"));
        let [values, expected] =
            ["out/mine", "scratch"].map(|folder| array(&world.path().join(folder).join("singular_values.npy")));
        let residual = |metrics: &serde_json::Value| metrics["stages"][0]["max_relative_residual"].as_f64().unwrap();
        let bound = (residual(&metrics) + residual(&scratch) + 1e-6) as f32;
        assert_eq!(values.len(), expected.len());
        for (value, expected) in values.iter().zip(&expected) {
            assert!((value - expected).abs() <= bound * expected, "{arguments:?}: {value} {expected} {bound}");
        }
    }
}

#[test]
fn one_two_and_three_workers_leave_the_same_bits() {
    let world = World::new(80);
    let follow = |workers: &str| {
        let changes = ["--changes=changes", "--epsilon=0.001", "--embed=2"];
        world.follow(&[&["--updates=updates.txt", "--batch=10", workers][..], &changes[..]].concat());
        left_behind(world.path())
    };
    let one = follow("--workers=1");
    assert!(one.len() > 5 + 3, "there are changes, too");
    assert!(follow("--workers=2") == one && follow("--workers=3") == one);
}

#[test]
fn only_rows_that_moved_are_written() {
    let world = World::new(40);
    // One new edge that affects few nodes, and two new nodes.
    fs::write(world.path().join("updates.txt"), "1 + 0 5\n2 + 900 901\n").unwrap();
    let follow = |epsilon: &str| {
        let followed = world.follow(&["--updates=updates.txt", "--batch=1", "--changes=new.csv", epsilon]);
        let lines = followed.lines();
        let moved = lines[2]["embedding"]["rows_moved"].as_u64().unwrap() as usize;
        let table = fs::read_to_string(world.path().join("new.csv")).unwrap();
        assert_eq!(table.lines().count(), moved + 1);
        assert!(table.starts_with("id,moved,left_1,") && table.lines().next().unwrap().ends_with(",right_6"));
        assert!(table.lines().any(|line| line.starts_with("900,")), "new rows have moved");
        (moved, lines[2]["nodes"].as_u64().unwrap() as usize)
    };
    let (few, nodes) = follow("--epsilon=1000");
    let (all, _) = follow("--epsilon=0");
    assert_eq!(nodes, 62);
    assert!(few < 10 && all > few, "{few} {all}");
}

#[test]
fn held_out_pairs_are_scored_on_request() {
    let world = World::new(20);
    let arguments = ["--updates=updates.txt", "--batch=10", "--set=data.test=0.1", "--set=data.valid=0.1"];
    let plain = world.follow(&arguments).lines();
    assert!(plain[1]["embedding"]["test"].is_null());
    let scored = world.follow(&[&arguments[..], &["--evaluate"]].concat()).lines();
    let auc = scored[1]["embedding"]["test"]["auc"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&auc));
    let metrics = fs::read(world.path().join("out/mine/metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_slice(&metrics).unwrap();
    assert!(metrics["stages"][0]["test"]["auc"].is_f64(), "the results always have them");
}

#[test]
fn a_store_is_followed_like_its_original() {
    let world = World::new(60);
    world.follow(&["--updates=updates.txt", "--batch=20"]);
    let expected = left_behind(world.path());
    let convert = ["convert", "--config=mine.toml", "--out=stores/mine"];
    let (status, said, _) = super::world::Run::start(world.path(), &convert).end();
    assert_eq!(status.code(), Some(0), "{said}");
    let config = fs::read_to_string(world.path().join("mine.toml")).unwrap();
    let (_, embedding) = config.split_once("[embedding]").unwrap();
    fs::write(world.path().join("mine.toml"), format!("dataset = \"stores/mine\"\n[embedding]{embedding}")).unwrap();
    world.follow(&["--updates=updates.txt", "--batch=20"]);
    assert!(left_behind(world.path()) == expected);
}

/// Catches a held-out edge that counts twice once the stream adds it.
#[test]
fn a_held_out_edge_that_the_stream_adds_counts_once() {
    let world = World::new(0);
    let edges: Vec<(u32, u32)> = world.after.keys().copied().collect();
    let counts = |lines: &str| {
        fs::write(world.path().join("updates.txt"), lines).unwrap();
        world.follow(&["--updates=updates.txt", "--batch=7", "--set=data.valid=0.1", "--set=data.test=0.2"]);
        let metrics: Value =
            serde_json::from_slice(&fs::read(world.path().join("out/mine/metrics.json")).unwrap()).unwrap();
        ["edges", "training_edges", "held_out_edges"].map(|key| metrics[key].as_u64().unwrap() as usize)
    };
    let added =
        |edges: &[(u32, u32)]| -> String { edges.iter().map(|(from, to)| format!("1 + {to} {from}\n")).collect() };
    let all = edges.len();
    let [count, training, held_out] = counts("");
    assert!(count == all && held_out > all / 5 && training + held_out == all, "{training} {held_out}");
    let half = counts(&added(&edges[..all / 2]));
    assert!(half[0] == all && half[1] > training && half[2] < held_out && half[2] > 0, "{half:?} of {all}");
    assert_eq!(counts(&added(&edges)), [all, all, 0]);
    let (from, to) = edges[0];
    assert_eq!(counts(&format!("{}2 - {from} {to}\n", added(&edges)))[1], all - 1);
}
