//! The same updates give the same results from every source and at every speed.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::world::{World, left_behind, logged, within_a_minute};

/// A prefix of the text, which may end within a line.
fn pieces(text: &str) -> impl Iterator<Item = &[u8]> {
    text.as_bytes().chunks(37)
}

#[test]
fn a_file_plain_or_packed_standard_input_and_a_growing_file_are_the_same() {
    let world = World::new(120);
    let rule = ["--batch=10", "--workers=1"];
    world.follow(&[&["--updates=updates.txt"][..], &rule[..]].concat());
    let expected = left_behind(world.path());

    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(world.text().as_bytes()).unwrap();
    fs::write(world.path().join("updates.gz"), packed.finish().unwrap()).unwrap();
    world.follow(&[&["--updates=updates.gz"][..], &rule[..]].concat());
    assert!(left_behind(world.path()) == expected, "packed");

    let mut run = world.start(&[&["--updates=-"][..], &rule[..]].concat());
    let mut input = run.0.stdin.take().unwrap();
    let text = world.text();
    let writer = std::thread::spawn(move || {
        for piece in pieces(&text) {
            input.write_all(piece).unwrap();
            input.flush().unwrap();
            sleep(Duration::from_millis(2));
        }
    });
    let (status, said, _) = run.end();
    writer.join().unwrap();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(left_behind(world.path()) == expected, "standard input");

    fs::write(world.path().join("growing.txt"), "# a comment\n").unwrap();
    let run = world.start(&[&["--updates=growing.txt", "--watch"][..], &rule[..]].concat());
    let batches = world.lines.len() / 10;
    let mut file = OpenOptions::new().append(true).open(world.path().join("growing.txt")).unwrap();
    for piece in pieces(&world.text()) {
        file.write_all(piece).unwrap();
        sleep(Duration::from_millis(2));
    }
    within_a_minute("not all batches were read", || logged(world.path()) >= batches);
    run.signal("TERM");
    let (status, said, _) = run.end();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted") && said.contains("--resume"), "{said}");
    // The remaining lines are an incomplete batch, and are read when the run resumes without
    // waiting.
    let rest = world.follow(&[&["--updates=growing.txt", "--resume"][..], &rule[..]].concat());
    assert!(rest.said.contains("resumed after"), "{}", rest.said);
    assert!(left_behind(world.path()) == expected, "growing");
}

#[test]
fn half_a_line_waits_for_its_rest() {
    let world = World::new(1);
    let path = world.path().join("growing.txt");
    fs::write(&path, "1 + 0 1").unwrap();
    let run = world.start(&["--updates=growing.txt", "--watch", "--batch=1"]);
    within_a_minute("nothing was embedded", || world.path().join("out/mine/metrics.json").exists());
    sleep(Duration::from_millis(200));
    assert_eq!(logged(world.path()), 0, "it may be the edge to 17 as well");
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"7\n2 + 1 ").unwrap();
    within_a_minute("the line was not read", || logged(world.path()) == 1);
    run.signal("INT");
    assert_eq!(run.end().0.code(), Some(130));
    let log = fs::read_to_string(world.path().join("out/mine/follow.log")).unwrap();
    assert!(log.contains(r#"["add","0","17",null]"#), "{log}");
}

#[test]
fn an_incomplete_batch_is_applied_after_the_linger_time() {
    let world = World::new(1);
    let mut run = world.start(&["--updates=-", "--batch=100", "--linger=0.2"]);
    let mut input = run.0.stdin.take().unwrap();
    input.write_all(b"1 + 0 17\n").unwrap();
    within_a_minute("the batch was not applied", || logged(world.path()) == 1);
    drop(input);
    assert_eq!(run.end().0.code(), Some(0));
}

#[test]
fn a_folder_is_read_in_the_order_of_its_names_and_watched() {
    let world = World::new(100);
    let inbox = world.inbox(10);
    fs::write(inbox.join(".hidden"), "nonsense").unwrap();
    fs::write(inbox.join("020.txt.tmp"), "nonsense").unwrap();
    fs::write(inbox.join("021.txt.part"), "nonsense").unwrap();
    world.follow(&["--updates=updates.txt", "--batch=10"]);
    let mut expected = left_behind(world.path());
    world.follow(&["--updates=inbox"]);
    assert!(left_behind(world.path()) == expected);

    // The same, while the second half arrives in pieces.
    let names: Vec<String> = crate::support::names(&inbox).into_iter().filter(|name| name.ends_with(".txt")).collect();
    let late = world.path().join("late");
    fs::create_dir(&late).unwrap();
    let (first, second) = names.split_at(names.len() / 2);
    second.iter().for_each(|name| fs::rename(inbox.join(name), late.join(name)).unwrap());
    let run = world.start(&["--updates=inbox", "--watch"]);
    within_a_minute("the first half was not read", || logged(world.path()) == first.len());
    second.iter().for_each(|name| {
        fs::copy(late.join(name), inbox.join(".coming")).unwrap();
        fs::rename(inbox.join(".coming"), inbox.join(name)).unwrap();
    });
    within_a_minute("the second half was not read", || logged(world.path()) == names.len());
    run.signal("INT");
    assert_eq!(run.end().0.code(), Some(130));
    let found = left_behind(world.path());
    expected.retain(|name, _| found.contains_key(name));
    assert!(found == expected);
}

#[test]
fn a_batch_that_comes_again_counts_once() {
    let world = World::new(40);
    let inbox = world.inbox(10);
    world.follow(&["--updates=inbox"]);
    let figures = |world: &World| left_behind(world.path());
    let expected = figures(&world);
    fs::copy(inbox.join("003.txt"), inbox.join("900.txt")).unwrap();
    let again = world.follow(&["--updates=inbox", "--resume"]);
    assert!(again.said.contains("900.txt has been applied already, as 003.txt"), "{}", again.said);
    assert_eq!(again.summary()["counts"]["batches that came again"], 1);
    assert_eq!(again.summary()["batches"], 4);
    assert!(figures(&world)["left.npy"] == expected["left.npy"]);
    // Applied lines must not change.
    fs::write(inbox.join("001.txt"), "0 + 1 2\n").unwrap();
    let (status, said, _) = world.start(&["--updates=inbox", "--resume"]).end();
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains("001.txt is not as it was when it was applied"), "{said}");
}

#[test]
fn standard_input_may_be_repeated_or_continued() {
    let world = World::new(60);
    world.follow(&["--updates=updates.txt", "--batch=10"]);
    let expected = left_behind(world.path());
    let send = |text: &str, more: &[&str]| {
        let mut run = world.start(&[&["--updates=-", "--batch=10"][..], more].concat());
        run.0.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let (status, said, _) = run.end();
        assert_eq!(status.code(), Some(0), "{said}");
        said
    };
    let text = world.text();
    let half: usize = text.lines().take(30).map(|line| line.len() + 1).sum();
    send(&text[..half], &[]);
    let said = send(&text, &["--resume"]);
    assert!(!said.contains("does not begin as it did"), "{said}");
    assert!(left_behind(world.path()) == expected, "sent again");
    send(&text[..half], &[]);
    let said = send(&text[half..], &["--resume"]);
    assert!(said.contains("taken as what comes after that"), "{said}");
    assert!(left_behind(world.path())["left.npy"] == expected["left.npy"], "went on");
}
