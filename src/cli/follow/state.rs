//! The last embedding that was saved, and the batch that it comes after, in one file with a checksum.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::Error;
use crate::model::embedding::Embedding;
use crate::model::follow::Rotation;
use crate::report::output::Folder;

/// Its name in the folder of the results.
const NAME: &str = "follow.state";
/// The version of the file that is written and understood.
const FORMAT: u32 = 5;

/// An embedding, and where it belongs.
#[derive(Serialize, Deserialize)]
pub(super) struct State<'a> {
    format: u32,
    /// The checksum of the identity of the run, which its log begins with.
    run: u32,
    /// The batch that the embedding comes after.
    pub(super) batch: u64,
    embedding: Cow<'a, Embedding>,
    rotation: Cow<'a, Rotation>,
}

impl<'a> State<'a> {
    pub(super) fn new(run: u32, batch: u64, embedding: &'a Embedding, rotation: &'a Rotation) -> Self {
        let (embedding, rotation) = (Cow::Borrowed(embedding), Cow::Borrowed(rotation));
        Self { format: FORMAT, run, batch, embedding, rotation }
    }

    pub(super) fn embedding(self) -> (Embedding, Rotation) {
        (self.embedding.into_owned(), self.rotation.into_owned())
    }

    pub(super) fn save(&self, folder: &Folder) -> Result<(), Error> {
        let write = |file: &mut dyn Write| {
            let content = bincode::serialize(self).map_err(io::Error::other)?;
            file.write_all(&crc32fast::hash(&content).to_le_bytes())?;
            file.write_all(&content)
        };
        Ok(folder.write_one(NAME, write)?)
    }

    /// The embedding of a run, if there is an undamaged one.
    pub(super) fn load(folder: &Path, run: u32) -> Option<State<'static>> {
        let content = fs::read(folder.join(NAME)).ok()?;
        let (sum, content) = content.split_at_checked(4)?;
        let state: State<'static> =
            (crc32fast::hash(content).to_le_bytes() == sum).then(|| bincode::deserialize(content).ok())??;
        let Embedding { nodes, rank, left, .. } = &*state.embedding;
        let is_sound = state.format == FORMAT && state.run == run && (left.rows(), left.columns()) == (*nodes, *rank);
        let is_sound = is_sound && state.rotation.order() == *rank;
        is_sound.then_some(state)
    }

    /// Whether the embedding is of a graph of so many nodes.
    pub(super) fn fits(&self, nodes: usize) -> bool {
        self.embedding.nodes == nodes
    }

    /// Removes the state of an earlier run, so that a run that begins now does not resume from it.
    pub(super) fn remove(folder: &Path) {
        let _ = fs::remove_file(folder.join(NAME));
    }
}
