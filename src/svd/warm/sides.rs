//! An orthonormal basis with its images.

use serde::{Deserialize, Serialize};

use super::super::options::{Options, SvdError};
use super::super::orthonormal::{Care, orthonormalize};
use super::super::subspace::rotate;
use crate::engine::{Session, Shard};
use crate::kernel::small::small_product;

/// Columns in blocks, and what the matrix or its transpose makes of each block.
#[derive(Default)]
pub(super) struct Side {
    vectors: Vec<Shard>,
    images: Vec<Shard>,
    /// The products of all images with each other, row after row.
    gram: Vec<f64>,
    /// What no other block of the run is called.
    names: Vec<String>,
}

/// What the blocks of a side are called, and all else that is no panel.
#[derive(Serialize, Deserialize)]
pub(super) struct SideNames {
    names: Vec<String>,
    gram: Vec<f64>,
}

impl SideNames {
    /// The side, from the first panels; `None` if there are too few.
    pub(super) fn with(self, panels: &mut Vec<Shard>) -> Option<Side> {
        let count = self.names.len();
        let mut own: Vec<Shard> = (2 * count <= panels.len()).then(|| panels.drain(..2 * count).collect())?;
        let images = own.split_off(count);
        let fits = own.iter().zip(&images).all(|(vectors, images)| vectors.cols() == images.cols());
        let side = Side { vectors: own, images, gram: self.gram, names: self.names };
        (fits && side.gram.len() == side.columns() * side.columns()).then_some(side)
    }
}

impl Side {
    /// Adds a block. `products` are those of all images, its own last, with its own: a row for each column of theirs.
    pub(super) fn push(&mut self, name: &str, vectors: Shard, images: Shard, products: &[f64]) {
        let (known, width) = (self.columns(), images.cols());
        let mut gram = Vec::with_capacity((known + width) * (known + width));
        for row in 0..known {
            gram.extend_from_slice(&self.gram[row * known..(row + 1) * known]);
            gram.extend_from_slice(&products[row * width..(row + 1) * width]);
        }
        for row in 0..width {
            gram.extend(products.iter().skip(row).step_by(width).take(known));
            gram.extend_from_slice(&products[(known + row) * width..(known + row + 1) * width]);
        }
        self.gram = gram;
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
        SideNames { names: self.names.clone(), gram: self.gram.clone() }
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
        let (vectors, images) =
            (rotate(session, &vectors, rotation, columns)?, rotate(session, &images, rotation, columns)?);
        side.push(name, vectors, images, &self.products(rotation, columns));
        Ok(side)
    }

    /// The products with each other of the images of those columns that a small matrix picks.
    pub(super) fn products(&self, rotation: &[f64], columns: usize) -> Vec<f64> {
        let order = self.columns();
        let right = small_product(&self.gram, rotation, order, order, columns);
        let mut products = vec![0.0; columns * columns];
        for (own, other) in rotation.chunks_exact(columns.max(1)).zip(right.chunks_exact(columns.max(1))) {
            for (sums, factor) in products.chunks_exact_mut(columns).zip(own) {
                sums.iter_mut().zip(other).for_each(|(sum, entry)| *sum += factor * entry);
            }
        }
        products
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
