//! Python's pickles, read without running anything.
//!
//! A pickle is a program for a small stack machine. This one builds plain values, numpy arrays and
//! scipy matrices, and refuses to name any other class, so a file can ask for nothing but data.
//! Protocols 2 to 5 are understood: all datasets of the catalog have protocol 2, and the text of
//! protocols 0 and 1 is refused. Values live side by side and refer to each other by number:
//! nothing is copied when a pickle mentions a value again, and memory stays within a small multiple
//! of the file.

mod class;
mod machine;
mod make;
mod opcode;
mod value;

use std::path::Path;

pub(crate) use class::Class;
pub(crate) use machine::Machine;
pub use value::Value;
pub(crate) use value::{Node, Payload, StoredArray, Tensor};

use super::FormatError;
use super::input::Input;
use crate::dataset::budget::Reservation;
use std::path::PathBuf;

/// A pickle that was read.
#[derive(Debug)]
pub struct Pickle {
    pub(crate) path: PathBuf,
    /// The file, and after it whatever had to be unpacked or decoded.
    pub(crate) sources: Vec<Vec<u8>>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: u32,
    /// Memory of all that.
    pub(crate) _reserved: Vec<Reservation>,
}

impl Pickle {
    /// Its content.
    pub fn value(&self) -> Value<'_> {
        Value { pickle: self, node: self.root }
    }

    /// Reads a pickle from memory; `path` is for messages.
    pub fn parse(bytes: Vec<u8>, path: &Path) -> Result<Self, FormatError> {
        Self::of(bytes, Reservation::default(), path)
    }

    fn of(bytes: Vec<u8>, reserved: Reservation, path: &Path) -> Result<Self, FormatError> {
        let mut machine = Machine::new(bytes, reserved, path);
        let root = machine.run()?;
        Ok(machine.finish(root))
    }
}

/// Reads a pickle.
pub fn read_pickle(path: &Path) -> Result<Pickle, FormatError> {
    let (bytes, reserved) = read_file(Input::open(path)?)?;
    Pickle::of(bytes, reserved, path)
}

/// Reads a file that must not be empty.
pub(crate) fn read_file(input: Input) -> Result<(Vec<u8>, Reservation), FormatError> {
    if input.start().is_empty() {
        return Err(FormatError::Empty { path: input.path().to_owned(), expected: "a pickle" });
    }
    input.bytes()
}

#[cfg(test)]
mod tests;
