//! What a run found, used: `neighbors`, `score` and `export`.

pub mod export;
pub mod neighbors;
pub mod score;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::Error;
use crate::model::vectors::Side;
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

/// Which vectors of a node, as the command line spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// U√S, for what leaves a node
    Left,
    /// V√S, for what arrives at a node
    Right,
    /// Both, one after the other
    Both,
}

impl From<Which> for Side {
    fn from(which: Which) -> Self {
        match which {
            Which::Left => Self::Left,
            Which::Right => Self::Right,
            Which::Both => Self::Both,
        }
    }
}
