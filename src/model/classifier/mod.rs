//! Node classification (NC): a linear classifier over the neighbourhoods of nodes, in closed form.
//!
//! `M = [X, ÂX, Â²X, …, Â^L X]` ([`Design`]), and `W* = V S⁺ Uᵀ Y` with `U S Vᵀ ≈ M` is the
//! least-norm solution of `M·W ≈ Y` ([`fit`]). [`score`] multiplies M by it, on the graph it was
//! fitted on or on another.

mod design;
mod fit;
mod score;

pub use design::{Design, Labels};
pub use fit::{Examples, Fitted, fit, needs_entries, rank_of};
pub use score::{Scoring, probabilities, score};

use crate::engine::EngineError;
use crate::matrix::MatrixError;
use crate::model::propagation::PropagationError;
use crate::svd::{self, SvdError};

/// The design matrix, and how it is decomposed.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// L, the number of propagation steps.
    pub layers: usize,
    /// Whether known labels of neighbours are part of M.
    pub label_reuse: bool,
    /// Which rows are decomposed.
    pub rows: Rows,
    /// How many singular triplets to keep, cut to what the matrix has; `None` means 100, and 24
    /// less than the rows where those are few.
    pub rank: Option<usize>,
    /// How to decompose; its rank is set by the above.
    pub svd: svd::Options,
    /// What W* is to give for the class of a node, and for every other class.
    pub targets: Targets,
    /// Singular values below this many times the largest count as zero.
    pub cut: f64,
    /// Add a copy of M whose label columns are zero.
    pub label_dropout: bool,
    /// Copies of M with entries zeroed at random and the others scaled up to make up for it.
    pub dropout_copies: usize,
    /// The fraction that is zeroed.
    pub dropout_rate: f64,
}

/// Which rows of M are decomposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rows {
    /// Those of nodes with a label to learn from: rows of M before the SVD.
    #[default]
    Labelled,
    /// All of them: rows of U after it.
    All,
}

/// The targets of the regression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Targets {
    /// For the class of a node.
    pub hit: f32,
    /// For every other class.
    pub miss: f32,
}

/// Why a classifier could not be fitted or applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClassifierError {
    /// No node has a label.
    #[error("no node has a label to learn from")]
    NoLabels,
    /// Dropout needs a stored matrix, and this one is too large to store.
    #[error(
        "M has {rows} × {columns} entries, too many to form and drop some of: take fewer layers or components, or no dropout"
    )]
    TooLargeToDrop {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// The weights were fitted to another matrix.
    #[error("the weights are those of a matrix of {expected} columns, and this one has {found}")]
    OtherColumns {
        /// Columns of this one.
        found: usize,
        /// Columns of the other.
        expected: usize,
    },
    /// The graph cannot be propagated over.
    #[error(transparent)]
    Propagation(#[from] PropagationError),
    /// The matrix cannot be stated.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The decomposition failed.
    #[error(transparent)]
    Svd(#[from] SvdError),
    /// The workers failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
