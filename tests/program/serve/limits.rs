//! Clients that are slow, numerous, or exceed a limit.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use super::world::{Results, Server, heard};
use crate::support::{assert_refused, text};

fn quick(connections: usize) -> (Results, Server) {
    let results = Results::made_up(2, &["a", "b", "c"]);
    let server = results.serve(&["--timeout=1", &format!("--connections={connections}"), "--body=1000"]);
    (results, server)
}

/// Waits until the server closes the connection. Returns the time.
fn hang_up(client: &mut TcpStream, start: Instant) -> Duration {
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    start.elapsed()
}

#[test]
fn a_slow_client_is_disconnected_and_blocks_nobody() {
    let (_results, server) = quick(100);
    let start = Instant::now();
    let mut slow: Vec<TcpStream> = (0..80).map(|_| server.connect()).collect();
    for (number, client) in slow.iter_mut().enumerate() {
        let beginning: &[u8] = [&b""[..], b"G", b"GET /api/health HTTP/1.1\r\nHost: local"][number % 3];
        client.write_all(beginning).unwrap();
    }
    assert_eq!(server.found("/api/health")["status"], "ok", "others are answered meanwhile");
    let mut drip = slow.pop().unwrap();
    thread::spawn(move || {
        // Single bytes do not extend the deadline.
        while drip.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    for mut client in slow {
        assert!(hang_up(&mut client, start) < Duration::from_secs(30));
    }
}

#[test]
fn an_idle_client_is_disconnected() {
    let (_results, server) = quick(10);
    let mut client = server.connect();
    client.write_all(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert!(hang_up(&mut client, Instant::now()) < Duration::from_secs(30));
}

#[test]
fn more_clients_than_there_may_be_wait_for_their_turn() {
    let (_results, server) = quick(2);
    let _idle = [server.connect(), server.connect()];
    thread::sleep(Duration::from_millis(100));
    assert_eq!(server.found("/api/health")["status"], "ok", "after the silent ones were let go");
}

#[test]
fn bodies_have_limits_in_length_and_time() {
    let (_results, server) = quick(10);
    let long = server.ask("POST", "/api/score", &format!("{{\"pairs\": [{}]}}", " ".repeat(2000)));
    server.assert_refused(&long, 413, &["1000 bytes"]);
    let pieces = format!("{}\r\n{}\r\n", "400", "x".repeat(0x400)).repeat(3);
    let chunked = server.say(format!(
        "POST /api/score HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{pieces}0\r\n\r\n"
    ));
    server.assert_refused(&chunked, 413, &["1000 bytes"]);
    let mut client = server.connect();
    client.write_all(b"POST /api/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n{").unwrap();
    server.assert_refused(&heard(&mut client), 413, &["1000 bytes"]);
    let mut client = server.connect();
    client.write_all(b"POST /api/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{\"pairs\"").unwrap();
    server.assert_refused(&heard(&mut client), 408, &["too long"]);
}

#[test]
fn bytes_that_are_not_http_are_refused() {
    let (_results, server) = quick(50);
    let long = "x".repeat(100_000);
    for bytes in [
        &b"\0\0\0\0"[..],
        b"hello\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes(),
        format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n").as_bytes(),
        b"POST /api/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ] {
        let said = server.say(bytes);
        assert!(said.status != 200 && said.status < 500, "{said:?}");
    }
    // The client sends many queries and reads no answer.
    let mut deaf = server.connect();
    deaf.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let question = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(1000);
    let _ = deaf.write_all(question.as_bytes());
    assert_eq!(server.found("/api/health")["status"], "ok");
}

/// Catches answers without a body where every error is said to be JSON.
#[test]
fn unreadable_requests_are_answered_in_json() {
    let (_results, server) = quick(10);
    let header = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(100_000));
    let path = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(100_000));
    let many = "X: y\r\n".repeat(200);
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n");
    let cases: [(&[u8], u16, &str); 8] = [
        (b"hello\r\n\r\n", 400, "HTTP"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", 400, "HTTP/1.1"),
        (b"GET / HTTP/9.9\r\n\r\n", 400, "HTTP"),
        (b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, "HTTP"),
        (b"POST /api/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400, "HTTP"),
        (header.as_bytes(), 431, "32768 bytes"),
        (path.as_bytes(), 431, "32768 bytes"),
        (many.as_bytes(), 431, "100 headers"),
    ];
    for (bytes, status, word) in cases {
        let said = server.say(bytes);
        server.assert_refused(&said, status, &[word]);
        assert!(said.head.contains("content-type: application/json"), "{said:?}");
        assert!(said.head.contains(&format!("content-length: {}", said.body.len())), "{said:?}");
        assert!(said.head.contains("connection: close"), "{said:?}");
    }
    // After an answer on the same connection, too.
    let said = server.say(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\nhello\r\n\r\n");
    assert_eq!(said.body.matches("{\"error\"").count(), 1, "{said:?}");
}

/// Catches a header section that exceeds the limit and is accepted because it arrives in one read.
#[test]
fn the_documented_limit_of_headers_holds() {
    let (_results, server) = quick(10);
    let head = |bytes: usize, in_path: bool| {
        let fixed = "GET /api/health? HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: \r\n\r\n".len();
        let (path, value) = if in_path { (bytes - fixed, 0) } else { (0, bytes - fixed) };
        let (path, value) = ("x".repeat(path), "x".repeat(value));
        format!("GET /api/health?{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: {value}\r\n\r\n")
    };
    assert_eq!(server.say(head(32_768, false)).status, 200);
    for (bytes, in_path) in [(32_769, false), (50_000, false), (50_000, true)] {
        let said = server.say(head(bytes, in_path));
        server.assert_refused(&said, 431, &["32768 bytes"]);
    }
}

#[test]
fn addresses_that_cannot_be_listened_on() {
    let results = Results::made_up(2, &["a"]);
    let server = results.serve(&[]);
    let refused = |address: &str, code, words: &[&str]| {
        let output = results.run(&["serve", "--model=out", &format!("--address={address}")]);
        assert_refused(&output, code, words);
    };
    let taken = server.address.to_string();
    refused(&taken, 1, &["cannot listen on", &taken, "--address"]);
    refused("nonsense", 2, &["nonsense: expected an address", "127.0.0.1:8080", "--address"]);
    refused("127.0.0.1:99999", 2, &["--address"]);
    let output = results.run(&["serve", "--model=nothing"]);
    assert_refused(&output, 3, &["nothing holds no finished run"]);
}

#[test]
fn an_address_that_others_reach_comes_with_a_warning() {
    let results = Results::made_up(2, &["a"]);
    let mut child = results.server(&["--address=0.0.0.0:0"]).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut warning = vec![0; 400];
    let length = stderr.read(&mut warning).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let warning = text(&warning[..length]);
    assert!(warning.contains("warning: other machines can reach 0.0.0.0"), "{warning}");
}
