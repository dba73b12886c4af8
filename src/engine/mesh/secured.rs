//! The state of a TLS connection.
//!
//! One thread reads while another writes, and either may wait for the network. Neither holds the
//! lock of the TLS state meanwhile.

use std::io::{self, Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::Connection;

use super::tls::tls_error;

/// Bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// A connection with established TLS.
pub(super) struct Secured {
    connection: Mutex<Connection>,
    incoming: Mutex<Incoming>,
    /// Encrypted bytes that are not sent yet. The lock is held while they are sent, since they must
    /// be sent in the order of encryption.
    outgoing: Mutex<Vec<u8>>,
}

/// Received bytes that are not decrypted yet.
struct Incoming {
    bytes: Vec<u8>,
    opened: usize,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = (&self.bytes[self.opened..]).read(buffer)?;
        self.opened += read;
        Ok(read)
    }
}

impl Secured {
    pub(super) fn new(connection: Connection) -> Self {
        let incoming = Incoming { bytes: Vec::with_capacity(READ_BYTES), opened: 0 };
        Self { connection: Mutex::new(connection), incoming: Mutex::new(incoming), outgoing: Mutex::default() }
    }

    /// Reads decrypted bytes. Waits for the network once: an incomplete record gives `Interrupted`,
    /// so that the caller can check its deadline.
    pub(super) fn read(&self, mut network: impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        let mut incoming = lock(&self.incoming);
        let mut has_waited = false;
        loop {
            let mut connection = lock(&self.connection);
            match connection.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            if incoming.opened < incoming.bytes.len() {
                connection.read_tls(&mut *incoming)?;
                connection.process_new_packets().map_err(tls_error)?;
                continue;
            }
            drop(connection);
            if has_waited {
                return Err(io::ErrorKind::Interrupted.into());
            }
            has_waited = true;
            incoming.opened = 0;
            incoming.bytes.resize(READ_BYTES, 0);
            let read = network.read(&mut incoming.bytes);
            incoming.bytes.truncate(*read.as_ref().unwrap_or(&0));
            if read? == 0 {
                // The TLS state reports an end without an announcement as an error.
                lock(&self.connection).read_tls(&mut io::empty())?;
            }
        }
    }

    /// Encrypts and writes some bytes. Bytes that cannot be sent in time are sent before the next
    /// ones.
    pub(super) fn write(&self, network: impl Write, bytes: &[u8]) -> io::Result<usize> {
        self.send(network, |connection| connection.writer().write(bytes))
    }

    /// Announces the end of this side's bytes.
    pub(super) fn close(&self, network: impl Write) -> io::Result<()> {
        self.send(network, |connection| {
            connection.send_close_notify();
            Ok(())
        })
    }

    fn send<T>(&self, mut network: impl Write, seal: impl FnOnce(&mut Connection) -> io::Result<T>) -> io::Result<T> {
        let mut outgoing = lock(&self.outgoing);
        flush(&mut outgoing, &mut network)?;
        let mut connection = lock(&self.connection);
        let sealed = seal(&mut connection)?;
        while connection.wants_write() {
            connection.write_tls(&mut *outgoing)?;
        }
        drop(connection);
        flush(&mut outgoing, &mut network)?;
        Ok(sealed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends encrypted bytes. Those that are not sent in time stay in `outgoing`.
fn flush(outgoing: &mut Vec<u8>, network: &mut impl Write) -> io::Result<()> {
    let (mut sent, mut outcome) = (0, Ok(()));
    while sent < outgoing.len() && outcome.is_ok() {
        match network.write(&outgoing[sent..]) {
            Ok(0) => outcome = Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => sent += written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => outcome = Err(error),
        }
    }
    outgoing.drain(..sent);
    outcome
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    use timely::communication::allocator::zero_copy::stream::Stream;

    use super::*;
    use crate::engine::mesh::hello::Role;
    use crate::engine::mesh::link::Link;
    use crate::engine::mesh::tls::Tls;

    /// A certificate of an authority of its own.
    fn tls() -> Tls {
        let (authority, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&authority).unwrap().pem();
        let own = CertificateParams::new([Tls::NAME.to_owned()]).unwrap();
        let own = own.signed_by(&key, &Issuer::new(params, authority)).unwrap().pem();
        Tls::new(own.as_bytes(), key.serialize_pem().as_bytes(), root.as_bytes()).unwrap()
    }

    /// The outcomes of both sides of a connection.
    fn meet(caller: &Tls, answerer: &Tls) -> (io::Result<Link>, io::Result<Link>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let called = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let answered = listener.accept().unwrap().0;
        let deadline = Instant::now() + Duration::from_secs(20);
        thread::scope(|scope| {
            let answering = scope.spawn(|| Link::open(answered, Some(answerer), Role::Answerer, deadline));
            (Link::open(called, Some(caller), Role::Caller, deadline), answering.join().unwrap())
        })
    }

    fn pair() -> (Link, Link) {
        let tls = tls();
        let (caller, answerer) = meet(&tls, &tls);
        (caller.unwrap(), answerer.unwrap())
    }

    #[test]
    fn many_bytes_in_both_directions_at_once_are_counted() {
        static SENT: AtomicU64 = AtomicU64::new(0);
        let said: Vec<u8> = (0..3_000_000).map(|place| ((place * 31) >> 3) as u8).collect();
        let (caller, answerer) = pair();
        thread::scope(|scope| {
            for link in [caller.counted(&SENT), answerer] {
                let (mut reader, said) = (link.try_clone().unwrap(), &said);
                scope.spawn(move || {
                    let mut writer = link;
                    writer.write_all(said).unwrap();
                    Stream::shutdown(&writer, Shutdown::Write).unwrap();
                });
                scope.spawn(move || {
                    let mut heard = Vec::new();
                    reader.read_to_end(&mut heard).unwrap();
                    assert!(heard == *said);
                });
            }
        });
        let (sent, least) = (SENT.load(Ordering::Relaxed), said.len() as u64);
        assert!(
            (least + 1..least + least / 100).contains(&sent),
            "what goes over the network is a little more: {sent}"
        );
    }

    /// An attacker cannot truncate a connection unnoticed.
    #[test]
    fn an_unannounced_end_is_an_error() {
        let (caller, mut answerer) = pair();
        (&caller).write_all(b"x").unwrap();
        caller.socket().shutdown(Shutdown::Both).unwrap();
        answerer.read_exact(&mut [0]).unwrap();
        assert_eq!(answerer.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn both_sides_report_why_a_certificate_was_refused() {
        let (caller, answerer) = meet(&tls(), &tls());
        let reason = |outcome: io::Result<Link>| outcome.err().expect("it is refused").to_string();
        assert!(reason(caller).contains("not signed by the authority"));
        assert!(reason(answerer).contains("refused the certificate of this process"));
    }
}
