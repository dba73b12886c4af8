//! Invalid updates are named with their position, counted, and have no other effect.

use std::fs;
use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

use super::world::{World, left_behind, logged, within_a_minute};

/// A test setup with this stream.
fn world(updates: &str) -> World {
    let world = World::new(0);
    fs::write(world.path().join("updates.txt"), updates).unwrap();
    world
}

#[test]
fn an_invalid_line_ends_the_run_after_the_batches_before_it() {
    let cases = [
        ("2 * 0 1", "updates.txt, line 3: found the operation `*`"),
        ("2 + 0", "line 3: found 3 fields in `2 + 0`"),
        ("2 + 0 1 2 3", "line 3: found 6 fields"),
        ("soon + 0 1", "line 3: found the time `soon`"),
        ("2024-01-01 + 0 1", "line 3: found the time 2024-01-01, expected a number, as the times before"),
        ("0 + 0 1", "line 3: found the time 0, expected a time of 1 or later"),
        ("2 + 0 1 nan", "line 3: found the weight `nan`"),
        ("2 + 0 1 -inf", "line 3: found the weight `-inf`"),
        ("2 = 0 1", "line 3: found no weight"),
        ("2 + 0 \"1\"", "line 3: found `\"1\"` in quotes"),
        (
            "2 + 0 1 1082040961",
            "line 3: found the weight `1082040961` of the edge 0 1, a time by its size, expected a weight",
        ),
        ("2 + 0 eve", "line 3: found the id `eve`, expected a number"),
        ("2 + 0 18446744073709551616", "line 3: found the id"),
    ];
    for (line, words) in cases {
        let world = world(&format!("1 + 0 950\n1 - 0 950\n{line}\n3 + 0 951\n"));
        let (status, said, _) = world.start(&["--updates=updates.txt", "--batch=2"]).end();
        assert_eq!(status.code(), Some(3), "{line}: {said}");
        assert!(said.contains(words) && said.contains("--tolerate"), "{line}: {said}");
        assert_eq!(logged(world.path()), 1, "{line}");
        assert!(world.path().join("out/mine/metrics.json").exists(), "{line}");
        let tolerant = world.follow(&["--updates=updates.txt", "--batch=2", "--resume", "--tolerate"]);
        let counts = tolerant.summary()["counts"].clone();
        assert_eq!(counts.as_object().unwrap().values().filter(|count| **count == 1).count(), 1, "{line}: {counts}");
        assert!(tolerant.said.contains(words), "{line}: {}", tolerant.said);
        assert_eq!(tolerant.summary()["updates"], 3, "{line}");
    }
}

#[test]
fn updates_of_missing_edges_are_counted() {
    let world = world("1 - 0 2\n1 + 0 1\n1 = 0 3 2\n1 - 700 701\n2 + 4 4\n2 + 800 0\n3 - 800 0\n");
    fs::write(world.path().join("edges.txt"), "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n7 0\n").unwrap();
    let rank = "--set=embedding.rank=3";
    let followed = world.follow(&["--updates=updates.txt", "--batch=100", "--set=data.self_loops=drop", rank]);
    let summary = followed.summary();
    let expected = serde_json::json!({
        "edges to add that were there": 1, "edges to remove that were not there": 2,
        "edges to weigh that were not there": 1, "self-loops left out": 1,
    });
    assert_eq!(summary["counts"], expected);
    assert_eq!(
        (&summary["edges_added"], &summary["new_nodes"], &summary["isolated_nodes"]),
        (&1.into(), &1.into(), &1.into())
    );
    for words in
        ["line 1: the edge 0 2 is to be removed", "line 2: the edge 0 1 is to be added", "line 5: 4 4 is a self-loop"]
    {
        assert!(followed.said.contains(words), "{}", followed.said);
    }
    // In successive batches the new node appears, loses its edge, and stays.
    let lines = world.follow(&["--updates=updates.txt", "--every=1", rank]).lines();
    assert_eq!(lines[3]["isolated"], serde_json::json!(["800"]));
    assert_eq!(lines[3]["nodes"], 9);
    assert_eq!(lines[2]["edges_added"], 2, "this time with its self-loop");
}

