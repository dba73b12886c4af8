//! The bytes of a stream: of a complete file, a growing file, or standard input.

use std::fs::{self, File};
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::error::StreamError;
use crate::dataset::format::{FormatError, GZIP, file_identity, packed};

/// Bytes of one read.
pub(super) const CHUNK: usize = 256 << 10;
/// Chunks of standard input that may wait to be read.
const WAITING: usize = 16;
/// How long a read of standard input waits before it returns without bytes.
pub(super) const PATIENCE: Duration = Duration::from_millis(40);

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadOutcome {
    /// Bytes.
    Some,
    /// No bytes have arrived yet.
    Nothing,
    /// The end of the stream.
    End,
}

/// A source of bytes.
pub(super) enum Text {
    /// A complete file.
    File { path: PathBuf, reader: Box<dyn Read + Send>, is_packed: bool, read: u64 },
    /// A file that grows.
    Growing { path: PathBuf, file: File, read: u64 },
    /// Standard input, which another thread reads.
    Input(Receiver<io::Result<Vec<u8>>>),
}

impl Text {
    /// A file; gzip is detected by its first bytes.
    pub fn open(path: &Path, is_watched: bool) -> Result<Self, StreamError> {
        let failed = |source| FormatError::io(path, source);
        let mut file = File::open(path).map_err(failed)?;
        // A pipe cannot be rewound, and its reads wait for more bytes anyway.
        let grows = is_watched && file.metadata().map_err(failed)?.is_file();
        let mut head = Vec::with_capacity(2);
        file.by_ref().take(2).read_to_end(&mut head).map_err(failed)?;
        let (path, is_packed) = (path.to_owned(), head == GZIP);
        if grows {
            if is_packed {
                return Err(StreamError::PackedAndWatched { path });
            }
            file.rewind().map_err(|source| FormatError::io(&path, source))?;
            return Ok(Self::Growing { path, file, read: 0 });
        }
        let whole = Cursor::new(head).chain(file);
        let reader: Box<dyn Read + Send> = if is_packed { packed::gzip(whole) } else { Box::new(whole) };
        Ok(Self::File { path, reader, is_packed, read: 0 })
    }

    /// Standard input, read by a thread of its own, so that waiting for it can be interrupted.
    pub fn input() -> Self {
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let read = move || {
            let mut input = io::stdin().lock();
            loop {
                let mut chunk = vec![0; CHUNK];
                let sent = match input.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(length) => {
                        chunk.truncate(length);
                        sender.send(Ok(chunk))
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => {
                        let _ = sender.send(Err(error));
                        break;
                    }
                };
                if sent.is_err() {
                    break;
                }
            }
        };
        // If the thread cannot start, the sender is dropped and the stream ends.
        let _ = thread::Builder::new().name("input".into()).spawn(read);
        Self::Input(receiver)
    }

    /// Whether an unfinished line may still be finished.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Growing { .. })
    }

    /// Appends the available bytes, up to a chunk.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> Result<ReadOutcome, StreamError> {
        match self {
            Self::Input(receiver) => match receiver.recv_timeout(PATIENCE) {
                Ok(Ok(chunk)) => {
                    buffer.extend_from_slice(&chunk);
                    Ok(ReadOutcome::Some)
                }
                Ok(Err(source)) => Err(FormatError::io(Path::new("standard input"), source).into()),
                Err(RecvTimeoutError::Timeout) => Ok(ReadOutcome::Nothing),
                Err(RecvTimeoutError::Disconnected) => Ok(ReadOutcome::End),
            },
            Self::File { path, reader, is_packed, read } => {
                let before = buffer.len();
                // One read, so that available bytes do not wait for more.
                buffer.resize(before + CHUNK, 0);
                let result = loop {
                    match reader.read(&mut buffer[before..]) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        result => break result,
                    }
                };
                buffer.truncate(before + result.as_ref().map_or(0, |&length| length));
                *read += (buffer.len() - before) as u64;
                if let Err(source) = result {
                    let (path, offset) = (path.clone(), *read);
                    return Err(match *is_packed {
                        true => FormatError::Compressed { path, offset, source },
                        false => FormatError::io(&path, source),
                    }
                    .into());
                }
                Ok(if buffer.len() > before { ReadOutcome::Some } else { ReadOutcome::End })
            }
            Self::Growing { path, file, read } => {
                let before = buffer.len();
                let failed = |source| FormatError::io(path, source);
                file.by_ref().take(CHUNK as u64).read_to_end(buffer).map_err(failed)?;
                *read += (buffer.len() - before) as u64;
                if buffer.len() > before {
                    return Ok(ReadOutcome::Some);
                }
                let found = file.metadata().map_err(failed)?;
                if found.len() < *read {
                    return Err(StreamError::Cut { path: path.clone(), found: found.len(), read: *read });
                }
                if !fs::metadata(&*path).is_ok_and(|at_path| file_identity(&found) == file_identity(&at_path)) {
                    return Err(StreamError::Replaced { path: path.clone() });
                }
                Ok(ReadOutcome::Nothing)
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Catches the loss of the first bytes, which are inspected to detect gzip.
    #[test]
    fn a_pipe_gives_all_of_its_bytes_watched_or_not() {
        for is_watched in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("pipe");
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
            let (writer, sent) = (path.clone(), "+ 1 2\n".repeat(100_000));
            let sending = sent.clone();
            thread::spawn(move || fs::write(writer, sending));
            let (mut text, mut got) = (Text::open(&path, is_watched).unwrap(), vec![]);
            while text.read(&mut got).unwrap() == ReadOutcome::Some {}
            assert!(got == sent.as_bytes(), "{} of {} bytes", got.len(), sent.len());
        }
    }
}
