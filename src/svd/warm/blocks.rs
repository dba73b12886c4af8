//! A basis in blocks.

use super::super::options::SvdError;
use super::super::subspace::rotate;
use crate::engine::{Session, Shard};

/// Columns in blocks, each with a name that no other block of the run has.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: Vec<Shard>,
    names: Vec<String>,
}

impl Blocks {
    /// From the first panels; `None` if there are too few.
    pub(super) fn with(names: Vec<String>, panels: &mut Vec<Shard>) -> Option<Self> {
        let blocks = (names.len() <= panels.len()).then(|| panels.drain(..names.len()).collect())?;
        Some(Self { blocks, names })
    }

    pub(super) fn push(&mut self, name: String, block: Shard) {
        self.blocks.push(block);
        self.names.push(name);
    }

    pub(super) fn columns(&self) -> usize {
        self.blocks.iter().map(Shard::cols).sum()
    }

    pub(super) fn shards(&self) -> &[Shard] {
        &self.blocks
    }

    pub(super) fn into_shards(self) -> Vec<Shard> {
        self.blocks
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    pub(super) fn panels(&self) -> impl Iterator<Item = (String, &Shard)> {
        self.names.iter().cloned().zip(&self.blocks)
    }

    /// The columns that a small matrix picks: one row a column of the basis.
    pub(super) fn picked(
        &self,
        session: &mut Session<'_>,
        rotation: &[f64],
        columns: usize,
    ) -> Result<Shard, SvdError> {
        rotate(session, &self.blocks.iter().collect::<Vec<_>>(), rotation, columns)
    }

    /// The products of all columns with those of a panel: a row for each of the basis.
    pub(super) fn products(&self, session: &mut Session<'_>, panel: &Shard) -> Result<Vec<f64>, SvdError> {
        let mut products = Vec::with_capacity(self.columns() * panel.cols());
        for block in &self.blocks {
            products.extend(session.cross_gram(block, panel)?);
        }
        Ok(products)
    }
}
