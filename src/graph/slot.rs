//! Tiles in memory, or in a store until they are first used.

use std::error::Error;
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use crate::kernel::Tile;
use crate::kernel::tile::TileSize;

/// Where the tiles of a matrix are stored, in a file for example.
pub(crate) trait TileSource: Debug + Send + Sync {
    /// Reads a tile by its number. It has `rows` rows and `cols` columns, in strips of
    /// [`STRIP_COLUMNS`](super::STRIP_COLUMNS), and holds as much as `size` says.
    fn read(&self, number: usize, rows: usize, cols: usize, size: TileSize) -> Result<Tile, TileError>;
}

/// Why a stored tile cannot be used: the error of its source, which names the place and the way
/// out.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TileError(Box<dyn Error + Send + Sync>);

impl TileError {
    pub(crate) fn new(cause: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(cause))
    }

    /// The error of the source.
    #[cfg(feature = "cli")]
    pub(crate) fn cause(&self) -> &(dyn Error + 'static) {
        &*self.0
    }
}

/// A tile, in memory or stored.
#[derive(Debug, Clone)]
pub(super) enum Slot {
    Here(Tile),
    Stored(StoredTile),
}

/// A tile of a source. It is read when it is first used, and not before.
#[derive(Debug, Clone)]
pub(super) struct StoredTile {
    pub source: Arc<dyn TileSource>,
    pub number: usize,
    pub size: TileSize,
    pub rows: usize,
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

    /// Changes the tile, which is in memory afterwards.
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

    /// Whether the tile has a source and was used.
    #[cfg(all(test, feature = "cluster", feature = "formats"))]
    pub fn was_read(&self) -> bool {
        matches!(self, Self::Stored(stored) if stored.tile.get().is_some())
    }

    /// Makes sure that the tile can be used.
    pub fn ready(&self) -> Result<(), TileError> {
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

    fn get(&self) -> Result<&Tile, TileError> {
        if let Some(tile) = self.tile.get() {
            return Ok(tile);
        }
        let tile = self.source.read(self.number, self.rows, self.cols, self.size)?;
        Ok(self.tile.get_or_init(|| tile))
    }
}
