//! Matrices whose tiles are stored elsewhere.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::{Sparse, parallel};
use crate::graph::slot::{Slot, StoredTile};
use crate::graph::{TileError, TileSource, Tiling};
use crate::kernel::Tile;
use crate::kernel::tile::TileSize;

impl Sparse {
    /// Makes sure that some tiles can be used, by several threads: stored ones are read for the
    /// first time and compared with their checksums. To be called before tiles are used, so that a
    /// damaged one is an error.
    pub fn ready(&self, tiles: Range<usize>) -> Result<(), TileError> {
        let slots = self.tiles.get(tiles).unwrap_or_default();
        let work: usize = slots.iter().map(|slot| slot.size().nonzeros).sum();
        let checked = parallel::singly(slots.len(), parallel::threads(work), || (), |(), slot| slots[slot].ready());
        checked.into_iter().collect()
    }

    /// How many stored tiles have been read.
    #[cfg(all(test, feature = "cluster", feature = "formats"))]
    pub(crate) fn tiles_read(&self) -> usize {
        self.tiles.iter().filter(|slot| slot.was_read()).count()
    }

    /// A matrix whose tiles are read from a source. There is one for each size.
    pub(crate) fn stored(
        source: &Arc<dyn TileSource>,
        (rows, cols): (usize, usize),
        sizes: &[TileSize],
        symmetric: bool,
    ) -> Self {
        let tiling = Tiling::new(rows);
        let slot = |(number, &size)| {
            let (source, rows, tile) = (Arc::clone(source), tiling.range(number).len(), OnceLock::new());
            Slot::Stored(StoredTile { source, number, size, rows, cols, tile })
        };
        let tiles = sizes.iter().enumerate().map(slot).collect();
        Self { cols, tiling, tiles, outline: None, symmetric, transposed: OnceLock::new() }
    }

    /// The matrix with its transpose.
    pub(crate) fn with_transposed(self, transposed: Sparse) -> Self {
        Self { transposed: OnceLock::from(Arc::new(transposed)), ..self }
    }

    /// All tiles, in their order; stored ones are read.
    ///
    /// # Panics
    /// If one is damaged.
    pub(crate) fn tiles(&self) -> impl Iterator<Item = &Tile> {
        self.tiles.iter().map(Slot::tile)
    }
}
