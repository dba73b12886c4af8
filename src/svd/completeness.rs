//! Is a singular triplet missing among those found?
//!
//! Small residuals show that the triplets found are singular triplets, not that they are the
//! largest ones: a block Krylov space holds at most as many copies of a repeated singular value as
//! its start block has columns. Let the columns of V be the k right singular vectors found,
//! P = I − VVᵀ, and λ the largest eigenvalue of P·MᵀM·P. A missing singular value above σ_k is at
//! most √λ, so block Lanczos on P·MᵀM·P looks for it:
//!
//! 1. The start block is random with b = [`WIDTH`] columns, orthogonal to V.
//! 2. After q steps the largest Ritz value is θ ≤ λ.
//! 3. √θ > (1 + m)·σ_k proves that a triplet is missing: its Ritz vector joins the basis. The
//!    margin m is what σ_k itself may lack ([`margin`]).
//! 4. Otherwise a missing value above (1 + g)·σ_k is unlikely. With ε = 1 − ((1 + m) / (1 + g))² it
//!    needs θ < (1 − ε)·λ, which a single random vector in n dimensions leaves with a probability
//!    of at most 1.648·√n·exp(−√ε·(2q − 1)) (Kuczyński & Woźniakowski 1992, "Estimating the largest
//!    eigenvalue by the power and Lanczos algorithms with a random start", SIAM J. Matrix Anal.
//!    Appl. 13). The b columns are independent, and the block Krylov space contains the Krylov
//!    space of each: the bound is raised to the power b.
//!
//! The run that found V is such a search as well, as long as nothing was discarded from its Krylov
//! space of q steps from b random columns. Restricted to that space and to what is orthogonal to V,
//! MᵀM has no eigenvalue above σ_k². Let a missing value have c values found near it, whose
//! singular vectors may have taken its part of the start block. The other b − c directions of the
//! block are independent of those vectors, so the bound of step 4 is taken to the power b − c. A
//! separate search is needed only where c is close to b, as it is for repeated values
//! ([`count_near`]), or q is small.

use serde::{Deserialize, Serialize};

use super::options::SvdError;

/// Columns of the random start block. More columns allow hardly fewer steps (the logarithm of √n
/// dominates the bound), and fewer take nearly as long to multiply.
pub(super) const WIDTH: usize = 8;
/// The largest probability that the check overlooks a missing value.
const FAILURE_PROBABILITY: f64 = 1e-3;
/// The gap that is checked by default.
const DEFAULT_GAP: f64 = 0.2;

/// The largest margin, as a part of the gap.
const LARGEST_MARGIN: f64 = 0.1;
/// Single precision leaves less than this multiple of ε·(σ₁/σ_k)² of a relative error in σ_k.
const VALUE_ROUNDING: f64 = 4.0 * f32::EPSILON as f64;

/// Whether to check that no larger singular value is missing.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Completeness {
    /// No check; the certificate says so.
    Off,
    /// No value above `(1 + gap)·σ_k` is missing, with a probability of at least 0.999. A smaller
    /// gap takes more products, about in proportion to `1/√gap`.
    Gap(f64),
}

impl Default for Completeness {
    fn default() -> Self {
        Self::Gap(DEFAULT_GAP)
    }
}

/// A check that found nothing missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CompletenessCheck {
    /// No singular value above `(1 + gap)·σ_k` is missing, σ_k being the last one found.
    pub gap: f64,
    /// At most this is the probability that the check overlooked one.
    pub failure_probability: f64,
}

impl CompletenessCheck {
    /// All singular values were computed.
    pub(super) const EXHAUSTIVE: Self = Self { gap: 0.0, failure_probability: 0.0 };
}

impl Completeness {
    /// Columns of the basis that a separate search grows, on a side of so many rows.
    pub(super) fn search_columns(self, dimension: usize) -> usize {
        match self {
            Self::Off => 0,
            Self::Gap(gap) => {
                let effort = Effort { gap, margin: LARGEST_MARGIN * gap, dimension, width: WIDTH };
                (WIDTH * (effort.steps() + 1)).min(dimension)
            }
        }
    }

    /// Refuses gaps that have no meaning.
    pub(super) fn validate(self) -> Result<(), SvdError> {
        match self {
            Self::Gap(gap) if !(gap.is_finite() && gap > 0.0) => Err(SvdError::BadGap { gap }),
            _ => Ok(()),
        }
    }
}

