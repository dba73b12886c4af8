//! Every tuned constant of the solvers.
//!
//! Small graphs are ppi, hepth, facebook and ogbl-ddi as `benches/peers` runs them, large ones
//! R-MAT graphs of 2^16 to 2^21 nodes. None was chosen by a score on held-out edges. "Residual" is
//! relative to σ.
//!
//! | constant | value | if it is halved / doubled | where measured |
//! |---|---|---|---|
//! | [`BLOCK_WIDTH`] | 16 columns | not measured | |
//! | [`NARROW_WIDTH`] | 8 columns, for ranks up to 8 | not measured | |
//! | [`RANK_PER_COLUMN`] | 4 triplets for each column of a block | not measured | |
//! | [`DEFAULT_DEPTH`] | 2·rank + 56 columns of a basis without a tolerance | not measured | |
//! | [`BASIS_LIMIT`] | 4·rank + 48 columns of a basis | not measured | |
//! | [`BASIS_LIMIT_SMALL`] | 64 more up to 32,768 rows | not measured | |
//! | [`EXPECTED_RANK`] | 128, where a rule chooses the rank | not measured | |
//! | [`FIRST_BLOCKS`] | 3 blocks that are always orthogonalised against | not measured | |
//! | [`NORMAL_LOSS`] | 1/20 of the tolerance | not measured | |
//! | [`NORMAL_LOSS_LIMITS`] | 1e-6 to 2e-3 | not measured | |
//! | [`BIDIAGONAL_LOSS`] | 1/300 of the tolerance | not measured | |
//! | [`BIDIAGONAL_LOSS_LIMITS`] | 5e-6 to 1e-4 | not measured | |
//! | [`STRETCHED_LOSS`] | 500 tolerances beside columns of equal length | not measured | |
//! | [`NORMAL_TOLERANCE`] | 1e-3, the smallest for MᵀM | not measured | |
//! | [`SURROGATE_ALLOWANCE`] | 2 surrogate errors, at most 1/12 of the tolerance | not measured | |
//! | [`DEFERRED_RESIDUAL`] | 0.5 of the tolerance may stay in directions that a warm start defers | not measured | |
//!
//! The others follow from the arithmetic and are explained where they stand.

/// Columns of a block: a row of 16 is a cache line.
pub(super) const BLOCK_WIDTH: usize = 16;
/// Columns of a block for a few triplets.
pub(super) const NARROW_WIDTH: usize = 8;
/// The most triplets for each column of a block.
pub(super) const RANK_PER_COLUMN: usize = 4;
/// Columns of a basis without a tolerance: this many for each triplet, and this many more.
pub(super) const DEFAULT_DEPTH: (usize, usize) = (2, 56);
/// The most columns of a basis: this many for each triplet, and this many more.
pub(super) const BASIS_LIMIT: (usize, usize) = (4, 48);
/// Further columns where the basis has at most this many rows.
pub(super) const BASIS_LIMIT_SMALL: (usize, usize) = (64, 1 << 15);
/// The rank to expect where a rule chooses it.
pub(super) const EXPECTED_RANK: usize = 128;
/// Blocks beyond the rank that a basis holds at least: one to expand, one to gain by.
pub(super) const LEAST_BLOCKS: usize = 2;

/// Blocks at the front that are as orthonormal as rounding allows: they hold the dominant vectors.
pub(super) const FIRST_BLOCKS: usize = 3;
/// The accepted orthogonality loss of V alone, as a part of the tolerance.
pub(super) const NORMAL_LOSS: f64 = 1.0 / 20.0;
/// The smallest loss that is asked of V alone, and the largest that is accepted.
pub(super) const NORMAL_LOSS_LIMITS: [f64; 2] = [1e-6, 2e-3];
/// The accepted loss of U and V, as a part of the tolerance: residuals are off by about the loss.
pub(super) const BIDIAGONAL_LOSS: f64 = 1.0 / 300.0;
/// The smallest loss that is asked of U and V, and the largest that is accepted.
pub(super) const BIDIAGONAL_LOSS_LIMITS: [f64; 2] = [5e-6, 1e-4];
/// The accepted loss in tolerances, times ‖newest columns of T‖ / ‖T‖.
pub(super) const STRETCHED_LOSS: f64 = 500.0;
/// The loss of columns that a basis was rotated into, at the least.
pub(super) const ROTATION_LOSS: f64 = 5e-6;

/// A column is dropped where Y and the columns before it leave less than this part of its square in
/// the first pass, and in later ones, which a direction that is more than rounding leaves nearly as
/// it was.
pub(super) const DEPENDENT: [f64; 2] = [1e-12, 1e-6];
/// Passes after which a block is taken as it is: three are enough but for contrived blocks.
pub(super) const MOST_PASSES: usize = 6;

/// A squared singular value below this part of the largest one is not taken from TᵀT: its vector
/// would be off by more than f32 precision.
pub(super) const LEAST_SQUARE: f64 = 1e-8;

/// The smallest tolerance for which block Lanczos on MᵀM is used.
pub(super) const NORMAL_TOLERANCE: f64 = 1e-3;
/// The part of the tolerance that is left for residuals when rounding has taken its share.
pub(super) const UNROUNDED: f64 = 0.999;
/// The tolerance that is set aside for a surrogate: this many errors, at most this part of the
/// tolerance.
pub(super) const SURROGATE_ALLOWANCE: (f64, f64) = (2.0, 1.0 / 12.0);
/// A residual that is a rounding error by construction is not measured where it is at most this
/// part of the tolerance.
pub(super) const UNMEASURED_RESIDUAL: f64 = 0.1;

/// Where a check costs as much as a step, one follows for each of this many steps made.
pub(super) const CHECK_INTERVAL: usize = 8;

/// The part of the tolerance that residuals may have in directions that are not multiplied.
pub(super) const DEFERRED_RESIDUAL: f64 = 0.5;
/// Random columns that ‖M‖ is estimated with.
pub(super) const NORM_PROBES: usize = 16;
