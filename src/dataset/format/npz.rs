//! numpy's `.npz`: arrays by name, and scipy's sparse matrices.

use std::path::Path;

use super::array::Array;
use super::input::Input;
use super::packed::Archive;
use super::sparse::{Arrays, Entries, Layout};
use super::{EdgeOptions, Format, FormatError, ReadEdges, npy};
use crate::dataset::SparseFeatures;

pub(super) const REMEDY: &str = "give the file the ending .npz";

/// Arrays by name.
pub struct Npz {
    archive: Archive,
}

impl std::fmt::Debug for Npz {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.archive.names()).finish()
    }
}

impl Npz {
    /// Opens an archive; arrays are read when asked for.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        Ok(Self { archive: Archive::of(Input::open(path)?)? })
    }

    /// Whether there is an array of that name.
    pub fn has(&self, name: &str) -> bool {
        self.archive.names().any(|entry| entry.strip_suffix(".npy") == Some(name))
    }

    /// Reads an array; `None` if there is none of that name.
    pub fn array(&mut self, name: &str) -> Result<Option<Array<'static>>, FormatError> {
        let entry = format!("{name}.npy");
        let place = self.archive.place(&entry);
        let array = match self.archive.entry(&entry)? {
            Some(mut reader) => npy::read_whole(&mut reader, &place)?,
            None => return Ok(None),
        };
        self.archive.check()?;
        Ok(Some(array))
    }
}

/// Reads the adjacency matrix that `scipy.sparse.save_npz` wrote.
pub(crate) fn read_edges(input: Input, options: &EdgeOptions) -> Result<ReadEdges, FormatError> {
    entries(input)?.edges(options, Format::ScipySparse)
}

/// Reads features that `scipy.sparse.save_npz` wrote.
pub(crate) fn read_features(input: Input) -> Result<SparseFeatures, FormatError> {
    entries(input)?.features()
}

fn entries(input: Input) -> Result<Entries, FormatError> {
    let path = &input.path().to_owned();
    let mut npz = Npz { archive: Archive::of(input)? };
    let format = npz.array("format")?.and_then(|array| array.text());
    let Some(layout) = format.as_deref().and_then(Layout::of) else {
        let found = match format {
            Some(format) => format!("a matrix in the format `{format}`"),
            None => "no array `format`".to_owned(),
        };
        let remedy = "save the matrix with `scipy.sparse.save_npz(name, matrix.tocsr())`";
        return Err(FormatError::content(path, found, "a scipy matrix in csr, csc or coo", remedy));
    };
    let mut array = |name: &str| {
        let missing = || FormatError::content(path, format!("no array `{name}`"), "one", "save the matrix again");
        npz.array(name)?.ok_or_else(missing)
    };
    let shape = array("shape")?;
    let sides = if shape.len() == 2 { shape.integers()? } else { vec![] };
    let &[rows, cols] = &sides[..] else {
        let found = format!("a matrix of {} sides", shape.len());
        return Err(FormatError::content(path, found, "rows and columns", "save the matrix again"));
    };
    let names = if layout == Layout::Coordinates { ["row", "col"] } else { ["indices", "indptr"] };
    let [first, second] = names.map(&mut array);
    let data = array("data")?;
    Arrays { layout, shape: (rows, cols), first: first?, second: second?, data }.entries(path)
}
