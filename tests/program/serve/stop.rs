//! The end of a server.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::world::{Results, heard};

#[test]
fn pending_queries_are_answered_before_the_end() {
    for signal in [Signal::INT, Signal::TERM] {
        let results = Results::made_up(2, &["a", "b"]);
        let mut server = results.serve(&[]);
        let _idle = server.connect();
        let mut client = server.connect();
        let body = "{\"pairs\": [[\"a\", \"b\"]]}";
        let head = format!("POST /api/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        client.write_all(head.as_bytes()).unwrap();
        client.write_all(&body.as_bytes()[..5]).unwrap();
        // Waits until the server has received the query.
        while !server.get("/metrics").body.contains("isvd_connections 3") {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(100));
        server.signal(signal);
        let start = Instant::now();
        while TcpStream::connect(server.address).is_ok() {
            assert!(start.elapsed() < Duration::from_secs(30), "no new connection is accepted");
            thread::sleep(Duration::from_millis(10));
        }
        client.write_all(&body.as_bytes()[5..]).unwrap();
        let said = heard(&mut client);
        assert_eq!(said.status, 200, "{said:?}");
        assert!(said.json()["scores"].is_array());
        assert_eq!(server.ended().code(), Some(0));
    }
}

#[test]
fn a_second_signal_ends_the_server_at_once() {
    let results = Results::made_up(2, &["a", "b"]);
    let mut server = results.serve(&["--timeout=3000"]);
    let mut client = server.connect();
    client.write_all(b"POST /api/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{").unwrap();
    while !server.get("/metrics").body.contains("isvd_connections 2") {
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(100));
    server.signal(Signal::INT);
    while TcpStream::connect(server.address).is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
    server.signal(Signal::INT);
    assert_eq!(server.ended().code(), Some(130));
}
