//! `isvd-dist datasets`, against a server on this machine.

use std::fs::{self, File};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use isvd_dist::dataset::catalog::{self, Entry, Package, Status};
use serde_json::Value;
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::support::need::{Need, found_or_skip};
use crate::support::server::{Server, Site, noise};
use crate::support::{self, assert_done, assert_refused, data_part, folder, names, text};

/// Runs `isvd-dist datasets …` in a folder that is also the home folder.
fn datasets(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = cargo_bin_cmd!("isvd-dist");
    for variable in ["ISVD_DATA", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(variable);
    }
    command.env("HOME", folder).env("XDG_CACHE_HOME", folder.join("cache")).env("LOCALAPPDATA", folder.join("cache"));
    command.current_dir(folder).arg("datasets").args(arguments).timeout(Duration::from_secs(60)).output().unwrap()
}

/// Fetches into `data`.
fn fetch(folder: &Path, server: &Server, name: &str) -> Output {
    datasets(folder, &["fetch", name, "--data=data", "--from", &server.address()])
}

/// Generated files with the names of citeseer, for which no checksums are on record. The fifth is
/// the largest.
fn citeseer() -> Site {
    let files = catalog::find("citeseer").unwrap().downloads().into_iter().enumerate();
    let files = files.map(|(i, (path, _))| (format!("/{path}"), noise(if i == 4 { LARGE } else { 5 + i }, i as u32)));
    Site { files: files.collect(), ranges: true, etag: Some("\"one\""), ..Site::default() }
}

const LARGE: usize = 300_000;
const ALLX: &str = "/ind.citeseer.allx";

#[track_caller]
fn assert_citeseer(folder: &Path, site: &Site) {
    for (path, content) in &site.files {
        assert!(fs::read(folder.join("data/planetoid").join(&path[1..])).unwrap() == *content, "{path}");
    }
    assert_eq!(names(&folder.join("data")), ["planetoid"], "no traces of the work");
    assert_eq!(names(&folder.join("data/planetoid")).len(), 8);
}

