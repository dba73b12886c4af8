//! Vectors as files for other programs, with the user's own ids.
//!
//! | format | what it holds |
//! |---|---|
//! | [`Format::Npy`] | one array, a row a node; the ids stand beside it, one a line |
//! | [`Format::Npz`] | the arrays `left` and `right`, as far as they are wanted, and `ids`, or `ids_utf8` and `ids_offsets` |
//! | [`Format::Csv`], [`Format::Tsv`], `Format::Parquet` | a table: `id`, then `left_0`, `left_1`, …, `right_0`, … |
//! | [`Format::Word2vec`] | the text form of word2vec: the sizes, then an id and its vector a line |
//!
//! An array of text is as wide as its longest element. Where that would make it far longer than the
//! ids are, they are their bytes one after the other, `ids_utf8`, and where each begins and the
//! last ends, `ids_offsets`.
//!
//! Ids are numbers in arrays and Parquet files if all of them are (as far as 63 bits go), else
//! text. Tables put ids in quotes where they need them. A word of word2vec has no blanks, so every
//! blank in an id becomes `_`.

mod numpy;
#[cfg(feature = "parquet")]
mod parquet;
mod table;
mod word2vec;

use std::path::{Path, PathBuf};

use super::output::{OutputError, SingleFile};
use crate::dataset::Ids;
use crate::model::vectors::{Side, UnlikeSides, Vectors};

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Format {
    /// An array of NumPy; the ids go to a file beside it that ends with .ids.txt
    Npy,
    /// Arrays of NumPy: left, right and ids
    Npz,
    /// A table with commas: id, left_0, left_1, …
    Csv,
    /// A table with tabs
    Tsv,
    /// The same table in columns, for pandas, polars, Spark, DuckDB
    #[cfg(feature = "parquet")]
    Parquet,
    /// The text form of word2vec, for gensim; blanks in ids become _
    Word2vec,
}

/// Why vectors cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Both sides were asked for, and have different rows.
    #[error(transparent)]
    Sides(#[from] UnlikeSides),
    /// The side has rows that are no nodes.
    #[error("there are {rows} vectors on the right and {ids} ids: export the left side, or both as npz")]
    NoIds {
        /// Rows of the side.
        rows: usize,
        /// How many ids there are.
        ids: usize,
    },
    /// Two ids become one.
    #[error("the ids `{one}` and `{other}` would both be the word `{word}`: export to another format, or rename one")]
    SameWord {
        /// One of the ids.
        one: String,
        /// The other.
        other: String,
        /// What both become.
        word: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Vectors to export.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    /// The vectors.
    pub vectors: &'a Vectors,
    /// Which of them.
    pub side: Side,
    /// The user's own ids, one a row of the left side.
    pub ids: &'a Ids,
}

impl Export<'_> {
    /// Writes them to a file; says which files were written.
    pub fn write(&self, format: Format, path: &Path) -> Result<Vec<PathBuf>, ExportError> {
        let rows = self.vectors.rows(self.side);
        let rows = if format == Format::Npz { rows.unwrap_or(self.ids.len()) } else { rows? };
        if rows != self.ids.len() {
            return Err(ExportError::NoIds { rows, ids: self.ids.len() });
        }
        let file = SingleFile::prepare(path)?;
        let mut written = vec![file.path()];
        match format {
            Format::Npy => {
                let beside = SingleFile::prepare(&path.with_extension("ids.txt"))?;
                written.push(beside.path());
                file.write_with(|to| numpy::write_npy(self, to), &beside, |to| self.ids.write(to))?;
            }
            Format::Npz => file.write(|to| numpy::write_npz(self, to))?,
            Format::Csv => file.write(|to| table::write(self, ',', to))?,
            Format::Tsv => file.write(|to| table::write(self, '\t', to))?,
            #[cfg(feature = "parquet")]
            Format::Parquet => file.write(|to| parquet::write(self, to).map_err(std::io::Error::other))?,
            Format::Word2vec => {
                let words = word2vec::words(self.ids)?;
                file.write(|to| word2vec::write(self, &words, to))?;
            }
        }
        Ok(written)
    }

    /// The names of the columns of a table, without that of the ids.
    fn column_names(&self) -> Vec<String> {
        let names = |side: &str, count: usize| (0..count).map(|n| format!("{side}_{n}")).collect::<Vec<_>>();
        let (left, right) = (names("left", self.vectors.left.columns()), names("right", self.vectors.right.columns()));
        match self.side {
            Side::Left => left,
            Side::Right => right,
            Side::Both => [left, right].concat(),
        }
    }

    /// The ids as numbers, if all of them are.
    fn numbers(&self) -> Option<Vec<i64>> {
        (!self.ids.are_names()).then(|| self.ids.iter().map(|id| id.parse().ok()).collect())?
    }
}

#[cfg(all(test, feature = "parquet"))]
mod tests;
