//! Fetching generated datasets, with checksums and limits for the test.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use isvd_dist::dataset::catalog::{self, Entry, File, Package};
use isvd_dist::dataset::fetch::{FetchError, Fetched, Limits, Options, fetch};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::support::server::{Server, Site, noise};
use crate::support::{folder, names};

const LENGTH: usize = 200_000;

/// The SHA-256 of some bytes, which lives as long as the test.
fn sum(bytes: &[u8]) -> &'static str {
    let folder = folder();
    fs::write(folder.path().join("file"), bytes).unwrap();
    catalog::sha256(&folder.path().join("file")).unwrap().leak()
}

fn entry(package: Package, files: &[File]) -> Entry {
    Entry { folder: "made/up", package, files: files.to_vec().leak(), ..*catalog::find("ppi").unwrap() }
}

/// One file, `big`, whose checksum may be on record.
fn loose(known: bool) -> Entry {
    let content = noise(LENGTH, 1);
    let file = if known { File::known("big", LENGTH as u64, sum(&content)) } else { File::unknown("big") };
    entry(Package::Loose { below: "" }, &[file])
}

fn site() -> Site {
    Site { files: [("/big".to_owned(), noise(LENGTH, 1))].into(), ranges: true, ..Site::default() }
}

fn try_fetch(entry: &Entry, server: &Server, data: &Path) -> Result<Fetched, FetchError> {
    fetch(entry, data, &options(server), &|_, _, _| ())
}

