//! Stored matrices as panels, and panels from panels: columns, stacks, products.

use std::ops::Range;
use std::sync::Arc;

use super::step::Context;
use super::tree::Combine;
use super::{EngineError, Session, Shard};
use crate::graph::Sparse;
use crate::kernel::gram;
use crate::kernel::panel::{PanelMut, stride};
use crate::kernel::{Mask, Panel};
use crate::matrix::Dense;
use crate::plan::{Layouts, Leaf, Program, Source};

/// Verifies the tiles that some workers read of the sparse matrices of programs.
pub(super) fn make_ready(
    programs: &[Arc<Program>],
    layouts: &Layouts,
    workers: Range<usize>,
) -> Result<(), EngineError> {
    let mut ready: Vec<&Arc<Sparse>> = Vec::new();
    for step in programs.iter().flat_map(|program| program.steps()) {
        if let Some((_, Leaf::Sparse(matrix))) = step.action.leaf()
            && !ready.iter().any(|other| Arc::ptr_eq(other, matrix))
        {
            let tiles = layouts.get(matrix.rows()).tiles_of(workers.clone());
            tiles.ranges().iter().try_for_each(|tiles| matrix.ready(tiles.clone()))?;
            ready.push(matrix);
        }
    }
    Ok(())
}

/// Consecutive rows of a stored matrix. A masked matrix is copied to `scratch`.
pub(super) fn stored_rows<'a>(
    matrix: &'a Dense,
    mask: Option<Mask>,
    rows: Range<usize>,
    scratch: &'a mut Vec<f32>,
) -> &'a [f32] {
    let stored = matrix.row_range(rows.clone());
    let Some(mask) = mask else { return stored };
    scratch.clear();
    scratch.extend_from_slice(stored);
    for (row, entries) in rows.zip(scratch.chunks_exact_mut(matrix.columns().max(1))) {
        mask.apply(row as u64, entries);
    }
    scratch
}

/// Copies a tile of a stored matrix into a panel.
pub(super) fn load(source: &Source, rows: Range<usize>, mut out: PanelMut<'_>) {
    let stride = out.stride();
    match source {
        Source::Dense { matrix, mask } => load_dense(matrix, *mask, rows, out),
        Source::Sparse(matrix) => {
            out.data_mut().fill(0.0);
            matrix.for_each_in_tile(matrix.tiling().tile_of(rows.start), |row, column, value| {
                out.data_mut()[(row - rows.start) * stride + column] += value;
            });
        }
        Source::Identity => {
            out.data_mut().fill(0.0);
            for (place, row) in rows.enumerate() {
                out.row_mut(place)[row] = 1.0;
            }
        }
    }
}

fn load_dense(matrix: &Dense, mask: Option<Mask>, rows: Range<usize>, mut out: PanelMut<'_>) {
    let (cols, stride) = (out.cols(), out.stride());
    for (place, row) in rows.enumerate() {
        let entries = &mut out.data_mut()[place * stride..(place + 1) * stride];
        entries[..cols].copy_from_slice(matrix.row(row));
        entries[cols..].fill(0.0);
        if let Some(mask) = mask {
            mask.apply(row as u64, &mut entries[..cols]);
        }
    }
}

impl Context {
    /// The panels `[X₁ X₂ …]` as one.
    pub(super) fn hstack(&self, rows: usize, parts: &[&Shard]) -> Result<Shard, EngineError> {
        let cols = parts.iter().map(|part| part.cols()).sum();
        self.shard_by_tiles(rows, cols, |rows, mut out| {
            let stride = stride(cols);
            let mut first = 0;
            for part in parts {
                let panel = part.panel_of(rows.clone());
                for place in 0..rows.len() {
                    out.data_mut()[place * stride + first..][..part.cols()].copy_from_slice(panel.row(place));
                }
                first += part.cols();
            }
            (0..rows.len()).for_each(|place| out.data_mut()[place * stride + cols..][..stride - cols].fill(0.0));
            Ok(())
        })
    }
}

