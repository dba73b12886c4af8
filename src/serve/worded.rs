//! Error answers of hyper, with a body.
//!
//! hyper refuses what it cannot read as a request without asking anybody, and its answer has no
//! body. It is the only one without a content type, so it is known by its head on the way to the
//! client, and sent on with a body as every other error.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::StatusCode;
use hyper::rt::{Read, ReadBufCursor, Write};

use super::answer::Answer;
use super::connection::HEAD_BYTES;

/// Headers that hyper reads.
const HEADERS: usize = 100;

/// A client whose answers of hyper get a body.
pub(super) struct Worded<I> {
    client: I,
    /// The bytes that replace an answer of hyper, and how many of them are sent.
    instead: Option<(Vec<u8>, usize)>,
}

impl<I> Worded<I> {
    pub(super) fn new(client: I) -> Self {
        Self { client, instead: None }
    }

    /// The client, after everything that hyper wrote was sent.
    pub(super) fn into_client(self) -> I {
        self.client
    }
}

/// Why the lines before a body are too much to read.
pub(super) fn long_head() -> String {
    format!("the lines before the body are longer than {HEAD_BYTES} bytes, or more than {HEADERS} headers")
}

/// The answer to what is no question in HTTP/1.1.
pub(super) fn no_question(status: StatusCode) -> Answer {
    Answer::error(status, "this is no question in HTTP/1.1: check the method, the path, the version and the headers")
}

impl<I: Read + Unpin> Read for Worded<I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.client).poll_read(cx, buf)
    }
}

impl<I: Write + Unpin> Write for Worded<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.instead.is_none() {
            this.instead = worded(buf).map(|bytes| (bytes, 0));
        }
        let Some((bytes, sent)) = &mut this.instead else { return Pin::new(&mut this.client).poll_write(cx, buf) };
        while *sent < bytes.len() {
            match ready!(Pin::new(&mut this.client).poll_write(cx, &bytes[*sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                more => *sent += more,
            }
        }
        this.instead = None;
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.client).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.client).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.client.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match bufs {
            // An answer of the library is a head alone.
            [head] => self.poll_write(cx, head),
            _ => Pin::new(&mut self.client).poll_write_vectored(cx, bufs),
        }
    }
}

/// The answer to send in place of one that the library made up, if this is one: a head, perhaps
/// behind answers before it.
fn worded(bytes: &[u8]) -> Option<Vec<u8>> {
    let head = bytes.strip_suffix(b"\r\n\r\n")?;
    let start = memchr::memmem::rfind(head, b"\r\n\r\n").map_or(0, |end| end + 4);
    let start = memchr::memmem::rfind(&head[start..], b"HTTP/1.").map(|place| start + place)?;
    let head = std::str::from_utf8(&head[start..]).ok()?.to_ascii_lowercase();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .and_then(|code| StatusCode::from_u16(code).ok())?;
    if !status.is_client_error() || head.contains("\r\ncontent-type:") {
        return None;
    }
    let answer = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG => Answer::error(status, long_head()),
        _ => no_question(status),
    };
    Some([&bytes[..start], &answer.into_last_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_library_alone_get_words() {
        let bare = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let own = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n";
        let fine = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        let body = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        assert!(worded(own).is_none() && worded(fine).is_none() && worded(body).is_none());
        let text = String::from_utf8(worded(bare).unwrap()).unwrap();
        assert!(text.starts_with("HTTP/1.1 400 ") && text.contains("{\"error\":"), "{text}");
        let both = String::from_utf8(worded(&[&body[..], bare].concat()).unwrap()).unwrap();
        assert!(both.starts_with("HTTP/1.1 200 OK") && both.contains("\r\n\r\n{}HTTP/1.1 400 "), "{both}");
    }
}
