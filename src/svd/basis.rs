//! Orthonormal bases that grow by blocks of columns.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::tuning::{FIRST_BLOCKS, ROTATION_LOSS};
use crate::engine::{Session, Shard};

/// Blocks that a symmetric operator maps the newest block into, beside the next one.
const LAST_BLOCKS: usize = 2;

/// Orthonormal columns.
#[derive(Clone)]
pub(super) struct Block {
    pub(super) panel: Shard,
    /// A name that no other panel of the run has.
    pub(super) name: String,
    /// About how far the columns are from orthonormal, to each other and to those before.
    pub(super) loss: f64,
}

/// Orthonormal columns in blocks.
#[derive(Default)]
pub(super) struct OrthonormalBasis {
    blocks: Vec<Block>,
    /// Blocks at the front that a restart kept.
    retained: usize,
}

impl OrthonormalBasis {
    pub(super) fn columns(&self) -> usize {
        self.blocks.iter().map(|block| block.panel.cols()).sum()
    }

    /// Adds a block; an empty one only where there is no other, so that a basis has a height.
    pub(super) fn push(&mut self, block: Block) {
        if block.panel.cols() > 0 || self.blocks.is_empty() {
            self.blocks.push(block);
        }
    }

    pub(super) fn retained(&self) -> usize {
        self.retained
    }

    /// The panels; they share their memory with the basis.
    pub(super) fn panels(&self) -> Vec<Shard> {
        self.blocks.iter().map(|block| block.panel.clone()).collect()
    }

    pub(super) fn into_panels(self) -> Vec<Shard> {
        self.blocks.into_iter().map(|block| block.panel).collect()
    }

    pub(super) fn named_panels(&self) -> impl Iterator<Item = (String, &Shard)> {
        self.blocks.iter().map(|block| (block.name.clone(), &block.panel))
    }

    /// The orthogonality loss of every column.
    pub(super) fn losses(&self) -> Vec<f64> {
        let of_block = |block: &Block| vec![block.loss; block.panel.cols()];
        self.blocks.iter().flat_map(of_block).collect()
    }

    /// The blocks to which the image of the newest block under a symmetric operator is orthogonal but
    /// for rounding: all but the last two, those that a restart kept, and the first few, which hold
    /// the dominant vectors and come back in every product.
    pub(super) fn distant(&self) -> Range<usize> {
        let end = self.blocks.len().saturating_sub(LAST_BLOCKS);
        FIRST_BLOCKS.max(self.retained).min(end)..end
    }

    /// Replaces the basis by `columns` combinations of its columns, in its own memory.
    pub(super) fn rotate(&mut self, session: &mut Session<'_>, rotation: &[f64], columns: usize, name: &str) {
        let rotation: Vec<f32> = rotation.iter().map(|&entry| entry as f32).collect();
        let blocks = std::mem::take(&mut self.blocks);
        let loss = blocks.iter().map(|block| block.loss).fold(ROTATION_LOSS, f64::max);
        let panels = blocks.into_iter().map(|block| block.panel).collect();
        let rotated = session.rotate_blocks(panels, &rotation, columns).into_iter().enumerate();
        self.blocks = rotated.map(|(place, panel)| Block { panel, name: format!("{name}-{place}"), loss }).collect();
        self.retained = self.blocks.len();
    }

    /// All of the basis that is no panel.
    pub(super) fn numbers(&self) -> BasisNumbers {
        let blocks = self.blocks.iter().map(BlockNumbers::of).collect();
        BasisNumbers { blocks, retained: self.retained }
    }
}

/// All of a block that is no panel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BlockNumbers {
    name: String,
    loss: f64,
}

impl BlockNumbers {
    pub(super) fn of(block: &Block) -> Self {
        Self { name: block.name.clone(), loss: block.loss }
    }

    /// The block with the next panel, if there is one.
    pub(super) fn with(self, panels: &mut impl Iterator<Item = Shard>) -> Option<Block> {
        Some(Block { panel: panels.next()?, name: self.name, loss: self.loss })
    }
}

/// All of a basis that is no panel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct BasisNumbers {
    blocks: Vec<BlockNumbers>,
    retained: usize,
}

impl BasisNumbers {
    /// The basis with the next panels; `None` if there are too few.
    pub(super) fn with(self, panels: &mut impl Iterator<Item = Shard>) -> Option<OrthonormalBasis> {
        let blocks = self.blocks.into_iter().map(|block| block.with(panels)).collect::<Option<_>>()?;
        Some(OrthonormalBasis { blocks, retained: self.retained })
    }
}
