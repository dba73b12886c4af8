//! What to ask of the decomposition.

use std::sync::Arc;

use super::completeness::Completeness;
use super::keep::Keep;
use crate::engine::EngineError;
use crate::kernel::factor::FactorError;
use crate::matrix::{Dense, Shape};

/// Iterations when nothing else is said.
pub const DEFAULT_ITERATIONS: usize = 10;
/// Columns beyond the rank when nothing else is said: as many as the rank, but no more than this.
pub const DEFAULT_OVERSAMPLE_LIMIT: usize = 30;

/// How many triplets to find, and how hard to try.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The number of singular triplets, k.
    pub rank: usize,
    /// Which of them are kept: all, or as many as a rule says.
    pub keep: Keep,
    /// Columns beyond the rank; `None` means as many as the rank, at most [`DEFAULT_OVERSAMPLE_LIMIT`].
    pub oversample: Option<usize>,
    /// The most iterations; each multiplies once by M and once by Mᵀ. [`Method::Krylov`] multiplies by
    /// at most as many columns as so many iterations would, in narrower blocks.
    pub iterations: usize,
    /// Stop as soon as every wanted residual, relative to its own singular value, is below this.
    pub tolerance: Option<f64>,
    /// The most columns of a basis that [`Method::Krylov`] keeps on each side, at least the rank and
    /// two blocks; beyond, it goes on from the best of them. `None` means 4·rank + 48, and 64 more
    /// where the short side of the matrix is at most 32,768.
    pub basis: Option<usize>,
    /// Whether to check that no larger singular value is missing. [`Method::Krylov`] without vectors
    /// to start from checks; [`Method::Gram`] computes all values anyway.
    pub completeness: Completeness,
    /// Names the random start.
    pub seed: u64,
    /// Which algorithm.
    pub method: Method,
    /// Approximate singular vectors of the short side to start from in place of random ones, one a
    /// column: right ones, or left ones of a matrix that is wider than high. Columns that are missing
    /// are random.
    pub start: Option<Arc<Dense>>,
}

/// Which algorithm finds the triplets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Method {
    /// The paper's: one block, multiplied again and again.
    Subspace,
    /// Every block is kept, so that fewer columns are multiplied by.
    #[default]
    Krylov,
    /// The eigenvectors of the Gram matrix of the short side: every triplet in one pass, where that
    /// side is short.
    Gram,
    /// Gram where it is less work and its certificate allows, else Krylov.
    Auto,
}

impl Options {
    /// The defaults, for so many triplets.
    pub fn of_rank(rank: usize) -> Self {
        Self {
            rank,
            keep: Keep::default(),
            oversample: None,
            iterations: DEFAULT_ITERATIONS,
            tolerance: None,
            basis: None,
            completeness: Completeness::default(),
            seed: 1,
            method: Method::default(),
            start: None,
        }
    }

    /// What is asked for, in a line; of vectors to start from only that there are some.
    pub(super) fn label(&self) -> String {
        let start = if self.start.is_some() { " from vectors" } else { "" };
        format!("{:?}{start}", Self { start: None, ..self.clone() })
    }

    /// Checks the options against a shape; returns the number of columns to iterate with.
    pub(super) fn block_columns(&self, shape: Shape) -> Result<usize, SvdError> {
        let limit = shape.smaller_side();
        if self.rank == 0 {
            return Err(SvdError::RankZero);
        }
        if self.rank > limit {
            return Err(SvdError::RankTooLarge { rank: self.rank, shape, limit });
        }
        self.keep.check()?;
        self.completeness.validate()?;
        if let Some(tolerance) = self.tolerance.filter(|tolerance| !(tolerance.is_finite() && *tolerance > 0.0)) {
            return Err(SvdError::BadTolerance { tolerance });
        }
        if let Some(given) = self.start.as_ref().map(|start| start.rows()).filter(|&given| given != limit) {
            return Err(SvdError::StartMismatch { given, shape });
        }
        let oversample = self.oversample.unwrap_or(self.rank.min(DEFAULT_OVERSAMPLE_LIMIT));
        Ok(self.rank.saturating_add(oversample).min(limit))
    }
}

/// Why there is no decomposition.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SvdError {
    /// More triplets were asked for than there are.
    #[error("rank {rank} is more than the {limit} singular values of a {shape} matrix: ask for at most {limit}")]
    RankTooLarge {
        /// What was asked for.
        rank: usize,
        /// Its shape.
        shape: Shape,
        /// The most there are.
        limit: usize,
    },
    /// Nothing was asked for.
    #[error("rank 0 leaves nothing to compute: ask for at least 1")]
    RankZero,
    /// The tolerance cannot be met or has no meaning.
    #[error("a tolerance of {tolerance} has no meaning: give a number above 0, such as 0.02")]
    BadTolerance {
        /// What was given.
        tolerance: f64,
    },
    /// The gap of the completeness check has no meaning.
    #[error("a gap of {gap} has no meaning for the completeness check: give a number above 0, such as 0.1")]
    BadGap {
        /// What was given.
        gap: f64,
    },
    /// A share of something that is no share.
    #[error("a share of {part} has no meaning: give a number above 0 and at most 1, such as 0.9")]
    BadShare {
        /// What was given.
        part: f64,
    },
    /// The short side is too long for its Gram matrix.
    #[error("a {shape} matrix is too large for the Gram matrix of its short side: use the method \"krylov\"")]
    NoGram {
        /// Its shape.
        shape: Shape,
    },
    /// There is not enough memory.
    #[error("{shape} with rank {rank} takes about {}, and {} may be used: {}", bytes(*needed), bytes(*limit), way_out(*fits))]
    NoRoom {
        /// Its shape.
        shape: Shape,
        /// What was asked for.
        rank: usize,
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that it may take.
        limit: u64,
        /// The largest rank that fits.
        fits: Option<usize>,
    },
    /// The vectors to start from are those of another shape.
    #[error(
        "the vectors to start from have {given} rows, and the matrix is {shape}: they must have as many as its short side"
    )]
    StartMismatch {
        /// Rows of the vectors.
        given: usize,
        /// Its shape.
        shape: Shape,
    },
    /// The squares of the singular values are beyond 32-bit numbers: scale the matrix by this power of
    /// two.
    #[error("the singular values are out of the range of 32-bit arithmetic: multiply the matrix by 2^{exponent}")]
    OutOfRange {
        /// The power of two.
        exponent: i32,
    },
    /// A small factorisation failed.
    #[error(transparent)]
    Factor(#[from] FactorError),
    /// The workers failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl SvdError {
    /// True when it was asked for something that cannot be, and nothing failed.
    pub fn is_misuse(&self) -> bool {
        !matches!(self, Self::Factor(_) | Self::Engine(_) | Self::StartMismatch { .. })
    }
}

/// Bytes for people.
fn bytes(bytes: u64) -> String {
    match bytes as f64 {
        many if many >= 1e9 => format!("{:.1} GB", many / 1e9),
        some => format!("{:.0} MB", some / 1e6),
    }
}

fn way_out(fits: Option<usize>) -> String {
    match fits {
        Some(rank) => format!("ask for a rank of at most {rank}, or allow more memory"),
        None => "allow more memory, or share the work among more machines".to_owned(),
    }
}
