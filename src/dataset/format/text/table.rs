//! Tables of numbers as text: features, labels, counts.

use std::path::Path;

use super::blocks::Blocks;
use super::fields;
use crate::dataset::budget::{OverBudget, Reservation, bytes_of};
use crate::dataset::format::error::{Fault, FormatError, excerpt};
use crate::dataset::format::input::Input;
use crate::kernel;

/// Numbers row after row.
#[derive(Debug, Default)]
pub(crate) struct Table<T> {
    pub columns: usize,
    pub values: Vec<T>,
    /// Memory of the values.
    pub reserved: Reservation,
}

/// Reads a table of finite numbers; every line has as many as the first.
pub(crate) fn read_floats(path: &Path) -> Result<Table<f32>, FormatError> {
    read(Blocks::of(Input::open(path)?), b',', "a finite number", finite)
}

/// The same, with commas, semicolons, tabs or blanks between the numbers, as the first line has
/// them.
pub(crate) fn read_separated(input: Input) -> Result<Table<f32>, FormatError> {
    let mut blocks = Blocks::of(input);
    let first = fields::lines(blocks.first()?).next().map_or(&[][..], fields::trim);
    let separator = [b',', b';', b'\t'].into_iter().find(|byte| first.contains(byte)).unwrap_or(b' ');
    read(blocks, separator, "a finite number", finite)
}

fn finite(field: &[u8]) -> Option<f32> {
    std::str::from_utf8(field).ok()?.parse::<f32>().ok().filter(|value| value.is_finite())
}

/// Reads a table of whole numbers; `nan`, or nothing at all, is `None`.
pub(crate) fn read_integers(path: &Path) -> Result<Table<Option<i64>>, FormatError> {
    read(Blocks::of(Input::open(path)?), b',', "a whole number", |field| {
        if field.is_empty() || field.eq_ignore_ascii_case(b"nan") {
            return Some(None);
        }
        let text = std::str::from_utf8(field).ok()?;
        // Some programs write whole numbers with a fraction of zero.
        text.strip_suffix(".0").unwrap_or(text).parse().ok().map(Some)
    })
}

fn read<T: Send>(
    mut blocks: Blocks,
    separator: u8,
    expected: &'static str,
    parse: impl Fn(&[u8]) -> Option<T> + Sync,
) -> Result<Table<T>, FormatError> {
    let (path, budget) = (&blocks.path().to_owned(), blocks.budget().clone());
    let Some(first) = fields::lines(blocks.first()?).next() else {
        return Err(FormatError::Empty { path: path.to_owned(), expected: "lines of numbers" });
    };
    let columns = split(fields::trim(first), separator).count();
    if columns == 0 {
        let fault = Fault::new("an empty line", "numbers", "remove the line, or write the numbers of its row");
        return Err(fault.in_file(path, 0));
    }
    // A number, which may be missing, and what separates it from the next.
    let shortest = if parse(b"").is_some() { 1 } else { 2 };
    let parts = blocks.parse(kernel::cores(), |part: &mut Part<T>, number, block| {
        let (mut values, held) = (vec![], part.reserved.bytes());
        budget.resize(&mut part.reserved, held + bytes_of::<T>(block.len() / shortest + 1))?;
        let rows = parse_rows(block, columns, separator, expected, &parse, &mut values)?;
        values.shrink_to_fit();
        budget.resize(&mut part.reserved, held + bytes_of::<T>(values.len()) + size_of::<(usize, Vec<T>)>() as u64)?;
        part.blocks.push((number, values));
        Ok(rows)
    })?;
    let (blocks, _reserved): (Vec<_>, Vec<_>) = parts.into_iter().map(|part| (part.blocks, part.reserved)).unzip();
    let mut blocks: Vec<(usize, Vec<T>)> = blocks.into_iter().flatten().collect();
    blocks.sort_unstable_by_key(|&(number, _)| number);
    let count = blocks.iter().map(|(_, values)| values.len()).sum();
    let reserved = budget.reserve_for::<T>(count).map_err(|over: OverBudget| over.reading(path))?;
    let mut values = Vec::with_capacity(count);
    blocks.into_iter().for_each(|(_, block)| values.extend(block));
    Ok(Table { columns, values, reserved })
}

/// The values that one thread parsed, by the number of the block.
struct Part<T> {
    blocks: Vec<(usize, Vec<T>)>,
    reserved: Reservation,
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self { blocks: vec![], reserved: Reservation::default() }
    }
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
