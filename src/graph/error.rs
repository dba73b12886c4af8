//! Errors of edges and entries.

use thiserror::Error;

/// Why edges or entries are no matrix.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A row or column number is too large.
    #[error(
        "entry {entry} is ({row}, {col}), outside of a {rows} × {cols} matrix: number rows and columns from 0, or state more nodes"
    )]
    OutOfRange {
        /// Number of the entry in its list, from 0.
        entry: usize,
        /// Its row.
        row: usize,
        /// Its column.
        col: usize,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },
    /// A value is no finite number.
    #[error("entry {entry}, at ({row}, {col}), has the value {value}: values must be finite, repair or remove it")]
    NotFinite {
        /// Number of the entry in its list, from 0.
        entry: usize,
        /// Its row.
        row: usize,
        /// Its column.
        col: usize,
        /// Its value.
        value: f32,
    },
    /// Duplicates add up to more than f32 holds.
    #[error("the entries at ({row}, {col}) add up to {sum}, which f32 does not hold: scale the values down")]
    Overflow {
        /// Their row.
        row: usize,
        /// Their column.
        col: usize,
        /// Their sum.
        sum: f64,
    },
    /// The list of values is longer or shorter than the list of entries.
    #[error("{entries} entries have {values} values: give one value for each, or none at all")]
    ValueCount {
        /// How many entries there are.
        entries: usize,
        /// How many values.
        values: usize,
    },
    /// More rows or columns than 32 bits number.
    #[error("a {rows} × {cols} matrix has more rows or columns than 32 bits number: use fewer nodes")]
    TooLarge {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },
    /// A tile could not be built.
    #[error("tile {tile}: {source}")]
    Tile {
        /// Number of the tile.
        tile: usize,
        /// Why.
        source: crate::kernel::tile::TileError,
    },
}
