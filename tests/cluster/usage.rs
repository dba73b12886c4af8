//! Invalid options for several processes are reported before anything starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::folder;
use crate::world::{Process, program};

fn refused(hosts: &str, arguments: &[&str], words: &[&str]) {
    let folder = folder();
    fs::write(folder.path().join("hosts"), hosts).unwrap();
    fs::write(folder.path().join("empty"), "\n").unwrap();
    fs::write(folder.path().join("open"), "secret").unwrap();
    for (name, mode) in [("empty", 0o600), ("open", 0o644)] {
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut program = program(folder.path());
    program.arg("--hosts=hosts").args(arguments);
    Process::start(program).end().assert(2, words);
}

#[test]
fn strangers_are_not_let_in_by_mistake() {
    let everywhere = "0.0.0.0:7461\n127.0.0.1:7462\n";
    let words = ["0.0.0.0:7461 without a secret", "--secret-file", "ISVD_CLUSTER_SECRET", "--insecure"];
    refused(everywhere, &["--process=0"], &words);
    refused(everywhere, &["--process=0", "--secret-file=empty"], &["the secret of empty is empty"]);
    refused(everywhere, &["--process=0", "--secret-file=open"], &["everybody can read", "chmod 600 open"]);
    refused(everywhere, &["--process=0", "--secret-file=nowhere"], &["cannot read nowhere"]);
}

#[test]
fn hosts_are_checked() {
    refused("127.0.0.1:7461\nhere\n", &["--process=0"], &["hosts, line 2: `here`", "host:port"]);
    refused("127.0.0.1:7461\n", &["--process=1"], &["--process 1", "1 processes"]);
    refused("127.0.0.1:7461\n", &[], &["--process"]);
    refused("127.0.0.1:7461\n", &["--process=0", "--cluster=slurm"], &["cannot be used with"]);
    let folder = folder();
    let mut alone = program(folder.path());
    alone.arg("--cluster=kubernetes").env_remove("ISVD_SERVICE").env("HOSTNAME", "isvd-0");
    Process::start(alone).end().assert(2, &["ISVD_SERVICE is not set"]);
}

/// A port in use is reported at once.
#[test]
fn a_port_that_is_taken() {
    let folder = folder();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    fs::write(folder.path().join("hosts"), taken.local_addr().unwrap().to_string()).unwrap();
    let mut program = program(folder.path());
    program.args(["--hosts=hosts", "--process=0"]);
    Process::start(program).end().assert(4, &["cannot listen on 127.0.0.1:"]);
}

/// Several processes cannot read one pipe: each would receive a part of the graph.
#[test]
fn a_pipe_is_not_shared() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    fs::write(folder.path().join("hosts"), "127.0.0.1:7461\n127.0.0.1:7462\n").unwrap();
    fs::write(folder.path().join("edges.txt"), "1 2\n2 3\n3 4\n4 1\n").unwrap();
    let config = ["--config=links", "--set=data.path=pipe"];
    let nodes = ["--config=nodes", "--set=data.path=edges.txt", "--set=data.labels=pipe"];
    let words = ["pipe: found a pipe", "2 processes", "save it to a file", "isvd-dist convert"];
    for config in [&config[..], &nodes] {
        for several in [&["launch", "-n", "2"][..], &["--hosts=hosts", "--process=0"]] {
            let mut program = program(folder.path());
            program.args(several).args(config);
            Process::start(program).end().assert(2, &words);
        }
    }
}
