//! Sparse matrices as scipy stores them.

use std::path::{Path, PathBuf};

use super::array::Array;
use super::error::{NOT_NEGATIVE, SIGNED};
use super::symmetry::{edges_of, weights_of};
use super::{EdgeOptions, Format, FormatError, ReadEdges};
use crate::dataset::budget::{Budget, OverBudget, bytes_of};
use crate::dataset::{Ids, SparseFeatures};

const REMEDY: &str = "the file is damaged: save the matrix again with `scipy.sparse.save_npz`";

/// In which order entries are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Rows,
    Columns,
    Coordinates,
}

impl Layout {
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "csr" => Some(Self::Rows),
            "csc" => Some(Self::Columns),
            "coo" => Some(Self::Coordinates),
            _ => None,
        }
    }
}

/// A checked matrix: each entry by row and column.
#[derive(Debug)]
pub(crate) struct Entries {
    path: PathBuf,
    pub rows: usize,
    pub cols: usize,
    pub places: Vec<(u32, u32)>,
    pub values: Vec<f32>,
}

/// The arrays of a matrix: `minor` and `starts` for compressed rows or columns, rows and columns
/// for coordinates.
pub(crate) struct Arrays<'a> {
    pub layout: Layout,
    pub shape: (i64, i64),
    pub first: Array<'a>,
    pub second: Array<'a>,
    pub data: Array<'a>,
}

impl Arrays<'_> {
    pub fn entries(self, path: &Path) -> Result<Entries, FormatError> {
        let wrong = |found: String, expected: String| FormatError::content(path, found, expected, REMEDY);
        let size = |length: i64| {
            let fits = u32::try_from(length).ok().map(|length| length as usize);
            fits.ok_or_else(|| wrong(format!("a side of {length}"), format!("at most {}", u32::MAX)))
        };
        let (rows, cols) = (size(self.shape.0)?, size(self.shape.1)?);
        let values = self.data.floats()?;
        let places = Budget::current().reserve_for::<(u32, u32)>(values.len());
        places.map_err(|over| over.reading(path))?.keep();
        let count = |name: &str, found: usize, expected: usize| {
            if found == expected {
                return Ok(());
            }
            Err(wrong(format!("{found} {name}"), format!("{expected}")))
        };
        if self.layout == Layout::Coordinates {
            let (first, second) = (self.first.indices(rows)?, self.second.indices(cols)?);
            count("rows of entries", first.len(), values.len())?;
            count("columns of entries", second.len(), values.len())?;
            let places = first.into_iter().zip(second).collect();
            return Ok(Entries { path: path.to_owned(), rows, cols, places, values });
        }
        let (major, minor) = if self.layout == Layout::Rows { (rows, cols) } else { (cols, rows) };
        let indices = self.first.indices(minor)?;
        count("indices", indices.len(), values.len())?;
        let starts = self.second.indices(values.len().saturating_add(1))?;
        count("starts (indptr)", starts.len(), major + 1)?;
        let whole = starts.first() == Some(&0) && starts.last().is_some_and(|&end| end as usize == values.len());
        if !whole || !starts.is_sorted() {
            return Err(wrong("starts (indptr) out of order".into(), format!("0 to {} ascending", values.len())));
        }
        let mut places = Vec::with_capacity(values.len());
        for (line, bounds) in starts.windows(2).enumerate() {
            for &index in &indices[bounds[0] as usize..bounds[1] as usize] {
                let line = line as u32;
                places.push(if self.layout == Layout::Rows { (line, index) } else { (index, line) });
            }
        }
        Ok(Entries { path: path.to_owned(), rows, cols, places, values })
    }
}

impl Entries {
    /// The matrix as edges.
    pub fn edges(self, options: &EdgeOptions, format: Format) -> Result<ReadEdges, FormatError> {
        if self.rows != self.cols {
            let found = format!("a {} × {} matrix", self.rows, self.cols);
            let remedy = "save the adjacency matrix of one set of nodes";
            return Err(FormatError::content(&self.path, found, "as many rows as columns", remedy));
        }
        if let Some(at) = self.values.iter().position(|&value| value < 0.0).filter(|_| !options.signed) {
            let (row, column) = self.places[at];
            let found = format!("{} in row {row}, column {column} (from 0)", self.values[at]);
            return Err(FormatError::content(&self.path, found, NOT_NEGATIVE, SIGNED));
        }
        let mut remarks = vec![];
        let values = weights_of(&self.path, self.values, options)?;
        let edges = edges_of(self.rows, self.places, values, options, &mut remarks);
        let edges = edges.map_err(|over| over.reading(&self.path))?;
        Ok(ReadEdges { edges, ids: Ids::counted(0, self.rows), format, header: false, remarks })
    }

    /// The matrix as features, row after row; entries at the same place add up when they are used.
    pub fn features(self) -> Result<SparseFeatures, FormatError> {
        // Users of features allocate lists by column, and a file may claim any number of columns.
        const COLUMN: usize = 64;
        let over = |over: OverBudget| over.reading(&self.path);
        drop(Budget::current().reserve_for::<[u8; COLUMN]>(self.cols).map_err(over)?);
        // Where rows start, twice while entries are put into order, and the entries.
        let bytes = bytes_of::<[usize; 2]>(self.rows + 1) + bytes_of::<(u32, f32)>(self.values.len());
        Budget::current().reserve(bytes).map_err(over)?.keep();
        let mut starts = vec![0usize; self.rows + 1];
        self.places.iter().for_each(|&(row, _)| starts[row as usize + 1] += 1);
        (0..self.rows).for_each(|row| starts[row + 1] += starts[row]);
        let mut next = starts.clone();
        let (mut columns, mut values) = (vec![0; self.values.len()], vec![0.0; self.values.len()]);
        for (&(row, column), &value) in self.places.iter().zip(&self.values) {
            let at = &mut next[row as usize];
            (columns[*at], values[*at]) = (column, value);
            *at += 1;
        }
        Ok(SparseFeatures { rows: self.rows, feature_count: self.cols, starts, columns, values })
    }
}
