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
//! 3. √θ > (1 + g/10)·σ_k proves that a triplet is missing: its Ritz vector joins the basis. (What is
//!    nearer to σ_k may be a copy of it, found less exactly.)
//! 4. Otherwise a missing value above (1 + g)·σ_k is unlikely. With ε = 1 − ((1 + g/10) / (1 + g))²
//!    it needs θ < (1 − ε)·λ, which a single random vector in n dimensions leaves with a probability of at
//!    most 1.648·√n·exp(−√ε·(2q − 1)) (Kuczyński & Woźniakowski 1992, "Estimating the largest
//!    eigenvalue by the power and Lanczos algorithms with a random start", SIAM J. Matrix Anal.
//!    Appl. 13). The b columns are independent, and the block Krylov space contains the Krylov
//!    space of each: the bound is raised to the power b.

use serde::{Deserialize, Serialize};

use super::options::SvdError;

/// Columns of the random start block. More columns allow hardly fewer steps (the logarithm of √n
/// dominates the bound), and fewer take nearly as long to multiply.
pub(super) const WIDTH: usize = 8;
/// The largest probability that the check overlooks a missing value.
const FAILURE_PROBABILITY: f64 = 1e-3;
/// The gap that is checked by default.
const DEFAULT_GAP: f64 = 0.2;

/// The part of the gap within which values count as copies of σ_k.
const COPY: f64 = 0.1;

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
    /// Refuses gaps that have no meaning.
    pub(super) fn validate(self) -> Result<(), SvdError> {
        match self {
            Self::Gap(gap) if !(gap.is_finite() && gap > 0.0) => Err(SvdError::BadGap { gap }),
            _ => Ok(()),
        }
    }
}

/// Values above this are missing, given the last one found.
pub(super) fn threshold(gap: f64, last: f64) -> f64 {
    (1.0 + COPY * gap) * last
}

/// Lanczos steps that check a gap in a space of `dimension`, and the bound on the probability that
/// they overlook a value.
pub(super) fn steps(gap: f64, dimension: usize) -> (usize, f64) {
    // 1 − x² = (1 − x)·(1 + x) with x = (1 + g/10) / (1 + g): a small gap keeps its digits.
    let epsilon = (1.0 - COPY) * gap * (2.0 + (1.0 + COPY) * gap) / ((1.0 + gap) * (1.0 + gap));
    let prefactor = libm::log(1.648 * (dimension as f64).sqrt());
    let exponent = |steps: usize| prefactor - epsilon.sqrt() * (2 * steps - 1) as f64;
    let enough = libm::log(FAILURE_PROBABILITY) / WIDTH as f64;
    let least = ((prefactor - enough) / epsilon.sqrt() + 1.0) / 2.0;
    let count = (least.ceil() as usize).clamp(1, dimension.max(1));
    (count, libm::exp(WIDTH as f64 * exponent(count)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a bound that is not the one of the paper, and steps that do not reach it.
    #[test]
    fn the_steps_reach_the_probability_and_no_more_are_taken() {
        for dimension in [50, 4_000, 1_000_000] {
            for gap in [1e-3f64, 0.01, 0.1, 0.5, 3.0] {
                let epsilon = 1.0 - ((1.0 + gap / 10.0) / (1.0 + gap)).powi(2);
                let bound = |steps: usize| {
                    let one = 1.648 * (dimension as f64).sqrt() * (-epsilon.sqrt() * (2 * steps - 1) as f64).exp();
                    one.powi(WIDTH as i32)
                };
                let (count, probability) = steps(gap, dimension);
                if count == dimension {
                    continue;
                }
                assert!((probability / bound(count) - 1.0).abs() < 1e-4, "{gap} in {dimension}");
                assert!(bound(count) <= FAILURE_PROBABILITY && bound(count - 1) > FAILURE_PROBABILITY);
            }
        }
    }
}
