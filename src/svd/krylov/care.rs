//! Which bases are grown, and how orthonormal they have to be.

use serde::{Deserialize, Serialize};

use super::super::keep::Keep;
use super::super::options::{Method, Options};

/// A residual is off by about as much, relative to σ, as the bases are from orthonormal. So they need to be no better than
/// a small part of the tolerance.
const PART_OF_TOLERANCE: f64 = 1.0 / 300.0;
/// The same of V alone. What is known is a bound, and of a block of MᵀM it is far more than it turns out to be: 60 times on HepTh, with passes over all blocks.
const PART_OF_TOLERANCE_ALONE: f64 = 1.0 / 20.0;
/// The same of columns of V that MᵀM stretches by far less than others. What they have in common with those is stretched as those are, and
/// counts for so much more.
const PART_OF_STRETCHED: f64 = 500.0;
/// How many times as far from orthonormal as rounding leaves it a block may be after two passes.
const TWO_PASSES: f64 = 25.0;
/// The smallest tolerance for which V alone will do: rounding brings back what was taken off a vector of MᵀM in proportion to
/// the squares of singular values.
const LEAST_TOLERANCE: f64 = 1e-3;

/// Which bases grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::svd) enum Bases {
    /// U and V.
    Both,
    /// V, which takes half of the memory and of the sums.
    Right,
}

impl Bases {
    /// Those that will do.
    pub(in crate::svd) fn for_options(options: &Options) -> Self {
        let is_coarse = options.tolerance.is_some_and(|tolerance| tolerance >= LEAST_TOLERANCE);
        let is_cold = options.method != Method::Subspace && options.start.is_none();
        match is_coarse && is_cold && options.keep == Keep::All {
            true => Self::Right,
            false => Self::Both,
        }
    }
}

/// How orthonormal bases have to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Care {
    /// How far from orthonormal a block may be.
    pub(super) orthonormal: f64,
    /// How far from orthonormal a pass leaves a block that was nearly orthonormal before.
    pub(super) rounding: f64,
}

impl Care {
    /// For residuals down to a tolerance.
    pub(super) fn for_tolerance(tolerance: Option<f64>, bases: Bases) -> Self {
        let (part, most, rounding) = match bases {
            Bases::Both => (PART_OF_TOLERANCE, 1e-4, 2e-7),
            // What two blocks have in common. Lengths are off by more, but the triplets are found anew within V in the end.
            Bases::Right => (PART_OF_TOLERANCE_ALONE, 2e-3, 4e-8),
        };
        let care = Self { orthonormal: most, rounding };
        Self { orthonormal: (part * tolerance.unwrap_or(0.0)).clamp(care.finest(), most), ..care }
    }

    /// How far from orthonormal a block is after two passes, at the most.
    fn finest(self) -> f64 {
        TWO_PASSES * self.rounding
    }

    /// The same beside columns that MᵀM makes so many times as long.
    pub(super) fn beside(self, tolerance: Option<f64>, stretch: f64) -> Self {
        let most = (PART_OF_STRETCHED * tolerance.unwrap_or(0.0) / stretch).max(self.finest());
        Self { orthonormal: self.orthonormal.min(most), ..self }
    }
}
