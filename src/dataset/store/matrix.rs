//! The matrix of a store: written tile by tile, and mapped when it is used.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Piece, PieceWriter, Store, StoreError, WriteError, Writer};
use crate::dataset::Edges;
use crate::graph::{Graph, Import, ImportReport, Order, STRIP_COLUMNS, Sparse, TileError, TileSource};
use crate::kernel::tile::{Parts, TileSize};
use crate::kernel::{Array, Tile};

const ADJACENCY: &str = "adjacency.tiles";
const TRANSPOSED: &str = "transposed.tiles";
const DEGREES: &str = "degrees.f32";
const ARRIVING: &str = "arriving-degrees.f32";
const ROWS: &str = "rows.u32";

/// How the matrix of a store was made of its edges. A matrix with other settings is built from the
/// edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixSettings {
    /// How duplicates and self-loops were treated.
    pub import: Import,
    /// The default treatment for link prediction with this dataset.
    pub usual_import: Import,
    /// Whether edges count in the direction in which they are listed alone.
    pub directed: bool,
    /// Which rows nodes have.
    pub numbering: Numbering,
}

/// Which rows the nodes of a stored matrix have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbering {
    /// Node numbers; no other order was considered.
    Given,
    /// Node numbers; the order by degree was considered and is no better.
    Best,
    /// The order by degree ([`Order::by_degree`]).
    ByDegree,
}

/// The description of the matrix in `store.json`.
#[derive(Serialize, Deserialize)]
struct Description {
    #[serde(flatten)]
    settings: MatrixSettings,
    symmetric: bool,
    tile_rows: usize,
    strip_columns: usize,
    report: ImportReport,
    tiles: Vec<TileSize>,
    transposed_tiles: Vec<TileSize>,
}

impl Writer {
    /// Writes a graph as the matrix of the store, whose dataset is written already, and puts the
    /// store in its place.
    pub fn finish_with(
        mut self,
        graph: &Graph,
        settings: MatrixSettings,
        order: Option<&Order>,
    ) -> Result<(), WriteError> {
        let matrix = &graph.adjacency;
        let tiles = self.file(ADJACENCY, |file| write_tiles(matrix, file))?;
        let mut transposed_tiles = Vec::new();
        if !matrix.is_symmetric() {
            transposed_tiles = self.file(TRANSPOSED, |file| write_tiles(&matrix.transposed(), file))?;
            self.array(ARRIVING, &graph.arriving_degrees())?;
        }
        self.array(DEGREES, &graph.degrees)?;
        if let Some(order) = order {
            self.array(ROWS, order.rows())?;
        }
        let description = Description {
            settings,
            symmetric: matrix.is_symmetric(),
            tile_rows: matrix.tiling().tile_rows(),
            strip_columns: STRIP_COLUMNS,
            report: graph.report,
            tiles,
            transposed_tiles,
        };
        self.finish(serde_json::json!(description))
    }
}

impl Edges {
    /// The stored graph of these edges, if they are in a store whose matrix was made with the same
    /// settings. Its tiles are read when they are used, or by [`ready`](Graph::ready).
    pub fn stored_graph(&self, import: Import) -> Result<Option<Graph>, StoreError> {
        let Some(edges) = self.in_store() else { return Ok(None) };
        let store = &edges.store;
        let Description { settings, symmetric, tile_rows, strip_columns, report, tiles, transposed_tiles } =
            describe(store)?;
        let stored_rows = stored_order(store, settings)?;
        let is_made_so = (settings.import, settings.directed) == (import, edges.is_directed);
        if !is_made_so || stored_rows.as_ref().map(Order::rows) != edges.rows.as_ref() {
            return Ok(None);
        }
        let nodes = store.nodes();
        let matrix = |file, sizes: &[TileSize]| {
            let source: Arc<dyn TileSource> = Arc::new(TilesOfFile { store: Arc::clone(store), file });
            let matrix = Sparse::stored(&source, (nodes, nodes), sizes, symmetric);
            let cut = (matrix.tiling().tile_rows(), STRIP_COLUMNS);
            match cut == (tile_rows, strip_columns) && sizes.len() == matrix.tiling().count() {
                true => Ok(matrix),
                false => Err(store.wrong(format!("{file} is cut into tiles in a way that this program does not know"))),
            }
        };
        let mut adjacency = matrix(ADJACENCY, &tiles)?;
        let mut arriving = None;
        if !symmetric {
            adjacency = adjacency.with_transposed(matrix(TRANSPOSED, &transposed_tiles)?);
            arriving = Some(store.array_of(ARRIVING, nodes)?.to_vec());
        }
        let degrees = store.array_of(DEGREES, nodes)?.to_vec();
        Ok(Some(Graph { adjacency: Arc::new(adjacency), degrees, report: report.with_edges(import), arriving }))
    }

