//! Processes with TLS: the same bits, and no access without a certificate.

mod authority;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use self::authority::{Authority, Flaw};
use crate::support::folder;
use crate::world::{LONG, Process, assert_same_folders, free_addresses, member, program, start};

/// Converts arguments.
fn with<'a>(some: &[&'a str], more: &'a [String]) -> Vec<&'a str> {
    some.iter().copied().chain(more.iter().map(String::as_str)).collect()
}

/// Two processes with different arguments.
fn pair(folder: &Path, arguments: [&[&str]; 2]) -> [Process; 2] {
    let addresses = free_addresses(2);
    [0, 1].map(|process| Process::start(member(folder, &addresses, process, arguments[process])))
}

#[test]
fn the_answer_has_the_same_bits() {
    let folder = folder();
    let tls = Authority::new().issue(folder.path(), Flaw::None);
    let mut alone = program(folder.path());
    alone.args(["--workers=1", "--out=alone"]);
    Process::start(alone).end().assert(0, &[]);
    for workers in ["1", "2"] {
        let mut launched = program(folder.path());
        launched.args(["launch", "-n", "2", "--workers", workers, "--quiet", "--json", "--out", workers]).args(&tls);
        let end = Process::start(launched).end();
        end.assert(0, &[]);
        assert_eq!(end.stderr, "");
        assert_same_folders(&folder.path().join("alone"), &folder.path().join(workers), workers);
    }
}

/// Each process may have a certificate of its own.
#[test]
fn three_processes_with_three_certificates() {
    let (folder, addresses, authority) = (folder(), free_addresses(3), Authority::new());
    let processes: Vec<Process> = (0..3)
        .map(|process| {
            let tls = authority.issue(&folder.path().join(process.to_string()), Flaw::None);
            Process::start(member(folder.path(), &addresses, process, &with(&["--workers=1"], &tls)))
        })
        .collect();
    for process in processes {
        let end = process.end();
        end.assert(0, &[]);
        assert_eq!(end.stderr, "");
    }
}

const SOON: &[&str] = &["--workers=1", "--connect-timeout=3"];

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let folder = folder();
    let tls = ["one", "other"].map(|name| Authority::new().issue(&folder.path().join(name), Flaw::None));
    let arguments = tls.each_ref().map(|tls| with(SOON, tls));
    let [answerer, caller] = pair(folder.path(), [&arguments[0], &arguments[1]]);
    caller.end().assert(4, &["its certificate is not signed by the authority that this process trusts"]);
    answerer.end().assert(4, &["refused the certificate of this process"]);
}

#[test]
fn all_use_tls_or_none() {
    let folder = folder();
    let tls = Authority::new().issue(folder.path(), Flaw::None);
    let secured = with(SOON, &tls);
    let [answerer, caller] = pair(folder.path(), [&secured, SOON]);
    answerer.end().assert(4, &["it does not use TLS, and this process does"]);
    caller.end().assert(4, &["it uses TLS, and this process does not"]);
    let [answerer, caller] = pair(folder.path(), [SOON, &secured]);
    answerer.end().assert(4, &["it uses TLS, and this process does not"]);
    caller.end().assert(4, &["does it use TLS, too?"]);
}

/// A certificate that the others would refuse is reported before connecting.
#[test]
fn files_that_cannot_be_used_are_named() {
    let (folder, authority) = (folder(), Authority::new());
    let issue = |name: &str, flaw| authority.issue(&folder.path().join(name), flaw);
    let (sound, expired, elsewhere) =
        (issue("sound", Flaw::None), issue("expired", Flaw::Expired), issue("elsewhere", Flaw::OtherName));
    let foreign = Authority::new().issue(&folder.path().join("foreign"), Flaw::None);
    let refused = |cert: &String, key: &String, ca: &String, words: &[&str]| {
        let arguments = [cert, key, ca].map(String::as_str);
        Process::start(member(folder.path(), &free_addresses(2), 0, &arguments)).end().assert(2, words);
    };
    refused(&expired[0], &expired[1], &expired[2], &["--tls-cert", "expired/cert.pem", "has expired"]);
    refused(&elsewhere[0], &elsewhere[1], &elsewhere[2], &["--tls-cert", "not for the name isvd-dist"]);
    refused(&sound[0], &foreign[1], &sound[2], &["--tls-key", "foreign/key.pem", "not the key of the certificate"]);
    refused(&sound[0], &sound[1], &foreign[2], &["--tls-cert", "not signed by the authority"]);
    refused(&sound[0], &sound[0].replace("-cert", "-key"), &sound[2], &["--tls-key"]);
    let nowhere = "--tls-ca=nowhere.pem".to_owned();
    refused(&sound[0], &sound[1], &nowhere, &["cannot read nowhere.pem"]);
    Process::start(member(folder.path(), &free_addresses(2), 0, &[&sound[0]])).end().assert(2, &["--tls-key"]);
}

/// A caller without a certificate receives an alert, and has no effect.
#[test]
fn strangers_without_tls_are_turned_away() {
    let (folder, addresses) = (folder(), free_addresses(2));
    let tls = Authority::new().issue(folder.path(), Flaw::None);
    let arguments = with(&["--workers=1"], &tls);
    let first = Process::start(member(folder.path(), &addresses, 0, &arguments));
    let garbage: Vec<u8> = (0..300).map(|place| (place * 31) as u8).collect();
    let hello = [b"isvdmesh".as_slice(), &[0; 56]].concat();
    for said in [&garbage, &hello, &Vec::new()] {
        let mut stream = loop {
            if let Ok(stream) = TcpStream::connect(&addresses[0]) {
                break stream;
            }
            sleep(Duration::from_millis(10));
        };
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(said).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() <= 7, "an alert at most: {answer:?}");
    }
    let second = Process::start(member(folder.path(), &addresses, 1, &arguments));
    for process in [first, second] {
        let end = process.end();
        end.assert(0, &[]);
        assert_eq!(end.stderr, "");
    }
}

#[test]
fn a_lost_process_is_detected() {
    for (signal, patience) in [(Signal::KILL, "--peer-timeout=60"), (Signal::STOP, "--peer-timeout=3")] {
        let (folder, addresses) = (folder(), free_addresses(3));
        let tls = Authority::new().issue(folder.path(), Flaw::None);
        let mut processes = start(folder.path(), &addresses, &with(&[LONG, &[patience]].concat(), &tls));
        sleep(Duration::from_millis(1000));
        assert!(processes.iter_mut().all(Process::is_running), "the run is long enough to be interrupted");
        let gone = processes.remove(1);
        gone.signal(signal);
        for process in processes {
            let end = process.end();
            end.assert(4, &[&format!("process 1 ({})", addresses[1]), "the last step here: "]);
            assert_eq!(end.stderr.lines().count(), 1, "{}", end.stderr);
            assert!(end.after < Duration::from_secs(8), "{:?}", end.after);
        }
    }
}
