//! Messages of control connections: heartbeats, goodbyes, and errors that end the run.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::link::Link;

/// Interval of heartbeats.
pub(super) const HEARTBEAT: Duration = Duration::from_millis(500);
/// The most bytes of a text; longer ones are truncated.
const MOST_TEXT: usize = 4096;

/// A control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// The process is alive.
    Heartbeat,
    /// The process is done, without an error.
    Goodbye,
    /// The run must end, for this reason.
    Failure(String),
}

mod kind {
    pub(super) const HEARTBEAT: u8 = 1;
    pub(super) const GOODBYE: u8 = 2;
    pub(super) const FAILURE: u8 = 3;
}

impl Message {
    /// A kind, the length of a text, and the text.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (kind, text) = match self {
            Self::Heartbeat => (kind::HEARTBEAT, ""),
            Self::Goodbye => (kind::GOODBYE, ""),
            Self::Failure(text) => (kind::FAILURE, text.as_str()),
        };
        let text = &text[..text.floor_char_boundary(MOST_TEXT)];
        let length = (text.len() as u16).to_le_bytes();
        [&[kind, length[0], length[1]], text.as_bytes()].concat()
    }

    pub(super) fn send(&self, mut link: &Link) -> io::Result<()> {
        link.write_all(&self.to_bytes())
    }

    /// Removes a message from the front, if it is complete.
    pub(super) fn take(bytes: &mut Vec<u8>) -> io::Result<Option<Self>> {
        let &[kind, low, high, ..] = bytes.as_slice() else { return Ok(None) };
        let length = usize::from(u16::from_le_bytes([low, high]));
        if length > MOST_TEXT {
            return Err(io::Error::other("its message is too long"));
        }
        // Invalid messages are errors at once.
        if ![kind::HEARTBEAT, kind::GOODBYE, kind::FAILURE].contains(&kind) {
            return Err(io::Error::other("its message is invalid"));
        }
        let Some(text) = bytes.get(3..3 + length) else { return Ok(None) };
        let message = match (kind, str::from_utf8(text)) {
            (kind::HEARTBEAT, Ok("")) => Self::Heartbeat,
            (kind::GOODBYE, Ok("")) => Self::Goodbye,
            (kind::FAILURE, Ok(text)) => Self::Failure(text.to_owned()),
            _ => return Err(io::Error::other("its message is invalid")),
        };
        bytes.drain(..3 + length);
        Ok(Some(message))
    }
}

/// How a peer ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PeerEnd {
    Goodbye,
    Failure(String),
    /// It ended without a message, or is silent.
    Lost(String),
}

/// Waits for the end of a peer. A peer that sends nothing for longer than `timeout` counts as lost,
/// once all received bytes are read: a process that was suspended first reads its backlog.
pub(super) fn listen(mut link: &Link, timeout: Duration) -> PeerEnd {
    if let Err(error) = link.socket().set_read_timeout(Some(HEARTBEAT)) {
        return PeerEnd::Lost(error.to_string());
    }
    let lost = || PeerEnd::Lost("it ended without a goodbye".to_owned());
    let mut last_received = Instant::now();
    let mut unread = Vec::new();
    let mut buffer = [0; MOST_TEXT];
    loop {
        match link.read(&mut buffer) {
            Ok(0) => return lost(),
            Ok(length) => {
                last_received = Instant::now();
                unread.extend_from_slice(&buffer[..length]);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if last_received.elapsed() > timeout {
                    return PeerEnd::Lost(format!("it sent nothing for {:.0} s", timeout.as_secs_f64()));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Reset: the peer ended with unread input, or TLS ended without a close.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => {
                return lost();
            }
            Err(error) => return PeerEnd::Lost(error.to_string()),
        }
        loop {
            match Message::take(&mut unread) {
                Ok(None) => break,
                Ok(Some(Message::Heartbeat)) => {}
                Ok(Some(Message::Goodbye)) => return PeerEnd::Goodbye,
                Ok(Some(Message::Failure(text))) => return PeerEnd::Failure(text),
                Err(error) => return PeerEnd::Lost(error.to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::mesh::link::tests::pair;

    #[test]
    fn the_end_of_a_peer_is_reported() {
        let failure = Message::Failure("„so“".to_owned());
        // The last message that fits would be cut in two.
        let too_long = Message::Failure("„".repeat(MOST_TEXT));
        for (message, end) in [
            (&Message::Goodbye, PeerEnd::Goodbye),
            (&failure, PeerEnd::Failure("„so“".to_owned())),
            (&too_long, PeerEnd::Failure("„".repeat(MOST_TEXT / "„".len()))),
        ] {
            let (sender, receiver) = pair();
            Message::Heartbeat.send(&sender).unwrap();
            message.send(&sender).unwrap();
            drop(sender);
            assert_eq!(listen(&receiver, Duration::from_secs(60)), end);
        }
    }

    #[test]
    fn a_peer_without_a_goodbye_or_with_an_invalid_message_is_lost() {
        let (sender, receiver) = pair();
        Message::Heartbeat.send(&sender).unwrap();
        drop(sender);
        assert!(matches!(listen(&receiver, Duration::from_secs(60)), PeerEnd::Lost(_)));
        for nonsense in [&[9; 100][..], &[kind::GOODBYE, 1, 0, b'x'], &[kind::FAILURE, 1, 0, 0xff]] {
            let (sender, receiver) = pair();
            (&sender).write_all(nonsense).unwrap();
            assert!(matches!(listen(&receiver, Duration::from_secs(60)), PeerEnd::Lost(_)));
        }
    }
}
