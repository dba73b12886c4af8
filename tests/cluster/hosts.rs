//! Processes on simulated hosts: the same bits, and the detection of a host that is disconnected,
//! frozen or killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::namespaces::Network;
use crate::support::folder;
use crate::world::{
    CUT_OFF, End, IN_TIME, Process, Shape, assert_ends_well, fractions, has_checkpoint, in_the_middle, member,
    wait_for_checkpoint, whole,
};

const HOSTS: usize = 3;
/// The number of hosts, and of workers on each.
const SHAPES: [Shape; 4] = [(3, 1), (2, 2), (3, 2), (2, 1)];

/// One process on each host, with the secret in a file.
fn start(network: &Network, folder: &Path, (hosts, workers): Shape, more: &[&str]) -> Vec<Process> {
    let secret = folder.join("secret");
    fs::write(&secret, "a secret in a file").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let workers = format!("--workers={workers}");
    let arguments = [CUT_OFF, &[&workers, "--secret-file=secret"], more].concat();
    let start = |host| {
        let mut command = member(folder, &network.addresses()[..hosts], host, &arguments);
        command.env_remove("ISVD_CLUSTER_SECRET");
        Process::start(network.on(host, &command))
    };
    (0..hosts).map(start).collect()
}

#[test]
fn three_hosts_give_the_same_bits() {
    let Some(network) = Network::new(HOSTS) else { return };
    let folder = folder();
    let run = || start(&network, folder.path(), (HOSTS, 1), &[]);
    assert_ends_well(run(), folder.path(), "three hosts");
    if network.disturb() {
        assert_ends_well(run(), folder.path(), "packets delayed and lost");
    }
}

/// Packets in transit are lost each time and sent again.
#[test]
fn a_cable_that_is_pulled_for_a_moment_changes_nothing() {
    let Some(network) = Network::new(HOSTS) else { return };
    let folder = folder();
    let mut processes = start(&network, folder.path(), (HOSTS, 1), &[]);
    wait_for_checkpoint(folder.path());
    for host in 0..HOSTS {
        assert!(processes.iter_mut().all(Process::is_running), "the run is long enough");
        network.plug(host, "down");
        sleep(Duration::from_millis(300));
        network.plug(host, "up");
    }
    assert_ends_well(processes, folder.path(), "a cable pulled for a moment");
}

/// Faults of a host, and their reversal before the run resumes.
struct Trouble {
    name: &'static str,
    befall: fn(&Network, usize, &Process),
    undo: fn(&Network, usize),
    /// Whether its process still runs, and loses the others as well.
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

/// The number of moments at which a host is lost. Each kind of fault takes every third of them.
const MOMENTS: u64 = 20;

#[test]
fn a_host_that_is_cut_off_at_any_moment_is_named_in_time_and_the_run_goes_on_later() {
    lose_hosts(0);
}

#[test]
fn a_host_that_is_frozen_at_any_moment_is_named_in_time_and_the_run_goes_on_later() {
    lose_hosts(1);
}

#[test]
fn a_host_that_is_killed_at_any_moment_is_named_in_time_and_the_run_goes_on_later() {
    lose_hosts(2);
}

/// Injects one kind of fault at each of its moments, and resumes on other numbers of hosts and
/// workers.
fn lose_hosts(kind: usize) {
    let Some(network) = Network::new(HOSTS) else { return };
    let (trouble, (_, took)) = (&TROUBLES[kind], whole());
    let (mut lost, mut resumed) = (0, 0);
    for (number, fraction) in fractions(MOMENTS).enumerate().filter(|(number, _)| number % TROUBLES.len() == kind) {
        let round = number / TROUBLES.len();
        let (shape, next) = (SHAPES[round % 4], SHAPES[(round + 1 + round / 4) % 4]);
        let victim = (fraction * 1000.0) as usize % shape.0;
        let what = format!("host {victim} of {shape:?} {} at {fraction:.2}, resumed on {next:?}", trouble.name);
        let folder =
            in_the_middle(took.mul_f64(fraction), |pause| lose_one(&network, shape, victim, trouble, pause, &what));
        let processes = start(&network, folder.path(), next, &["--resume"]);
        resumed += usize::from(assert_ends_well(processes, folder.path(), &what));
        lost += 1;
    }
    assert!(3 * resumed >= lost, "{resumed} of {lost} had a checkpoint");
}

/// Injects a fault into one host after a pause. All others must name it in time, and it must name
/// them if it still runs. `None` if the run had ended before.
fn lose_one(
    network: &Network,
    shape: Shape,
    victim: usize,
    trouble: &Trouble,
    pause: Duration,
    what: &str,
) -> Option<TempDir> {
    let folder = folder();
    let mut processes = start(network, folder.path(), shape, &[]);
    sleep(pause);
    let lost = processes.remove(victim);
    (trouble.befall)(network, victim, &lost);
    let began = Instant::now();
    let ends: Vec<End> = processes.into_iter().map(Process::end).collect();
    // A frozen process is killed here, because it occupies its port.
    let of_lost = trouble.is_alive.then(|| lost.end());
    let took = began.elapsed();
    (trouble.undo)(network, victim);
    if ends.iter().chain(&of_lost).any(|end| end.code == Some(0)) {
        return None;
    }
    assert!(took < IN_TIME, "{what}: {took:?}");
    assert!(!folder.path().join("results/metrics.json").exists(), "{what}: no result");
    let step = if has_checkpoint(folder.path()) { "the last step here: " } else { "" };
    let addresses = network.addresses();
    let name = |host: usize| format!("process {host} ({})", addresses[host]);
    for end in &ends {
        end.assert(4, &[&name(victim), step]);
        assert_eq!(end.stderr.lines().count(), 1, "{what}: {}", end.stderr);
    }
    if let Some(end) = of_lost {
        end.assert(4, &[step]);
        let others = (0..shape.0).filter(|&host| host != victim);
        assert!(others.map(name).any(|other| end.stderr.contains(&other)), "{what}: {}", end.stderr);
    }
    Some(folder)
}
