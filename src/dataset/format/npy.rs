//! numpy's `.npy`.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::array::{self, Array, ElementType};
use super::error::{FormatError, excerpt};
use super::rows::Pairs;
use crate::dataset::gauge::Metered;

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
const LONGEST_HEADER: usize = 1 << 20;
const FETCH_AGAIN: &str = "the file is cut off or damaged: fetch or save it again";

/// Reads an array of any shape.
pub fn read_npy(path: &Path) -> Result<Array<'static>, FormatError> {
    let mut file = open(path)?;
    read(&mut file, path)
}

fn open(path: &Path) -> Result<BufReader<Metered<File>>, FormatError> {
    let failed = |source| FormatError::io(path, source);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(FormatError::Folder { path: path.to_owned() });
    }
    Ok(BufReader::with_capacity(1 << 20, Metered::new(file, metadata.len())))
}

/// Reads an array; memory grows with what is really there, not with what the header promises.
pub(crate) fn read(reader: &mut impl Read, path: &Path) -> Result<Array<'static>, FormatError> {
    let header = Header::read(reader, path)?;
    let mut bytes = vec![];
    let read = reader.by_ref().take(header.bytes).read_to_end(&mut bytes);
    read.map_err(|source| FormatError::io(path, source))?;
    if (bytes.len() as u64) < header.bytes {
        return Err(header.short(path, bytes.len() as u64));
    }
    let Header { offset, shape, element, fortran, .. } = header;
    Ok(Array { path: path.to_owned(), offset, shape, element, fortran, bytes: Cow::Owned(bytes) })
}

/// Reads pairs of ids, without holding the array beside them when the two of a pair are neighbours.
pub(crate) fn read_pairs(path: &Path) -> Result<Pairs, FormatError> {
    const PAIRS: usize = 1 << 16;
    let mut file = open(path)?;
    let header = Header::read(&mut file, path)?;
    let (count, across) = array::pair_shape(&header.shape, path, header.offset)?;
    if across != header.fortran || !header.element.is_whole() {
        return read_npy(path)?.pairs();
    }
    let size = header.element.size;
    let mut pairs = Pairs::default();
    let mut buffer = vec![];
    let mut done = 0;
    while done < count {
        buffer.clear();
        let wanted = 2 * size * PAIRS.min(count - done);
        let read = file.by_ref().take(wanted as u64).read_to_end(&mut buffer);
        read.map_err(|source| FormatError::io(path, source))?;
        if buffer.len() < wanted {
            return Err(header.short(path, (2 * size * done + buffer.len()) as u64));
        }
        for (n, pair) in buffer.chunks_exact(2 * size).enumerate() {
            let (from, to) = pair.split_at(size);
            let id = |half: &[u8], second: usize| {
                array::id(header.element, half).map_err(|found| {
                    let at = header.offset + (size * (2 * (done + n) + second)) as u64;
                    FormatError::byte(path, at, found, "an id of 0 or more", "renumber the nodes")
                })
            };
            pairs.push(id(from, 0)?, id(to, 1)?);
        }
        done += wanted / (2 * size);
    }
    Ok(pairs)
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
            read.map_err(|source| FormatError::io(path, source)).map(|_| bytes)
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
        let size = shape.iter().try_fold(element.size, |product, &length| product.checked_mul(length));
        let bytes = size.filter(|&size| size as u64 <= i64::MAX as u64).ok_or_else(wrong)? as u64;
        Ok(Self { offset, bytes, shape, element, fortran })
    }

    fn short(&self, path: &Path, found: u64) -> FormatError {
        let expected = format!("{} as its header says", self.bytes);
        FormatError::byte(path, self.offset + found, format!("the end after {found} bytes"), expected, FETCH_AGAIN)
    }
}

/// Type, order and shape from a header such as `{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }`.
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
