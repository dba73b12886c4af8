//! numpy's `.npy`.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::Path;

use super::array::{self, Array, ArrayPairs, ElementType};
use super::error::{FormatError, excerpt};
use super::input::{Input, read_up_to};
use crate::dataset::budget::Budget;

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
const LONGEST_HEADER: usize = 1 << 20;
const FETCH_AGAIN: &str = "the file is cut off or damaged: fetch or save it again";

/// Reads an array of any shape.
pub fn read_npy(path: &Path) -> Result<Array<'static>, FormatError> {
    read_array(Input::open(path)?)
}

/// Reads an array of any shape from a file that is open.
pub(crate) fn read_array(mut input: Input) -> Result<Array<'static>, FormatError> {
    let path = input.path().to_owned();
    let header = Header::read(&mut input, &path)?;
    let array = header.array(&mut input, &path)?;
    finish(input)?;
    Ok(array)
}

/// Reads an array that is all there is up to the end, where its checksum is compared.
pub(crate) fn read_whole(reader: &mut impl Read, path: &Path) -> Result<Array<'static>, FormatError> {
    let array = Header::read(reader, path)?.array(reader, path)?;
    at_end(reader, path, array.bytes.len() as u64)?;
    Ok(array)
}

/// Whatever follows an array in a plain file is another one's. A packed file is read to its end,
/// where its checksum is.
fn finish(mut input: Input) -> Result<(), FormatError> {
    if input.is_packed() {
        let path = input.path().to_owned();
        at_end(&mut input, &path, 0)?;
    }
    input.check()
}

/// Fails if bytes follow an array of `bytes` bytes.
fn at_end(reader: &mut impl Read, path: &Path, bytes: u64) -> Result<(), FormatError> {
    let mut more = vec![];
    match reader.take(1).read_to_end(&mut more) {
        Ok(0) => Ok(()),
        Ok(_) => Err(FormatError::content(path, "more bytes after the array", "its end", FETCH_AGAIN)),
        Err(source) => Err(unreadable(path, bytes, source)),
    }
}

/// The error of a failed read: a compressed file may be damaged.
fn unreadable(path: &Path, offset: u64, source: io::Error) -> FormatError {
    match source.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            FormatError::Compressed { path: path.to_owned(), offset, source }
        }
        _ => FormatError::io(path, source),
    }
}

/// Reads pairs of ids.
pub(crate) fn read_pairs(input: Input) -> Result<ArrayPairs, FormatError> {
    read_array(input)?.pairs()
}

struct Header {
    /// Where the elements start.
    offset: u64,
    /// How many bytes they take.
    bytes: u64,
    shape: Vec<usize>,
    element: ElementType,
    fortran: bool,
}

impl Header {
    fn read(reader: &mut impl Read, path: &Path) -> Result<Self, FormatError> {
        let mut take = |count: usize| {
            let mut bytes = Vec::with_capacity(count.min(4096));
            let read = reader.by_ref().take(count as u64).read_to_end(&mut bytes);
            read.map_err(|source| unreadable(path, 0, source)).map(|_| bytes)
        };
        let start = take(8)?;
        if start.is_empty() {
            return Err(FormatError::Empty { path: path.to_owned(), expected: "a numpy array" });
        }
        if start.len() < 8 || !start.starts_with(MAGIC) {
            let remedy = "save it with `numpy.save`, or give the file the ending of its format";
            return Err(FormatError::byte(path, 0, excerpt(&start), "numpy's `\\x93NUMPY`", remedy));
        }
        let width = match start[6] {
            1 => 2,
            2 | 3 => 4,
            other => {
                let found = format!("version {other}");
                return Err(FormatError::byte(path, 6, found, "version 1, 2 or 3 of the format", FETCH_AGAIN));
            }
        };
        let length = take(width)?;
        let cut_off = |at: usize, found: &str| FormatError::byte(path, at as u64, found, "a header", FETCH_AGAIN);
        if length.len() < width {
            return Err(cut_off(8 + length.len(), "the end of the file"));
        }
        let length = length.iter().rev().fold(0usize, |sum, &byte| sum << 8 | usize::from(byte));
        if length > LONGEST_HEADER {
            return Err(cut_off(8, &format!("a header of {length} bytes")));
        }
        let text = take(length)?;
        if text.len() < length {
            return Err(cut_off(8 + width + text.len(), "the end of the file"));
        }
        let offset = (8 + width + length) as u64;
        let wrong = || {
            let expected = "a header with `descr`, `fortran_order` and `shape` of whole or floating-point numbers";
            let remedy = "save the array again with such a type";
            FormatError::byte(path, 8 + width as u64, excerpt(&text), expected, remedy)
        };
        let header = std::str::from_utf8(&text).ok().and_then(parse_header);
        let (element, fortran, shape) = header.ok_or_else(wrong)?;
        let bytes = array::bytes_of_shape(&shape, element).ok_or_else(wrong)? as u64;
        Ok(Self { offset, bytes, shape, element, fortran })
    }

    /// The elements; memory grows with what is really there, not with what the header promises.
    fn array(self, reader: &mut impl Read, path: &Path) -> Result<Array<'static>, FormatError> {
        let (bytes, reserved, ended) = read_up_to(reader, self.bytes, path, &Budget::current())?;
        ended.map_err(|source| unreadable(path, self.offset + bytes.len() as u64, source))?;
        if (bytes.len() as u64) < self.bytes {
            return Err(self.short(path, bytes.len() as u64));
        }
        let Header { offset, shape, element, fortran, .. } = self;
        Ok(Array {
            path: path.to_owned(),
            offset,
            shape,
            element,
            fortran,
            bytes: Cow::Owned(bytes),
            _reserved: reserved,
        })
    }

    fn short(&self, path: &Path, found: u64) -> FormatError {
        let expected = format!("{} as its header says", self.bytes);
        FormatError::byte(path, self.offset + found, format!("the end after {found} bytes"), expected, FETCH_AGAIN)
    }
}

/// Type, order and shape from a header such as `{'descr': '<i8', 'fortran_order': False, 'shape':
/// (3, 2), }`.
fn parse_header(text: &str) -> Option<(ElementType, bool, Vec<usize>)> {
    let after = |key: &str| {
        let quoted = [format!("'{key}'"), format!("\"{key}\"")];
        let (_, rest) = quoted.iter().find_map(|key| text.split_once(key.as_str()))?;
        rest.trim_start().strip_prefix(':').map(str::trim_start)
    };
    let descr = after("descr")?;
    let quote = descr.chars().next().filter(|&c| c == '\'' || c == '"')?;
    let element = ElementType::parse(descr[1..].split_once(quote)?.0)?;
    let order = after("fortran_order")?;
    let fortran = if order.starts_with("True") { true } else { order.starts_with("False").then_some(false)? };
    let (shape, _) = after("shape")?.strip_prefix('(')?.split_once(')')?;
    let lengths = shape.split(',').map(str::trim).filter(|length| !length.is_empty());
    let shape = lengths.map(|length| length.trim_end_matches('L').parse().ok()).collect::<Option<Vec<usize>>>()?;
    Some((element, fortran, shape))
}