    /// The order of the nodes in the store; `None` if the edges are not stored, or no order was
    /// considered.
    pub fn stored_order(&self) -> Result<Option<Option<Order>>, StoreError> {
        let Some(edges) = self.in_store() else { return Ok(None) };
        let settings = MatrixSettings::of(&edges.store)?;
        match settings.numbering {
            Numbering::Given => Ok(None),
            Numbering::Best | Numbering::ByDegree => stored_order(&edges.store, settings).map(Some),
        }
    }
}

impl MatrixSettings {
    /// How the matrix of a store was made.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        Ok(describe(store)?.settings)
    }
}

fn describe(store: &Store) -> Result<Description, StoreError> {
    Description::deserialize(store.matrix()).map_err(|error| store.wrong(error.to_string()))
}

fn stored_order(store: &Store, settings: MatrixSettings) -> Result<Option<Order>, StoreError> {
    if settings.numbering != Numbering::ByDegree {
        return Ok(None);
    }
    let rows = store.array_of::<u32>(ROWS, store.nodes())?;
    match Order::from_rows(&rows) {
        Some(order) => Ok(Some(order)),
        None => Err(store.wrong(format!("{ROWS} gives two nodes the same row"))),
    }
}

/// Writes every tile as a piece of a file; returns their sizes.
fn write_tiles(matrix: &Sparse, file: &mut PieceWriter) -> io::Result<Vec<TileSize>> {
    let write = |tile: &Tile| {
        let Parts { starts, rows, counts, columns, values } = tile.parts();
        file.array(starts)?;
        file.array(rows)?;
        file.array(counts)?;
        file.array(columns)?;
        if let Some(values) = values {
            file.array(values)?;
        }
        file.end_piece()?;
        Ok(tile.size())
    };
    matrix.tiles().map(write).collect()
}

/// A file of a store whose pieces are tiles.
#[derive(Debug)]
struct TilesOfFile {
    store: Arc<Store>,
    file: &'static str,
}

impl TileSource for TilesOfFile {
    fn read(&self, number: usize, rows: usize, cols: usize, size: TileSize) -> Result<Tile, TileError> {
        let piece = self.store.piece(self.file, number).map_err(TileError::new)?;
        tile_in_place(&piece, rows, cols, size).map_err(TileError::new)
    }
}

/// A piece as a tile, without copying. The tile checks its indices.
fn tile_in_place(piece: &Piece, rows: usize, cols: usize, size: TileSize) -> Result<Tile, StoreError> {
    let TileSize { runs, nonzeros, weighted } = size;
    let strips = cols.div_ceil(STRIP_COLUMNS).max(1);
    let mut arrays = Arrays { piece, start: 0 };
    let parts = Parts {
        starts: arrays.next(strips + 1)?,
        rows: arrays.next(runs)?,
        counts: arrays.next(runs)?,
        columns: arrays.next(nonzeros)?,
        values: weighted.then(|| arrays.next(nonzeros)).transpose()?,
    };
    Tile::new(rows, cols, STRIP_COLUMNS, parts).map_err(|source| piece.wrong(source.to_string()))
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
