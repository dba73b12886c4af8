//! Messages of control connections: heartbeats, goodbyes, and errors that end the run.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::link::Link;

/// Interval of heartbeats.
pub(super) const BEAT: Duration = Duration::from_millis(500);
/// The most bytes of a text.
const MOST_TEXT: usize = 4096;

/// A control message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// Still alive.
    Beat,
    /// Done, without an error.
    Goodbye,
    /// The run must end, and why.
    Blame(String),
}

mod kind {
    pub(super) const BEAT: u8 = 1;
    pub(super) const GOODBYE: u8 = 2;
    pub(super) const BLAME: u8 = 3;
}

impl Message {
    /// A kind, the length of a text, and the text.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (kind, text) = match self {
            Self::Beat => (kind::BEAT, ""),
            Self::Goodbye => (kind::GOODBYE, ""),
            Self::Blame(text) => (kind::BLAME, text.as_str()),
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
            return Err(io::Error::other("it says more than it may"));
        }
        // Invalid messages are errors at once.
        if ![kind::BEAT, kind::GOODBYE, kind::BLAME].contains(&kind) {
            return Err(io::Error::other("it says what has no meaning"));
        }
        let Some(text) = bytes.get(3..3 + length) else { return Ok(None) };
        let message = match (kind, str::from_utf8(text)) {
            (kind::BEAT, Ok("")) => Self::Beat,
            (kind::GOODBYE, Ok("")) => Self::Goodbye,
            (kind::BLAME, Ok(text)) => Self::Blame(text.to_owned()),
            _ => return Err(io::Error::other("it says what has no meaning")),
        };
        bytes.drain(..3 + length);
        Ok(Some(message))
    }
}

/// How a peer ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PeerEnd {
    Goodbye,
    Blame(String),
    /// It ended without a message, or is silent.
    Lost(String),
}

/// Listens until a peer ends. Silence longer than `patience` is an end, too. It is judged only when
/// nothing is left to read, so that a process that was suspended first reads its backlog.
pub(super) fn listen(mut link: &Link, patience: Duration) -> PeerEnd {
    if let Err(error) = link.socket().set_read_timeout(Some(BEAT)) {
        return PeerEnd::Lost(error.to_string());
    }
    let gone = || PeerEnd::Lost("it ended without a farewell".to_owned());
    let mut heard = Instant::now();
    let mut unread = Vec::new();
    let mut buffer = [0; MOST_TEXT];
    loop {
        match link.read(&mut buffer) {
            Ok(0) => return gone(),
            Ok(length) => {
                heard = Instant::now();
                unread.extend_from_slice(&buffer[..length]);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if heard.elapsed() > patience {
                    return PeerEnd::Lost(format!("nothing was heard of it for {:.0} s", patience.as_secs_f64()));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Reset: the peer ended with unread input, or TLS ended without a close.
            Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => {
                return gone();
            }
            Err(error) => return PeerEnd::Lost(error.to_string()),
        }
        loop {
            match Message::take(&mut unread) {
                Ok(None) => break,
                Ok(Some(Message::Beat)) => {}
                Ok(Some(Message::Goodbye)) => return PeerEnd::Goodbye,
                Ok(Some(Message::Blame(text))) => return PeerEnd::Blame(text),
                Err(error) => return PeerEnd::Lost(error.to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::engine::mesh::link::tests::pair;

    #[test]
    fn the_end_of_a_peer_is_told_as_it_was() {
        let blame = Message::Blame("„so“".to_owned());
        // The last message that fits would be cut in two.
        let too_long = Message::Blame("„".repeat(MOST_TEXT));
        for (message, farewell) in [
            (&Message::Goodbye, PeerEnd::Goodbye),
            (&blame, PeerEnd::Blame("„so“".to_owned())),
            (&too_long, PeerEnd::Blame("„".repeat(MOST_TEXT / "„".len()))),
        ] {
            let (speaker, listener) = pair();
            Message::Beat.send(&speaker).unwrap();
            message.send(&speaker).unwrap();
            drop(speaker);
            assert_eq!(listen(&listener, Duration::from_secs(60)), farewell);
        }
    }

    #[test]
    fn who_closes_without_a_word_or_talks_nonsense_is_lost() {
        let (speaker, listener) = pair();
        Message::Beat.send(&speaker).unwrap();
        drop(speaker);
        assert!(matches!(listen(&listener, Duration::from_secs(60)), PeerEnd::Lost(_)));
        for nonsense in [&[9; 100][..], &[kind::GOODBYE, 1, 0, b'x'], &[kind::BLAME, 1, 0, 0xff]] {
            let (speaker, listener) = pair();
            (&speaker).write_all(nonsense).unwrap();
            assert!(matches!(listen(&listener, Duration::from_secs(60)), PeerEnd::Lost(_)));
        }
    }

    #[test]
    fn silence_is_an_end_and_beats_are_not() {
        let (speaker, listener) = pair();
        let patience = Duration::from_millis(1200);
        let listening = thread::spawn(move || listen(&listener, patience));
        for _ in 0..6 {
            thread::sleep(BEAT / 2);
            Message::Beat.send(&speaker).unwrap();
        }
        assert!(!listening.is_finished(), "it was heard of");
        let PeerEnd::Lost(reason) = listening.join().unwrap() else { unreachable!("nobody took leave") };
        assert!(reason.contains("nothing was heard"), "{reason}");
    }
}
