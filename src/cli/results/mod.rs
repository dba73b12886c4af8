//! What a run found, used: `neighbors`, `score` and `export`.

pub mod export;
pub mod neighbors;
pub mod score;

use std::path::PathBuf;

use clap::Args;

use crate::cli::Error;
use crate::report::saved::Opened;

/// Which results.
#[derive(Debug, Clone, Args)]
pub struct Model {
    /// The --out folder of a run
    #[arg(long, value_name = "DIR")]
    pub model: PathBuf,
}

impl Model {
    pub(super) fn open(&self) -> Result<Opened, Error> {
        Ok(Opened::open(&self.model)?)
    }
}
