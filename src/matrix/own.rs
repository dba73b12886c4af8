//! User-defined linear maps as leaves.

use std::ops::Range;
use std::sync::Arc;

use super::{Kind, Matrix, Shape};
use crate::kernel::{Panel, PanelMut};

/// A matrix that is given by its products with a panel.
///
/// Rows of a product are asked for tile by tile, each tile by one call on one worker, and every
/// call is given all rows of what is multiplied. As long as a row depends on nothing but the panel,
/// the bits of the result depend neither on the number of workers nor on who was asked.
///
/// ```
/// use isvd_dist::engine::Cluster;
/// use isvd_dist::matrix::{LinearMap, Matrix, Panel, PanelMut, Shape};
/// use isvd_dist::svd::{Options, decompose};
/// use std::ops::Range;
///
/// /// Every row less the one before it.
/// struct Differences(usize);
///
/// impl LinearMap for Differences {
///     fn shape(&self) -> Shape {
///         Shape::new(self.0, self.0)
///     }
///
///     fn apply(&self, rows: Range<usize>, x: Panel<'_>, mut product: PanelMut<'_>) {
///         for (place, row) in rows.enumerate() {
///             let before = row.checked_sub(1).map(|before| x.row(before));
///             for (column, out) in product.row_mut(place).iter_mut().enumerate() {
///                 *out = x.row(row)[column] - before.map_or(0.0, |before| before[column]);
///             }
///         }
///     }
///
///     fn apply_transposed(&self, rows: Range<usize>, x: Panel<'_>, mut product: PanelMut<'_>) {
///         for (place, row) in rows.enumerate() {
///             let after = (row + 1 < self.0).then(|| x.row(row + 1));
///             for (column, out) in product.row_mut(place).iter_mut().enumerate() {
///                 *out = x.row(row)[column] - after.map_or(0.0, |after| after[column]);
///             }
///         }
///     }
/// }
///
/// let differences = Matrix::own("D", Differences(100));
/// let svd = decompose(&(&differences + Matrix::identity(100)), &Options::of_rank(3), Cluster::threads(2))?;
/// assert!(svd.singular_values[0] < 3.0);
/// # Ok::<(), isvd_dist::svd::SvdError>(())
/// ```
pub trait LinearMap: Send + Sync {
    /// Rows and columns.
    fn shape(&self) -> Shape;

    /// Writes rows of `matrix · x` into `product`, whose row 0 is the first of them and which holds
    /// zeros.
    fn apply(&self, rows: Range<usize>, x: Panel<'_>, product: PanelMut<'_>);

    /// Writes rows of `matrixᵀ · x` into `product`, whose row 0 is the first of them and which
    /// holds zeros.
    fn apply_transposed(&self, rows: Range<usize>, x: Panel<'_>, product: PanelMut<'_>);

    /// Additions and multiplications for one column of a product, for the planner to count with. By
    /// default those of a dense matrix.
    fn flops(&self) -> u64 {
        let Shape { rows, columns } = self.shape();
        2 * rows as u64 * columns as u64
    }

    /// Bytes that the map keeps in memory.
    fn bytes(&self) -> u64 {
        0
    }
}

impl Matrix {
    /// A matrix that is code.
    pub fn own(name: &str, map: impl LinearMap + 'static) -> Self {
        let shape = map.shape();
        Self::node(shape, Kind::Own { name: name.into(), map: Arc::new(map) })
    }
}
