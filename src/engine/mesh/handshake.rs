//! The handshake: both sides prove that they know the secret before anything else is read.
//!
//! Hello of the caller, hello of the answerer, proof of the caller, proof of the answerer. All
//! sizes are fixed, and one deadline covers all: a caller that sends single bytes stays no longer
//! than a silent one.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::hello::{Hello, Hellos, PROOF_BYTES, PROTOCOL, Role, Secret};
use super::link::Link;

/// A stream with a deadline for all operations together.
pub(super) struct Timed<'a> {
    link: &'a Link,
    deadline: Option<Instant>,
}

impl<'a> Timed<'a> {
    pub(super) fn new(link: &'a Link, deadline: impl Into<Option<Instant>>) -> Self {
        Self { link, deadline: deadline.into() }
    }

    fn remaining(&self) -> io::Result<Option<Duration>> {
        let remaining = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if remaining.is_some_and(|remaining| remaining.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(remaining)
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.link.socket().set_read_timeout(self.remaining()?)?;
        self.link.read(buffer).map_err(too_late)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.link.socket().set_write_timeout(self.remaining()?)?;
        self.link.write(bytes).map_err(too_late)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.link.flush()
    }
}

/// Reports a timeout as such, not as "resource temporarily unavailable".
fn too_late(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

fn refused(reason: impl Into<String>) -> io::Error {
    io::Error::other(reason.into())
}

fn read_fixed<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// First bytes of TLS records, in place of a hello.
const TLS_ALERT: [u8; 2] = [21, 3];
const TLS_HELLO: [u8; 2] = [22, 3];
/// Bytes of an alert.
const ALERT_BYTES: usize = 7;

/// Reads a hello. A side with TLS sends an alert to a caller without it.
fn read_hello(stream: &mut impl Read, refusal: &str) -> io::Result<Hello> {
    let start: [u8; ALERT_BYTES] = read_fixed(stream)?;
    if start.starts_with(&TLS_ALERT) || start.starts_with(&TLS_HELLO) {
        return Err(refused("it uses TLS, and this process does not"));
    }
    let rest: [u8; Hello::BYTES - ALERT_BYTES] = read_fixed(stream)?;
    let bytes = std::array::from_fn(|place| if place < ALERT_BYTES { start[place] } else { rest[place - ALERT_BYTES] });
    Hello::from_bytes(&bytes).ok_or_else(|| refused(refusal))
}

/// The caller's side.
pub(super) fn call(stream: &mut (impl Read + Write), hello: Hello, secret: &Secret) -> io::Result<()> {
    stream.write_all(&hello.to_bytes())?;
    let answerer = read_hello(stream, "it is not a process of this program")?;
    let hellos = Hellos { caller: hello, answerer };
    stream.write_all(&hellos.prove(secret, Role::Caller))?;
    let proof: [u8; PROOF_BYTES] = read_fixed(stream).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => refused("it rejected the proof; is the secret the same?"),
        _ => error,
    })?;
    if !hellos.is_proven(secret, Role::Answerer, &proof) {
        return Err(refused("it did not prove that it knows the secret"));
    }
    let is_expected = Hello { nonce: answerer.nonce, from: hello.to, to: hello.from, ..hello } == answerer;
    check_identity(&answerer, is_expected)
}

/// The answerer's side: returns the caller's hello. This is process `process` of `processes`.
pub(super) fn answer(
    stream: &mut (impl Read + Write),
    process: usize,
    processes: usize,
    secret: &Secret,
) -> io::Result<Hello> {
    let caller = read_hello(stream, "a stranger called")?;
    let answerer = Hello::fresh(process, caller.from as usize, processes, caller.generation)?;
    stream.write_all(&answerer.to_bytes())?;
    let hellos = Hellos { caller, answerer };
    if !hellos.is_proven(secret, Role::Caller, &read_fixed(stream)?) {
        return Err(refused("a caller did not prove that it knows the secret"));
    }
    stream.write_all(&hellos.prove(secret, Role::Answerer))?;
    let is_caller = (answerer.from + 1..answerer.processes).contains(&caller.from);
    let is_expected = (caller.to, caller.processes) == (answerer.from, answerer.processes);
    check_identity(&caller, is_caller && is_expected)?;
    Ok(caller)
}

/// Checks protocol and identity of the other side.
fn check_identity(found: &Hello, is_expected: bool) -> io::Result<()> {
    if found.protocol != PROTOCOL {
        return Err(refused(format!("it uses protocol {}, and this process {PROTOCOL}", found.protocol)));
    }
    if !is_expected {
        let Hello { from, to, processes, .. } = found;
        return Err(refused(format!(
            "process {from} of {processes} called process {to}: do the lists of hosts differ?"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::engine::mesh::link::tests::pair;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    fn secret(text: &str) -> Secret {
        Secret::new(text).unwrap()
    }

    /// What both sides of a handshake come to.
    fn meet(hello: Hello, of_caller: &str, of_answerer: &str) -> (io::Result<()>, io::Result<Hello>) {
        let (caller, answerer) = pair();
        let answerer_secret = secret(of_answerer);
        let answering = thread::spawn(move || answer(&mut Timed::new(&answerer, soon()), 0, 3, &answerer_secret));
        let called = call(&mut Timed::new(&caller, soon()), hello, &secret(of_caller));
        drop(caller);
        (called, answering.join().unwrap())
    }

    #[test]
    fn a_caller_of_another_cluster_is_refused_with_the_reason() {
        for hello in [Hello::fresh(2, 1, 3, 0), Hello::fresh(0, 0, 3, 0), Hello::fresh(3, 0, 3, 0)] {
            let (_, answered) = meet(hello.unwrap(), "s", "s");
            assert!(answered.unwrap_err().to_string().contains("do the lists of hosts differ?"));
        }
        let (called, _) = meet(Hello::fresh(1, 0, 2, 0).unwrap(), "s", "s");
        assert!(called.unwrap_err().to_string().contains("process 0 of 3"));
        let newer = Hello { protocol: PROTOCOL + 1, ..Hello::fresh(2, 0, 3, 0).unwrap() };
        let (_, answered) = meet(newer, "s", "s");
        assert!(answered.unwrap_err().to_string().contains("protocol"));
    }

    /// A read timeout alone would not end a caller that sends single bytes.
    #[test]
    fn a_slow_caller_is_dropped_at_the_deadline() {
        let (caller, answerer) = pair();
        let dripping = thread::spawn(move || {
            let bytes = Hello::fresh(2, 0, 3, 0).unwrap().to_bytes();
            for byte in bytes {
                if (&caller).write_all(&[byte]).is_err() {
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
        });
        let deadline = Instant::now() + Duration::from_millis(200);
        let answered = answer(&mut Timed::new(&answerer, deadline), 0, 3, &secret("s"));
        assert_eq!(answered.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(answerer);
        dripping.join().unwrap();
    }
}
