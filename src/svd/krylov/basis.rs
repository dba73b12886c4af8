//! An orthonormal basis that grows by blocks.

use std::ops::Range;

use super::super::options::SvdError;
use super::care::Care;
use super::split::{Split, split};
use crate::engine::{Session, Shard};

/// How far from orthonormal columns are that others were rotated into, at the least.
const ROTATED: f64 = 5e-6;

/// Orthonormal columns, in blocks.
#[derive(Default)]
pub(super) struct Basis {
    blocks: Vec<Shard>,
    /// What no other block of the run is called.
    names: Vec<String>,
    columns: usize,
    /// How far from orthonormal each column is, about.
    errors: Vec<f64>,
    /// Blocks at the beginning that others were reduced to.
    best: usize,
}

impl Basis {
    /// Blocks at the beginning that are never far: they hold the vectors that a matrix stretches most, and a little of these comes
    /// back in each product.
    pub(super) const FIRST: usize = 3;
    /// Blocks at the end that a symmetric matrix makes something of when it is multiplied by the newest.
    const LAST: usize = 2;

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// A block that is orthonormal, and to all the others.
    pub(super) fn push(&mut self, name: String, block: Shard, error: f64) {
        if block.cols() > 0 || self.blocks.is_empty() {
            self.columns += block.cols();
            self.errors.resize(self.columns, error);
            self.blocks.push(block);
            self.names.push(name);
        }
    }

    /// The blocks with their names, and how far from orthonormal each column is.
    pub(super) fn parts(&self) -> (impl Iterator<Item = (String, &Shard)>, &[f64]) {
        (self.names.iter().cloned().zip(&self.blocks), &self.errors)
    }

    /// Blocks at the beginning that others were reduced to.
    pub(super) fn best(&self) -> usize {
        self.best
    }

    /// The basis that had these parts.
    pub(super) fn from_parts(names: Vec<String>, blocks: Vec<Shard>, errors: Vec<f64>, best: usize) -> Self {
        Self { blocks, names, columns: errors.len(), errors, best }
    }

    /// The panels.
    pub(super) fn blocks(&self) -> &[Shard] {
        &self.blocks
    }

    /// The panels, to be rotated.
    pub(super) fn into_blocks(self) -> Vec<Shard> {
        self.blocks
    }

    /// The columns of this basis that a small matrix picks, in its own memory.
    pub(super) fn rotated(self, session: &mut Session<'_>, name: &str, small: &[f64], columns: usize) -> Self {
        let small: Vec<f32> = small.iter().map(|&entry| entry as f32).collect();
        let blocks = session.rotate_blocks(self.blocks, &small, columns);
        let names = (0..blocks.len()).map(|place| format!("{name}-{place}")).collect();
        let error = self.errors.into_iter().fold(ROTATED, f64::max);
        Self { columns, best: blocks.len(), blocks, names, errors: vec![error; columns] }
    }

    /// The blocks of which there is next to nothing in what a symmetric matrix makes of the newest. Of those that others were reduced to
    /// there is something in what it makes of the first that follows.
    pub(super) fn far(&self) -> Range<usize> {
        let end = self.blocks.len().saturating_sub(Self::LAST);
        Self::FIRST.max(self.best).min(end)..end
    }

    /// What a block has that the basis has not, as at most `most` orthonormal columns. Columns that depend on the others
    /// are left out, down to none. Of the blocks that are `far` there is next to nothing in it.
    pub(super) fn split(
        &self,
        session: &mut Session<'_>,
        block: Shard,
        far: Range<usize>,
        most: usize,
        care: Care,
    ) -> Result<Split, SvdError> {
        split(session, &self.blocks, &self.errors, far, block, most, care)
    }
}
