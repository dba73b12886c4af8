//! `isvd-dist export`: vectors as a file for another program.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Model, Which};
use crate::cli::{Error, print_text};
use crate::report::export;
use crate::report::table::exported;

/// Write the vectors of all nodes, with their own ids, to a file for another program
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Export {
    /// What to export
    #[command(flatten)]
    pub model: Model,

    /// The kind of file
    #[arg(long, value_enum)]
    pub format: Format,

    /// Which vectors
    #[arg(long, value_enum, default_value = "left")]
    pub which: Which,

    /// The file to write; one that is there is replaced
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist export --model out/demo --format parquet --which both --out vectors.parquet
  isvd-dist export --model out/demo --format word2vec --out vectors.txt";

/// A kind of file, as the command line spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
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
    Parquet,
    /// The text form of word2vec, for gensim; blanks in ids become _
    Word2vec,
}

impl From<Format> for export::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Npy => Self::Npy,
            Format::Npz => Self::Npz,
            Format::Csv => Self::Csv,
            Format::Tsv => Self::Tsv,
            Format::Parquet => Self::Parquet,
            Format::Word2vec => Self::Word2vec,
        }
    }
}

impl Export {
    /// Opens, writes and says what was written.
    pub fn run(&self) -> Result<(), Error> {
        let model = self.model.open()?;
        let vectors = model.vectors()?;
        let export = export::Export { vectors, side: self.which.into(), ids: &model.ids };
        let files = export.write(self.format.into(), &self.out)?;
        print_text(exported(model.ids.len(), vectors.columns(self.which.into()), &files))
    }
}