fn options(server: &Server) -> Options {
    Options { from: Some(server.address().parse().unwrap()), ..Options::default() }
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const EDGES: &[u8] = b"0,1\n1,2\n";

/// A zip archive with OGB's layout, and the dataset that is in it.
fn packed() -> (Entry, Site) {
    let archive = zip(&[
        ("set/raw/edge.csv", EDGES),
        ("set/raw/more.csv", b"more"),
        ("set/split/target/test.pt", b"split"),
        ("set/processed/", b""),
    ]);
    let package = Package::Zip { archive: File::unknown("set.zip"), root: "set" };
    let edges = File::known("raw/edge.csv", EDGES.len() as u64, sum(EDGES));
    let absent = File::unknown("split/target/train.pt").optional();
    let entry = entry(package, &[edges, File::unknown("split/target/test.pt"), absent]);
    (entry, Site { files: [("/set.zip".to_owned(), archive)].into(), ..Site::default() })
}

#[test]
fn an_archive_becomes_a_folder() {
    let (entry, site) = packed();
    let (server, data) = (Server::start(site), folder());
    let fetched = try_fetch(&entry, &server, data.path()).unwrap();
    let told: Vec<_> = fetched.files.iter().map(|file| (file.path, file.verified, file.fresh)).collect();
    assert_eq!(told, [("raw/edge.csv", true, true), ("split/target/test.pt", false, true)]);
    assert_eq!(fetched.folder, data.path().join("made/up"));
    assert_eq!(fs::read(fetched.folder.join("raw/edge.csv")).unwrap(), EDGES);
    assert_eq!(names(&fetched.folder.join("raw")), ["edge.csv", "more.csv"]);
    assert_eq!(names(&data.path().join("made")), ["up"]);

    server.log();
    assert!(try_fetch(&entry, &server, data.path()).unwrap().files.iter().all(|file| !file.fresh));
    assert_eq!(server.log().len(), 0, "an optional file that is missing is no reason to fetch");
}

/// Valid files are kept, damaged or missing files are replaced, and unknown files are not touched.
#[test]
fn an_archive_completes_a_folder() {
    let (entry, site) = packed();
    let (server, data) = (Server::start(site), folder());
    let target = data.path().join("made/up");
    fs::create_dir_all(target.join("raw")).unwrap();
    fs::write(target.join("raw/edge.csv"), "damaged!").unwrap();
    fs::write(target.join("raw/more.csv"), "mine").unwrap();
    try_fetch(&entry, &server, data.path()).unwrap();
    assert_eq!(fs::read(target.join("raw/edge.csv")).unwrap(), EDGES);
    assert_eq!(fs::read(target.join("raw/more.csv")).unwrap(), b"mine");
    assert_eq!(fs::read(target.join("split/target/test.pt")).unwrap(), b"split");
}

#[test]
fn a_wrong_file_inside_an_archive_replaces_nothing() {
    let (entry, mut site) = packed();
    let archive = zip(&[("set/raw/edge.csv", b"0,1\n1,3\n"), ("set/split/target/test.pt", b"split")]);
    site.files.insert("/set.zip".to_owned(), archive);
    let (server, data) = (Server::start(site), folder());
    let error = try_fetch(&entry, &server, data.path()).unwrap_err();
    let FetchError::Checksum { what, expected, found } = &error else { panic!("{error}") };
    assert!(what.starts_with("raw/edge.csv in http://") && expected == sum(EDGES) && expected != found, "{error}");
    assert!(names(&data.path().join("made")).is_empty());
}

/// Without an ETag or a date, only the checksum shows that the parts belong together.
#[test]
fn resuming_needs_evidence_that_the_file_is_the_same() {
    for (known, asked) in [(true, "/big from 50000 206"), (false, "/big 200")] {
        let (server, data) = (Server::start(site()), folder());
        server.site().hang_up.insert("/big".to_owned(), 50_000);
        let error = try_fetch(&loose(known), &server, data.path()).unwrap_err();
        assert!(matches!(error, FetchError::Interrupted { arrived: 50_000, expected: Some(200_000), .. }), "{error}");
        server.log();
        server.site().hang_up.clear();
        let fetched = try_fetch(&loose(known), &server, data.path()).unwrap();
        assert_eq!(server.log(), [asked]);
        assert!(fs::read(fetched.folder.join("big")).unwrap() == noise(LENGTH, 1));
    }
}

#[test]
fn parts_of_different_files_are_not_joined() {
    let (server, data) = (Server::start(site()), folder());
    server.site().hang_up.insert("/big".to_owned(), 50_000);
    try_fetch(&loose(true), &server, data.path()).unwrap_err();
    server.site().hang_up.clear();
    server.site().files.insert("/big".to_owned(), noise(LENGTH, 2));
    let error = try_fetch(&loose(true), &server, data.path()).unwrap_err();
    assert!(matches!(error, FetchError::Checksum { .. }), "{error}");
    server.site().files.insert("/big".to_owned(), noise(LENGTH, 1));
    try_fetch(&loose(true), &server, data.path()).unwrap();
}

#[test]
fn parts_from_different_mirrors_are_not_joined() {
    let (one, two, data) = (Server::start(site()), Server::start(site()), folder());
    one.site().hang_up.insert("/big".to_owned(), 50_000);
    try_fetch(&loose(true), &one, data.path()).unwrap_err();
    try_fetch(&loose(true), &two, data.path()).unwrap();
    assert_eq!(two.log(), ["/big 200"]);
}

#[test]
fn a_silent_server_is_abandoned() {
    let (server, data) = (Server::start(site()), folder());
    server.site().fall_silent.insert("/big".to_owned(), 50_000);
    let began = Instant::now();
    let options = Options { patience: Duration::from_millis(300), ..options(&server) };
    let error = fetch(&loose(true), data.path(), &options, &|_, _, _| ()).unwrap_err();
    assert!(matches!(error, FetchError::Interrupted { arrived: 50_000, source: Some(_), .. }), "{error}");
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

/// The target is a device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let (server, data) = (Server::start(site()), folder());
    let work = data.path().join("made/.fetch-ppi");
    fs::create_dir_all(&work).unwrap();
    fs::write(work.join("from"), options(&server).from.unwrap().as_str()).unwrap();
    std::os::unix::fs::symlink("/dev/full", work.join("big.part")).unwrap();
    let error = try_fetch(&loose(true), &server, data.path()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("big.part: the disk is full: free some space and fetch again"), "{message}");
    assert!(!error.is_bad_data());
    assert!(!data.path().join("made/up").exists());
}

#[test]
fn an_endless_download_is_aborted() {
    let (server, data) = (Server::start(site()), folder());
    let limits = Limits { download: 100_000, ..Limits::default() };
    let error = fetch(&loose(false), data.path(), &Options { limits, ..options(&server) }, &|_, _, _| ()).unwrap_err();
    assert!(matches!(error, FetchError::TooLarge { limit: 100_000, .. }), "{error}");
    assert!(names(&data.path().join("made")).is_empty());
}

#[test]
fn redirects_are_followed() {
    let (server, data) = (Server::start(site()), folder());
    let content = server.site().files.remove("/big").unwrap();
    server.site().files.insert("/moved".to_owned(), content);
    server.site().redirects.insert("/big".to_owned(), "/moved".to_owned());
    try_fetch(&loose(true), &server, data.path()).unwrap();
    assert_eq!(server.log(), ["/big 302", "/moved 200"]);
}

#[test]
fn progress_ends_at_the_total_size() {
    let (server, data) = (Server::start(site()), folder());
    let told = std::cell::RefCell::new(Vec::new());
    let progress = |file: &str, done, total| told.borrow_mut().push((file.to_owned(), done, total));
    fetch(&loose(false), data.path(), &options(&server), &progress).unwrap();
    let told = told.into_inner();
    assert_eq!(told.first(), Some(&("big".to_owned(), 0, Some(LENGTH as u64))));
    assert_eq!(told.last(), Some(&("big".to_owned(), LENGTH as u64, Some(LENGTH as u64))));
    assert!(told.is_sorted_by_key(|(_, done, _)| *done));
}

/// A second process reports that another one is active, or finds all files present.
#[test]
fn many_at_once() {
    let (server, data, entry) = (Server::start(site()), folder(), loose(true));
    let barrier = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                barrier.wait();
                let fetched = try_fetch(&entry, &server, data.path());
                assert!(matches!(fetched, Ok(_) | Err(FetchError::Locked { .. })), "{fetched:?}");
            });
        }
    });
    assert_eq!(server.log(), ["/big 200"]);
    assert_eq!(names(&data.path().join("made")), ["up"]);
    assert_eq!(names(&data.path().join("made/up")), ["big"]);
}
