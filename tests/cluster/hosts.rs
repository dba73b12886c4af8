//! Processes on hosts of their own: the same bits, and a host that is cut off, frozen or gone is missed in time.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::namespaces::Network;
use crate::support::folder;
use crate::world::{CUT_OFF, IN_TIME, Process, assert_same_folders, member, program, wait_for_checkpoint};

const HOSTS: usize = 3;

/// One process on each host, with the secret in a file.
fn start(network: &Network, folder: &Path, more: &[&str]) -> Vec<Process> {
    let secret = folder.join("secret");
    fs::write(&secret, "a secret in a file").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let arguments = [CUT_OFF, &["--workers=1", "--secret-file=secret"], more].concat();
    let start = |host| {
        let mut command = member(folder, &network.addresses(), host, &arguments);
        command.env_remove("ISVD_CLUSTER_SECRET");
        Process::start(network.on(host, &command))
    };
    (0..HOSTS).map(start).collect()
}

/// The results of one process alone are what all others are compared with.
fn run_alone(folder: &Path) {
    let mut alone = program(folder);
    alone.args(CUT_OFF).args(["--workers=2", "--out=alone"]);
    Process::start(alone).end().assert(0, &[]);
}

#[track_caller]
fn assert_ends_well(folder: &Path, processes: Vec<Process>, what: &str) {
    processes.into_iter().for_each(|process| process.end().assert(0, &[]));
    assert_same_folders(&folder.join("alone"), &folder.join("results"), what);
}

#[test]
fn three_hosts_give_the_same_bits() {
    let Some(network) = Network::new(HOSTS) else { return };
    let folder = folder();
    run_alone(folder.path());
    assert_ends_well(folder.path(), start(&network, folder.path(), &[]), "three hosts");
    if network.disturb() {
        assert_ends_well(folder.path(), start(&network, folder.path(), &[]), "packets delayed and lost");
    }
}

/// All that is on its way is lost each time, and sent again.
#[test]
fn a_cable_that_is_pulled_for_a_moment_changes_nothing() {
    let Some(network) = Network::new(HOSTS) else { return };
    let folder = folder();
    run_alone(folder.path());
    let mut processes = start(&network, folder.path(), &[]);
    wait_for_checkpoint(folder.path());
    for host in 0..HOSTS {
        assert!(processes.iter_mut().all(Process::is_running), "the run is long enough");
        network.plug(host, "down");
        sleep(Duration::from_millis(300));
        network.plug(host, "up");
    }
    assert_ends_well(folder.path(), processes, "a cable pulled for a moment");
}

/// What may happen to a host, and how it is undone before the run goes on.
struct Trouble {
    name: &'static str,
    befall: fn(&Network, usize, &Process),
    undo: fn(&Network, usize),
    /// Whether the process still runs, and misses the others as they miss it.
    is_alive: bool,
}

const TROUBLES: [Trouble; 3] = [
    Trouble {
        name: "cut off",
        befall: |network, host, _| network.plug(host, "down"),
        undo: |network, host| network.plug(host, "up"),
        is_alive: true,
    },
    Trouble { name: "frozen", befall: |_, _, process| process.signal(Signal::STOP), undo: |_, _| (), is_alive: false },
    Trouble { name: "killed", befall: |_, _, process| process.signal(Signal::KILL), undo: |_, _| (), is_alive: false },
];

#[test]
fn a_host_that_is_lost_is_named_in_time_and_the_run_goes_on_later() {
    let Some(network) = Network::new(HOSTS) else { return };
    let folder = folder();
    run_alone(folder.path());
    let addresses = network.addresses();
    for (number, trouble) in TROUBLES.iter().enumerate() {
        for victim in [number % HOSTS, (number + 1) % HOSTS] {
            let what = format!("host {victim} {}", trouble.name);
            let mut processes = start(&network, folder.path(), &[]);
            wait_for_checkpoint(folder.path());
            sleep(Duration::from_millis(100));
            assert!(processes.iter_mut().all(Process::is_running), "{what}: the run is long enough");
            let lost = processes.remove(victim);
            (trouble.befall)(&network, victim, &lost);
            let began = Instant::now();
            for process in processes {
                let name = format!("process {victim} ({})", addresses[victim]);
                process.end().assert(4, &[&name, "the last step here: "]);
            }
            match trouble.is_alive {
                true => lost.end().assert(4, &["nothing was heard of it for 3 s", "the last step here: "]),
                // One that is frozen would hold on to its port.
                false => drop(lost),
            }
            assert!(began.elapsed() < IN_TIME, "{what}: {:?}", began.elapsed());
            assert!(!folder.path().join("results/metrics.json").exists(), "{what}: no result");
            (trouble.undo)(&network, victim);
            assert_ends_well(folder.path(), start(&network, folder.path(), &["--resume"]), &what);
            fs::remove_dir_all(folder.path().join("results")).unwrap();
        }
    }
}
