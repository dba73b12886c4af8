//! A text line after line, for files of one thing a line.

use super::blocks::{Block, Blocks};
use super::fields;
use crate::dataset::format::error::{Fault, FormatError, excerpt};
use crate::dataset::format::input::Input;

/// Calls `f` with each line in order, without blanks around it; says how many lines there are.
pub(crate) fn each_line(input: Input, mut f: impl FnMut(&[u8]) -> Result<(), Fault>) -> Result<u64, FormatError> {
    let path = &input.path().to_owned();
    let mut blocks = Blocks::of(input);
    let mut buffer = Block::default();
    let mut lines = 0;
    while blocks.next(&mut buffer)?.is_some() {
        for line in fields::lines(&buffer) {
            f(fields::trim(line)).map_err(|fault| fault.in_file(path, lines))?;
            lines += 1;
        }
    }
    Ok(lines)
}

/// A line that must be text.
pub(crate) fn utf8(line: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(line).map_err(|_| {
        let found = format!("{}, which is not UTF-8", excerpt(line));
        Fault::new(found, "text in UTF-8", "convert the file, for instance with `iconv -f LATIN1 -t UTF-8`")
    })
}
