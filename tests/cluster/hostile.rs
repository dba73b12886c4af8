//! Callers without the secret have no effect on a cluster.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::support::folder;
use crate::world::{Process, assert_same_folders, free_addresses, member, program};

const CALLS: usize = 1000;
/// Bytes of a hello, and of a hello with the proof after it.
const HELLO: usize = 64;
const PROVEN: usize = HELLO + 32;
/// The largest number of open handshakes.
const HELD: usize = 200;
const ARGUMENTS: &[&str] = &["--workers=1", "--set=dataset=rmat-14", "--set=seeds=8"];

/// A proxy in front of a process. It forwards everything, and records the bytes of the first
/// caller.
fn overhear(target: String) -> (String, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (heard, hearing) = mpsc::channel();
    thread::spawn(move || {
        for caller in listener.incoming().map_while(Result::ok) {
            let Ok(called) = TcpStream::connect(&target) else { continue };
            let heard = heard.clone();
            let (mut from, mut to) = (caller.try_clone().unwrap(), called.try_clone().unwrap());
            thread::spawn(move || {
                let (mut hello, mut proof) = (vec![0; HELLO], vec![0; PROVEN - HELLO]);
                for part in [&mut hello, &mut proof] {
                    if from.read_exact(part).and_then(|()| to.write_all(part)).is_err() {
                        return;
                    }
                }
                let _ = heard.send([hello, proof].concat());
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            let (mut from, mut to) = (called, caller);
            thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
        }
    });
    (address, hearing)
}

/// Sends bytes, and returns the complete answer.
fn say(address: &str, bytes: &[u8]) -> Vec<u8> {
    let Ok(mut stream) = TcpStream::connect(address) else { return Vec::new() };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// Echoes all bytes.
fn reflect(address: &str, hello: &[u8]) -> usize {
    let Ok(mut stream) = TcpStream::connect(address) else { return 0 };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let _ = stream.write_all(hello);
    let (mut answered, mut buffer) = (0, [0; 256]);
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        answered += length;
        if stream.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    answered
}

#[test]
fn a_thousand_hostile_calls_during_start_and_run() {
    let folder = folder();
    let mut alone = program(folder.path());
    alone.args(ARGUMENTS).arg("--out=alone");
    Process::start(alone).end().assert(0, &[]);

    let addresses = free_addresses(3);
    let (overheard, hearing) = overhear(addresses[0].clone());
    let start =
        |process: usize, addresses: &[String]| Process::start(member(folder.path(), addresses, process, ARGUMENTS));
    let through_us = [overheard, addresses[1].clone(), addresses[2].clone()];
    let mut processes = vec![start(0, &addresses), start(1, &through_us)];
    let proven = hearing.recv_timeout(Duration::from_secs(60)).unwrap();
    let (made, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for attacker in 0..4 {
            let (addresses, proven, made, is_over) = (&addresses, &proven, &made, &is_over);
            scope.spawn(move || {
                let mut idle = Vec::new();
                while made.load(Ordering::Relaxed) < CALLS && !is_over.load(Ordering::Relaxed) {
                    let number = made.fetch_add(1, Ordering::Relaxed);
                    let address = &addresses[number % 3];
                    let garbage: Vec<u8> = (0..300).map(|i| (i * 31 + number * 17 + attacker) as u8).collect();
                    match number % 7 {
                        0 => assert!(say(address, &garbage).is_empty(), "no answer to garbage"),
                        1 => idle.extend(TcpStream::connect(address).map(|mut stream| {
                            let _ = stream.write_all(&proven[..HELLO / 2]);
                            stream
                        })),
                        2 => assert!(say(address, proven).len() <= HELLO, "a replayed proof is none"),
                        3 => {
                            let wrong = [&proven[..HELLO], &garbage[..PROVEN - HELLO]].concat();
                            assert!(say(address, &wrong).len() <= HELLO, "a wrong proof is none");
                        }
                        4 => assert!(reflect(address, &proven[..HELLO]) <= HELLO, "a reflected hello is no proof"),
                        5 => idle.extend(TcpStream::connect(address).map(|mut stream| {
                            let _ = stream.write_all(&proven[..HELLO]);
                            stream
                        })),
                        _ => idle.extend(TcpStream::connect(address)),
                    }
                    let held = idle.len().saturating_sub(HELD / 4);
                    idle.drain(..held);
                }
            });
        }
        // The last process connects while idle callers occupy all handshakes.
        while made.load(Ordering::Relaxed) < CALLS / 2 {
            thread::sleep(Duration::from_millis(5));
        }
        processes.push(start(2, &addresses));
        for process in processes {
            let end = process.end();
            end.assert(0, &[]);
            assert_eq!(end.stderr, "");
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(made.into_inner() >= CALLS, "the run was over before all had called");
    assert_same_folders(&folder.path().join("alone"), &folder.path().join("results"), "under siege");
}
