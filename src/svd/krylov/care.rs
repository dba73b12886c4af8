//! How orthonormal bases have to be.

/// A residual is off by about as much, relative to σ, as the bases are from orthonormal. So they need to be no better than
/// a small part of the tolerance.
const PART_OF_TOLERANCE: f64 = 1.0 / 300.0;
/// What a block may have in common with the others beyond the first and the last, as a part of the tolerance. It
/// is with vectors that are done, and hardly touches those that are not: a tenfold of this shows in no figure.
const PART_IN_COMMON: f64 = 1.0 / 100.0;
/// The smallest tolerance with which one basis is not made orthonormal to all of itself.
const LEAST_TOLERANCE: f64 = 1e-3;

/// How orthonormal bases have to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Care {
    /// How far from orthonormal a block may be.
    pub(super) orthonormal: f64,
    /// What a block of the basis that is not made orthonormal to all of itself may have in common with it; zero if there
    /// is no such basis.
    pub(super) in_common: f64,
}

impl Care {
    /// How far from orthonormal a block is after two passes, at the most.
    pub(super) const FINEST: f64 = 5e-6;

    /// For residuals down to a tolerance.
    pub(super) fn for_tolerance(tolerance: Option<f64>) -> Self {
        let tolerance = tolerance.filter(|tolerance| *tolerance >= LEAST_TOLERANCE).unwrap_or(0.0);
        Self {
            orthonormal: (PART_OF_TOLERANCE * tolerance).clamp(Self::FINEST, 1e-4),
            in_common: (PART_IN_COMMON * tolerance).min(1e-3),
        }
    }
}
