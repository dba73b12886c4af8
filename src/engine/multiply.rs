//! The product of a sparse matrix with a panel, for a run of tiles, on one thread.
//!
//! Threads share the memory bus, so what counts is how often panels come from memory, and how. All tiles go over one strip
//! before the next strip starts: the strip's rows of the panel, which are picked at random, come from memory once and are
//! picked from a cache that threads share, while the result streams by in order. (Keeping groups of tiles in the cache
//! instead moves fewer bytes, but at random: it took a third longer.) Wide panels are handled a block of columns at a time, so
//! that each block fits the cache as a narrow panel does.

use std::ops::Range;

use crate::graph::Sparse;
use crate::kernel::spmm::{Factors, Start, blocks, multiply_columns};
use crate::kernel::{Buffer, Panel, PanelMut, Simd, stride};

/// The rows of a whole panel, in consecutive segments as their owners hold them.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    /// Columns of the panel.
    pub cols: usize,
    /// First row and entries of each segment, in order; rows are [`stride`]`(cols)` entries apart.
    pub parts: Vec<(usize, &'a [f32])>,
}

impl<'a> Rows<'a> {
    /// A panel in one piece.
    pub fn whole(panel: Panel<'a>) -> Self {
        Rows { cols: panel.cols(), parts: vec![(0, panel.data())] }
    }

    /// Rows of the panel.
    pub fn rows(&self) -> usize {
        self.parts.last().map_or(0, |(first, data)| first + data.len() / stride(self.cols).max(1))
    }

    /// The rows `range`, if one segment has them all.
    fn inside(&self, range: &Range<usize>) -> Option<&'a [f32]> {
        let stride = stride(self.cols);
        let part = self.parts.partition_point(|(first, _)| *first <= range.start).checked_sub(1)?;
        let (first, data) = self.parts[part];
        data.get((range.start - first) * stride..(range.end - first) * stride)
    }

    /// Copies the rows `range` from their segments.
    fn copy(&self, range: &Range<usize>, out: &mut [f32]) {
        let stride = stride(self.cols);
        for (first, data) in &self.parts {
            let rows = range.start.max(*first)..range.end.min(first + data.len() / stride);
            if rows.start < rows.end {
                let from = &data[(rows.start - first) * stride..(rows.end - first) * stride];
                out[(rows.start - range.start) * stride..(rows.end - range.start) * stride].copy_from_slice(from);
            }
        }
    }

    fn assert_consecutive(&self, rows: usize) {
        let stride = stride(self.cols).max(1);
        let mut next = 0;
        for (first, data) in &self.parts {
            assert!(
                *first == next && data.len() % stride == 0,
                "segments of a panel are whole rows that follow each other"
            );
            next += data.len() / stride;
        }
        assert_eq!(next, rows, "rows of the panel and columns of the matrix");
    }
}

/// The factors of a product with the whole matrix: `alpha · diag(left) · A · diag(right)`.
#[derive(Clone, Copy, Debug)]
pub struct Scaling<'a> {
    /// A factor for everything.
    pub alpha: f32,
    /// A factor for each row of the matrix.
    pub left: Option<&'a [f32]>,
    /// A factor for each column of the matrix.
    pub right: Option<&'a [f32]>,
}

impl Default for Scaling<'_> {
    fn default() -> Self {
        Scaling { alpha: 1.0, left: None, right: None }
    }
}

/// What the product is added to: `beta · diag(diagonal) · panel`.
#[derive(Clone, Copy, Debug)]
pub struct Add<'a> {
    /// A factor for everything.
    pub beta: f32,
    /// A factor for each row of the matrix.
    pub diagonal: Option<&'a [f32]>,
    /// The rows of the multiplied tiles, as wide as the result.
    pub panel: &'a [f32],
}

/// Scratch space of [`multiply_tiles`]; keep one and use it again.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    joined: Buffer,
}

