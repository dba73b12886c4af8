//! A server on a free port of this machine, and a client that sends given bytes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use npyz::WriterBuilder;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support;

/// Results in a folder.
pub struct Results(TempDir);

impl Results {
    /// The demo, embedded with few iterations.
    pub fn demo() -> Self {
        let folder = support::folder();
        support::assert_done(&support::small(folder.path(), &["--out=out"]));
        Self(folder)
    }

    /// Given vectors, with their numbers of rows and columns and their names.
    pub fn made_up(rank: usize, names: &[&str]) -> Self {
        let results = Self(support::folder());
        fs::create_dir(results.path("out")).unwrap();
        let entries: Vec<f32> = (0..names.len() * rank).map(|entry| (entry as f32).sin()).collect();
        for side in ["left", "right"] {
            write_npy(&results.path(&format!("out/{side}.npy")), &[names.len(), rank], &entries);
        }
        fs::write(results.path("out/ids.txt"), names.iter().map(|name| format!("{name}\n")).collect::<String>())
            .unwrap();
        let metrics =
            json!({ "config": "c", "dataset": "d", "nodes": names.len(), "edges": 0, "directed": true, "seed": 1 });
        fs::write(results.path("out/metrics.json"), metrics.to_string()).unwrap();
        results
    }

    /// Cats and dogs, classified.
    pub fn classified(more: &[&str]) -> Self {
        const NODES: usize = 60;
        let results = Self(support::folder());
        let write = |name: &str, content: String| fs::write(results.path(name), content).unwrap();
        write(
            "edges.txt",
            (0..NODES).flat_map(|n| [2, 14].map(|far| format!("{n} {}\n", (n + far) % NODES))).collect(),
        );
        write("labels.txt", (0..NODES).map(|n| if n.is_multiple_of(2) { "cats\n" } else { "<dogs>\n" }).collect());
        let entry = |n: usize| (n / 4 % 2) as f32 * f32::from(n.is_multiple_of(4)) + (n * 7 % 10) as f32 * 0.05;
        write_npy(&results.path("x.npy"), &[NODES, 4], &(0..NODES * 4).map(entry).collect::<Vec<_>>());
        let config =
            "[data]\npath = \"edges.txt\"\nfeatures = \"x.npy\"\nlabels = \"labels.txt\"\n[classifier]\nlayers = 1\n";
        support::write_config(results.0.path(), config);
        support::assert_done(&results.run(&[&["--config=mine.toml", "--out=out", "--workers=1"], more].concat()));
        results
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn run(&self, arguments: &[&str]) -> std::process::Output {
        support::run(self.0.path(), arguments)
    }

    /// Serves them on a free port.
    pub fn serve(&self, more: &[&str]) -> Server {
        let mut child = self.server(&[&["--address=127.0.0.1:0"], more].concat()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_else(|| {
            let _ = child.kill();
            panic!("{line:?} names no address")
        });
        Server { address: address.parse().unwrap(), child }
    }

    pub fn server(&self, more: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("isvd-dist"));
        command.current_dir(self.0.path()).args(["serve", "--model=out"]).args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

fn write_npy(path: &Path, shape: &[usize], values: &[f32]) {
    let shape: Vec<u64> = shape.iter().map(|&side| side as u64).collect();
    let file = File::create(path).unwrap();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(file).begin_nd().unwrap();
    writer.extend(values.iter().copied()).unwrap();
    writer.finish().unwrap();
}

pub struct Server {
    pub address: SocketAddr,
    child: Child,
}

/// What a server said.
#[derive(Debug)]
pub struct Said {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Said {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Server {
    pub fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.address).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        client
    }

    /// Sends bytes, and reads until the server closes the connection.
    pub fn say(&self, bytes: impl AsRef<[u8]>) -> Said {
        let mut client = self.connect();
        // The server may close the connection before all bytes are sent.
        let _ = client.write_all(bytes.as_ref());
        heard(&mut client)
    }

    pub fn ask(&self, method: &str, path: &str, body: &str) -> Said {
        let length = if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let address = self.address;
        self.say(format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{length}\r\n{body}"))
    }

    pub fn get(&self, path: &str) -> Said {
        self.ask("GET", path, "")
    }

    /// The body as JSON.
    #[track_caller]
    pub fn found(&self, path: &str) -> Value {
        let said = self.get(path);
        assert_eq!(said.status, 200, "{path}: {said:?}");
        assert!(said.head.contains("content-type: application/json"), "{said:?}");
        said.json()
    }

    #[track_caller]
    pub fn assert_refused(&self, said: &Said, status: u16, words: &[&str]) {
        assert_eq!(said.status, status, "{said:?}");
        let value = said.json();
        let message = value["error"].as_str().unwrap();
        for word in words {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The exit status. The server must end soon.
    pub fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "the server is still there");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// All bytes until the server closes the connection.
pub fn heard(client: &mut TcpStream) -> Said {
    let mut bytes = Vec::new();
    // Bytes after an early close are lost.
    let _ = client.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Said { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