#[test]
fn weights_are_set_or_ignored_as_the_config_says() {
    let world = world("1 + 0 1 5\n1 = 1 2 0.5\n2 + 3 9 -0.0\n");
    fs::write(world.path().join("edges.txt"), "0 1\n1 2\n2 3\n3 9\n9 0\n").unwrap();
    let arguments = ["--updates=updates.txt", "--set=embedding.rank=2"];
    let summary = world.follow(&arguments).summary();
    assert_eq!(summary["edges_reweighted"], 3);
    let followed = world.follow(&[&arguments[..], &["--set=data.weights=ignore"]].concat());
    assert_eq!(followed.summary()["edges_reweighted"], 0);
    assert_eq!(followed.summary()["counts"]["weights ignored"], 3);
}

/// Catches a weight that is refused because it is large.
#[test]
fn a_weight_as_large_as_a_time_is_accepted_among_small_ones_or_by_the_config() {
    let cases = [
        ("1 + 0 950 1082040961\n1 + 1 951 0.5\n", &[][..]),
        ("1 + 0 950 1082040961\n1 + 1 951 1082155839\n", &["--set=data.weights=ignore"]),
        ("1 + 0 950 1082040961\n1 + 1 951 1082155839\n", &["--set=data.weights=third"]),
        ("1 - 0 950 1082040961\n1 + 1 951\n", &[]),
    ];
    for (stream, more) in cases {
        let followed = world(stream).follow(&[&["--updates=updates.txt"], more].concat());
        assert_eq!(followed.summary()["updates"], 2, "{stream}");
    }
}

/// The peak memory of a process.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// Catches a small compressed file whose batch exceeds the memory limit.
#[test]
fn a_batch_beyond_the_limit_on_memory_is_refused_with_its_file() {
    let world = world("1 + 0 950\n");
    let inbox = world.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    let file = fs::File::create(inbox.join("1.txt.gz")).unwrap();
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let lines = "1 + 0 950\n".repeat(100_000);
    (0..31).for_each(|_| packed.write_all(lines.as_bytes()).unwrap());
    packed.finish().unwrap();
    let nonsense = "nonsense\n".repeat(2_000_000);
    fs::write(world.path().join("nonsense.txt"), nonsense).unwrap();
    for (name, arguments) in [
        ("1.txt.gz", &["--updates=inbox"][..]),
        ("1.txt.gz", &["--updates=inbox/1.txt.gz", "--batch=4000000"]),
        ("nonsense.txt", &["--updates=nonsense.txt", "--tolerate"]),
    ] {
        let mut run = world.start(&[arguments, &["--memory=300MB"]].concat());
        let mut most = 0;
        within_a_minute("still running", || {
            most = most.max(peak(run.0.id()).unwrap_or(0));
            run.0.try_wait().unwrap().is_some()
        });
        let (status, said, _) = run.end();
        assert_eq!(status.code(), Some(2), "{arguments:?}: {said}");
        for word in [name, "expected at most 300 MB", "--memory"] {
            assert!(said.contains(word), "{arguments:?}: `{word}` is not in: {said}");
        }
        assert!(most <= 454_000_000, "{arguments:?}: {most} bytes");
    }
}

#[test]
fn each_kind_of_error_is_reported_a_few_times() {
    let world = world(&"1 - 0 900\n".repeat(50));
    let followed = world.follow(&["--updates=updates.txt"]);
    assert_eq!(followed.said.lines().count(), 6, "{}", followed.said);
    assert!(followed.said.contains("there are more edges to remove that were not there"), "{}", followed.said);
    assert_eq!(followed.summary()["counts"]["edges to remove that were not there"], 50);
}

