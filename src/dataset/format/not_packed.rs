//! Stand-ins for compressed files in a library without the feature `formats`: reading them is an
//! error.

use std::io::{self, Read};
use std::iter::Empty;
use std::path::PathBuf;

use super::FormatError;
use super::input::Input;
use crate::dataset::budget::Reservation;

pub(crate) const MAGIC: &[u8] = b"PK\x03\x04";
const REMEDY: &str = "build the library with the feature `formats`, or unpack the file";

/// A zip archive; there is none.
pub(crate) enum Archive {}

impl Archive {
    pub fn of(input: Input) -> Result<Self, FormatError> {
        Err(FormatError::content(input.path(), "a zip archive", "a file that is not packed", REMEDY))
    }

    pub fn names(&self) -> Empty<&str> {
        match *self {}
    }

    pub fn place(&self, _: &str) -> PathBuf {
        match *self {}
    }

    pub fn check(&self) -> Result<(), FormatError> {
        match *self {}
    }

    pub fn entry(&mut self, _: &str) -> Result<Option<io::Empty>, FormatError> {
        match *self {}
    }

    pub fn read(&mut self, _: &str) -> Result<Option<(Vec<u8>, Reservation)>, FormatError> {
        match *self {}
    }
}

/// Says that what is packed in a file cannot be read.
pub(crate) fn gzip(_: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    struct Unreadable;

    impl Read for Unreadable {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::Unsupported, REMEDY))
        }
    }

    Box::new(Unreadable)
}
