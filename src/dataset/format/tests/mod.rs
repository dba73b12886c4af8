//! Files that are right, and files that are wrong.

mod binary;
mod citeseer;
mod folders;
mod hostile;
mod python;
mod refused;
mod round_trip;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::*;
use tempfile::TempDir;

/// A folder with one file in it.
struct Written {
    _folder: TempDir,
    path: PathBuf,
}

fn write(name: &str, bytes: impl AsRef<[u8]>) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    Written { _folder: folder, path }
}

fn read(name: &str, bytes: impl AsRef<[u8]>, options: &EdgeOptions) -> Result<ReadEdges, FormatError> {
    read_edges(&write(name, bytes).path, options)
}

/// A file of numpy in some version of its format.
pub(in crate::dataset) fn npy(version: u8, descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    if version == 1 {
        bytes.extend((header.len() as u16).to_le_bytes());
    } else {
        bytes.extend((header.len() as u32).to_le_bytes());
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// The little-endian bytes of numbers, as this machine has them.
pub(in crate::dataset) fn bytes_of<T: bytemuck::NoUninit>(numbers: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(numbers).to_vec()
}

pub(in crate::dataset) fn zip(entries: &[(&str, Vec<u8>)], method: zip::CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(vec![]));
    for (name, bytes) in entries {
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(in crate::dataset) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[track_caller]
fn assert_words(error: &FormatError, path: &Path, words: &[&str]) {
    let message = error.to_string();
    let name = path.file_name().unwrap().to_str().unwrap();
    for word in [name, "expected", ": "].iter().chain(words) {
        assert!(message.contains(word), "`{word}` is not in: {message}");
    }
}