#[test]
fn an_empty_stream_is_reported_and_no_error() {
    let world = world("");
    let followed = world.follow(&["--updates=updates.txt"]);
    assert!(followed.said.contains("updates.txt holds no updates"), "{}", followed.said);
    fs::create_dir(world.path().join("inbox")).unwrap();
    let followed = world.follow(&["--updates=inbox"]);
    assert!(followed.said.contains("inbox holds no updates"), "{}", followed.said);
    fs::write(world.path().join("inbox/1.txt"), "# nothing\n").unwrap();
    fs::write(world.path().join("inbox/2.txt"), "1 + 0 2\n").unwrap();
    let followed = world.follow(&["--updates=inbox"]);
    assert!(followed.said.contains("1.txt holds no updates"), "{}", followed.said);
    assert_eq!(followed.summary()["batches"], 2);
}

#[test]
fn an_incomplete_last_line_is_applied_and_must_not_change() {
    let world = world("1 + 0 2\n2 + 0 3");
    let followed = world.follow(&["--updates=updates.txt"]);
    assert!(followed.said.contains("line 2: the last line has no line feed"), "{}", followed.said);
    assert_eq!(followed.summary()["updates"], 2);
    let path = world.path().join("updates.txt");
    fs::write(&path, "1 + 0 2\n2 + 0 37\n").unwrap();
    let (status, said, _) = world.start(&["--updates=updates.txt", "--resume"]).end();
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains("line 2: the line goes on"), "{said}");
    fs::write(&path, "1 + 0 2\n2 + 0 3\n3 + 0 4\n").unwrap();
    assert_eq!(world.follow(&["--updates=updates.txt", "--resume"]).summary()["updates"], 3);
}