/// `y = add + alpha · diag(left) · A · diag(right) · x` for the rows of `tiles`. What `y` held does not matter.
///
/// Strips whose rows lie in several segments of `x` are joined in the scratch space first, once a call; segments that are no
/// smaller than a strip cost next to nothing. The bits of the result depend neither on the segments nor on which tiles share
/// a call.
///
/// # Panics
/// If the shapes do not fit each other.
pub fn multiply_tiles(
    sparse: &Sparse,
    tiles: Range<usize>,
    x: &Rows,
    scaling: Scaling,
    add: Option<Add>,
    y: &mut [f32],
    scratch: &mut Scratch,
) {
    multiply_tiles_with(Simd::best(), sparse, tiles, x, scaling, add, y, scratch);
}

/// [`multiply_tiles`] with the given instructions.
///
/// # Panics
/// If the shapes do not fit each other.
#[allow(clippy::too_many_arguments)]
pub fn multiply_tiles_with(
    simd: Simd,
    sparse: &Sparse,
    tiles: Range<usize>,
    x: &Rows,
    scaling: Scaling,
    add: Option<Add>,
    y: &mut [f32],
    scratch: &mut Scratch,
) {
    let (tiling, cols) = (sparse.tiling(), x.cols);
    let (rows, width) = (tiling.rows_of(tiles.clone()), stride(cols));
    x.assert_consecutive(sparse.cols());
    assert_eq!(y.len(), rows.len() * width, "rows of the tiles");
    assert!(add.is_none_or(|a| a.panel.len() == y.len()), "rows of the added panel");
    let per_row = |d: Option<&[f32]>| d.is_none_or(|d| d.len() == tiling.rows());
    assert!(per_row(scaling.left) && per_row(add.and_then(|a| a.diagonal)), "one factor a row");
    assert!(scaling.right.is_none_or(|d| d.len() == sparse.cols()), "one factor a column");

    let strips = join_strips(sparse, x, &mut scratch.joined);
    for columns in blocks(cols) {
        for (strip, strip_rows) in strips.iter().enumerate() {
            let x = Panel::new(sparse.strip_range(strip).len(), cols, strip_rows);
            for tile in tiles.clone() {
                let range = tiling.range(tile);
                let place = (range.start - rows.start) * width..(range.end - rows.start) * width;
                let start = match add {
                    _ if strip > 0 => Start::Accumulate,
                    None => Start::Zero,
                    Some(Add { beta, diagonal, panel }) => Start::Add {
                        beta,
                        diagonal: diagonal.map(|d| &d[range.clone()]),
                        panel: Panel::new(range.len(), cols, &panel[place.clone()]),
                    },
                };
                let factors = Factors {
                    alpha: scaling.alpha,
                    left: scaling.left.map(|d| &d[range.clone()]),
                    right: scaling.right.map(|d| &d[sparse.strip_range(strip)]),
                };
                let y = PanelMut::new(range.len(), cols, &mut y[place]);
                multiply_columns(simd, sparse.cell(tile, strip), x, &factors, start, y, columns.clone());
            }
        }
    }
}

/// The rows of each strip in one piece: where they lie, or joined.
fn join_strips<'s>(sparse: &Sparse, x: &Rows<'s>, joined: &'s mut Buffer) -> Vec<&'s [f32]> {
    let width = stride(x.cols);
    let ranges: Vec<_> = (0..sparse.strips()).map(|strip| sparse.strip_range(strip)).collect();
    let scattered = ranges.iter().filter(|range| x.inside(range).is_none());
    joined.resize(scattered.map(|range| range.len() * width).sum());
    let mut free: &mut [f32] = joined;
    let mut strips = Vec::with_capacity(ranges.len());
    for range in &ranges {
        strips.push(match x.inside(range) {
            Some(data) => data,
            None => {
                let (piece, rest) = free.split_at_mut(range.len() * width);
                free = rest;
                x.copy(range, piece);
                piece
            }
        });
    }
    strips
}

#[cfg(test)]
mod tests;
