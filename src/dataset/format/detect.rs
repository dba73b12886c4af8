//! Reading a graph or pairs from one file of any format.

use std::path::Path;

use super::array::ArrayPairs;
use super::input::Input;
use super::rows::{self, Piece};
use super::{EdgeOptions, FormatError, Remark, Weights, matrix_market, npy, npz, text};
use crate::dataset::budget::{BudgetedVec, OverBudget};
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
    /// The user's id of each row.
    pub ids: Ids,
    /// The format of the file.
    pub format: Format,
    /// Whether its first line named the columns.
    pub header: bool,
    /// Properties that were inferred from the content of the file.
    pub remarks: Vec<Remark>,
}

/// Reads a graph. The first bytes of the file tell its format; the ending of its name counts when
/// they do not.
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
    edges_of(Input::open(path)?, options)
}

fn edges_of(input: Input, options: &EdgeOptions) -> Result<ReadEdges, FormatError> {
    match input.format() {
        Format::Text => text::read_edges(input, options),
        Format::ScipySparse => npz::read_edges(input, options),
        Format::MatrixMarket => matrix_market::read_edges(input, options),
        Format::NumpyPairs => {
            let path = &input.path().to_owned();
            let ArrayPairs { pairs, reserved: _reserved, in_columns } = npy::read_pairs(input)?;
            let remark = in_columns.then_some(Remark::PairsInColumns { pairs: pairs.len() });
            if pairs.len() == 0 {
                return Err(FormatError::Empty { path: path.to_owned(), expected: "pairs of ids" });
            }
            let whole = Piece { part: 0, start: 0, end: pairs.len() };
            let (edges, ids) = rows::number_rows(vec![pairs], &[whole], options, path)?;
            let directed = options.directed.unwrap_or(false);
            let edges = EdgeList { nodes: ids.len(), edges, weights: None, directed };
            Ok(ReadEdges {
                edges,
                ids,
                format: Format::NumpyPairs,
                header: false,
                remarks: remark.into_iter().collect(),
            })
        }
    }
}

/// How pairs with unknown nodes are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownIds {
    /// It is an error.
    #[default]
    Refuse,
    /// It is counted and left out.
    Skip,
}

/// Pairs of rows that were read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadPairs {
    /// In their order.
    pub pairs: Vec<(u32, u32)>,
    /// The number of pairs that were left out.
    pub skipped: u64,
}

/// Pairs of rows while they are read.
#[derive(Default)]
pub(super) struct PairCollector {
    pairs: BudgetedVec<(u32, u32)>,
    skipped: u64,
    unknown: UnknownIds,
}

impl PairCollector {
    pub fn new(unknown: UnknownIds) -> Self {
        Self { unknown, ..Self::default() }
    }

    /// Adds a pair if both of its nodes are known. Returns the id that is unknown, unless unknown
    /// ids may be skipped.
    pub fn push<I>(&mut self, [from, to]: [I; 2], row: impl Fn(&I) -> Option<usize>) -> Result<Option<I>, OverBudget> {
        match (row(&from), row(&to), self.unknown) {
            (Some(from), Some(to), _) => self.pairs.push((from as u32, to as u32))?,
            (.., UnknownIds::Skip) => self.skipped += 1,
            (None, ..) => return Ok(Some(from)),
            (_, None, _) => return Ok(Some(to)),
        }
        Ok(None)
    }

    /// All pairs; a file without any is an error.
    pub fn finish(self, path: &Path) -> Result<ReadPairs, FormatError> {
        match self.pairs.len() as u64 + self.skipped {
            0 => Err(FormatError::Empty { path: path.to_owned(), expected: "pairs of ids" }),
            _ => Ok(ReadPairs { pairs: self.pairs.into_kept(), skipped: self.skipped }),
        }
    }
}

/// Reads pairs of nodes of a graph with these ids, from any file that edges are read from.
pub fn read_pairs(
    path: &Path,
    ids: &Ids,
    options: &EdgeOptions,
    unknown: UnknownIds,
) -> Result<ReadPairs, FormatError> {
    let input = Input::open(path)?;
    let mut read = PairCollector::new(unknown);
    let over = |over: OverBudget| over.reading(path);
    match input.format() {
        Format::Text => return text::read_pairs(input, ids, options, unknown),
        Format::NumpyPairs => {
            let ArrayPairs { pairs, reserved: _reserved, .. } = npy::read_pairs(input)?;
            for (entry, (from, to)) in pairs.iter().enumerate() {
                let refused = read.push([from, to], |&id| ids.row_of_number(id)).map_err(over)?;
                refused.map_or(Ok(()), |id| Err(rows::unknown(path, entry, id)))?;
            }
        }
        Format::ScipySparse | Format::MatrixMarket => {
            // Entries are pairs as they are stored, whatever their values.
            let options = EdgeOptions { directed: Some(true), signed: true, weights: Weights::Ignore, ..*options };
            let matrix = edges_of(input, &options)?;
            for (entry, &(from, to)) in matrix.edges.edges.iter().enumerate() {
                let [from, to] = [from, to].map(|row| matrix.ids.get(row as usize).unwrap_or_default());
                let refused = read.push([from, to], |id| ids.row(id)).map_err(over)?;
                refused.map_or(Ok(()), |id| Err(rows::unknown(path, entry, id)))?;
            }
        }
    }
    read.finish(path)
}
