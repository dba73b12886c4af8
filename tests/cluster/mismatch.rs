//! Processes with different settings or data do not start.

use std::time::Duration;

use isvd_dist::engine::mesh::{ClusterAgreement, Mesh, MeshError, Secret, Settings};

use crate::support::folder;
use crate::world::{LONG, Process, free_addresses, member};

/// Starts two processes with different arguments; both must name the difference.
fn differ(arguments: [&[&str]; 2], words: [&str; 2]) {
    let (folder, addresses) = (folder(), free_addresses(2));
    let processes =
        [0, 1].map(|process| Process::start(member(folder.path(), &addresses, process, arguments[process])));
    for (number, process) in processes.into_iter().enumerate() {
        let other = 1 - number;
        process.end().assert(4, &[words[number], &format!("on process {other} ({})", addresses[other])]);
    }
}

#[test]
fn what_differs_is_named_with_both_values() {
    differ(
        [&["--set=embedding.rank=32"], &["--set=embedding.rank=16"]],
        ["embedding.rank is 32 here and 16 on", "embedding.rank is 16 here and 32 on"],
    );
    differ([&["--seed=1"], &["--seed=2"]], ["seed is 1 here and 2 on", "seed is 2 here and 1 on"]);
    differ([&["--config=demo"], &["--config=links"]], ["the config is demo here", "the config is links here"]);
    differ([&["--workers=1"], &["--workers=2"]], ["--workers is 1 here and 2 on", "--workers is 2 here and 1 on"]);
    differ(
        [&["--checkpoint=0"], &["--checkpoint=off"]],
        ["--checkpoint is not off here and off on", "--checkpoint is off here and not off on"],
    );
    differ(
        [&["--resume"], &[]],
        ["--resume is given here and not given on", "--resume is not given here and given on"],
    );
}

/// Paths may differ between machines; the content of files may not.
#[test]
fn different_data_are_detected() {
    let files = folder();
    let names = ["a.txt", "b.txt"].map(|name| files.path().join(name));
    let ring = |shift: usize| (0..200).map(|i| format!("{i} {}\n", (i + shift) % 200)).collect::<String>();
    std::fs::write(&names[0], ring(1) + &ring(2)).unwrap();
    std::fs::write(&names[1], ring(1) + &ring(3)).unwrap();
    let paths = names.map(|name| format!("--set=data.path={}", name.display()));
    let small = ["--config=links", "--set=data.valid=0", "--set=data.test=0"];
    let arguments = paths.each_ref().map(|path| [&small[..], &[path.as_str()]].concat());
    differ([&arguments[0], &arguments[1]], ["the checksum of the data", "the checksum of the data"]);
}

/// The other process, with another version.
#[test]
fn another_version_is_refused() {
    let (folder, addresses) = (folder(), free_addresses(2));
    let process = Process::start(member(folder.path(), &addresses, 0, LONG));
    let settings = Settings {
        listen: vec![addresses[1].parse().unwrap()],
        addresses: addresses.clone(),
        process: 1,
        secret: Secret::new("a secret of this test").unwrap(),
        tls: None,
        connect_timeout: Duration::from_secs(30),
        peer_timeout: Duration::from_secs(30),
    };
    let mut facts = ClusterAgreement::default();
    facts.add("the version", "0.0.0");
    let refused = Mesh::join(settings, &facts, |error| unreachable!("{error}")).unwrap_err();
    assert!(matches!(&refused, MeshError::Differs { what, .. } if what == "the version"), "{refused}");
    let words = ["the version is ", "and 0.0.0 on process 1"];
    process.end().assert(4, &words);
}

#[test]
fn another_secret_is_refused() {
    let (folder, addresses) = (folder(), free_addresses(2));
    let processes = [0, 1].map(|process| {
        let mut command = member(folder.path(), &addresses, process, &["--connect-timeout=2"]);
        command.env("ISVD_CLUSTER_SECRET", format!("the secret of {process}"));
        Process::start(command)
    });
    for process in processes {
        process.end().assert(4, &["no connection within 2 s", "secret"]);
    }
}
