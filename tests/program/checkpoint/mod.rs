//! An interrupted run resumes from its checkpoint and ends with the bits of an uninterrupted run.

mod disk;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::answer::{Results, assert_same_results, results};
use crate::support::{data, folder, names, said, write_config};

/// The output and files of a completed run.
fn results_of(folder: &Path) -> Results {
    let out = folder.join("out");
    assert!(!out.join("checkpoint").exists(), "a run that is over needs no checkpoint");
    results(&out)
}

/// A running program, killed at the end of the test.
struct Run(Child);

impl Run {
    fn start(folder: &Path, workers: usize, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_isvd-dist"));
        command.current_dir(folder).args(["--out=out", "--json"]);
        command.arg(format!("--workers={workers}")).args(arguments);
        Self(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits for its end, at most a minute. Returns stderr without progress.
    fn end(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let status = loop {
            match self.0.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(Instant::now() < deadline, "still running after a minute"),
            }
            sleep(Duration::from_millis(2));
        };
        let mut stderr = String::new();
        std::io::Read::read_to_string(&mut self.0.stderr.take().unwrap(), &mut stderr).unwrap();
        (status, said(&stderr))
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

/// A checkpoint after every step.
const OFTEN: &str = "--checkpoint=0";

fn checkpoints(folder: &Path) -> Vec<PathBuf> {
    let at = folder.join("out/checkpoint");
    if !at.exists() {
        return Vec::new();
    }
    names(&at).into_iter().filter(|name| name.ends_with(".json")).map(|name| at.join(name)).collect()
}

/// Waits until a number of checkpoints have been begun, or until the run ends.
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
    results_of(own.path())
}

/// Kills a run after each of these pauses, and resumes it with another number of workers. A
/// completed run starts again.
#[track_caller]
fn assert_survives_kills(arguments: &[&str], milliseconds: impl IntoIterator<Item = u64>) {
    let expected = uninterrupted(arguments);
    let own = folder();
    prepare(own.path());
    let arguments = [arguments, &[OFTEN, "--resume"]].concat();
    let mut resumed = 0;
    let mut finish = |run: Run| {
        let said = run.end_well();
        resumed += usize::from(said.contains("note: resumed from out/checkpoint/"));
        assert_same_results(&expected, &results_of(own.path()), &format!("{arguments:?}"));
        fs::remove_dir_all(own.path().join("out")).unwrap();
    };
    for (number, pause) in milliseconds.into_iter().enumerate() {
        let mut run = Run::start(own.path(), 1 + number % 3, &arguments);
        sleep(Duration::from_millis(pause));
        if run.0.try_wait().unwrap().is_some() {
            finish(run);
        }
    }
    let mut run = Run::start(own.path(), 2, &arguments);
    wait_for_checkpoint(&mut run, own.path(), 1);
    drop(run);
    finish(Run::start(own.path(), 3, &arguments));
    assert!(resumed > 0, "it was never killed between its first checkpoint and its end");
}

/// Pseudo-random pauses up to a number of milliseconds.
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
learning_rates = [0.01]
batch = 256
"#;

#[test]
fn a_run_killed_at_twenty_moments_ends_with_the_same_bits() {
    assert_survives_kills(&["--config=mine.toml"], pauses(20, 300));
}

#[test]
fn every_method_resumes() {
    for choice in [
        &["--set=embedding.method=subspace", "--set=embedding.tolerance=0.02"][..],
        &["--set=embedding.method=subspace"],
        &["--set=embedding.basis=40", "--set=embedding.rank=8", "--set=embedding.tolerance=0.001"],
        &["--set=embedding.rank={energy=0.3,max=60}"],
        &["--set=embedding.rank=best"],
    ] {
        assert_survives_kills(&[&["--config=demo"], choice].concat(), pauses(6, 150));
    }
}

/// The update starts from the vectors of the embedding, and uses a surrogate.
#[test]
fn a_warm_start_resumes() {
    let walks = ["--set=embedding.window=10", "--set=embedding.normalize=symmetric", "--set=embedding.tolerance=0.05"];
    assert_survives_kills(&[&["--config=mine.toml"][..], &walks].concat(), pauses(10, 200));
}

/// Embedding, features, closed forms and a network, for two seeds.
#[test]
fn a_classification_resumes() {
    assert_survives_kills(&["--config=nodes.toml"], pauses(12, 250));
}

#[test]
fn runs_on_real_data_resume() {
    let Some(data) = data() else { return };
    let data = format!("--data={}", data.display());
    for (config, kills, most) in [("ppi", 4, 150), ("ddi", 4, 3000), ("cora-dropout", 4, 1000)] {
        assert_survives_kills(&[&data, "--config", config], pauses(kills, most));
    }
}

/// A run that is long enough to be interrupted during a decomposition.
const LONG: &[&str] = &[
    "--config=demo",
    "--set=embedding.rank=64",
    "--set=embedding.method=subspace",
    "--set=embedding.tolerance=1e-9",
    "--set=embedding.iterations=30",
];

fn long() -> &'static Results {
    static RESULTS: OnceLock<Results> = OnceLock::new();
    RESULTS.get_or_init(|| uninterrupted(LONG))
}

#[test]
fn an_interrupt_ends_the_step_and_leaves_a_checkpoint() {
    let expected = long();
    for (workers, signal) in [(1, "INT"), (2, "TERM"), (3, "INT")] {
        let own = folder();
        let mut run = Run::start(own.path(), workers, &[LONG, &[OFTEN]].concat());
        wait_for_checkpoint(&mut run, own.path(), 2);
        run.signal(signal);
        let (status, said) = run.end();
        assert_eq!(status.code(), Some(130), "{said}");
        assert_eq!(said, "interrupted: to go on from the checkpoint, give the same command and --resume\n");
        assert_eq!(names(&own.path().join("out")), ["checkpoint"], "no result");
        let said = Run::start(own.path(), 4 - workers, &[LONG, &["--resume"]].concat()).end_well();
        assert!(said.starts_with("note: resumed from out/checkpoint/") && said.lines().count() == 1, "{said}");
        assert_same_results(expected, &results_of(own.path()), &format!("{workers} workers, {signal}"));
    }
}

/// Checkpoints by iterations: every third iteration writes one, and no other.
#[test]
fn a_checkpoint_after_a_number_of_iterations() {
    let own = folder();
    let mut run = Run::start(own.path(), 2, &[LONG, &["--checkpoint=3it"]].concat());
    wait_for_checkpoint(&mut run, own.path(), 3);
    drop(run);
    let kept = checkpoints(own.path());
    assert!(kept.len() >= 2, "{kept:?}");
    for path in kept {
        let manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let number = manifest["number"].as_u64().unwrap();
        assert_eq!(manifest["records"][0]["panels"][0]["file"], format!("0-product-{}", 3 * number), "{path:?}");
    }
    let said = Run::start(own.path(), 3, &[LONG, &["--checkpoint=3it", "--resume"]].concat()).end_well();
    assert!(said.starts_with("note: resumed from out/checkpoint/"), "{said}");
    assert_same_results(long(), &results_of(own.path()), "resumed, every third iteration");
}

/// With `--checkpoint off`, an interrupt ends the run and writes nothing.
#[test]
fn an_interrupt_without_checkpoints_leaves_nothing() {
    let own = folder();
    let run = Run::start(own.path(), 2, &[LONG, &["--checkpoint=off"]].concat());
    sleep(Duration::from_millis(250));
    run.signal("TERM");
    let (status, said) = run.end();
    assert_eq!((status.code(), said.as_str()), (Some(130), "interrupted\n"));
    assert_eq!(names(&own.path().join("out")), [""; 0]);
}

/// While data is read, an interrupt ends the run at once.
#[test]
fn an_interrupt_while_loading_ends_at_once() {
    let own = folder();
    let run = Run::start(own.path(), 1, &["--set=dataset=rmat-20"]);
    sleep(Duration::from_millis(300));
    run.signal("INT");
    let asked = Instant::now();
    let (status, said) = run.end();
    assert_eq!((status.code(), said.as_str()), (Some(130), "interrupted\n"));
    assert!(asked.elapsed() < Duration::from_secs(2));
}

/// A folder with two checkpoints of an interrupted run, and the results of an uninterrupted run.
fn interrupted() -> (tempfile::TempDir, &'static Results) {
    let own = folder();
    let mut run = Run::start(own.path(), 2, &[LONG, &[OFTEN]].concat());
    wait_for_checkpoint(&mut run, own.path(), 4);
    drop(run);
    assert!(checkpoints(own.path()).len() >= 2, "two, and one more if it was killed before it removed that");
    (own, long())
}

#[test]
fn the_checkpoint_before_a_damaged_one_is_used() {
    let (own, expected) = interrupted();
    let newest = checkpoints(own.path()).pop().unwrap();
    let manifest: Value = serde_json::from_slice(&fs::read(&newest).unwrap()).unwrap();
    let piece = manifest["records"][0]["panels"][0]["file"].as_str().unwrap();
    let piece = own.path().join("out/checkpoint/pieces").join(piece);
    for (path, damage) in [(&newest, "flip"), (&newest, "cut"), (&piece, "flip"), (&piece, "cut"), (&piece, "remove")] {
        let copy = folder();
        copy_folder(own.path(), copy.path());
        spoil(&copy.path().join(path.strip_prefix(own.path()).unwrap()), damage);
        let said = Run::start(copy.path(), 2, &[LONG, &["--resume"]].concat()).end_well();
        let lines: Vec<&str> = said.lines().collect();
        let shown = newest.strip_prefix(own.path()).unwrap().display().to_string();
        assert!(lines[0].starts_with(&format!("note: the checkpoint {shown} cannot be used")), "{damage}: {said}");
        assert!(lines[1].starts_with("note: resumed from out/checkpoint/"), "{damage}: {said}");
        assert_same_results(expected, &results_of(copy.path()), damage);
    }
}

/// Flips a bit of a file, cuts it short or removes it.
fn spoil(path: &Path, damage: &str) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    match damage {
        "flip" => bytes[middle] ^= 4,
        "cut" => bytes.truncate(middle),
        _ => return fs::remove_file(path).unwrap(),
    }
    fs::write(path, bytes).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in names(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        match from.is_dir() {
            true => copy_folder(&from, &to),
            false => fs::write(to, fs::read(from).unwrap()).unwrap(),
        }
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused_by_name() {
    let (own, expected) = interrupted();
    for (more, word) in [
        (&["--set=embedding.rank=63"][..], "embedding.rank was 64 and is 63"),
        (&["--seed=2"], "seed was 1 and is 2"),
        (&["--set=dataset=rmat-10"], "the data was 5000 nodes"),
    ] {
        let (status, said) = Run::start(own.path(), 2, &[LONG, &["--resume"], more].concat()).end();
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains("is of another run") && said.contains(word), "{said}");
    }
    let said =
        Run::start(own.path(), 1, &[LONG, &["--resume", "--set=evaluate.metrics=[\"auc\"]"]].concat()).end_well();
    assert!(said.contains("resumed"), "metrics may change: {said}");
    let found = results_of(own.path());
    assert!(expected.iter().all(|(name, content)| name == "metrics.json" || found[name] == *content));
}

#[test]
fn without_resume_a_run_starts_again_and_reports_it() {
    let (own, expected) = interrupted();
    let said = Run::start(own.path(), 2, LONG).end_well();
    assert!(said.contains("(--resume)") && said.lines().count() == 1, "{said}");
    assert_same_results(expected, &results_of(own.path()), "a new start");
    let said = Run::start(own.path(), 2, &["--resume"]).end_well();
    assert!(said.contains("nothing to resume in out/checkpoint"), "{said}");
}
