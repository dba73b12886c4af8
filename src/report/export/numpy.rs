//! Arrays of NumPy.

use std::io::{self, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::Export;
use crate::dataset::Ids;
use crate::matrix::Dense;
use crate::model::vectors::Side;
use crate::report::output::write_array;

/// An array of text of this many bytes is always written as such.
const ALWAYS: usize = 1 << 20;
/// The most bytes that a longer one may take for each byte of the ids; characters of plain text
/// take four already.
const MOST_FILLED: usize = 64;
/// Every array starts at a multiple of this.
const ALIGNMENT: usize = 64;

/// One array, a row a node.
pub(super) fn write_npy(export: &Export<'_>, file: &mut impl Write) -> io::Result<()> {
    let (rows, columns) = (export.ids.len(), export.vectors.columns(export.side));
    let entries: Vec<f32> = (0..rows).flat_map(|row| export.vectors.row(export.side, row)).collect();
    write_array(file, &[rows, columns], &entries)
}

/// The wanted arrays by name, and the ids.
pub(super) fn write_npz(export: &Export<'_>, file: &mut (impl Write + io::Seek)) -> io::Result<()> {
    let mut archive = ZipWriter::new(file);
    // As NumPy writes them, and of any size.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
    let sides = [(Side::Left, "left.npy", &export.vectors.left), (Side::Right, "right.npy", &export.vectors.right)];
    for (side, name, array) in sides {
        if export.side == side || export.side == Side::Both {
            archive.start_file(name, options)?;
            write_dense(array, &mut archive)?;
        }
    }
    if let Some(numbers) = export.numbers() {
        archive.start_file("ids.npy", options)?;
        write_array(&mut archive, &[numbers.len()], &numbers)?;
    } else if let Some(width) = text_width(export.ids) {
        archive.start_file("ids.npy", options)?;
        write_text(export.ids, width, &mut archive)?;
    } else {
        archive.start_file("ids_utf8.npy", options)?;
        let text: Vec<u8> = export.ids.iter().flat_map(|id| id.as_bytes().to_vec()).collect();
        write_array(&mut archive, &[text.len()], &text)?;
        archive.start_file("ids_offsets.npy", options)?;
        let ends = export.ids.iter().scan(0, |end, id| {
            *end += id.len() as i64;
            Some(*end)
        });
        let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
        write_array(&mut archive, &[offsets.len()], &offsets)?;
    }
    archive.finish()?.flush()
}

/// How many characters the longest id has, if an array of that width is not far longer than the
/// ids.
fn text_width(ids: &Ids) -> Option<usize> {
    let width = ids.iter().map(|id| id.chars().count()).max().unwrap_or(0).max(1);
    let bytes: usize = ids.iter().map(|id| id.len()).sum();
    (width.saturating_mul(4 * ids.len()) <= MOST_FILLED * bytes + ALWAYS).then_some(width)
}

fn write_dense(array: &Dense, file: &mut impl Write) -> io::Result<()> {
    write_array(file, &[array.rows(), array.columns()], array.data())
}

/// An array of text: every element has `width` characters of 32 bits, as many as the longest needs,
/// filled up with zeros.
fn write_text(ids: &Ids, width: usize, file: &mut impl Write) -> io::Result<()> {
    let mut header = format!("{{'descr': '<U{width}', 'fortran_order': False, 'shape': ({},), }}", ids.len());
    // Magic, version and the length of the header come before it, and an end of line after.
    let before = 10;
    let filled = (before + header.len() + 1).next_multiple_of(ALIGNMENT) - before - 1;
    header.push_str(&" ".repeat(filled - header.len()));
    header.push('\n');
    file.write_all(b"\x93NUMPY\x01\x00")?;
    let length = u16::try_from(header.len()).map_err(io::Error::other)?;
    file.write_all(&length.to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for id in ids.iter() {
        let mut count = 0;
        for letter in id.chars() {
            file.write_all(&u32::from(letter).to_le_bytes())?;
            count += 1;
        }
        (count..width).try_for_each(|_| file.write_all(&[0; 4]))?;
    }
    Ok(())
}
