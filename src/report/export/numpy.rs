//! Arrays of NumPy.

use std::io::{self, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::Export;
use crate::dataset::Ids;
use crate::matrix::Dense;
use crate::model::vectors::Side;
use crate::report::output::write_array;

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
    archive.start_file("ids.npy", options)?;
    match export.numbers() {
        Some(numbers) => write_array(&mut archive, &[numbers.len()], &numbers)?,
        None => write_text(export.ids, &mut archive)?,
    }
    archive.finish()?.flush()
}

fn write_dense(array: &Dense, file: &mut impl Write) -> io::Result<()> {
    write_array(file, &[array.rows(), array.columns()], array.data())
}

/// An array of text: every element has as many characters of 32 bits as the longest needs, filled up with zeros.
fn write_text(ids: &Ids, file: &mut impl Write) -> io::Result<()> {
    let width = ids.iter().map(|id| id.chars().count()).max().unwrap_or(0).max(1);
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
