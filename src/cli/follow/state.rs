//! The last embedding that was saved, and the batch that it comes after, as one file: whole or not there.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::Error;
use crate::model::embedding::Embedding;
use crate::report::output::Folder;
use crate::svd::Certificate;

/// Its name in the folder of the results.
const NAME: &str = "follow.state";
/// The form that is written and understood.
const FORMAT: u32 = 3;

/// An embedding, and where it belongs.
#[derive(Serialize, Deserialize)]
pub(super) struct State {
    format: u32,
    /// The run that it is of, as its log begins.
    run: u32,
    /// The batch that it comes after.
    pub(super) batch: u64,
    rank: usize,
    left: Vec<f32>,
    right: Vec<f32>,
    singular_values: Vec<f32>,
    certificate: Certificate,
    operator_columns: usize,
    iterations: usize,
    energy: Option<f64>,
    nodes: usize,
}

impl State {
    pub(super) fn new(run: u32, batch: u64, embedding: &Embedding) -> Self {
        let Embedding { nodes, rank, left, right, singular_values, .. } = embedding.clone();
        Self {
            format: FORMAT,
            run,
            batch,
            rank,
            left,
            right,
            singular_values,
            certificate: Certificate { history: Vec::new(), ..embedding.certificate.clone() },
            operator_columns: embedding.operator_columns,
            iterations: embedding.iterations,
            energy: embedding.energy,
            nodes,
        }
    }

    pub(super) fn embedding(self) -> Embedding {
        let Self { rank, left, right, singular_values, certificate, .. } = self;
        let Self { operator_columns, iterations, energy, nodes, .. } = self;
        Embedding { nodes, rank, left, right, singular_values, certificate, operator_columns, iterations, energy }
    }

    pub(super) fn save(&self, folder: &Folder) -> Result<(), Error> {
        let write = |file: &mut dyn Write| {
            let content = bincode::serialize(self).map_err(io::Error::other)?;
            file.write_all(&crc32fast::hash(&content).to_le_bytes())?;
            file.write_all(&content)
        };
        Ok(folder.write_one(NAME, write)?)
    }

    /// The embedding of a run, if there is one that is whole.
    pub(super) fn load(folder: &Path, run: u32) -> Option<Self> {
        let content = fs::read(folder.join(NAME)).ok()?;
        let (sum, content) = content.split_at_checked(4)?;
        let state: Self =
            (crc32fast::hash(content).to_le_bytes() == sum).then(|| bincode::deserialize(content).ok())??;
        let is_sound = state.format == FORMAT && state.run == run && state.left.len() == state.nodes * state.rank;
        is_sound.then_some(state)
    }

    /// Whether it is of a graph of so many nodes.
    pub(super) fn fits(&self, nodes: usize) -> bool {
        self.nodes == nodes
    }

    /// Nobody may take what is there for that of a run that begins now.
    pub(super) fn remove(folder: &Path) {
        let _ = fs::remove_file(folder.join(NAME));
    }
}
