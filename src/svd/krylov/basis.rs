//! An orthonormal basis that grows by blocks.

use super::super::options::SvdError;
use super::care::Care;
use super::sketch::Sketch;
use super::split::{Others, Split, split};
use crate::engine::{Session, Shard};

/// Orthonormal columns, in blocks.
#[derive(Default)]
pub(super) struct Basis {
    blocks: Vec<Shard>,
    /// What no other block of the run is called.
    names: Vec<String>,
    columns: usize,
    /// How far from orthonormal each column is, about.
    errors: Vec<f64>,
    /// What tells whether a block is orthogonal to all the others.
    sketch: Sketch,
}

impl Basis {
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

    /// The basis that had these parts.
    pub(super) fn from_parts(names: Vec<String>, blocks: Vec<Shard>, errors: Vec<f64>) -> Self {
        Self { blocks, names, columns: errors.len(), errors, sketch: Sketch::default() }
    }

    /// The panels.
    pub(super) fn blocks(&self) -> &[Shard] {
        &self.blocks
    }

    /// The panels, to be rotated.
    pub(super) fn into_blocks(self) -> Vec<Shard> {
        self.blocks
    }

    /// The columns of this basis that a small matrix picks, as a basis of one block.
    pub(super) fn rotated(
        &self,
        session: &mut Session<'_>,
        name: String,
        small: &[f64],
        columns: usize,
    ) -> Result<Self, SvdError> {
        let panels: Vec<&Shard> = self.blocks.iter().collect();
        let small: Vec<f32> = small.iter().map(|&entry| entry as f32).collect();
        let block = session.blocks_times_small(&panels, &small, columns)?;
        let error = self.errors.iter().copied().fold(Care::FINEST, f64::max);
        Ok(Self { columns, blocks: vec![block], names: vec![name], errors: vec![error; columns], ..Self::default() })
    }

    /// What a block has that the basis has not, as at most `most` orthonormal columns. Columns that depend on the others
    /// are left out, down to none.
    pub(super) fn split(
        &self,
        session: &mut Session<'_>,
        block: Shard,
        most: usize,
        care: Care,
    ) -> Result<Split, SvdError> {
        split(session, Others { blocks: &self.blocks, errors: &self.errors, watched: None }, block, most, care)
    }

    /// The same of a block that, but for rounding, has nothing in common with the basis beyond its first and its last block.
    ///
    /// The other basis is orthonormal to all of itself, and that keeps this one so to a few times what rounding does to the
    /// largest singular value beside the smallest (one-sided reorthogonalisation). The vectors that converge
    /// first, whose part rounding brings back, are those of the first block. What is brought back of all others is measured
    /// against random combinations of them, and where it is too much, the block is split from all.
    pub(super) fn split_ends(
        &mut self,
        session: &mut Session<'_>,
        block: Shard,
        most: usize,
        care: Care,
    ) -> Result<Split, SvdError> {
        let count = self.blocks.len();
        if count > 2 && care.in_common > 0.0 {
            let (first, last) = (self.blocks[0].cols(), self.blocks[count - 1].cols());
            let ends = [self.blocks[0].clone(), self.blocks[count - 1].clone()];
            let errors = [&self.errors[..first], &self.errors[self.columns - last..]].concat();
            let watched = self.sketch.of(session, &self.blocks)?;
            let others = Others { blocks: &ends, errors: &errors, watched };
            let split = split(session, others, block.clone(), most, care)?;
            // What is in common stays, and what is left of the block becomes of unit length.
            if Sketch::in_common(&split.watched, block.cols()) <= care.in_common * split.least() {
                return Ok(split);
            }
        }
        self.split(session, block, most, care)
    }
}
