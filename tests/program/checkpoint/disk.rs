//! Checkpoints on a full or read-only disk, or with a file in their place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{LONG, OFTEN, Run, checkpoints, long, results_of, uninterrupted, wait_for_checkpoint};
use crate::support::answer::{Results, assert_same_results};
use crate::support::folder;
use crate::support::need::{Need, found_or_skip};

/// A file is in the place of the checkpoint folder: the run continues without checkpoints, and
/// reports it for each attempt.
#[test]
fn checkpoints_that_cannot_be_written_do_not_end_a_run() {
    let own = folder();
    fs::create_dir_all(own.path().join("out/checkpoint")).unwrap();
    fs::write(own.path().join("out/checkpoint/pieces"), "in the way").unwrap();
    let arguments = ["--set=embedding.iterations=2", OFTEN];
    let said = Run::start(own.path(), 2, &arguments).end_well();
    let first = said.lines().next().unwrap();
    for word in ["note: cannot write the checkpoint out/checkpoint/pieces/", "--checkpoint off", "--out"] {
        assert!(first.contains(word), "{said}");
    }
    assert_eq!(said.lines().count(), 1, "once is enough: {said}");
    // If the run is interrupted, this is an error, because its state is lost.
    let run = Run::start(own.path(), 2, LONG);
    sleep(Duration::from_millis(300));
    run.signal("INT");
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write the checkpoint"), "{said}");
}

/// A separate disk for the results. `None` if none can be mounted; the test is then skipped.
#[track_caller]
fn mounted(folder: &Path, size: &str) -> Option<Mounted> {
    let at = folder.join("out");
    fs::create_dir(&at).unwrap();
    let status = Command::new("mount").args(["-t", "tmpfs", "-o", size, "tmpfs"]).arg(&at).status();
    let is_mounted = status.is_ok_and(|status| status.success());
    found_or_skip(Need::Namespaces, is_mounted.then(|| Mounted(at)).ok_or_else(|| "mounts".to_owned()))
}

struct Mounted(PathBuf);

impl Mounted {
    fn change(&self, option: &str) {
        let status = Command::new("mount").args(["-o", &format!("remount,{option}")]).arg(&self.0).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Resumes from the remaining checkpoint, and gives the results of an uninterrupted run.
#[track_caller]
fn assert_goes_on(folder: &Path, workers: usize, arguments: &[&str], expected: &Results, what: &str) {
    let said = Run::start(folder, workers, &[arguments, &["--resume"]].concat()).end_well();
    assert!(said.starts_with("note: resumed from out/checkpoint/"), "{said}");
    assert_same_results(expected, &results_of(folder), what);
}

/// A run whose checkpoints are longer than its results.
const MUCH: [&str; 4] =
    ["--set=embedding.rank=64", "--set=embedding.tolerance=1e-5", "--set=embedding.iterations=30", OFTEN];

/// Catches results that are lost because checkpoints fill the disk.
#[test]
fn checkpoints_on_a_full_disk_do_not_cost_the_result() {
    let expected = uninterrupted(&MUCH);
    // The result takes 2.9 MB. It fits on all of these disks, and together with a checkpoint only
    // on the last one.
    for size in ["size=3m", "size=3500k", "size=7m"] {
        let own = folder();
        let Some(_disk) = mounted(own.path(), size) else { return };
        let said = Run::start(own.path(), 2, &MUCH).end_well();
        assert!(said.is_empty() || said.starts_with("note: cannot write the checkpoint"), "{said}");
        assert_same_results(&expected, &results_of(own.path()), size);
    }
}

/// Catches results of a run without checkpoints that are lost because of checkpoints of an earlier
/// run.
#[test]
fn checkpoints_of_an_earlier_run_make_room_for_the_result_of_one_without() {
    let arguments = [&MUCH[..3], &["--checkpoint=off"]].concat();
    let expected = uninterrupted(&MUCH);
    let own = folder();
    let Some(_disk) = mounted(own.path(), "size=3500k") else { return };
    let pieces = own.path().join("out/checkpoint/pieces");
    fs::create_dir_all(&pieces).unwrap();
    fs::write(own.path().join("out/checkpoint/000001.json"), "{}").unwrap();
    fs::write(pieces.join("0-product-1"), vec![1; 2 << 20]).unwrap();
    assert_eq!(Run::start(own.path(), 2, &arguments).end_well(), "");
    assert_same_results(&expected, &results_of(own.path()), "without checkpoints");
    assert_eq!(checkpoints(own.path()), Vec::<PathBuf>::new());
}

/// Catches a disk that has no inode left because of checkpoints, where creating the folder, a file
/// or a link of the new result fails first.
#[test]
fn checkpoints_on_a_disk_without_free_inodes_do_not_cost_the_result() {
    let expected = uninterrupted(&MUCH);
    for inodes in 20..=36 {
        let own = folder();
        let Some(_disk) = mounted(own.path(), &format!("size=70m,nr_inodes={inodes}")) else { return };
        let said = Run::start(own.path(), 2, &MUCH).end_well();
        assert!(said.is_empty() || said.starts_with("note: cannot write the checkpoint"), "{inodes}: {said}");
        assert_same_results(&expected, &results_of(own.path()), &inodes.to_string());
    }
}

/// A disk that is too small for the results: the previous checkpoint is kept, and a later run
/// resumes from it.
#[test]
fn a_full_disk_leaves_the_checkpoint_before() {
    let own = folder();
    let Some(disk) = mounted(own.path(), "size=2400k") else { return };
    let mut run = Run::start(own.path(), 2, &MUCH);
    wait_for_checkpoint(&mut run, own.path(), 1);
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(1), "the results do not fit either: {said}");
    assert!(said.contains("note: cannot write the checkpoint out/checkpoint/pieces/"), "{said}");
    assert!(!checkpoints(own.path()).is_empty(), "{said}");
    disk.change("size=70m");
    assert_goes_on(own.path(), 3, &MUCH, &uninterrupted(&MUCH), "there is room again");
}

/// A disk that becomes read-only, as failing disks do.
#[test]
fn a_disk_that_can_only_be_read_leaves_the_checkpoint_before() {
    let own = folder();
    let Some(disk) = mounted(own.path(), "size=70m") else { return };
    let mut run = Run::start(own.path(), 2, &[LONG, &[OFTEN]].concat());
    wait_for_checkpoint(&mut run, own.path(), 2);
    // It is refused while a file is being written.
    let deadline = Instant::now() + Duration::from_secs(20);
    let remount = || Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).stderr(Stdio::null()).status();
    while !remount().unwrap().success() {
        assert!(Instant::now() < deadline, "always busy");
    }
    let (status, said) = run.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write out/") && said.contains("Read-only file system"), "{said}");
    let kept = checkpoints(own.path());
    assert!(!kept.is_empty());
    let (status, said) = Run::start(own.path(), 2, &[LONG, &["--resume"]].concat()).end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("cannot write into the folder out: choose another one (--out)"), "{said}");
    assert_eq!(checkpoints(own.path()), kept);
    disk.change("rw");
    assert_goes_on(own.path(), 3, LONG, long(), "it can be written again");
}
