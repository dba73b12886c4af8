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

/// Most unread bytes of a refused caller that are discarded.
const MOST_UNREAD: u64 = 64 << 10;

/// A connection to another process, for one reading and several writing threads.
pub(super) struct Link {
    socket: TcpStream,
    secured: Option<Arc<Secured>>,
    /// The counter of bytes sent over the network.
    sent: Option<&'static AtomicU64>,
}

impl Link {
    /// Sets up TLS, if it is used.
    pub(super) fn open(socket: TcpStream, tls: Option<&Tls>, role: Role, deadline: Instant) -> io::Result<Self> {
        let plain = Self { socket, secured: None, sent: None };
        let Some(tls) = tls else { return Ok(plain) };
        match tls.agree(role, &mut Timed::new(&plain, deadline)) {
            Ok(connection) => Ok(Self { secured: Some(Arc::new(Secured::new(connection))), ..plain }),
            Err(error) => {
                plain.close_after_reading(deadline);
                Err(error)
            }
        }
    }

    /// Closes a connection such that the other side receives the reason: closing with unread input
    /// discards the bytes sent last.
    fn close_after_reading(self, deadline: Instant) {
        // The other side may be gone.
        let _ = self.socket.shutdown(Shutdown::Write);
        let _ = io::copy(&mut Timed::new(&self, deadline).take(MOST_UNREAD), &mut io::sink());
    }

    /// The same link, counting the bytes sent from now on.
    pub(super) fn counted(self, sent: &'static AtomicU64) -> Self {
        Self { sent: Some(sent), ..self }
    }

    /// The socket whose timeouts are set.
    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Another handle of the same connection.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.try_clone()?, secured: self.secured.clone(), sent: self.sent })
    }
}

/// The socket; writes are counted.
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
        // Retries after signals: timely takes any error for the end.
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
