//! A server with 200 clients on this machine: `cargo bench --bench serve`.
//!
//! Each client sends one query after the other on its own connection. The results are those of the
//! demo, and generated vectors as many as ogbn-arxiv has nodes. Clients and server share the cores.

#[path = "../tests/support/load.rs"]
mod load;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use isvd_kernel::random::normal;
use load::load;
use npyz::WriterBuilder;

const CLIENTS: usize = 200;
const PROGRAM: &str = env!("CARGO_BIN_EXE_isvd-dist");
const ROWS: usize = 170_000;
const RANK: usize = 100;

struct Server(Child, SocketAddr);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(folder: &Path) -> Server {
    let mut command = Command::new(PROGRAM);
    command.args(["serve", "--address=127.0.0.1:0", "--timeout=60", "--model"]).arg(folder).stdout(Stdio::piped());
    let mut child = command.spawn().expect("a server");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
    Server(child, address.parse().expect("an address"))
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let demo = folder.path().join("demo");
    let status = Command::new(PROGRAM).args(["--quiet", "--out"]).arg(&demo).stdout(Stdio::null()).status();
    assert!(status.expect("a run").success());
    println!("{CLIENTS} clients, one question after the other each");
    println!("{:<34} {:>10} {:>8} {:>9} {:>9} {:>9}", "", "answers/s", "errors", "p50 ms", "p99 ms", "worst ms");
    let server = serve(&demo);
    report("demo: neighbours", &server, 100, |n| format!("/api/neighbors?node=n{}", n % 5000));
    report("demo: neighbours by score", &server, 100, |n| format!("/api/neighbors?node=n{}&by=score", n % 5000));
    report("demo: score", &server, 100, |n| format!("/api/score?source=n{}&target=n7", n % 5000));
    report("demo: embedding", &server, 100, |n| format!("/api/embedding?node=n{}", n % 5000));
    report("demo: health", &server, 100, |_| "/api/health".to_owned());
    drop(server);
    let large = folder.path().join("large");
    make_up(&large);
    let server = serve(&large);
    // The map is computed at the start.
    load(server.1, 1, 1, |_, _| "/api/map".to_owned());
    report("170,000 × 100: neighbours", &server, 20, |n| format!("/api/neighbors?node={}", n % ROWS));
    report("170,000 × 100: neighbours by score", &server, 20, |n| {
        format!("/api/neighbors?node={}&by=score", n % ROWS)
    });
    report("170,000 × 100: score", &server, 100, |n| format!("/api/score?source={}&target=7", n % ROWS));
}

fn report(name: &str, server: &Server, questions: usize, path: impl Fn(usize) -> String + Sync) {
    let seen = load(server.1, CLIENTS, questions, |client, question| path(client * 7919 + question * 31));
    let [half, most, worst] = [0.5, 0.99, 1.0].map(|share| seen.quantile(share).as_secs_f64() * 1e3);
    let (rate, errors) = (seen.rate(), seen.errors.len());
    println!("{name:<34} {rate:>10.0} {errors:>8} {half:>9.1} {most:>9.1} {worst:>9.1}");
}

/// A folder of results with generated vectors.
fn make_up(folder: &Path) {
    fs::create_dir(folder).expect("a folder");
    for (stream, name) in [(1, "left.npy"), (2, "right.npy")] {
        let file = BufWriter::new(File::create(folder.join(name)).expect("a file"));
        let options = npyz::WriteOptions::new().default_dtype().shape(&[ROWS as u64, RANK as u64]);
        let mut writer = options.writer(file).begin_nd().expect("a header");
        let entries = (0..ROWS * RANK).map(|place| normal(1, stream, (place / RANK) as u64, (place % RANK) as u32));
        writer.extend(entries).and_then(|()| writer.finish()).expect("an array");
    }
    fs::write(folder.join("ids.txt"), (0..ROWS).map(|row| format!("{row}\n")).collect::<String>()).expect("ids");
    let metrics =
        r#"{"config": "made-up", "dataset": "made-up", "nodes": 170000, "edges": 0, "directed": false, "seed": 1}"#;
    fs::write(folder.join("metrics.json"), metrics).expect("figures");
}
