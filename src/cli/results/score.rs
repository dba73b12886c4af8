//! `isvd-dist score`: how likely pairs of nodes are edges.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::Model;
use crate::cli::error::note;
use crate::cli::{Error, print_text};
use crate::dataset::format::{EdgeOptions, FormatError, IdKind, UnknownIds, Weights, read_pairs};
use crate::dataset::{Ids, LoadError};
use crate::report::output::SingleFile;
use crate::report::saved::{Opened, UnknownNode};
use crate::report::table::quoted;

/// Score pairs of nodes of a file by how likely the model takes them for edges: the more, the
/// likelier
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct Score {
    /// What to score with
    #[command(flatten)]
    pub model: Model,

    /// The pairs: a file in any form that edges are read in, with the ids of the graph
    #[arg(long, value_name = "FILE")]
    pub edges: PathBuf,

    /// Write the scores to this file [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Leave out pairs of nodes that the model does not know, and say how many they were
    #[arg(long)]
    pub skip_unknown: bool,
}

const EXAMPLES: &str = "\
Examples:
  isvd-dist score --model out/demo --edges pairs.txt
  isvd-dist score --model out/demo --edges pairs.npy --skip-unknown --out scores.tsv";

impl Score {
    /// Opens, reads, scores and writes.
    pub fn run(&self) -> Result<(), Error> {
        let model = self.model.open()?;
        let is_directed = model.links_are_directed()?;
        let vectors = model.vectors()?;
        let out = self.out.as_deref().map(SingleFile::prepare).transpose()?;
        let read = self.pairs(&model)?;
        let scored = |file: &mut dyn Write| {
            writeln!(file, "source\ttarget\tscore")?;
            for &(from, to) in &read.pairs {
                let (source, target) = (model.id(from), model.id(to));
                let score = vectors.score(from, to, is_directed);
                writeln!(file, "{}\t{}\t{score:?}", quoted(&source, '\t'), quoted(&target, '\t'))?;
            }
            Ok(())
        };
        match &out {
            Some(file) => file.write(|to| scored(to))?,
            None => {
                let mut text = Vec::new();
                scored(&mut text).map_err(Error::Stdout)?;
                print_text(String::from_utf8_lossy(&text).into_owned())?;
            }
        }
        if read.skipped > 0 {
            let all = read.pairs.len() as u64 + read.skipped;
            note(&format!("{} of {all} pairs were left out: the model does not know both nodes", read.skipped));
        }
        Ok(())
    }

    fn pairs(&self, model: &Opened) -> Result<crate::dataset::format::ReadPairs, Error> {
        let ids = if model.ids.are_names() { IdKind::Names } else { IdKind::Auto };
        let options = EdgeOptions { ids, weights: Weights::Ignore, ..EdgeOptions::default() };
        let unknown = if self.skip_unknown { UnknownIds::Skip } else { UnknownIds::Refuse };
        read_pairs(&self.edges, &model.ids, &options, unknown).map_err(|error| refused(error, &model.ids))
    }
}

/// The error, with the known node that is most like an unknown one.
fn refused(error: FormatError, ids: &Ids) -> Error {
    match error {
        FormatError::UnknownId { path, place, id } => Error::UnknownPair {
            place: format!("{}, {place}", Path::display(&path)),
            unknown: UnknownNode::new(ids, &id),
        },
        other => LoadError::from(other).into(),
    }
}
