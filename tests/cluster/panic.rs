//! A panic of one worker ends all processes with its message.

use std::env;
use std::process::{Command, exit};
use std::time::Duration;

use isvd_dist::engine::mesh::{ClusterAgreement, Mesh, Secret, Settings};
use isvd_dist::engine::{Cluster, EngineError, run};

use crate::world::{Process, free_addresses};

/// The addresses of both processes, and the number of this one.
const PLACE: &str = "ISVD_TEST_PLACE";

/// The test program runs itself as both processes.
#[test]
fn a_panic_in_one_process_is_reported_by_all() {
    let addresses = free_addresses(2);
    let start = |process: usize| {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "panic::one_of_two", "--ignored", "--nocapture"]);
        command.env(PLACE, format!("{process} {}", addresses.join(" ")));
        Process::start(command)
    };
    let own = "worker 3 panicked in the job: enough of this";
    let told = format!("process 1 ({}) ended the run: {own}", addresses[1]);
    for (process, code, text) in [(start(0), 4, told.as_str()), (start(1), 1, own)] {
        let end = process.end();
        assert_eq!(end.code, Some(code), "{}", end.stderr);
        assert!(end.stderr.contains(text), "{}", end.stderr);
    }
}

#[test]
#[ignore = "one process of the test above"]
fn one_of_two() {
    let Ok(place) = env::var(PLACE) else { return };
    let mut words = place.split(' ').map(str::to_owned);
    let process: usize = words.next().unwrap().parse().unwrap();
    let addresses: Vec<String> = words.collect();
    let settings = Settings {
        listen: vec![addresses[process].parse().unwrap()],
        addresses,
        process,
        tls: None,
        secret: Secret::new("a secret of this test").unwrap(),
        connect_timeout: Duration::from_secs(30),
        peer_timeout: Duration::from_secs(30),
    };
    let told = |error: &_| -> ! {
        eprintln!("error: {error}");
        exit(4)
    };
    let mesh = Mesh::join(settings, &ClusterAgreement::default(), told).unwrap();
    let cluster = Cluster { mesh: Some(mesh), ..Cluster::threads(2) };
    let outcome = run(cluster, Vec::new(), |session| {
        for round in 0.. {
            assert!(session.worker() < 3 || round < 10, "enough of this");
            session.any([true])?;
        }
        Ok::<(), EngineError>(())
    });
    let error = outcome.unwrap_err().to_string();
    mesh.fail(&error);
    eprintln!("error: {error}");
    exit(1);
}
