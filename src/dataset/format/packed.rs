//! Files in gzip and in zip archives.

use std::io::Read;

#[cfg(feature = "download")]
pub(crate) use super::zipped::unsafe_name;
pub(crate) use super::zipped::{Archive, MAGIC};

/// The decompressed content of a file.
pub(crate) fn gzip(file: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(flate2::read::MultiGzDecoder::new(file))
}
