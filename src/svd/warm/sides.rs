//! An orthonormal basis with its images.

use serde::{Deserialize, Serialize};

use super::super::options::{Options, SvdError};
use super::super::orthonormal::{Care, orthonormalize};
use super::super::subspace::rotate;
use crate::engine::{Session, Shard};

/// Columns in blocks, and what the matrix or its transpose makes of each block.
#[derive(Default)]
pub(super) struct Side {
    vectors: Vec<Shard>,
    images: Vec<Shard>,
    /// What no other block of the run is called.
    names: Vec<String>,
}

/// What the blocks of a side are called.
#[derive(Serialize, Deserialize)]
pub(super) struct SideNames(Vec<String>);

impl SideNames {
    /// The side, from the first panels; `None` if there are too few.
    pub(super) fn with(self, panels: &mut Vec<Shard>) -> Option<Side> {
        let count = self.0.len();
        let mut own: Vec<Shard> = (2 * count <= panels.len()).then(|| panels.drain(..2 * count).collect())?;
        let images = own.split_off(count);
        let fits = own.iter().zip(&images).all(|(vectors, images)| vectors.cols() == images.cols());
        fits.then_some(Side { vectors: own, images, names: self.0 })
    }
}

impl Side {
    pub(super) fn push(&mut self, name: &str, vectors: Shard, images: Shard) {
        self.vectors.push(vectors);
        self.images.push(images);
        self.names.push(name.to_owned());
    }

    pub(super) fn columns(&self) -> usize {
        self.vectors.iter().map(Shard::cols).sum()
    }

    pub(super) fn vectors(&self) -> &[Shard] {
        &self.vectors
    }

    pub(super) fn images(&self) -> &[Shard] {
        &self.images
    }

    pub(super) fn into_vectors(self) -> Vec<Shard> {
        self.vectors
    }

    pub(super) fn names(&self) -> SideNames {
        SideNames(self.names.clone())
    }

    /// All panels with names of their own: the vectors, then the images.
    pub(super) fn panels(&self) -> impl Iterator<Item = (String, &Shard)> {
        let images = self.names.iter().map(|name| format!("{name}-image")).zip(&self.images);
        self.names.iter().cloned().zip(&self.vectors).chain(images)
    }

    /// The side of the columns that a small matrix picks, as one block.
    pub(super) fn rotated(
        &self,
        session: &mut Session<'_>,
        name: &str,
        rotation: &[f64],
        columns: usize,
    ) -> Result<Self, SvdError> {
        let mut side = Self::default();
        let [vectors, images] = [&self.vectors, &self.images].map(|blocks| blocks.iter().collect::<Vec<_>>());
        side.push(name, rotate(session, &vectors, rotation, columns)?, rotate(session, &images, rotation, columns)?);
        Ok(side)
    }
}

/// What a block has that a basis lacks, as orthonormal columns: fewer where they depend on each other.
pub(super) fn fresh(
    session: &mut Session<'_>,
    basis: &[Shard],
    block: Shard,
    options: &Options,
) -> Result<Shard, SvdError> {
    let mut block = block;
    // What the first pass leaves of the basis is rounding, unless next to nothing was left of the block.
    for _ in 0..2 {
        let columns = block.cols();
        if columns > 0 && !basis.is_empty() {
            let sums = session.gram_against(basis, &block)?;
            let shared = sums[..sums.len() - columns * columns].iter().map(|&entry| -entry as f32);
            let own = (0..columns * columns).map(|entry| f32::from(u8::from(entry / columns == entry % columns)));
            let panels: Vec<&Shard> = basis.iter().chain([&block]).collect();
            block = session.blocks_times_small(&panels, &shared.chain(own).collect::<Vec<_>>(), columns)?;
        }
        block = orthonormalize(session, block, options.orthonormalize, Care::Full)?.panel;
        if basis.is_empty() {
            break;
        }
    }
    Ok(block)
}
