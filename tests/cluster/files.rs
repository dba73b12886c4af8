//! The files of `cluster/` work, as far as one machine can test them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use isvd_dist::cli::Arguments;

use crate::support::answer::results;
use crate::support::folder;
use crate::world::{Process, free_addresses};

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster").join(name)).unwrap()
}

/// The quoted words after `args:`.
fn arguments_of(manifest: &str) -> Vec<String> {
    let line = manifest.lines().find_map(|line| line.trim().strip_prefix("args: ")).unwrap();
    serde_json::from_str(line).unwrap()
}

#[test]
fn the_list_of_hosts_is_understood() {
    let folder = folder();
    fs::write(folder.path().join("hosts"), file("hosts.example")).unwrap();
    let mut program = crate::world::program(folder.path());
    program.args(["--hosts=hosts", "--process=7"]);
    Process::start(program).end().assert(2, &["names 3 processes"]);
}

/// A script replaces `srun` and starts the tasks of two nodes, both on this machine.
#[test]
fn the_slurm_script_runs_a_job() {
    let folder = folder();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster/slurm.sh");
    assert!(Command::new("bash").arg("-n").arg(&script).status().unwrap().success());
    let srun = folder.path().join("srun");
    // The arguments before the program are those of srun.
    let stub = "#!/usr/bin/env bash\nset -e\nwhile [[ $1 == --* ]]; do shift; done\n\
                SLURM_PROCID=1 \"$@\" & first=$!\nSLURM_PROCID=0 \"$@\"\nwait $first\n";
    fs::write(&srun, stub).unwrap();
    fs::set_permissions(&srun, fs::Permissions::from_mode(0o755)).unwrap();
    let (_, port) =
        free_addresses(1).remove(0).rsplit_once(':').map(|(host, port)| (host.to_owned(), port.to_owned())).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.arg(&script).args(["--port", &port, "--out=results", "--json"]).current_dir(folder.path());
    command.env("PATH", path).env("ISVD_PROGRAM", assert_cmd::cargo::cargo_bin!("isvd-dist"));
    let job = [
        ("SLURM_NTASKS", "2"),
        ("SLURM_JOB_NODELIST", "localhost"),
        ("SLURM_TASKS_PER_NODE", "2"),
        ("SLURM_CPUS_ON_NODE", "1"),
    ];
    command.envs(job).env_remove("ISVD_CLUSTER_SECRET");
    let end = Process::start(command).end();
    end.assert(0, &[]);
    let metrics: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!((&metrics["processes"], &metrics["workers"]), (&2.into(), &2.into()));
    assert!(results(&folder.path().join("results")).contains_key("left.npy"));
}

/// Repeated values of the manifest must agree, and the program must accept its arguments.
#[test]
fn the_manifest_agrees_with_itself_and_with_the_program() {
    let manifest = file("kubernetes.yaml");
    let kinds: Vec<&str> = manifest.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(kinds, ["Service", "StatefulSet"]);
    assert!(manifest.contains("clusterIP: None") && manifest.contains("publishNotReadyAddresses: true"));
    assert!(!manifest.contains('\t') && manifest.lines().all(|line| line == line.trim_end()));
    let words = [vec!["isvd-dist".to_owned()], arguments_of(&manifest)].concat();
    let arguments = Arguments::try_parse_from(words).unwrap();
    let count = |text: String| manifest.matches(text.as_str()).count();
    assert_eq!(count(format!("port: {}\n", arguments.peers.port)), 1);
    assert_eq!(count(format!("containerPort: {}\n", arguments.peers.port)), 1);
    assert_eq!(count("isvd-mesh\n".to_owned()), 3, "the service, the set and the variable");
    let after = |key: &str| manifest.split(key).nth(1).unwrap().split_whitespace().next().unwrap().trim_matches('"');
    assert_eq!(after("replicas: "), manifest.split("ISVD_PROCESSES").nth(1).unwrap().split('"').nth(1).unwrap());
}

#[test]
fn the_container_starts_the_program() {
    let text = file("Containerfile");
    assert!(text.contains("cargo build --release --locked") && text.contains("ENTRYPOINT [\"isvd-dist\"]"));
    assert!(text.contains("USER 10001"), "not as root");
}