/// How much larger than the σ_k found a value has to be, in proportion, to be a missing one and no
/// better approximation of σ_k: the square of the worst residual, or what rounding leaves.
pub(super) fn margin(gap: f64, worst_residual: f64, first: f64, last: f64) -> f64 {
    let rounding = VALUE_ROUNDING * (first / last).powi(2);
    (worst_residual * worst_residual).max(rounding).min(LARGEST_MARGIN * gap)
}

/// The most values that lie within r of any value, in proportion, where r is the worst residual:
/// vectors found to a residual of r may be mixtures of those whose values differ by r or less. All
/// of them, where the residual is infinite.
pub(super) fn count_near(values: &[f64], margin: f64, worst_residual: f64) -> usize {
    let near = (1.0 + worst_residual.max(margin)).powi(2);
    let below = |largest: f64| values.iter().filter(|value| **value <= largest && **value * near >= largest).count();
    values.iter().map(|value| below(*value)).max().unwrap_or(0)
}

/// A search with a random start block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) gap: f64,
    pub(super) margin: f64,
    pub(super) dimension: usize,
    /// Columns of the start block.
    pub(super) width: usize,
}

impl Effort {
    /// √ε of the module's page. 1 − x² = (1 − x)·(1 + x): a small gap keeps its digits.
    fn root_of_epsilon(self) -> f64 {
        let Self { gap, margin, .. } = self;
        ((gap - margin) * (2.0 + gap + margin)).sqrt() / (1.0 + gap)
    }

    /// The bound on the probability that so many steps overlook a value.
    pub(super) fn failure_probability(self, steps: usize) -> f64 {
        let prefactor = libm::log(1.648 * (self.dimension as f64).sqrt());
        let exponent = prefactor - self.root_of_epsilon() * (2 * steps.max(1) - 1) as f64;
        libm::exp(self.width as f64 * exponent).min(1.0)
    }

    /// The fewest steps that are likely enough to find what is missing.
    pub(super) fn steps(self) -> usize {
        let Self { dimension, width, .. } = self;
        let exponent = libm::log(FAILURE_PROBABILITY) / width as f64;
        let needed = (libm::log(1.648 * (dimension as f64).sqrt()) - exponent) / self.root_of_epsilon();
        ((0.5 * (needed + 1.0)).ceil() as usize).clamp(1, dimension.max(1))
    }

    /// Whether so many steps are likely enough to find what is missing.
    pub(super) fn is_enough(self, steps: usize) -> bool {
        self.failure_probability(steps) <= FAILURE_PROBABILITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a bound that is not the one of the paper, and steps that do not reach it.
    #[test]
    fn the_steps_reach_the_probability_and_no_more_are_taken() {
        for dimension in [50, 4_000, 1_000_000] {
            for gap in [1e-3f64, 0.01, 0.1, 0.5, 3.0] {
                let margin = gap / 10.0;
                let effort = Effort { gap, margin, dimension, width: WIDTH };
                let epsilon = 1.0 - ((1.0 + margin) / (1.0 + gap)).powi(2);
                let bound = |steps: usize| {
                    let one = 1.648 * (dimension as f64).sqrt() * (-epsilon.sqrt() * (2 * steps - 1) as f64).exp();
                    one.powi(WIDTH as i32).min(1.0)
                };
                let steps = effort.steps();
                if steps == dimension {
                    continue;
                }
                assert!((effort.failure_probability(steps) / bound(steps) - 1.0).abs() < 1e-4, "{effort:?}");
                assert!(bound(steps) <= FAILURE_PROBABILITY && bound(steps - 1) > FAILURE_PROBABILITY);
            }
        }
    }

    /// Catches copies of a repeated value that are not counted together.
    #[test]
    fn values_near_each_other_are_counted() {
        let values = [5.0, 2.01, 2.0, 1.99, 1.3, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(count_near(&values[..5], 1e-4, 0.01), 3);
        assert_eq!(count_near(&values, 1e-4, 1e-6), 4);
        assert_eq!(count_near(&values, 1e-4, f64::INFINITY), values.len());
        assert_eq!(count_near(&[], 1e-4, 0.01), 0);
    }
}
