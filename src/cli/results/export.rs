//! `isvd-dist export`: vectors as a file for another program.

use std::path::PathBuf;

use clap::Args;

use super::Model;
use crate::cli::{Error, print_text};
use crate::model::vectors::Side;
use crate::report::export::{self, Format};
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
    pub which: Side,

    /// The file to write; one that is there is replaced
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist export --model out/demo --format parquet --which both --out vectors.parquet
  isvd-dist export --model out/demo --format word2vec --out vectors.txt";

impl Export {
    /// Opens, writes and says what was written.
    pub fn run(&self) -> Result<(), Error> {
        let model = self.model.open()?;
        let vectors = model.vectors()?;
        let export = export::Export { vectors, side: self.which, ids: &model.ids };
        let files = export.write(self.format, &self.out)?;
        print_text(exported(model.ids.len(), vectors.columns(self.which), &files))
    }
}
