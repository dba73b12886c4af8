//! Matrices whose tiles lie in a store.

use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::{Sparse, parallel};
use crate::dataset::store::{PieceWriter, Store, StoreError};
use crate::graph::Tiling;
use crate::graph::slot::{Slot, StoredTile};
use crate::kernel::tile::{Parts, TileSize};

impl Sparse {
    /// Makes sure that some tiles can be used, by several threads: those that lie in a store are looked at for the first
    /// time and compared with their checksums. Whoever uses tiles calls it for those that it uses, so that a damaged one is
    /// an error.
    pub fn ready(&self, tiles: Range<usize>) -> Result<(), StoreError> {
        let slots = self.tiles.get(tiles).unwrap_or_default();
        let work: usize = slots.iter().map(|slot| slot.size().nonzeros).sum();
        let checked = parallel::singly(slots.len(), parallel::threads(work), || (), |(), slot| slots[slot].ready());
        checked.into_iter().collect()
    }

    /// How many tiles lie in a store and have been looked at.
    #[cfg(test)]
    pub(crate) fn tiles_looked_at(&self) -> usize {
        self.tiles.iter().filter(|slot| slot.is_looked_at()).count()
    }

    /// A matrix whose tiles are the pieces of a file.
    pub(in crate::graph) fn stored(
        store: &Arc<Store>,
        file: &'static str,
        (rows, cols): (usize, usize),
        sizes: &[TileSize],
        symmetric: bool,
    ) -> Self {
        let tiling = Tiling::new(rows);
        let slot = |(number, &size)| {
            let (store, height, tile) = (Arc::clone(store), tiling.range(number).len(), OnceLock::new());
            Slot::Stored(StoredTile { store, file, number, size, height, cols, tile })
        };
        let tiles = sizes.iter().enumerate().map(slot).collect();
        Self { cols, tiling, tiles, outline: None, symmetric, transposed: OnceLock::new() }
    }

    /// The same with its transpose at hand.
    pub(in crate::graph) fn with_transposed(self, transposed: Sparse) -> Self {
        Self { transposed: OnceLock::from(Arc::new(transposed)), ..self }
    }

    /// Writes every tile as a piece of a file; says how much each holds.
    pub(in crate::graph) fn write(&self, file: &mut PieceWriter) -> io::Result<Vec<TileSize>> {
        for slot in &self.tiles {
            let Parts { starts, rows, counts, columns, values } = slot.tile().parts();
            file.array(starts)?;
            file.array(rows)?;
            file.array(counts)?;
            file.array(columns)?;
            if let Some(values) = values {
                file.array(values)?;
            }
            file.end_piece()?;
        }
        Ok(self.tiles.iter().map(Slot::size).collect())
    }
}
