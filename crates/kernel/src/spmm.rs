//! Sparse matrix times dense panel (SpMM) on one thread: one entry point, [`spmm`], and two
//! kernels.
//!
//! | kernel | when | bound by |
//! |---|---|---|
//! | `by_tile` | always possible | memory: rows of the panel are picked at random |
//! | [`LengthSortedRows`] | short rows, one strip, a panel that stays in a near cache | branches |
//!
//! Both add the entries of a row in their stored order and never mix columns, so the choice does
//! not show in the bits of the result. AVX2 and AVX-512 round a multiply-add once, plain code
//! twice.
//!
//! **By tile.** Threads share the memory bus, so what counts is how often panels come from memory.
//! All tiles go over one strip before the next strip starts: the strip's rows of the panel come
//! from memory once, and are picked from a shared cache, while the result streams by in order.
//! (Groups of tiles kept in the cache move fewer bytes, but at random: a third slower.) A block of
//! at most [`BLOCK`] columns is summed in registers, so a row of the result is touched once a
//! strip, and wide panels are handled block by block, so that each block fits the cache as a narrow
//! panel does. Rows that are picked soon are prefetched.
//!
//! Diagonal factors on both sides, a scalar and an added panel are part of the same pass.

mod by_tile;
mod length_sorted;
mod permutation;
mod segments;
#[cfg(target_arch = "x86_64")]
mod sorted_rows;

pub use by_tile::BLOCK;
pub use length_sorted::LengthSortedRows;
pub use permutation::RowPermutation;
pub use segments::Segments;

use super::elementwise::Term;
use super::{Buffer, Cell, Panel, PanelMut, Simd, Tile, stride};
use by_tile::{blocks, multiply_cell};

/// Entries of a panel that a near cache holds. Prefetching its rows would take a quarter of the
/// time of a product with few columns.
const NEAR: usize = 192 << 10;

/// The factors of a product: `alpha · diag(left) · A · diag(right)`.
#[derive(Clone, Copy, Debug)]
pub struct Factors<'a> {
    /// The scalar factor.
    pub alpha: f32,
    /// A factor for each row of A.
    pub left: Option<&'a [f32]>,
    /// A factor for each column of A.
    pub right: Option<&'a [f32]>,
}

impl Default for Factors<'_> {
    fn default() -> Self {
        Factors { alpha: 1.0, left: None, right: None }
    }
}

/// What the result of a kernel starts from.
#[derive(Clone, Copy, Debug)]
enum Start<'a> {
    /// What it already holds: the product of an earlier strip.
    Accumulate,
    Zero,
    /// A scaled panel.
    Add(Term<'a>),
}

impl Start<'_> {
    fn assert_shape(&self, rows: usize, stride: usize) {
        let Start::Add(Term { diagonal, panel, .. }) = self else { return };
        assert_eq!((panel.rows(), panel.stride()), (rows, stride), "shape of the added panel");
        assert!(diagonal.is_none_or(|d| d.len() == rows), "one factor a row of the added panel");
    }
}

/// What the `unsafe` code of the kernels relies on.
fn assert_shapes((rows, inner): (usize, usize), x: Panel, factors: &Factors, start: Start, y: &PanelMut) {
    assert_eq!((x.rows(), y.rows(), y.stride()), (inner, rows, x.stride()), "shapes of a product");
    assert!(factors.left.is_none_or(|d| d.len() == rows), "one left factor a row");
    assert!(factors.right.is_none_or(|d| d.len() == inner), "one right factor a column");
    start.assert_shape(rows, x.stride());
}

/// The sparse factor of a product: tiles of a matrix, one above the other.
#[derive(Debug)]
pub struct Operand<'a> {
    tiles: Vec<&'a Tile>,
    sorted: Option<&'a LengthSortedRows>,
}

