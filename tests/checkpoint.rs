//! A run that is cut off goes on where it was, and ends with the bits of one that was not.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{data, folder, names, text, write_config};

/// What must be the same down to the last bit: every result, and the figures without times.
#[derive(PartialEq)]
struct Results(Vec<(String, Vec<u8>)>);

impl Results {
    fn of(folder: &Path) -> Self {
        let out = folder.join("out");
        assert!(!out.join("checkpoint").exists(), "a run that is over needs no checkpoint");
        let read = |name: String| {
            let bytes = fs::read(out.join(&name)).unwrap();
            let bytes = if name == "metrics.json" { without_circumstances(&bytes) } else { bytes };
            (name, bytes)
        };
        Self(names(&out).into_iter().map(read).collect())
    }

    #[track_caller]
    fn assert_same(&self, other: &Self, what: &str) {
        let names = |results: &Self| results.0.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(self), names(other), "{what}");
        for ((name, one), (_, other)) in self.0.iter().zip(&other.0) {
            assert!(one == other, "{what}: {name} differs");
        }
    }
}

fn without_circumstances(metrics: &[u8]) -> Vec<u8> {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(entries) => {
                for name in ["workers", "seconds", "peak_memory_bytes"] {
                    entries.shift_remove(name);
                }
                entries.values_mut().for_each(clean);
            }
            Value::Array(values) => values.iter_mut().for_each(clean),
            _ => {}
        }
    }
    let mut metrics = serde_json::from_slice(metrics).unwrap();
    clean(&mut metrics);
    serde_json::to_vec(&metrics).unwrap()
}

/// The program, started in a folder and ended with the test.
struct Run(Child);

impl Run {
    fn start(folder: &Path, workers: usize, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isvd-dist"));
        command.current_dir(folder).args(["--out=out", "--json"]).arg(format!("--workers={workers}")).args(arguments);
        Self(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits for its end, for a minute at most; what it said on stderr.
    fn end(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let status = loop {
            match self.0.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(Instant::now() < deadline, "still running after a minute"),
            }
            sleep(Duration::from_millis(2));
        };
        let mut said = String::new();
        std::io::Read::read_to_string(&mut self.0.stderr.take().unwrap(), &mut said).unwrap();
        (status, said)
    }

    #[track_caller]
    fn end_well(self) -> String {
        let (status, said) = self.end();
        assert_eq!(status.code(), Some(0), "{said}");
        said
    }

    fn signal(&self, name: &str) {
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

/// Checkpoints as often as there can be one.
const OFTEN: &str = "--checkpoint=0";

fn checkpoints(folder: &Path) -> Vec<PathBuf> {
    let at = folder.join("out/checkpoint");
    if !at.exists() {
        return Vec::new();
    }
    names(&at).into_iter().filter(|name| name.ends_with(".json")).map(|name| at.join(name)).collect()
}

/// Waits until so many checkpoints were begun, or the run is over.
fn wait_for_checkpoint(run: &mut Run, folder: &Path, number: u64) {
    let is_there = || {
        let newest = checkpoints(folder).pop();
        newest.is_some_and(|path| path.file_stem().unwrap().to_str().unwrap().parse::<u64>().unwrap() >= number)
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_there() && run.0.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "no checkpoint after a minute");
        sleep(Duration::from_millis(1));
    }
}

fn uninterrupted(arguments: &[&str]) -> Results {
    let own = folder();
    prepare(own.path());
    Run::start(own.path(), 2, arguments).end_well();
    Results::of(own.path())
}

/// Kills a run again and again, each time a little later, and goes on with another number of workers until it is done.
#[track_caller]
fn assert_survives_kills(arguments: &[&str], milliseconds: impl IntoIterator<Item = u64>) {
    let expected = uninterrupted(arguments);
    let own = folder();
    prepare(own.path());
    let arguments = [arguments, &[OFTEN, "--resume"]].concat();
    let mut kills = 0;
    for (number, pause) in milliseconds.into_iter().enumerate() {
        let mut run = Run::start(own.path(), 1 + number % 3, &arguments);
        sleep(Duration::from_millis(pause));
        if run.0.try_wait().unwrap().is_some() {
            let (status, said) = run.end();
            assert_eq!(status.code(), Some(0), "{said}");
            break;
        }
        kills += 1;
        drop(run);
    }
    println!("{kills} kills");
    assert!(kills > 0, "it was over before it could be killed");
    if !own.path().join("out/metrics.json").exists() {
        Run::start(own.path(), 3, &arguments).end_well();
    }
    expected.assert_same(&Results::of(own.path()), &format!("{arguments:?} after {kills} kills"));
}

/// Pauses that look random, up to so many milliseconds.
fn pauses(count: u64, most: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(move |number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % most + 5)
}

/// Configs that tests name.
fn prepare(folder: &Path) {
    write_config(folder, LINKS);
    fs::write(folder.join("nodes.toml"), NODES).unwrap();
}

const LINKS: &str = r#"
dataset = "demo"
[embedding]
window = 4
rank = 24
tolerance = 0.001
[finetune]
batch = 500
negatives = 2
[update]
edges = "valid"
"#;

const NODES: &str = r#"
dataset = "demo"
seeds = 2
[embedding]
rank = 8
[features]
embedding = true
components = 16
[classifier]
layers = 2
label_reuse = true
label_dropout = true
dropout_copies = 1
[network]
epochs = [3]
batch = 256
"#;

#[test]
fn a_run_killed_at_twenty_moments_ends_with_the_same_bits() {
    assert_survives_kills(&["--config=mine.toml"], pauses(20, 300));
}

#[test]
fn every_way_to_decompose_goes_on_where_it_was() {
    for choice in [
        &["--set=embedding.method=subspace", "--set=embedding.tolerance=0.02"][..],
        &["--set=embedding.method=subspace", "--set=embedding.orthonormalize=qr"],
        &["--set=embedding.basis=40", "--set=embedding.rank=8", "--set=embedding.tolerance=0.001"],
        &["--set=embedding.rank={energy=0.3,max=60}"],
        &["--set=embedding.rank=best"],
    ] {
        assert_survives_kills(&[&["--config=demo"], choice].concat(), pauses(6, 150));
    }
}
