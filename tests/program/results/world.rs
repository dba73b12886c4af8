//! The embedding of a graph with unusual names, and a slow reference for comparing its nodes.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use npyz::NpyFile;
use tempfile::TempDir;

use crate::support;

const AWKWARD: [&str; 12] = [
    "New York",
    "São Paulo",
    "a,b",
    "say \"hi\"",
    "it's",
    "x;y",
    "ünïcode ☃",
    "🦀 crab",
    "under_score",
    "007",
    "-5",
    "NA",
];

const NODES: usize = 150;

/// The name of a node.
pub fn name(node: usize) -> String {
    AWKWARD.get(node).map_or_else(|| format!("node {node}"), |name| (*name).to_owned())
}

pub struct World {
    folder: TempDir,
}

impl World {
    /// Embeds the graph with unusual names.
    pub fn new(more: &[&str]) -> Self {
        let world = Self { folder: support::folder() };
        let far = |node: usize| [1, 2, 7, 30].map(|far| (node, (node * far + far) % NODES));
        let line = |(from, to): (usize, usize)| format!("{}\t{}\n", name(from), name(to));
        let edges: String = (0..NODES).flat_map(far).filter(|(from, to)| from != to).map(line).collect();
        fs::write(world.path("edges.tsv"), edges).unwrap();
        let fixed = ["--config=links", "--set=data.path=edges.tsv", "--set=embedding.rank=6", "--out=out"];
        support::assert_done(&world.run(&[&fixed, more].concat()));
        world
    }

    /// The demo, embedded with few iterations.
    pub fn demo() -> Self {
        let world = Self { folder: support::folder() };
        support::assert_done(&support::small(world.folder.path(), &["--out=out"]));
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        support::run(self.folder.path(), arguments)
    }

    /// Runs a command on the results.
    pub fn ask(&self, command: &str, arguments: &[&str]) -> Output {
        self.run(&[&[command, "--model=out"], arguments].concat())
    }

    /// Runs a command on the results, with a given stdin.
    pub fn ask_with(&self, command: &str, arguments: &[&str], input: &str) -> Output {
        let program = assert_cmd::cargo::cargo_bin!("isvd-dist");
        let mut child = std::process::Command::new(program)
            .current_dir(self.folder.path())
            .args([command, "--model=out"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    pub fn ids(&self) -> Vec<String> {
        fs::read_to_string(self.path("out/ids.txt")).unwrap().lines().map(str::to_owned).collect()
    }

    /// The rows of an array.
    pub fn rows(&self, name: &str) -> Vec<Vec<f64>> {
        rows(&self.path(name))
    }
}

pub fn rows(path: &Path) -> Vec<Vec<f64>> {
    let file = NpyFile::new(File::open(path).unwrap()).unwrap();
    let columns = file.shape()[1] as usize;
    let values: Vec<f32> = file.into_vec().unwrap();
    values.chunks(columns).map(|row| row.iter().map(|&value| f64::from(value)).collect()).collect()
}

pub fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

pub fn cosine(one: &[f64], other: &[f64]) -> f64 {
    let lengths = (dot(one, one) * dot(other, other)).sqrt();
    if lengths > 0.0 { dot(one, other) / lengths } else { 0.0 }
}
