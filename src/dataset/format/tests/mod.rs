//! Files that are right, and files that are wrong.

mod binary;
mod citeseer;
mod folders;
mod hostile;
mod python;
mod refused;
mod round_trip;

use std::fs;
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

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
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
