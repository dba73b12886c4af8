//! The results do not depend on the number of processes.

use crate::support::{data, folder};
use crate::world::{Process, assert_same_folders, program};

/// The number of processes, and of workers in each.
const SHAPES: [(usize, usize); 4] = [(1, 3), (2, 1), (2, 2), (3, 1)];

fn same_bits(config: &str, more: &[&str]) {
    let folder = folder();
    let run = |command: &[&str], out: &str| {
        let mut program = program(folder.path());
        program.args(command).args(["--json", "--quiet", "--config", config, "--out", out]).args(more);
        let end = Process::start(program).end();
        end.assert(0, &[]);
        assert_eq!(end.stderr, "");
        serde_json::from_str::<serde_json::Value>(&end.stdout).unwrap()
    };
    run(&["--workers=1"], "one");
    for (processes, workers) in SHAPES {
        let (n, w, out) = (processes.to_string(), workers.to_string(), format!("{processes}x{workers}"));
        let metrics = run(&["launch", "-n", &n, "--workers", &w], &out);
        assert_eq!((&metrics["processes"], &metrics["workers"]), (&processes.into(), &(processes * workers).into()));
        assert_eq!(metrics["network_bytes_sent"].as_u64().unwrap() > 0, processes > 1, "{metrics}");
        assert_same_folders(&folder.path().join("one"), &folder.path().join(&out), &format!("{config}, {out}"));
    }
}

/// With several processes, only process 0 shows progress.
#[test]
fn progress_is_shown_once() {
    let folder = folder();
    let launch = |more: &[&str]| {
        let mut program = program(folder.path());
        program.args(["launch", "-n", "2", "--workers", "1", "--out", "told"]).args(more);
        let end = Process::start(program).end();
        end.assert(0, &[]);
        assert_eq!(end.stderr, "");
        end.progress
    };
    let told = launch(&[]);
    assert!(told.lines().all(|line| line.starts_with("[0] [")), "{told}");
    for stage in ["load demo", "import", "embedding"] {
        let of_stage = |line: &&str| line.contains(&format!(" s] {stage}"));
        assert_eq!(told.lines().filter(of_stage).count(), 2, "{stage} begins and ends in {told}");
    }
    assert_eq!(launch(&["--quiet"]), "");
}

#[test]
fn the_demo() {
    same_bits("demo", &[]);
}

#[test]
fn other_methods_have_the_same_bits() {
    same_bits("demo", &["--set=embedding.method=subspace", "--set=finetune.kernel=gaussian", "--transport=bytes"]);
}

#[test]
fn real_graphs() {
    let Some(data) = data() else { return };
    let data = format!("--data={}", data.display());
    ["ppi", "ddi", "cora"].into_iter().for_each(|config| same_bits(config, &[&data]));
}
