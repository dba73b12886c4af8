//! Several processes of the real binary: the same bits as one, strangers kept out, TLS, as little
//! traffic as possible, and no process left waiting for one that is gone.
#![cfg(unix)]

#[path = "../support/mod.rs"]
mod support;

mod bits;
mod checkers;
mod faults;
mod files;
mod hostile;
mod hosts;
mod mismatch;
mod namespaces;
mod needed_rows;
mod panic;
mod recovery;
mod tls;
mod usage;
mod world;