impl<'a> Operand<'a> {
    /// Some tiles, and their rows sorted by length where there is such a copy.
    pub fn new(tiles: impl IntoIterator<Item = &'a Tile>, sorted: Option<&'a LengthSortedRows>) -> Self {
        Self { tiles: tiles.into_iter().collect(), sorted }
    }

    /// Rows that are stored in sorted order only, for panels to which
    /// [`LengthSortedRows::suits`] applies.
    pub fn sorted(rows: &'a LengthSortedRows) -> Self {
        Self { tiles: Vec::new(), sorted: Some(rows) }
    }

    fn shape(&self) -> (usize, usize) {
        match (self.sorted, self.tiles.first()) {
            (Some(sorted), _) => sorted.shape(),
            (None, Some(first)) => (self.tiles.iter().map(|tile| tile.rows()).sum(), first.cols()),
            (None, None) => (0, 0),
        }
    }
}

/// `y = added + alpha · diag(left) · A · diag(right) · x`. What `y` held does not matter.
///
/// A strip whose rows lie in several segments of `x` is joined in `scratch` before it is multiplied
/// by. Segments no smaller than a strip cost next to nothing. The bits of the result depend neither on
/// the segments nor on which tiles share a call.
///
/// # Panics
/// If the shapes do not fit each other.
pub fn spmm(a: &Operand, x: &Segments, factors: &Factors, added: Option<Term>, y: &mut [f32], scratch: &mut Buffer) {
    spmm_with(Simd::best(), a, x, factors, added, y, scratch);
}

/// [`spmm`] with the given instructions.
pub fn spmm_with(
    simd: Simd,
    a: &Operand,
    x: &Segments,
    factors: &Factors,
    added: Option<Term>,
    y: &mut [f32],
    scratch: &mut Buffer,
) {
    let (cols, width) = (x.cols, stride(x.cols));
    let (rows, inner) = a.shape();
    assert_eq!(y.len(), rows * width, "rows of the result");
    if rows == 0 {
        // Without tiles the number of columns is unknown, and there is nothing to do.
        return;
    }
    assert!(factors.left.is_none_or(|d| d.len() == rows), "one left factor a row");
    assert!(factors.right.is_none_or(|d| d.len() == inner), "one right factor a column");
    let whole = added.map_or(Start::Zero, Start::Add);
    whole.assert_shape(rows, width);
    x.assert_consecutive(inner);

    if let Some(sorted) = a.sorted.filter(|sorted| sorted.suits(simd, cols)) {
        let x = Panel::new(inner, cols, x.joined(scratch));
        sorted.spmm(simd, x, factors, whole, PanelMut::new(rows, cols, y));
        return;
    }
    assert!(!a.tiles.is_empty(), "rows that are stored in sorted order only suit the panel");
    let ranges: Vec<_> = (0..a.tiles[0].strips()).map(|strip| a.tiles[0].strip_range(strip)).collect();
    for columns in blocks(cols) {
        for (strip, range) in ranges.iter().enumerate() {
            let x = Panel::new(range.len(), cols, x.joined_range(range, scratch));
            let right = factors.right.map(|d| &d[range.clone()]);
            let mut first = 0;
            for tile in &a.tiles {
                let own = first..first + tile.rows();
                let place = own.start * width..own.end * width;
                let start = match added {
                    _ if strip > 0 => Start::Accumulate,
                    None => Start::Zero,
                    Some(Term { coefficient, diagonal, panel }) => Start::Add(Term {
                        coefficient,
                        diagonal: diagonal.map(|d| &d[own.clone()]),
                        panel: Panel::new(own.len(), cols, &panel.data()[place.clone()]),
                    }),
                };
                let factors = Factors { alpha: factors.alpha, left: factors.left.map(|d| &d[own.clone()]), right };
                let y = PanelMut::new(own.len(), cols, &mut y[place]);
                multiply_cell(simd, tile.cell(strip), x, &factors, start, y, columns.clone());
                first = own.end;
            }
        }
    }
}

#[cfg(test)]
mod tests;