impl Session<'_> {
    /// Forms a matrix by its program, given by number.
    ///
    /// # Panics
    /// If there is no such program.
    pub fn form(&mut self, program: usize) -> Result<Shard, EngineError> {
        let nothing = self.context().shard(0, 0, |_, _| Ok(()))?;
        self.multiply_by_rows(program, nothing)
    }

    /// The panels `[X₁ X₂ …]` as one. Every worker does its own rows.
    ///
    /// # Panics
    /// If there is no panel, or they differ in their total rows.
    pub fn hstack(&mut self, parts: &[&Shard]) -> Result<Shard, EngineError> {
        let rows = parts.first().expect("a panel").total_rows();
        assert!(parts.iter().all(|part| part.total_rows() == rows), "all panels must have the same rows");
        self.context().hstack(rows, parts)
    }

    /// Some columns of a panel, as a panel.
    pub fn columns(&mut self, panel: &Shard, columns: Range<usize>) -> Result<Shard, EngineError> {
        self.context().shard_by_tiles(panel.total_rows(), columns.len(), |rows, mut out| {
            out.copy_columns(panel.panel_of(rows), columns.clone());
            Ok(())
        })
    }

    /// `xᵀ·y`, row after row.
    ///
    /// # Panics
    /// If the panels have different numbers of rows.
    pub fn cross_gram(&mut self, x: &Shard, y: &Shard) -> Result<Vec<f64>, EngineError> {
        assert_eq!(x.total_rows(), y.total_rows(), "both panels must have the same rows");
        let mut scratch = gram::Scratch::default();
        let length = x.cols() * y.cols();
        let partial = self.context().partial(x.total_rows(), Combine::Sum, length, y.cols(), |rows, sums| {
            gram::cross_gram(x.panel_of(rows.clone()), y.panel_of(rows), sums, &mut scratch);
        });
        self.reduce(partial, "a product of panels")
    }

    /// The Gram matrix of a stored matrix, row-major. Tiles are masked one at a time, without a
    /// copy of the matrix.
    pub fn gram_of(&mut self, matrix: &Dense, mask: Option<Mask>) -> Result<Vec<f64>, EngineError> {
        let cols = matrix.columns();
        let (mut panel, mut scratch) = (Vec::new(), gram::Scratch::default());
        let partial = self.context().partial(matrix.rows(), Combine::Sum, cols * cols, cols, |rows, sums| {
            panel.resize(rows.len() * stride(cols), 0.0);
            load_dense(matrix, mask, rows.clone(), PanelMut::new(rows.len(), cols, &mut panel));
            gram::gram(Panel::new(rows.len(), cols, &panel), sums, &mut scratch);
        });
        self.reduce(partial, "a Gram matrix")
    }
}

#[cfg(all(test, feature = "cluster", feature = "formats"))]
mod tests {
    use std::thread;

    use super::*;
    use crate::dataset::store::{MatrixSettings, Numbering, Store, Writer};
    use crate::dataset::{Dataset, EdgeList};
    use crate::engine::local_mesh::meshes;
    use crate::engine::{Cluster, run};
    use crate::graph::{Graph, Import};
    use crate::kernel::random::{bits, stream};
    use crate::matrix::Matrix;
    use crate::plan::Side;

    /// Each process opens the store by itself, multiplies by both sides, and has looked at its
    /// share of the tiles.
    #[test]
    fn a_process_looks_at_its_own_tiles_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let draw = |edge: u64, axis: u32| (bits(9, stream::SYNTHETIC, edge, axis) % 9000) as u32;
        let edges = (0..40_000).map(|edge| (draw(edge, 0), draw(edge, 1))).collect();
        let list = EdgeList { nodes: 9000, edges, directed: true, ..EdgeList::default() };
        let dataset = Dataset { name: "made up".to_owned(), graph: list.into(), ..Dataset::default() };
        let import = Import::default();
        let graph = Graph::from_edges(dataset.graph.list().unwrap(), import).unwrap();
        let mut writer = Writer::create(&path).unwrap();
        writer.dataset(&dataset).unwrap();
        let settings = MatrixSettings { import, usual_import: import, directed: true, numbering: Numbering::Given };
        writer.finish_with(&graph, settings, None).unwrap();
        for processes in [2, 3] {
            let meshes = meshes(processes);
            let tiles_read = meshes.iter().map(|mesh| {
                let (cluster, path) = (Cluster { mesh: Some(mesh), ..Cluster::threads(1) }, path.clone());
                thread::spawn(move || {
                    let dataset = Store::open(&path).unwrap().dataset().unwrap();
                    let graph = dataset.graph.stored_graph(import).unwrap().unwrap();
                    let matrix = Matrix::sparse("A", graph.adjacency.clone());
                    let program = |side| Arc::new(Program::compile(&matrix, side));
                    let programs = vec![program(Side::Plain), program(Side::Transposed)];
                    let done: Result<(), EngineError> = run(cluster, programs, |session| {
                        let panel = session.random_normal(9000, 4, 1, stream::START_BLOCK)?;
                        (0..2).try_for_each(|program| session.multiply(program, &panel).map(drop))
                    });
                    done.unwrap();
                    [&graph.adjacency, &graph.adjacency.transposed()].map(|matrix| matrix.tiles_read())
                })
            });
            let tiles_read: Vec<_> = tiles_read.collect();
            let tiles_read: Vec<[usize; 2]> = tiles_read.into_iter().map(|one| one.join().unwrap()).collect();
            let tiles = graph.adjacency.tiling().count();
            for side in [0, 1] {
                assert_eq!(tiles_read.iter().map(|sides| sides[side]).sum::<usize>(), tiles, "{tiles_read:?}");
                assert!(tiles_read.iter().all(|sides| sides[side] <= tiles / processes + 2), "{tiles_read:?}");
            }
            meshes.into_iter().for_each(|mesh| mesh.leave());
        }
    }
}
