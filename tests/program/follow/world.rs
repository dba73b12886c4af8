//! A graph, a stream of updates, and the final edges.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{folder, names, text};

/// A user's graph from which no edges are held out.
pub const CONFIG: &str = r#"
[data]
path = "edges.txt"
valid = 0.0
test = 0.0
[embedding]
window = 3
negative = 0.02
rank = 6
iterations = 40
tolerance = 0.001
"#;

/// Edges by their ends, the smaller first.
pub type Edges = BTreeMap<(u32, u32), u32>;

/// Pseudo-random numbers.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(bound)) as u32
    }
}

/// A folder with a config, a graph and a stream.
pub struct World {
    pub folder: TempDir,
    /// The edges after the stream.
    pub after: Edges,
    /// The lines of the stream.
    pub lines: Vec<String>,
}

impl World {
    /// A graph of 60 nodes and a number of updates. Some updates add nodes, some are invalid and
    /// change nothing.
    pub fn new(updates: usize) -> Self {
        let mut dice = Dice(7);
        let mut edges: Edges = (0..60).map(|node| ((node, (node * 7 + 1) % 60), 1)).map(ordered).collect();
        (0..120).for_each(|_| {
            let edge = ordered(((dice.below(60), dice.below(60)), 1));
            if edge.0.0 != edge.0.1 {
                edges.insert(edge.0, edge.1);
            }
        });
        let folder = folder();
        fs::write(folder.path().join("mine.toml"), CONFIG).unwrap();
        write_edges(&folder.path().join("edges.txt"), &edges);
        let (mut lines, mut nodes) = (Vec::new(), 60);
        for number in 0..updates {
            let time = number / 4;
            let line = match dice.below(8) {
                0..4 => {
                    // Sometimes a new node.
                    let to = if dice.below(5) == 0 { nodes } else { dice.below(nodes) };
                    let from = dice.below(60.min(nodes));
                    if from == to {
                        continue;
                    }
                    nodes = nodes.max(to + 1);
                    edges.insert(ordered(((from, to), 1)).0, 1);
                    format!("{time} + {from} {to}")
                }
                4..6 => {
                    let place = dice.below(edges.len() as u32) as usize;
                    let edge = *edges.keys().nth(place).unwrap();
                    if is_last(&edges, edge) {
                        continue;
                    }
                    edges.remove(&edge);
                    format!("{time} - {} {}", edge.1, edge.0)
                }
                6 => {
                    let place = dice.below(edges.len() as u32) as usize;
                    let (edge, weight) = edges.iter_mut().nth(place).unwrap();
                    *weight = 1 + dice.below(3);
                    format!("{time} = {} {} {weight}", edge.0, edge.1)
                }
                _ => {
                    let edge = ordered(((dice.below(60), dice.below(60)), 1)).0;
                    if is_last(&edges, edge) {
                        continue;
                    }
                    edges.remove(&edge);
                    format!("{time}\tremove\t{}\t{}", edge.0, edge.1)
                }
            };
            lines.push(line);
        }
        let world = Self { folder, after: edges, lines };
        fs::write(world.path().join("updates.txt"), world.text()).unwrap();
        world
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The stream as a text.
    pub fn text(&self) -> String {
        self.lines.iter().fold(String::new(), |mut text, line| {
            writeln!(text, "{line}").unwrap();
            text
        })
    }

    /// Follows the stream to its end.
    #[track_caller]
    pub fn follow(&self, arguments: &[&str]) -> Followed {
        let (status, said, printed) = self.start(arguments).end();
        assert_eq!(status.code(), Some(0), "{said}");
        Followed { printed, said }
    }

    /// Begins to follow.
    pub fn start(&self, arguments: &[&str]) -> Run {
        let workers =
            if arguments.iter().any(|word| word.starts_with("--workers")) { &[][..] } else { &["--workers=1"] };
        Run::start(self.path(), &[&["follow", "--config=mine.toml", "--json"][..], workers, arguments].concat())
    }

    /// The results of a run on the final edges.
    pub fn anew(&self) -> Value {
        write_edges(&self.path().join("after.txt"), &self.after);
        let nodes = self.after.keys().map(|edge| edge.1).max().unwrap();
        assert!(nodes >= 60, "some nodes are new");
        let arguments = ["--config=mine.toml", "--set=data.path=after.txt", "--out=scratch", "--json"];
        let (status, said, printed) = Run::start(self.path(), &arguments).end();
        assert_eq!(status.code(), Some(0), "{said}");
        serde_json::from_str(&printed).unwrap()
    }

    /// A folder of batches with a given number of lines.
    pub fn inbox(&self, lines: usize) -> PathBuf {
        let inbox = self.path().join("inbox");
        fs::create_dir(&inbox).unwrap();
        for (number, lines) in self.lines.chunks(lines).enumerate() {
            fs::write(inbox.join(format!("{number:03}.txt")), lines.join("\n") + "\n").unwrap();
        }
        inbox
    }
}

/// Whether a node would be without edges: a list of edges would not have it.
fn is_last(edges: &Edges, edge: (u32, u32)) -> bool {
    let count = |node| edges.keys().filter(|edge| edge.0 == node || edge.1 == node).count();
    count(edge.0) < 2 || count(edge.1) < 2
}

fn ordered(((from, to), weight): ((u32, u32), u32)) -> ((u32, u32), u32) {
    ((from.min(to), from.max(to)), weight)
}

fn write_edges(path: &Path, edges: &Edges) {
    let text: String = edges.iter().map(|((from, to), weight)| format!("{from} {to} {weight}\n")).collect();
    fs::write(path, text).unwrap();
}

/// The output of a completed run.
pub struct Followed {
    pub printed: String,
    pub said: String,
}

impl Followed {
    /// One line for the initial graph, one per batch, and the summary.
    pub fn lines(&self) -> Vec<Value> {
        self.printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn summary(&self) -> Value {
        self.lines().pop().unwrap()["summary"].clone()
    }
}

/// A running program, killed at the end of the test.
pub struct Run(pub Child);

impl Run {
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isvd-dist"));
        command.current_dir(folder).env_remove("ISVD_DATA").args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Waits for its end, at most a minute. Returns its exit status, stderr without progress, and
    /// stdout.
    pub fn end(mut self) -> (ExitStatus, String, String) {
        drop(self.0.stdin.take());
        let [mut said, mut printed] = [String::new(), String::new()];
        let (mut stderr, mut stdout) = (self.0.stderr.take().unwrap(), self.0.stdout.take().unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| stderr.read_to_string(&mut said).unwrap());
            scope.spawn(|| stdout.read_to_string(&mut printed).unwrap());
            within_a_minute("still running", || self.0.try_wait().unwrap().is_some());
        });
        let status = self.0.wait().unwrap();
        (status, crate::support::said(&said), printed)
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.0.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until something holds, for a minute at most.
#[track_caller]
pub fn within_a_minute(otherwise: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{otherwise} after a minute");
        sleep(Duration::from_millis(2));
    }
}

/// The number of batches that are in the log.
pub fn logged(folder: &Path) -> usize {
    let log = fs::read(folder.join("out/mine/follow.log")).unwrap_or_default();
    log.iter().filter(|byte| **byte == b'\n').count().saturating_sub(1)
}

/// All results that must not depend on interruptions: vectors, ids, figures, changed rows.
pub fn left_behind(folder: &Path) -> BTreeMap<String, String> {
    let out = folder.join("out/mine");
    let mut files = BTreeMap::new();
    for name in ["left.npy", "right.npy", "singular_values.npy", "ids.txt"] {
        files.insert(name.to_owned(), format!("{:?}", fs::read(out.join(name)).unwrap()));
    }
    let metrics: Value = serde_json::from_slice(&fs::read(out.join("metrics.json")).unwrap()).unwrap();
    let mut follow = metrics["follow"].clone();
    for name in ["embeddings", "operator_columns", "ledger_bytes_per_edge"] {
        follow.as_object_mut().unwrap().shift_remove(name).unwrap();
    }
    files.insert("figures".to_owned(), format!("{follow} {} {}", metrics["nodes"], metrics["edges"]));
    let changes = folder.join("changes");
    for name in if changes.exists() { names(&changes) } else { Vec::new() } {
        let content = fs::read(changes.join(&name)).unwrap();
        files.insert(name, text(&content).to_owned());
    }
    files
}

/// Numbers of an array of f32.
pub fn array(path: &Path) -> Vec<f32> {
    let bytes = fs::read(path).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[start..].chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}
