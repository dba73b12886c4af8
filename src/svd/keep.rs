//! How many triplets are kept, where that is not said by a number.
//!
//! The first triplet is always kept and never counted. In a matrix that was not centred it is the
//! mean: on the matrices of graphs the all-ones term makes its σ tens of times the second, and it
//! would be nearly all of the energy by itself.

use faer::{Mat, concat};

use super::operator::Operator;
use super::options::SvdError;
use super::small::{combine, from_rows};
use super::tuning::NORM_PROBES;
use crate::engine::{Session, Shard};
use crate::kernel::random;

/// Which of the triplets are kept, at most [`Options::rank`](super::Options::rank) of them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Keep {
    /// As many as were asked for.
    #[default]
    All,
    /// As many as it takes to hold this share of ‖M‖², both without the first triplet. ‖M‖ is estimated
    /// from what M makes of a few random columns beyond the triplets found.
    Energy(f64),
    /// Those whose singular value is at least this many times the second.
    Above(f64),
}

/// What a rule came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Kept {
    pub(super) count: usize,
    /// Whether the rule was met; false if all triplets were kept because it was not.
    pub(super) is_met: bool,
    /// The share of the energy that they hold, if that is known.
    pub(super) energy: Option<f64>,
}

impl Keep {
    /// Whether ‖M‖ has to be known.
    pub(super) fn is_by_energy(self) -> bool {
        matches!(self, Keep::Energy(_))
    }

    /// Refuses shares that have no meaning.
    pub(super) fn check(self) -> Result<(), SvdError> {
        match self {
            Keep::Energy(part) | Keep::Above(part) if !(part > 0.0 && part <= 1.0) => Err(SvdError::BadShare { part }),
            _ => Ok(()),
        }
    }

    /// How many of these singular values are kept, given ‖M‖² where that has to be known.
    pub(super) fn count(self, values: &[f64], total: Option<f64>) -> Kept {
        let all = Kept { count: values.len(), is_met: self == Keep::All, energy: None };
        let Some((first, others)) = values.split_first() else { return all };
        match self {
            Keep::All => all,
            Keep::Above(part) => {
                let least = part * others.first().copied().unwrap_or(0.0);
                let above = others.iter().take_while(|value| **value >= least && **value > 0.0).count();
                Kept { count: 1 + above, is_met: above < others.len(), energy: None }
            }
            Keep::Energy(share) => {
                let found: f64 = others.iter().map(|value| value * value).sum();
                let total = total.map_or(found, |total| (total - first * first).max(found));
                let mut held = 0.0;
                let missing = |value: &&f64| {
                    let is_missing = held < share * total;
                    held += if is_missing { *value * *value } else { 0.0 };
                    is_missing
                };
                let count = 1 + others.iter().take_while(missing).count();
                let energy = if total > 0.0 { held / total } else { 1.0 };
                Kept { count, is_met: energy >= share, energy: Some(energy) }
            }
        }
    }
}

/// Estimates ‖M‖² without its first triplet, by Hutchinson's method: images of random columns Ω
/// that are orthogonal to the first right vector. A dominant first triplet would otherwise leave
/// rounding errors of the size of σ₁ in the images, and the estimate would be a difference of large
/// numbers.
pub(super) struct NormProbe {
    /// M·Ω.
    pub(super) images: Shard,
}

impl NormProbe {
    /// Multiplies by [`NORM_PROBES`] columns, given the first right singular vector.
    pub(super) fn new(
        session: &mut Session<'_>,
        operator: &Operator,
        first: &Shard,
        seed: u64,
    ) -> Result<Self, SvdError> {
        let omega = session.random_normal(operator.columns, NORM_PROBES, seed, random::stream::PROBE)?;
        let products = from_rows(&session.cross_gram(first, &omega)?, first.cols(), NORM_PROBES);
        let small = concat![[-products], [Mat::<f64>::identity(NORM_PROBES, NORM_PROBES)]];
        let omega = combine(session, &[first, &omega], small.as_ref())?;
        Ok(Self { images: operator.apply(session, &omega)? })
    }

    /// An estimate of ‖M − UUᵀM‖², for an orthonormal basis U in blocks whose span has the first left
    /// vector.
    pub(super) fn beyond(&self, session: &mut Session<'_>, basis: &[Shard]) -> Result<f64, SvdError> {
        let sums = session.gram_against(basis, &self.images)?;
        let width = self.images.cols();
        let (shared, own) = sums.split_at(sums.len() - width * width);
        let whole: f64 = own.iter().step_by(width + 1).sum();
        let within: f64 = shared.iter().map(|entry| entry * entry).sum();
        Ok((whole - within).max(0.0) / width as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_kept_and_not_counted() {
        let values = [100.0, 2.0, 1.0, 1.0, 0.5];
        let count = |keep: Keep, total| keep.count(&values, total);
        assert_eq!(count(Keep::All, None).count, 5);
        let above = [(1.0, 2, true), (0.5, 4, true), (0.25, 5, false)];
        for (part, kept, is_met) in above {
            assert_eq!(count(Keep::Above(part), None), Kept { count: kept, is_met, energy: None });
        }
        let total = Some(100.0 * 100.0 + 8.0);
        assert_eq!(count(Keep::Energy(0.5), total), Kept { count: 2, is_met: true, energy: Some(0.5) });
        assert_eq!(count(Keep::Energy(0.6), total), Kept { count: 3, is_met: true, energy: Some(0.625) });
        assert_eq!(count(Keep::Energy(0.9), total), Kept { count: 5, is_met: false, energy: Some(6.25 / 8.0) });
    }

    #[test]
    fn a_few_values_or_none() {
        for keep in [Keep::Energy(0.9), Keep::Above(0.5)] {
            assert_eq!(keep.count(&[], Some(0.0)).count, 0);
            assert_eq!(keep.count(&[3.0], Some(9.0)).count, 1);
            assert_eq!(keep.count(&[3.0, 0.0], Some(9.0)).count, 1);
            assert!(keep.check().is_ok());
        }
        assert!([0.0, -1.0, 1.5, f64::NAN].iter().all(|&part| Keep::Energy(part).check().is_err()));
    }
}