fn zip(files: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The folder of the real files of a dataset. `None` if some are missing; the test is then skipped.
#[track_caller]
fn real(entry: &Entry) -> Option<PathBuf> {
    let found = catalog::locate_among(entry, &[support::data_folder()]);
    found_or_skip(Need::Data, found.map_err(|_| entry.name.to_owned()))
}

#[test]
fn files_are_downloaded_completely_and_once() {
    let folder = folder();
    let server = Server::start(citeseer());
    let output = fetch(folder.path(), &server, "citeseer");
    assert_done(&output);
    assert!(text(&output.stdout).starts_with("citeseer in data/planetoid\n"), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("300,000 bytes  fetched, could not be verified"), "{}", text(&output.stdout));
    assert_citeseer(folder.path(), &server.site());
    assert_eq!(server.log().len(), 8);

    let again = fetch(folder.path(), &server, "citeseer");
    assert_done(&again);
    assert!(text(&again.stdout).contains("300,000 bytes  was here"), "{}", text(&again.stdout));
    assert_eq!(server.log().len(), 0, "nothing is fetched twice");

    fs::remove_file(folder.path().join("data/planetoid").join(&ALLX[1..])).unwrap();
    assert_done(&datasets(
        folder.path(),
        &["fetch", "citeseer", "--quiet", "--data=data", "--from", &server.address()],
    ));
    assert_eq!(server.log(), [format!("{ALLX} 200")], "only missing files are fetched");
    assert_citeseer(folder.path(), &server.site());
}

#[test]
fn without_data_it_goes_to_the_cache_or_where_it_is() {
    let folder = folder();
    let server = Server::start(citeseer());
    let output = datasets(folder.path(), &["fetch", "citeseer", "--from", &server.address()]);
    assert_done(&output);
    if cfg!(target_os = "linux") {
        assert_eq!(names(&folder.path().join("cache/isvd-dist/planetoid")).len(), 8);
    }
    fs::create_dir(folder.path().join("data")).unwrap();
    assert_done(&datasets(folder.path(), &["fetch", "citeseer", "--from", &server.address()]));
    assert!(names(&folder.path().join("data")).is_empty(), "it is in the cache already");
    assert!(text(&datasets(folder.path(), &["list"]).stdout).contains("isvd-dist/planetoid\n"));
}

#[test]
fn an_interrupted_download_resumes() {
    let folder = folder();
    let server = Server::start(citeseer());
    server.site().hang_up.insert(ALLX.to_owned(), 100_000);
    let output = fetch(folder.path(), &server, "citeseer");
    let stopped = "ind.citeseer.allx: the server stopped after 100000 bytes of 300000";
    assert_refused(&output, 3, &["cannot fetch `citeseer`", stopped, "fetch again to go on from there"]);
    assert!(!folder.path().join("data/planetoid").exists(), "nothing is in place before all of it is");
    assert_eq!(server.log().len(), 5);

    let output = fetch(folder.path(), &server, "citeseer");
    assert_refused(&output, 3, &["the server stopped after 200000 bytes of 300000"]);
    assert_eq!(server.log(), [format!("{ALLX} from 100000 206")], "existing bytes are not fetched again");

    server.site().hang_up.clear();
    assert_done(&fetch(folder.path(), &server, "citeseer"));
    assert_eq!(server.log()[0], format!("{ALLX} from 200000 206"));
    assert_citeseer(folder.path(), &server.site());
}

#[test]
fn without_range_requests_a_download_restarts() {
    for change in [
        |site: &mut Site| site.ranges = false,
        |site: &mut Site| {
            site.etag = Some("\"two\"");
            site.files.insert(ALLX.to_owned(), noise(LARGE, 77));
        },
    ] {
        let folder = folder();
        let server = Server::start(citeseer());
        server.site().hang_up.insert(ALLX.to_owned(), 100_000);
        assert_refused(&fetch(folder.path(), &server, "citeseer"), 3, &["100000 bytes of 300000"]);
        server.log();
        server.site().hang_up.clear();
        change(&mut server.site());
        assert_done(&fetch(folder.path(), &server, "citeseer"));
        assert_eq!(server.log()[0], format!("{ALLX} 200"));
        assert_citeseer(folder.path(), &server.site());
    }
}

#[test]
fn wrong_sums_and_sizes_replace_nothing() {
    let folder = folder();
    let ppi = folder.path().join("data/asymproj/ppi");
    fs::create_dir_all(&ppi).unwrap();
    fs::write(ppi.join("train.txt.npy"), "mine").unwrap();
    for (length, words) in [
        (
            154_872,
            &[
                "ppi/train.txt.npy has the wrong checksum",
                "expected SHA-256 aee462b56eecac8b5d7495846bc5a9fedf7a38cd138926af501785ab4e81abc0",
                "found    SHA-256 ",
                "nothing was replaced",
            ][..],
        ),
        (154_871, &["ppi/train.txt.npy has 154871 bytes, but 154872 are on record: nothing was replaced"]),
    ] {
        let files = [("/ppi/train.txt.npy".to_owned(), noise(length, 1))];
        let server = Server::start(Site { files: files.into(), ..Site::default() });
        assert_refused(&fetch(folder.path(), &server, "ppi"), 3, words);
        assert_eq!(names(&ppi), ["train.txt.npy"]);
        assert_eq!(fs::read(ppi.join("train.txt.npy")).unwrap(), b"mine");
        assert_eq!(names(&folder.path().join("data/asymproj")), ["ppi"], "bad data is thrown away");
    }
}

#[test]
fn the_network_ends_with_1() {
    let folder = folder();
    let server = Server::start(Site::default());
    let output = fetch(folder.path(), &server, "hepth");
    let address = format!("{}/ca-HepTh/train.txt.npy: the server answered 404 (it has no such file)", server.address());
    assert_refused(&output, 1, &["cannot fetch `hepth`", &address, "--from"]);

    server.site().redirects.insert("/ca-HepTh/train.txt.npy".to_owned(), "/ca-HepTh/train.txt.npy".to_owned());
    assert_refused(&fetch(folder.path(), &server, "hepth"), 1, &["cannot reach", "because: ", "redirect"]);

    let nobody = server.address();
    drop(server);
    let output = datasets(folder.path(), &["fetch", "hepth", "--data=data", "--from", &nobody]);
    assert_refused(&output, 1, &["cannot reach", &nobody, "check the network", "because: "]);
    assert!(names(&folder.path().join("data/asymproj")).is_empty(), "nothing has arrived, nothing is left behind");
}

#[test]
fn the_disk_ends_with_1() {
    let folder = folder();
    fs::write(folder.path().join("data"), "a file, not a folder").unwrap();
    let server = Server::start(citeseer());
    assert_refused(&fetch(folder.path(), &server, "citeseer"), 1, &["cannot read or write data", "because: "]);
    assert_eq!(server.log().len(), 0);
}

#[test]
fn two_fetches_do_not_collide() {
    let folder = folder();
    let work = folder.path().join("data/.fetch-citeseer");
    fs::create_dir_all(&work).unwrap();
    let lock = File::create(work.join("lock")).unwrap();
    lock.lock().unwrap();
    let server = Server::start(citeseer());
    assert_refused(
        &fetch(folder.path(), &server, "citeseer"),
        1,
        &["another fetch is at work in data/.fetch-citeseer"],
    );
    // Closing the file is not enough: a process that another test is starting may hold a copy.
    lock.unlock().unwrap();
    assert_done(&fetch(folder.path(), &server, "citeseer"));
    assert_citeseer(folder.path(), &server.site());
}

#[test]
fn archives_that_are_not_safe_are_refused() {
    let zeros = vec![0; 20 << 20];
    let deflated = CompressionMethod::Deflated;
    for (archive, words) in [
        (
            zip(&[("ddi/raw/edge.csv.gz", b"1"), ("ddi/../../../evil", b"2")], deflated),
            &["ddi.zip cannot be unpacked: nothing was replaced", "`ddi/../../../evil` in it is not safe", "leads out"],
        ),
        (
            zip(&[("ddi/raw/edge.csv.gz", &zeros)], deflated),
            &["ddi.zip cannot be unpacked: nothing was replaced", "`ddi/raw/edge.csv.gz` in it grows", "100-fold"],
        ),
        (
            b"<html>come back later</html>".to_vec(),
            &["ddi.zip cannot be unpacked", "because: it is not a whole zip archive", "because: "],
        ),
        (
            zip(&[("ddi/raw/edge.csv.gz", b"1")], deflated),
            &["ddi.zip lacks raw/num-node-list.csv.gz", "split/target/valid.pt", "nothing was replaced"],
        ),
    ] {
        let folder = folder();
        let server = Server::start(Site { files: [("/ddi.zip".to_owned(), archive)].into(), ..Site::default() });
        assert_refused(&fetch(folder.path(), &server, "ogbl-ddi"), 3, words);
        assert!(names(&folder.path().join("data")).is_empty());
        assert_eq!(names(folder.path()), ["data"], "nothing leaves the folder");
    }
}

#[test]
fn real_files_are_verified() {
    for name in ["ppi", "ogbl-ddi"] {
        let entry = catalog::find(name).unwrap();
        let Some(source) = real(entry) else { continue };
        let there = entry.files.iter().filter(|file| source.join(file.path).is_file());
        let contents: Vec<_> = there.map(|file| (file.path, fs::read(source.join(file.path)).unwrap())).collect();
        let files = match entry.package {
            Package::Zip { archive, root } => {
                let named: Vec<_> =
                    contents.iter().map(|(path, content)| (format!("{root}/{path}"), content)).collect();
                let named: Vec<_> = named.iter().map(|(path, content)| (path.as_str(), content.as_slice())).collect();
                [(format!("/{}", archive.path), zip(&named, CompressionMethod::Stored))].into()
            }
            _ => contents.iter().map(|(path, content)| (format!("/{name}/{path}"), content.clone())).collect(),
        };
        let server = Server::start(Site { files, ..Site::default() });
        let folder = folder();
        let output = fetch(folder.path(), &server, name);
        assert_done(&output);
        assert_eq!(text(&output.stdout).matches("fetched, verified").count(), contents.len());
        let target = folder.path().join("data").join(entry.folder);
        contents.iter().for_each(|(path, content)| assert!(fs::read(target.join(path)).unwrap() == *content, "{path}"));
        let info = datasets(folder.path(), &["info", name]);
        assert_done(&info);
        assert_eq!(text(&info.stdout).matches("here, verified").count(), contents.len(), "{}", text(&info.stdout));
        assert!(!text(&info.stdout).contains("type: "), "nothing that is needed is missing");
    }
}

#[test]
fn the_record_agrees_with_the_real_files() {
    for entry in catalog::ENTRIES {
        let Some(folder) = data_part(entry.folder) else { continue };
        for (file, status) in entry.files.iter().zip(entry.check(&folder).unwrap()) {
            assert!(status.is_good() || status == Status::Missing, "{}: {}: {status:?}", entry.name, file.path);
        }
    }
}

#[test]
fn the_list_names_every_dataset() {
    let folder = folder();
    let table = datasets(folder.path(), &["list"]);
    assert_done(&table);
    assert_eq!(table.stdout, datasets(folder.path(), &[]).stdout, "`datasets` alone lists them");
    assert_eq!(text(&table.stdout).matches("not here\n").count(), 9);
    assert!(text(&table.stdout).contains("demo and rmat-N (2^N nodes, N from 6 to 26) are made up"));
    let json = datasets(folder.path(), &["list", "--json"]);
    assert_done(&json);
    let list: Value = serde_json::from_slice(&json.stdout).unwrap();
    for (entry, line) in catalog::ENTRIES.iter().zip(list.as_array().unwrap()) {
        assert!(text(&table.stdout).contains(&format!("\n{} ", entry.name)), "{}", entry.name);
        assert_eq!((&line["name"], &line["nodes"]), (&entry.name.into(), &entry.counts.nodes.into()));
        assert_eq!(line["folder"], Value::Null);
    }
}

#[test]
fn the_info_lists_all_properties() {
    let folder = folder();
    let info = datasets(folder.path(), &["info", "ogbl-ddi"]);
    assert_done(&info);
    for words in [
        "http://snap.stanford.edu/ogb/data/linkproppred/ddi.zip",
        "training edges    1,067,911",
        "raw/edge.csv.gz",
        "2,810,105 bytes  missing",
        "b2c585f425f49b640ee5a3b451069124651ee0f2863a5b6ee6737a6b14c27a6e",
        "type: isvd-dist datasets fetch ogbl-ddi",
    ] {
        assert!(text(&info.stdout).contains(words), "`{words}` is not in:\n{}", text(&info.stdout));
    }
    fs::create_dir_all(folder.path().join("data/asymproj/ppi")).unwrap();
    fs::write(folder.path().join("data/asymproj/ppi/test.txt.npy"), "short").unwrap();
    let json = datasets(folder.path(), &["info", "ppi", "--json"]);
    assert_done(&json);
    let info: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(info["complete"], false);
    assert_eq!(info["expected"]["train"], 19_349);
    assert_eq!(info["files"][0]["status"], "missing");
    assert_eq!(info["files"][1]["status"], "wrong-size");
    assert_eq!(info["files"][1]["found_size"], 5);
    assert_eq!(info["folder"], "data/asymproj/ppi");
}

#[test]
fn usage_errors_end_with_2() {
    let folder = folder();
    for (arguments, words) in [
        (&["info", "pip"][..], &["no dataset is called `pip`", "did you mean `ppi`?"][..]),
        (&["fetch", "ppi", "ddi", "--from=http://127.0.0.1:9"], &["no dataset is called `ddi`", "`ogbl-ddi`?"]),
        (&["info", "karate"], &["no dataset is called `karate`: known are `ppi`"]),
        (&["info"], &["<NAME>"]),
        (&["fetch"], &["<NAME>"]),
        (&["fetch", "ppi", "--from=nowhere"], &["`nowhere` is not an address such as https://"]),
        (&["fetch", "ppi", "--from=ftp://127.0.0.1/"], &["is not an address"]),
        (&["list", "--data=nowhere"], &["--data nowhere: there is no such folder"]),
        (&["remove", "ppi"], &["remove"]),
    ] {
        assert_refused(&datasets(folder.path(), arguments), 2, words);
    }
    assert!(names(folder.path()).is_empty());
}
