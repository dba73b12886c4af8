//! Orthonormal bases that grow by blocks of columns.

use faer::MatRef;
use serde::{Deserialize, Serialize};

use super::small::rounded;
use super::tuning::ROTATION_LOSS;
use crate::engine::{Session, Shard};

/// Orthonormal columns.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Block {
    /// Checkpoints hold panels apart from numbers.
    #[serde(skip)]
    pub(super) panel: Shard,
    /// A name that no other panel of the run has.
    pub(super) name: String,
    /// About how far the columns are from orthonormal, to each other and to those before.
    pub(super) loss: f64,
}

/// Orthonormal columns in blocks.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct OrthonormalBasis {
    pub(super) blocks: Vec<Block>,
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

    /// The panels; they share their memory with the basis.
    pub(super) fn panels(&self) -> Vec<Shard> {
        self.blocks.iter().map(|block| block.panel.clone()).collect()
    }

    /// The orthogonality loss of every column.
    pub(super) fn losses(&self) -> Vec<f64> {
        self.blocks.iter().flat_map(|block| vec![block.loss; block.panel.cols()]).collect()
    }

    /// Replaces the basis by combinations of its columns, in its own memory.
    pub(super) fn rotate(&mut self, session: &mut Session<'_>, rotation: MatRef<'_, f64>, name: &str) {
        let blocks = std::mem::take(&mut self.blocks);
        let loss = blocks.iter().map(|block| block.loss).fold(ROTATION_LOSS, f64::max);
        let panels = blocks.into_iter().map(|block| block.panel).collect();
        let rotated = session.rotate_blocks(panels, &rounded(rotation), rotation.ncols()).into_iter().enumerate();
        self.blocks = rotated.map(|(place, panel)| Block { panel, name: format!("{name}-{place}"), loss }).collect();
    }
}
