//! A graph from one file.

use std::ffi::OsStr;
use std::path::Path;

use super::rows::{self, Piece};
use super::text::Blocks;
use super::{EdgeOptions, FormatError, matrix_market, npy, npz, text, zipped};
use crate::dataset::{EdgeList, Ids};

/// How a file keeps its edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Lines of two ids and perhaps a weight.
    Text,
    /// A numpy array of pairs.
    NumpyPairs,
    /// A sparse matrix of scipy.
    ScipySparse,
    /// Matrix Market.
    MatrixMarket,
}

/// A graph that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadEdges {
    /// Its edges, by rows.
    pub edges: EdgeList,
    /// What the user calls the node of each row.
    pub ids: Ids,
    /// What the file was.
    pub format: Format,
    /// Whether its first line named the columns.
    pub header: bool,
}

/// Reads a graph. The first bytes of the file tell its format; the ending of its name counts when they do not.
///
/// ```
/// use isvd_dist::dataset::format::{EdgeOptions, read_edges};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("friends.csv");
/// std::fs::write(&path, "who,whom\n70,20\n# a comment\n20,5000000000\n")?;
/// let read = read_edges(&path, &EdgeOptions::default())?;
/// assert_eq!(read.edges.edges, [(1, 0), (0, 2)]);
/// assert_eq!(read.ids.iter().collect::<Vec<_>>(), ["20", "70", "5000000000"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_edges(path: &Path, options: &EdgeOptions) -> Result<ReadEdges, FormatError> {
    match find(path)? {
        Format::Text => text::read_edges(path, options),
        Format::ScipySparse => npz::read_edges(path, options),
        Format::MatrixMarket => matrix_market::read_edges(path, options),
        Format::NumpyPairs => {
            let pairs = npy::read_pairs(path)?;
            if pairs.len() == 0 {
                return Err(FormatError::Empty { path: path.to_owned(), expected: "pairs of ids" });
            }
            let whole = Piece { part: 0, start: 0, end: pairs.len() };
            let (edges, ids) = rows::number(vec![pairs], &[whole], options, path)?;
            let directed = options.directed.unwrap_or(false);
            let edges = EdgeList { nodes: ids.len(), edges, weights: None, directed };
            Ok(ReadEdges { edges, ids, format: Format::NumpyPairs, header: false })
        }
    }
}

/// Reads pairs of nodes that a graph with these ids must have, from a text or a numpy array.
pub fn read_pairs(path: &Path, ids: &Ids, options: &EdgeOptions) -> Result<Vec<(u32, u32)>, FormatError> {
    match find(path)? {
        Format::NumpyPairs => {
            let pairs = npy::read_pairs(path)?;
            let row =
                |entry, id| ids.row_of_number(id).map(|row| row as u32).ok_or_else(|| rows::unknown(path, entry, id));
            let pair = |(entry, (from, to))| Ok((row(entry, from)?, row(entry, to)?));
            pairs.iter().enumerate().map(pair).collect()
        }
        Format::Text => text::read_pairs(path, ids, options),
        Format::ScipySparse | Format::MatrixMarket => {
            let remedy = "write the pairs as text or save them with `numpy.save`";
            Err(FormatError::content(path, "a matrix", "pairs of ids", remedy))
        }
    }
}

/// What a file is; numpy's and scipy's may hold something else than edges.
pub(super) fn find(path: &Path) -> Result<Format, FormatError> {
    let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    match ending.as_deref() {
        Some("npy") => return Ok(Format::NumpyPairs),
        Some("npz") => return Ok(Format::ScipySparse),
        Some("mtx" | "mm") => return Ok(Format::MatrixMarket),
        _ => {}
    }
    let start = Blocks::start(path)?;
    Ok(if start.starts_with(npy::MAGIC) {
        Format::NumpyPairs
    } else if start.starts_with(zipped::MAGIC) {
        Format::ScipySparse
    } else if start.len() >= matrix_market::MAGIC.len()
        && start[..matrix_market::MAGIC.len()].eq_ignore_ascii_case(matrix_market::MAGIC)
    {
        Format::MatrixMarket
    } else {
        Format::Text
    })
}
