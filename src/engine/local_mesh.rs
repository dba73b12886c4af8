//! A mesh of several processes in one, for tests.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use super::mesh::{ClusterAgreement, Mesh, MeshError, Secret, Settings};

/// The meshes of `processes` processes, over the loopback network.
pub(super) fn meshes(processes: usize) -> Vec<&'static Mesh> {
    let taken: Vec<_> = (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses: Vec<String> = taken.iter().map(|listener| listener.local_addr().unwrap().to_string()).collect();
    drop(taken);
    let join = |process: usize| {
        let settings = Settings {
            listen: vec![addresses[process].parse().unwrap()],
            addresses: addresses.clone(),
            process,
            tls: None,
            secret: Secret::known_to_all(),
            connect_timeout: Duration::from_secs(60),
            peer_timeout: Duration::from_secs(60),
        };
        thread::spawn(move || Mesh::join(settings, &ClusterAgreement::default(), end).unwrap())
    };
    let joining: Vec<_> = (0..processes).map(join).collect();
    joining.into_iter().map(|mesh| mesh.join().unwrap()).collect()
}

fn end(error: &MeshError) -> ! {
    panic!("{error}")
}
