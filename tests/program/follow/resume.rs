//! A run that is interrupted at any moment resumes, and every batch is applied once.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use super::world::{World, left_behind, logged, within_a_minute};

#[test]
fn a_killed_run_resumes_with_the_same_bits() {
    survives_kills(&["--updates=updates.txt", "--batch=5"]);
}

#[test]
fn a_killed_run_resumes_in_its_folder() {
    survives_kills(&["--updates=inbox"]);
}

/// Every batch is embedded and every embedding saved, and the run is killed at several moments.
#[track_caller]
fn survives_kills(source: &[&str]) {
    let world = World::new(50);
    world.inbox(5);
    let arguments = [source, &["--save=0", "--changes=changes", "--epsilon=0.001"]].concat();
    world.follow(&arguments);
    let expected = left_behind(world.path());
    fs::remove_dir_all(world.path().join("out")).unwrap();
    fs::remove_dir_all(world.path().join("changes")).unwrap();
    let mut kills = 0;
    for pause in [5, 20, 35, 40, 120, 170, 60, 90] {
        let workers = format!("--workers={}", 1 + pause % 3);
        let before = logged(world.path());
        let mut run = world.start(&[&arguments[..], &["--resume", &workers]].concat());
        let mut is_over = || run.0.try_wait().unwrap().is_some();
        // Right after a batch, or at any moment.
        match pause % 20 {
            0 => within_a_minute("no batch", || logged(world.path()) > before || is_over()),
            _ => sleep(Duration::from_millis(pause)),
        }
        kills += usize::from(!is_over());
    }
    assert!(kills > 2, "it was killed {kills} times");
    world.follow(&[&arguments[..], &["--resume"]].concat());
    assert!(left_behind(world.path()) == expected);
}

#[test]
fn unsaved_embeddings_are_recomputed() {
    let world = World::new(80);
    let arguments = ["--updates=updates.txt", "--batch=8", "--embed=3", "--save=off"];
    world.follow(&arguments);
    let expected = left_behind(world.path());
    let log = fs::read(world.path().join("out/mine/follow.log")).unwrap();
    let end = log.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(5).unwrap().0;
    for cut in [end + 1, end + 40] {
        // The log of a run that was killed after its fifth batch, or while it wrote the sixth.
        fs::remove_dir_all(world.path().join("out")).unwrap();
        fs::create_dir_all(world.path().join("out/mine")).unwrap();
        fs::write(world.path().join("out/mine/follow.log"), &log[..cut]).unwrap();
        let resumed = world.follow(&[&arguments[..], &["--resume"]].concat());
        assert!(resumed.said.contains("resumed after 5 batches"), "{}", resumed.said);
        assert_eq!(resumed.said.contains("was not finished"), cut > end + 1, "{}", resumed.said);
        assert!(left_behind(world.path()) == expected);
    }
}

#[test]
fn a_damaged_log_is_refused_with_its_place() {
    let world = World::new(40);
    world.follow(&["--updates=updates.txt", "--batch=8"]);
    let path = world.path().join("out/mine/follow.log");
    let mut log = fs::read(&path).unwrap();
    let second = log.iter().position(|byte| *byte == b'\n').unwrap() + 30;
    log[second] ^= 1;
    fs::write(&path, log).unwrap();
    let (status, said, _) = world.start(&["--updates=updates.txt", "--batch=8", "--resume"]).end();
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains("follow.log, line 2") && said.contains("without --resume"), "{said}");
    let fresh = world.follow(&["--updates=updates.txt", "--batch=8"]);
    assert!(fresh.said.contains("is replaced"), "{}", fresh.said);
}

#[test]
fn the_log_of_another_run_is_refused() {
    let world = World::new(30);
    world.follow(&["--updates=updates.txt", "--batch=10"]);
    let refused = |arguments: &[&str], words: &[&str]| {
        let (status, said, _) = world.start(&[&["--updates=updates.txt", "--resume"][..], arguments].concat()).end();
        assert_eq!(status.code(), Some(2), "{said}");
        words.iter().for_each(|word| assert!(said.contains(word), "`{word}` is not in: {said}"));
    };
    refused(&["--seed=9"], &["another run", "seed was 1 and is 9"]);
    refused(&["--set=embedding.rank=5"], &["embedding.rank was 6 and is 5"]);
    let edges = world.path().join("edges.txt");
    let text = fs::read_to_string(&edges).unwrap();
    fs::write(&edges, format!("{text}58 59 2\n")).unwrap();
    refused(&[], &["the data was"]);
    fs::write(&edges, text).unwrap();
    world.follow(&["--updates=updates.txt", "--batch=3", "--resume", "--workers=1"]);
}

#[test]
fn a_changed_stream_is_refused() {
    let world = World::new(30);
    world.follow(&["--updates=updates.txt", "--batch=10"]);
    let path = world.path().join("updates.txt");
    let refused = |text: &str, words: &str| {
        fs::write(&path, text).unwrap();
        let (status, said, _) = world.start(&["--updates=updates.txt", "--resume"]).end();
        assert_eq!(status.code(), Some(3), "{said}");
        assert!(said.contains(words), "{said}");
    };
    refused(&world.text().replacen('+', "-", 1), "are not those that were applied before");
    refused(&world.text()[..40], "are not those that were applied before");
    refused("", "are not those that were applied before");
    fs::write(&path, world.text() + "900 + 0 900\n").unwrap();
    let resumed = world.follow(&["--updates=updates.txt", "--resume"]);
    assert_eq!(resumed.lines()[0]["new_nodes"], 1);
    assert_eq!(resumed.summary()["updates"], world.lines.len() + 1);
}
