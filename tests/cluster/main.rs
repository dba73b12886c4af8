//! Several processes of the program: the same bits as with one process, access control, TLS,
//! traffic, and the detection of lost processes.
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