#[test]
fn a_watched_file_that_shrinks_or_is_replaced_is_named() {
    for (change, words) in [("cut", "it was cut off while it was watched"), ("replaced", "is another file")] {
        let world = world("1 + 0 2\n");
        let path = world.path().join("updates.txt");
        let run = world.start(&["--updates=updates.txt", "--watch", "--batch=1"]);
        within_a_minute("nothing was applied", || logged(world.path()) == 1);
        sleep(Duration::from_millis(50));
        match change {
            "cut" => fs::write(&path, "1").unwrap(),
            _ => {
                fs::write(world.path().join("other.txt"), "1 + 0 2\n2 + 0 3\n").unwrap();
                fs::rename(world.path().join("other.txt"), &path).unwrap();
            }
        }
        let (status, said, _) = run.end();
        assert_eq!(status.code(), Some(3), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn what_cannot_be_followed_is_refused_at_once() {
    let world = world("1 + 0 2\n");
    fs::create_dir(world.path().join("inbox")).unwrap();
    let refused = |arguments: &[&str], code: i32, words: &str| {
        let (status, said, printed) = world.start(arguments).end();
        assert_eq!((status.code(), printed.as_str()), (Some(code), ""), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    };
    refused(&["--updates=updates.txt", "--set=embedding.rank=best"], 2, "follow cannot choose the rank");
    refused(&["--updates=updates.txt", "--matrix=A"], 2, "follow cannot decompose a matrix given as text");
    refused(&["--updates=inbox", "--batch=3"], 2, "inbox is a folder");
    refused(&["--updates=-", "--watch"], 2, "without --watch");
    refused(&["--updates=none.txt"], 3, "cannot read none.txt");
    refused(&["--updates=updates.txt", "--batch=0"], 2, "--batch");
    refused(&["--updates=updates.txt", "--every=0d"], 2, "--every");
    refused(&["--updates=updates.txt", "--hosts=hosts.txt"], 2, "--hosts");
    fs::write(world.path().join("labels.toml"), "dataset = \"cora\"\n[classifier]\nlayers = 2\n").unwrap();
    let classifier = ["follow", "--config=labels.toml", "--updates=updates.txt"];
    let (status, said, _) = super::world::Run::start(world.path(), &classifier).end();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("follow cannot classify nodes"), "{said}");
}

/// Three batches. The second has a weight that overflows, and adds a node.
const OVERFLOW: &str = "1 + 0 950\n2 + 1 951 3e38\n2 + 951 2 3e38\n3 + 2 952\n";

/// Catches a batch that makes every later run fail: it is named, and neither the log nor the
/// results contain it.
#[test]
fn a_batch_that_cannot_be_embedded_is_refused_and_the_batches_before_it_stay() {
    for workers in ["--workers=1", "--workers=2", "--workers=3"] {
        let source = ["--updates=updates.txt", "--every=1", workers];
        let before = world("1 + 0 950\n");
        before.follow(&source);
        let world = world(OVERFLOW);
        for more in [&[][..], &["--resume"]] {
            let (status, said, _) = world.start(&[&source, more].concat()).end();
            assert_eq!(status.code(), Some(3), "{said}");
            for word in ["updates.txt", "batch 2", "cannot be embedded", "--tolerate"] {
                assert!(said.contains(word), "`{word}` is not in: {said}");
            }
            assert_eq!(logged(world.path()), 1);
            assert!(left_behind(world.path()) == left_behind(before.path()));
        }
        // After the correction, the run resumes.
        fs::write(world.path().join("updates.txt"), OVERFLOW.replace("3e38", "3")).unwrap();
        world.follow(&[&source[..], &["--resume"]].concat());
        let whole = self::world(&OVERFLOW.replace("3e38", "3"));
        whole.follow(&source);
        assert!(left_behind(world.path()) == left_behind(whole.path()));
    }
}

#[test]
fn with_tolerate_a_batch_that_cannot_be_embedded_is_left_out() {
    let source = ["--updates=updates.txt", "--every=1"];
    let without = world("1 + 0 950\n3 + 2 952\n");
    without.follow(&source);
    let vectors = |world: &World| {
        let mut left = left_behind(world.path());
        left.remove("figures");
        left
    };
    let expected = vectors(&without);
    let skipping = world(OVERFLOW);
    let followed = skipping.follow(&[&source[..], &["--tolerate"]].concat());
    assert!(followed.said.contains("batch 2") && followed.said.contains("cannot be embedded"), "{}", followed.said);
    assert_eq!(followed.summary()["counts"]["batches that cannot be embedded"], 1);
    assert_eq!((&followed.summary()["updates"], &followed.summary()["batches"]), (&2.into(), &3.into()));
    assert!(vectors(&skipping) == expected);
    let figures = left_behind(skipping.path());
    let resumed = skipping.follow(&[&source[..], &["--tolerate", "--resume"]].concat());
    assert!(left_behind(skipping.path()) == figures, "{}", resumed.said);

    // No out-degree overflows, so only the embedding shows the overflow.
    let source = [&source[..], &["--set=data.directed=true", "--set=embedding.normalize=symmetric"]].concat();
    let stream = "1 + 0 950\n2 + 1 951 3e38\n2 + 2 951 3e38\n3 + 2 952\n";
    let alone = world(stream);
    let followed = alone.follow(&[&source[..], &["--tolerate"]].concat());
    assert_eq!(followed.summary()["counts"]["batches that cannot be embedded"], 1);
    without.follow(&source);
    assert!(vectors(&alone) == vectors(&without));
}

/// Batches of a directed graph with symmetric normalisation. No degree shows that the third batch,
/// which adds a node, and the sixth overflow.
const SEVERAL: [&str; 7] = [
    "1 + 0 950\n",
    "2 + 2 952\n",
    "3 + 1 951 3e38\n3 + 2 951 3e38\n",
    "4 + 952 3\n4 - 0 950\n",
    "5 + 4 953\n",
    "6 + 5 953 3e38\n6 + 6 953 3e38\n",
    "7 + 953 8\n",
];
const SYMMETRIC: [&str; 4] =
    ["--updates=updates.txt", "--every=1", "--set=data.directed=true", "--set=embedding.normalize=symmetric"];

/// Catches a batch that makes every later run fail because it is embedded together with others: it
/// is found and treated as if it were embedded alone.
#[test]
fn the_cause_is_found_among_batches_that_are_embedded_together() {
    for embed in ["--embed=end", "--embed=7", "--embed=4"] {
        let source = [&SYMMETRIC[..], &[embed]].concat();
        let world = world(&SEVERAL.concat());
        for more in [&[][..], &["--resume"]] {
            let (status, said, _) = world.start(&[&source, more].concat()).end();
            assert_eq!(status.code(), Some(3), "{embed}: {said}");
            for word in ["batch 3 (updates.txt, lines 3 to 4) cannot be embedded", "--resume", "--tolerate"] {
                assert!(said.contains(word), "{embed}: `{word}` is not in: {said}");
            }
            assert_eq!(logged(world.path()), 2, "{embed}");
        }
        // After the correction, the run resumes and reaches the other one.
        fs::write(world.path().join("updates.txt"), SEVERAL.concat().replacen("3e38", "3", 2)).unwrap();
        let (status, said, _) = world.start(&[&source[..], &["--resume"]].concat()).end();
        assert_eq!(status.code(), Some(3), "{embed}: {said}");
        assert!(said.contains("batch 6 (") && logged(world.path()) == 5, "{embed}: {said}");
        let repaired = SEVERAL.concat().replace("3e38", "3");
        fs::write(world.path().join("updates.txt"), &repaired).unwrap();
        world.follow(&[&source[..], &["--resume"]].concat());
        let whole = self::world(&repaired);
        whole.follow(&source);
        assert!(left_behind(world.path()) == left_behind(whole.path()), "{embed}");
    }
}

#[test]
fn with_tolerate_every_cause_among_batches_that_are_embedded_together_is_left_out() {
    for (embed, workers) in [("--embed=end", "--workers=1"), ("--embed=4", "--workers=2"), ("--embed=2", "--workers=3")]
    {
        let source = [&SYMMETRIC[..], &[embed, workers]].concat();
        // The same batches without the invalid weights.
        let without = world(
            &SEVERAL
                .concat()
                .replace("1 951 3e38", "0 950")
                .replace("2 951 3e38", "0 950")
                .replace("5 953 3e38", "4 953")
                .replace("6 953 3e38", "4 953"),
        );
        without.follow(&source);
        let vectors = |world: &World| {
            let mut left = left_behind(world.path());
            left.remove("figures");
            left
        };
        let tolerant = world(&SEVERAL.concat());
        let followed = tolerant.follow(&[&source[..], &["--tolerate"]].concat());
        for word in ["batch 3 (", "batch 6 (", "cannot be embedded: left out"] {
            assert!(followed.said.contains(word), "{embed}: `{word}` is not in: {}", followed.said);
        }
        let summary = followed.summary();
        assert_eq!(summary["counts"]["batches that cannot be embedded"], 2, "{embed}");
        assert_eq!((&summary["updates"], &summary["batches"]), (&6.into(), &7.into()), "{embed}");
        assert!(vectors(&tolerant) == vectors(&without), "{embed}");
        let left = left_behind(tolerant.path());
        tolerant.follow(&[&source[..], &["--tolerate", "--resume"]].concat());
        assert!(left_behind(tolerant.path()) == left, "{embed}");
        // A run that ended at the first of them resumes with the same results.
        let resumed = world(&SEVERAL.concat());
        assert_eq!(resumed.start(&source).end().0.code(), Some(3), "{embed}");
        resumed.follow(&[&source[..], &["--tolerate", "--resume"]].concat());
        assert!(left_behind(resumed.path()) == left, "{embed}");
        // So does a run that was killed after logging all batches and before embedding them.
        let killed = world(&SEVERAL.concat());
        let run = killed.start(&[&SYMMETRIC[..], &["--embed=end", "--watch", workers]].concat());
        within_a_minute("not all batches are logged", || logged(killed.path()) == 6);
        drop(run);
        killed.follow(&[&source[..], &["--tolerate", "--resume"]].concat());
        assert!(left_behind(killed.path()) == left, "{embed}");
    }
}
