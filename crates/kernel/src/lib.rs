//! Arithmetic on one tile.
//!
//! Kernels are single-threaded and know neither graphs nor workers. They take slices and panels,
//! and scratch space from the caller. The bits of a result depend on the arguments alone (and on
//! whether the machine has AVX2, and for dense products and small factorisations AVX-512), not on
//! alignment or on the thread.
//!
//! The package is compiled as one unit with everything inlined; the rest of the program is compiled
//! in parallel units.
//!
//! | file | what it does |
//! |---|---|
//! | [`array`](mod@array) | arrays in memory or in a memory-mapped file |
//! | [`buffer`] | aligned storage that asks for huge pages |
//! | [`panel`] | row-major dense blocks, rows padded to whole SIMD lanes |
//! | [`Tiling`] | how rows are cut into tiles |
//! | [`tile`], [`spmm`] | sparse tiles, and their products with a panel |
//! | [`gram`], [`columns`] | `AᵀA` and `AᵀB` in f64; sums, squares and peaks of columns |
//! | [`gemm`] | a panel times a small matrix, a dense tile times a panel |
//! | [`dropout`] | entries zeroed at random |
//! | [`elementwise`] | linear combinations with diagonals, softmax, finiteness |
//! | [`factor`], [`small`] | Cholesky that drops, triangular inverse, small SVD |
//! | [`largest`], [`banded`] | a few eigenpairs of a symmetric matrix; one of a banded one |
//! | [`random`] | counter-based random numbers |
//!
//! All `unsafe` and SIMD code is here: AVX-512, AVX2 and FMA are detected at run time, and portable
//! code gives the same result within rounding.

pub mod array;
pub mod banded;
pub mod buffer;
pub mod columns;
pub mod dropout;
pub mod elementwise;
pub mod factor;
pub mod gemm;
pub mod gram;
pub mod largest;
pub mod panel;
mod product;
pub mod random;
mod registers;
pub mod simd;
pub mod small;
pub mod spmm;
pub mod tile;
mod tiling;

use std::sync::OnceLock;

pub use array::{Array, Mapped};
pub use buffer::Buffer;
pub use dropout::Mask;
pub use panel::{LANES, Panel, PanelMut, stride};
pub use simd::Simd;
pub use tile::{Cell, Tile};
pub use tiling::Tiling;

/// Number of threads this process may run in parallel. Cached, since the query takes as long as a
/// small product.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Makes faer single-threaded, since workers are the parallelism. To be called once, before any
/// computation.
pub fn configure() {
    faer::set_global_parallelism(faer::Par::Seq);
}
