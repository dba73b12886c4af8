//! Where a tile is: at hand, or in a store until it is first used.

use std::sync::{Arc, OnceLock};

use super::STRIP_COLUMNS;
use crate::dataset::store::{Piece, Store, StoreError};
use crate::kernel::tile::{Parts, TileSize};
use crate::kernel::{Array, Tile};

/// The place of a tile.
#[derive(Debug, Clone)]
pub(super) enum Slot {
    Here(Tile),
    Stored(StoredTile),
}

/// A tile of a store. Its bytes are looked at when it is first used, and not before.
#[derive(Debug, Clone)]
pub(super) struct StoredTile {
    pub store: Arc<Store>,
    /// The file that has it.
    pub file: &'static str,
    /// Its number, among the tiles and among the pieces of the file.
    pub number: usize,
    pub size: TileSize,
    pub height: usize,
    pub cols: usize,
    pub tile: OnceLock<Tile>,
}

impl Slot {
    /// How much the tile holds.
    pub fn size(&self) -> TileSize {
        match self {
            Self::Here(tile) => tile.size(),
            Self::Stored(stored) => stored.size,
        }
    }

    /// The tile.
    ///
    /// # Panics
    /// If it is damaged.
    #[inline]
    pub fn tile(&self) -> &Tile {
        match self {
            Self::Here(tile) => tile,
            Self::Stored(stored) => stored.tile.get().unwrap_or_else(|| stored.first_use()),
        }
    }

    /// Changes the tile, which lies here from now on.
    ///
    /// # Panics
    /// If it is damaged.
    pub fn change(&mut self, how: impl FnOnce(&mut Tile)) {
        if let Self::Stored(_) = self {
            *self = Self::Here(self.tile().clone());
        }
        if let Self::Here(tile) = self {
            how(tile);
        }
    }

    /// Whether the tile lies in a store and was used.
    #[cfg(test)]
    pub fn is_looked_at(&self) -> bool {
        matches!(self, Self::Stored(stored) if stored.tile.get().is_some())
    }

    /// Makes sure that the tile can be used.
    pub fn ready(&self) -> Result<(), StoreError> {
        match self {
            Self::Here(_) => Ok(()),
            Self::Stored(stored) => stored.get().map(drop),
        }
    }
}

impl From<Tile> for Slot {
    fn from(tile: Tile) -> Self {
        Self::Here(tile)
    }
}

impl PartialEq for Slot {
    fn eq(&self, other: &Self) -> bool {
        self.tile() == other.tile()
    }
}

impl StoredTile {
    #[cold]
    fn first_use(&self) -> &Tile {
        self.get().unwrap_or_else(|error| panic!("{error}"))
    }

    fn get(&self) -> Result<&Tile, StoreError> {
        if let Some(tile) = self.tile.get() {
            return Ok(tile);
        }
        let tile = self.read(self.store.piece(self.file, self.number)?)?;
        Ok(self.tile.get_or_init(|| tile))
    }

    /// The tile in place; its indices are checked, as those of every tile.
    fn read(&self, piece: Piece) -> Result<Tile, StoreError> {
        let TileSize { runs, nonzeros, weighted } = self.size;
        let strips = self.cols.div_ceil(STRIP_COLUMNS).max(1);
        let mut arrays = Arrays { piece: &piece, start: 0 };
        let parts = Parts {
            starts: arrays.next(strips + 1)?,
            rows: arrays.next(runs)?,
            counts: arrays.next(runs)?,
            columns: arrays.next(nonzeros)?,
            values: weighted.then(|| arrays.next(nonzeros)).transpose()?,
        };
        Tile::new(self.height, self.cols, STRIP_COLUMNS, parts).map_err(|source| piece.wrong(source.to_string()))
    }
}

/// The arrays of a piece, each at the next boundary.
struct Arrays<'a> {
    piece: &'a Piece,
    start: usize,
}

impl Arrays<'_> {
    fn next<T: bytemuck::Pod>(&mut self, count: usize) -> Result<Array<T>, StoreError> {
        let array = self.piece.array(self.start, count)?;
        self.start = Store::after::<T>(self.start, count);
        Ok(array)
    }
}
