//! A text line after line.

use super::blocks::{Block, Blocks};
use super::fields;
use crate::dataset::format::error::{Fault, FormatError, excerpt};

/// Calls `f(number, line)` for each line in order, numbers from 0 and without blanks around the
/// line. Returns the number of lines.
pub(crate) fn each_line(
    mut blocks: Blocks,
    mut f: impl FnMut(u64, &[u8]) -> Result<(), Fault>,
) -> Result<u64, FormatError> {
    let path = blocks.path().to_owned();
    let mut buffer = Block::default();
    let mut number = 0;
    while blocks.next(&mut buffer)?.is_some() {
        for line in fields::lines(&buffer) {
            f(number, fields::trim(line)).map_err(|fault| fault.in_file(&path, number))?;
            number += 1;
        }
    }
    Ok(number)
}

/// A line that must be text.
pub(crate) fn utf8(line: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(line).map_err(|_| {
        let found = format!("{}, which is not UTF-8", excerpt(line));
        Fault::new(found, "text in UTF-8", "convert the file, for instance with `iconv -f LATIN1 -t UTF-8`")
    })
}
