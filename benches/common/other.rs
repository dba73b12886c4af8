//! A copy of the benchmark as a second process, connected by the loopback interface.

use std::env;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio, exit};
use std::time::Duration;

use isvd_dist::engine::mesh::{ClusterAgreement, Mesh, MeshError, Secret, Settings};

/// The addresses of the two processes, passed to the second one.
const ADDRESSES: &str = "ISVD_BENCH_ADDRESSES";

/// The second process, which ends with the first.
pub struct Second(Child);

impl Drop for Second {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}

/// Starts the second process, and joins it.
pub fn as_first() -> (&'static Mesh, Second) {
    let taken = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let addresses = taken.map(|listener| listener.local_addr().expect("an address").to_string());
    let this = env::current_exe().expect("a program has a path");
    let second = Command::new(this).env(ADDRESSES, addresses.join(" ")).stdout(Stdio::null()).spawn();
    (join(addresses.to_vec(), 0), Second(second.expect("a second process")))
}

/// The first process, if this is the second one.
pub fn as_second() -> Option<&'static Mesh> {
    let addresses = env::var(ADDRESSES).ok()?;
    Some(join(addresses.split(' ').map(str::to_owned).collect(), 1))
}

fn join(addresses: Vec<String>, process: usize) -> &'static Mesh {
    let settings = Settings {
        listen: vec![addresses[process].parse().expect("an address")],
        addresses,
        process,
        secret: Secret::known_to_all(),
        tls: None,
        connect_timeout: Duration::from_secs(120),
        peer_timeout: Duration::from_secs(30),
    };
    Mesh::join(settings, &ClusterAgreement::default(), |error| end(error)).unwrap_or_else(|error| end(&error))
}

fn end(error: &MeshError) -> ! {
    eprintln!("{error}");
    exit(1)
}
