//! Symbolic matrices.
//!
//! A [`Matrix`] is a handle on a node of an expression graph. Leaves hold data or are known by name
//! alone (identity, all ones, zero); the other nodes say how matrices are put together. Nothing is
//! computed here, nothing is formed: shapes are checked when a node is built, and the node is then
//! only described, for a planner to read.
//!
//! A handle is one pointer. Cloning it shares the node, so an expression is a graph and not a tree,
//! and a sub-expression that is used twice is multiplied by once.
//!
//! ```
//! use isvd_dist::graph::Sparse;
//! use isvd_dist::matrix::Matrix;
//! use std::sync::Arc;
//!
//! let edges = Sparse::from_triplets(3, 3, vec![(0, 1), (1, 0), (1, 2), (2, 1)], None)?;
//! let a = Matrix::sparse("A", Arc::new(edges));
//! let inverse_degree = Matrix::diagonal("D⁻¹", vec![1.0, 0.5, 1.0])?;
//! let t = &inverse_degree * &a;
//! let m = &t * 0.75 + t.pow(2) * 0.25 - (Matrix::ones(3, 3) - &a) * 0.02;
//! assert_eq!(m.shape().to_string(), "3×3");
//! assert_eq!(m.to_string(), "0.75·D⁻¹·A + 0.25·(D⁻¹·A)² − 0.02·(J − A)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod dense;
mod display;
mod entries;
mod error;
mod operators;
mod own;
mod replace;
mod size;
pub mod text;
pub(crate) mod walk;

use std::fmt;
use std::sync::Arc;

use crate::graph::Sparse;
pub use crate::kernel::{Mask, Panel, PanelMut};

pub use dense::Dense;
pub use entries::Entries;
pub use error::MatrixError;
pub use own::LinearMap;

/// Rows and columns of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
}

impl Shape {
    /// A shape of `rows` by `columns`.
    pub fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns }
    }

    /// The shape of the transpose.
    pub fn transposed(self) -> Self {
        Self::new(self.columns, self.rows)
    }

    /// The smaller side: no matrix of this shape has a larger rank.
    pub fn smaller_side(self) -> usize {
        self.rows.min(self.columns)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.rows, self.columns)
    }
}

/// A matrix, stated and not formed. Cheap to clone: clones share one node.
#[derive(Clone)]
pub struct Matrix(Arc<Node>);

/// A node of the expression graph.
struct Node {
    shape: Shape,
    kind: Kind,
}

/// What a [`Matrix`] is made of.
#[derive(Clone)]
#[non_exhaustive]
pub enum Kind {
    /// A stored sparse matrix: a pattern of ones, or weighted.
    Sparse {
        /// What it is called.
        name: Arc<str>,
        /// What is stored.
        data: Arc<Sparse>,
    },
    /// A stored dense matrix.
    Dense {
        /// What it is called.
        name: Arc<str>,
        /// What is stored.
        data: Arc<Dense>,
        /// What is dropped of it.
        mask: Option<Mask>,
    },
    /// A diagonal matrix, by its diagonal.
    Diagonal {
        /// What it is called.
        name: Arc<str>,
        /// Its entries.
        values: Entries,
    },
    /// A user-defined linear map.
    Own {
        /// What it is called.
        name: Arc<str>,
        /// What it does.
        map: Arc<dyn LinearMap>,
    },
    /// Ones on the diagonal; square.
    Identity,
    /// Ones everywhere: rank one, never stored.
    Ones,
    /// Zeros everywhere.
    Zero,
    /// The sum of two matrices.
    Sum(Matrix, Matrix),
    /// The first less the second.
    Difference(Matrix, Matrix),
    /// A multiple of a matrix.
    Scaled(f64, Matrix),
    /// The product of two matrices.
    Product(Matrix, Matrix),
    /// A power of a square matrix; the power 0 is the identity.
    Power(Matrix, u32),
    /// Rows and columns exchanged.
    Transpose(Matrix),
    /// Matrices of equal height, side by side.
    Hstack(Arc<[Matrix]>),
    /// Matrices of equal width, one above the other.
    Vstack(Arc<[Matrix]>),
    /// Rows of a matrix, in any order, repeats allowed.
    Rows(Matrix, Arc<[usize]>),
    /// Columns of a matrix, in any order, repeats allowed.
    Columns(Matrix, Arc<[usize]>),
    /// `c₀·I + c₁·T + c₂·T² + …`
    Polynomial {
        /// From c₀ on.
        coefficients: Arc<[f64]>,
        /// T.
        base: Matrix,
    },
}

impl Matrix {
    fn node(shape: Shape, kind: Kind) -> Self {
        Self(Arc::new(Node { shape, kind }))
    }

    /// Rows and columns.
    pub fn shape(&self) -> Shape {
        self.0.shape
    }

    /// What the matrix is made of.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// The address of the node: equal for clones, different for all other matrices that are alive.
    pub fn identity_key(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}
