//! The matrix of a store: written tile by tile, and used where it lies.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Graph, Import, ImportReport, Order, STRIP_COLUMNS, Sparse};
use crate::dataset::Edges;
use crate::dataset::store::{Store, StoreError, WriteError, Writer};
use crate::kernel::tile::TileSize;

const ADJACENCY: &str = "adjacency.tiles";
const TRANSPOSED: &str = "transposed.tiles";
const DEGREES: &str = "degrees.f32";
const ARRIVING: &str = "arriving-degrees.f32";
const ROWS: &str = "rows.u32";

/// How the edges of a store became its matrix. Who asks for a matrix that came about in another way gets it from the edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Making {
    /// What became of duplicates and self-loops.
    pub import: Import,
    /// What becomes of them where a config does not say, and links are looked for.
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
    /// Their numbers; whether other rows would be better was not asked.
    Given,
    /// Their numbers; other rows are no better.
    Best,
    /// Those of [`Order::by_degree`].
    ByDegree,
}

/// What `store.json` says of the matrix.
#[derive(Serialize, Deserialize)]
struct Description {
    #[serde(flatten)]
    making: Making,
    symmetric: bool,
    tile_rows: usize,
    strip_columns: usize,
    report: ImportReport,
    tiles: Vec<TileSize>,
    transposed_tiles: Vec<TileSize>,
}

impl Graph {
    /// Writes the graph as the matrix of a store that has its dataset already, and puts the store in its place.
    pub fn store(&self, making: Making, order: Option<&Order>, mut writer: Writer) -> Result<(), WriteError> {
        let matrix = &self.adjacency;
        let tiles = writer.file(ADJACENCY, |file| matrix.write(file))?;
        let mut transposed_tiles = Vec::new();
        if !matrix.is_symmetric() {
            transposed_tiles = writer.file(TRANSPOSED, |file| matrix.transposed().write(file))?;
            writer.array(ARRIVING, &self.arriving_degrees())?;
        }
        writer.array(DEGREES, &self.degrees)?;
        if let Some(order) = order {
            writer.array(ROWS, order.rows())?;
        }
        let description = Description {
            making,
            symmetric: matrix.is_symmetric(),
            tile_rows: matrix.tiling().tile_rows(),
            strip_columns: STRIP_COLUMNS,
            report: self.report,
            tiles,
            transposed_tiles,
        };
        writer.finish(serde_json::json!(description))
    }

    /// The matrix of a store, if the edges are in one that has it made in this way. Its tiles are looked at when they are
    /// used, or made [`ready`](Graph::ready).
    pub fn stored(edges: &Edges, import: Import) -> Result<Option<Graph>, StoreError> {
        let Some(edges) = edges.in_store() else { return Ok(None) };
        let store = &edges.store;
        let Description { making, symmetric, tile_rows, strip_columns, report, tiles, transposed_tiles } =
            describe(store)?;
        let stored_rows = stored_order(store, making)?;
        let is_made_so = (making.import, making.directed) == (import, edges.is_directed);
        if !is_made_so || stored_rows.as_ref().map(Order::rows) != edges.rows.as_ref() {
            return Ok(None);
        }
        let nodes = store.nodes();
        let matrix = |file, sizes: &[TileSize]| {
            let matrix = Sparse::stored(store, file, (nodes, nodes), sizes, symmetric);
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

    /// Makes sure that every tile can be used; see [`Sparse::ready`].
    pub fn ready(&self) -> Result<(), StoreError> {
        let transposed = self.adjacency.transposed_if_made();
        for matrix in std::iter::once(&self.adjacency).chain(transposed) {
            matrix.ready(0..matrix.tiling().count())?;
        }
        Ok(())
    }
}

impl Order {
    /// The order by degree as a store knows it: `None` where it does not know whether that pays.
    pub fn stored(edges: &Edges) -> Result<Option<Option<Order>>, StoreError> {
        let Some(edges) = edges.in_store() else { return Ok(None) };
        let making = describe(&edges.store)?.making;
        match making.numbering {
            Numbering::Given => Ok(None),
            Numbering::Best | Numbering::ByDegree => stored_order(&edges.store, making).map(Some),
        }
    }
}

impl Making {
    /// How the matrix of a store was made.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        Ok(describe(store)?.making)
    }
}

fn describe(store: &Store) -> Result<Description, StoreError> {
    Description::deserialize(store.matrix()).map_err(|error| store.wrong(error.to_string()))
}

fn stored_order(store: &Store, making: Making) -> Result<Option<Order>, StoreError> {
    if making.numbering != Numbering::ByDegree {
        return Ok(None);
    }
    let rows = store.array_of::<u32>(ROWS, store.nodes())?;
    match Order::from_rows(&rows) {
        Some(order) => Ok(Some(order)),
        None => Err(store.wrong(format!("{ROWS} gives two nodes the same row"))),
    }
}
