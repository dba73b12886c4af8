//! A connection to another process: plain, or with TLS.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use timely::communication::allocator::zero_copy::stream::Stream;

use super::handshake::Timed;
use super::hello::Role;
use super::secured::Secured;
use super::tls::Tls;

/// Bytes of somebody who was turned away that are read, and never looked at.
const MOST_UNREAD: u64 = 64 << 10;

/// A connection to another process. Several threads may use it: one that reads and others that write.
pub(super) struct Link {
    socket: TcpStream,
    secured: Option<Arc<Secured>>,
    /// Counts the bytes that go over the network.
    sent: Option<&'static AtomicU64>,
}

impl Link {
    /// Agrees on TLS, if there is any, with whoever is at the other end.
    pub(super) fn open(socket: TcpStream, tls: Option<&Tls>, role: Role, deadline: Instant) -> io::Result<Self> {
        let plain = Self { socket, secured: None, sent: None };
        let Some(tls) = tls else { return Ok(plain) };
        match tls.agree(role, &mut Timed::new(&plain, deadline)) {
            Ok(connection) => Ok(Self { secured: Some(Arc::new(Secured::new(connection))), ..plain }),
            Err(error) => {
                plain.part(deadline);
                Err(error)
            }
        }
    }

    /// Closes a connection so that the other side hears why. The system drops what was said last where a connection is closed
    /// that has something left to read.
    fn part(self, deadline: Instant) {
        // Whoever does not listen need not hear.
        let _ = self.socket.shutdown(Shutdown::Write);
        let _ = io::copy(&mut Timed::new(&self, deadline).take(MOST_UNREAD), &mut io::sink());
    }

    /// The same, with the bytes that are sent from now on counted.
    pub(super) fn counted(self, sent: &'static AtomicU64) -> Self {
        Self { sent: Some(sent), ..self }
    }

    /// What its time limits are set on.
    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Another handle of the same connection.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.try_clone()?, secured: self.secured.clone(), sent: self.sent })
    }
}

/// The network itself: what goes there is counted.
struct Network<'a>(&'a Link);

impl Write for Network<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = (&self.0.socket).write(bytes)?;
        if let Some(sent) = self.0.sent {
            sent.fetch_add(written as u64, Ordering::Relaxed);
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.0.socket).flush()
    }
}

impl Read for &Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.secured {
            None => (&self.socket).read(buffer),
            Some(secured) => secured.read(&self.socket, buffer),
        }
    }
}

impl Write for &Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.secured {
            None => Network(self).write(bytes),
            Some(secured) => secured.write(Network(self), bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Network(self).flush()
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A signal is no end of a connection, but timely takes any error for one.
        loop {
            match (&*self).read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self).flush()
    }
}

impl Stream for Link {
    fn try_clone(&self) -> io::Result<Self> {
        Link::try_clone(self)
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        if let (Some(secured), Shutdown::Write | Shutdown::Both) = (&self.secured, how) {
            secured.close(Network(self))?;
        }
        self.socket.shutdown(how)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    /// Both ends of a plain connection.
    pub(in crate::engine::mesh) fn pair() -> (Link, Link) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let answerer = listener.accept().unwrap().0;
        let deadline = Instant::now() + Duration::from_secs(5);
        let open = |socket, role| Link::open(socket, None, role, deadline).unwrap();
        (open(caller, Role::Caller), open(answerer, Role::Answerer))
    }
}
