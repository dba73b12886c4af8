//! Tables of numbers as text: features, labels, counts.

use std::path::Path;

use super::blocks::Blocks;
use super::fields;
use crate::dataset::format::error::{Fault, FormatError, excerpt};
use crate::kernel;

/// Numbers row after row.
#[derive(Debug, Default)]
pub(crate) struct Table<T> {
    pub columns: usize,
    pub values: Vec<T>,
}

/// Reads a table of finite numbers; every line has as many as the first.
pub(crate) fn read_floats(path: &Path) -> Result<Table<f32>, FormatError> {
    read(path, b',', "a finite number", finite)
}

/// The same, with commas, semicolons, tabs or blanks between the numbers, as the first line has them.
pub(crate) fn read_separated(path: &Path) -> Result<Table<f32>, FormatError> {
    let mut blocks = Blocks::open(path)?;
    let first = fields::lines(blocks.first()?).next().map_or(&[][..], fields::trim);
    let separator = [b',', b';', b'\t'].into_iter().find(|byte| first.contains(byte)).unwrap_or(b' ');
    read(path, separator, "a finite number", finite)
}

fn finite(field: &[u8]) -> Option<f32> {
    std::str::from_utf8(field).ok()?.parse::<f32>().ok().filter(|value| value.is_finite())
}

/// Reads a table of whole numbers; `nan`, or nothing at all, is `None`.
pub(crate) fn read_integers(path: &Path) -> Result<Table<Option<i64>>, FormatError> {
    read(path, b',', "a whole number", |field| {
        if field.is_empty() || field.eq_ignore_ascii_case(b"nan") {
            return Some(None);
        }
        let text = std::str::from_utf8(field).ok()?;
        // Some programs write whole numbers with a fraction of zero.
        text.strip_suffix(".0").unwrap_or(text).parse().ok().map(Some)
    })
}

fn read<T: Send>(
    path: &Path,
    separator: u8,
    expected: &'static str,
    parse: impl Fn(&[u8]) -> Option<T> + Sync,
) -> Result<Table<T>, FormatError> {
    let mut blocks = Blocks::open(path)?;
    let Some(first) = fields::lines(blocks.first()?).next() else {
        return Err(FormatError::Empty { path: path.to_owned(), expected: "lines of numbers" });
    };
    let columns = split(fields::trim(first), separator).count();
    if columns == 0 {
        let fault = Fault::new("an empty line", "numbers", "remove the line, or write the numbers of its row");
        return Err(fault.in_file(path, 0));
    }
    let mut parts: Vec<(usize, Vec<T>)> = blocks
        .parse(kernel::cores(), |done: &mut Vec<(usize, Vec<T>)>, number, block| {
            let mut values = vec![];
            let rows = parse_rows(block, columns, separator, expected, &parse, &mut values)?;
            values.shrink_to_fit();
            done.push((number, values));
            Ok(rows)
        })?
        .into_iter()
        .flatten()
        .collect();
    parts.sort_unstable_by_key(|&(number, _)| number);
    let mut values = Vec::with_capacity(parts.iter().map(|(_, part)| part.len()).sum());
    parts.into_iter().for_each(|(_, part)| values.extend(part));
    Ok(Table { columns, values })
}

/// The fields of a trimmed line; of blanks any number may stand between two.
fn split(line: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let fields = line.split(move |&byte| byte == separator).map(fields::trim);
    fields.filter(move |field| separator != b' ' || !field.is_empty())
}

/// Adds the numbers of a block; says how many rows it has.
fn parse_rows<T>(
    block: &[u8],
    columns: usize,
    separator: u8,
    expected: &'static str,
    parse: impl Fn(&[u8]) -> Option<T>,
    values: &mut Vec<T>,
) -> Result<u64, Fault> {
    const REMEDY: &str = "fetch the file again, or repair the line";
    let mut rows = 0;
    for line in fields::lines(block) {
        let line = fields::trim(line);
        let before = values.len();
        for field in split(line, separator) {
            let value = parse(field).ok_or_else(|| {
                Fault::new(format!("{} in {}", excerpt(field), excerpt(line)), expected, REMEDY).at(rows)
            })?;
            values.push(value);
        }
        if values.len() - before != columns {
            let found = format!("{} columns in {}", values.len() - before, excerpt(line));
            return Err(Fault::new(found, format!("{columns} as in the first line"), REMEDY).at(rows));
        }
        rows += 1;
    }
    Ok(rows)
}
