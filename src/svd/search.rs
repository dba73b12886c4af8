//! The search for singular triplets that a basis lacks; [`super::completeness`] has the theory.

use super::certificate::{PRODUCT_ROUNDING, rounding_level};
use super::completeness::{Completeness, CompletenessCheck, Effort, WIDTH, count_near, margin};
use super::driver::Driver;
use super::factorization::{Factorization, Kind};
use super::operator::Operator;
use super::options::SvdError;
use super::rayleigh::Ritz;
use super::small::combine;
use super::tuning::{NORMAL_LOSS, STRETCHED_LOSS};
use crate::engine::{Session, Shard};
use crate::kernel::random::stream;

/// How a run goes on after the wanted triplets were found.
pub(super) enum Outcome {
    /// None is missing, or there was no search.
    Complete(Ritz),
    /// Directions of missing triplets were added to F.
    Incomplete,
}

impl Driver<'_> {
    /// Searches for missing triplets, unless the run itself shows that there are none. For a search the
    /// bases are reduced to the wanted triplets. If one is missing, its direction joins F, and the
    /// images of random columns with it: they hold further copies of a repeated singular value.
    pub(super) fn check_completeness(
        &mut self,
        session: &mut Session<'_>,
        ritz: Ritz,
        wanted: usize,
        worst_residual: f64,
    ) -> Result<Outcome, SvdError> {
        let Completeness::Gap(gap) = self.options.completeness else { return Ok(Outcome::Complete(ritz)) };
        let factorization = &mut self.state.factorization;
        if factorization.is_whole(&self.operator) {
            self.completeness = Some(CompletenessCheck::EXHAUSTIVE);
            return Ok(Outcome::Complete(ritz));
        }
        let found = &ritz.values[..wanted.min(ritz.values.len())];
        let values: Vec<f64> = found.iter().copied().take_while(|value| *value > 0.0).collect();
        let (Some(&first), Some(&last), None) = (values.first(), values.last(), &self.options.start) else {
            return Ok(Outcome::Complete(ritz));
        };
        // A value below the rounding level of σ₁ cannot be told from rounding: the gap is widened
        // accordingly.
        let rounding = rounding_level(first) / last;
        let gap = gap.max((1.0 + gap) * rounding - 1.0);
        let margin = margin(gap, worst_residual, first, last).max(rounding - 1.0);
        let inner = factorization.inner_operator(&self.operator);
        let effort = Effort { gap, margin, dimension: inner.columns, width: WIDTH };
        // A value of M above (1 + gap')·σ is one of N above (1 − error)·(1 + gap')·σ, and the last value of
        // N is at most (1 + error)·σ.
        let error = self.surrogate_error;
        let gap_of_matrix = (1.0 + gap) * (1.0 + error) / (1.0 - error) - 1.0;
        let checked = |failure_probability| Some(CompletenessCheck { gap: gap_of_matrix, failure_probability });
        let near = count_near(&values, margin, worst_residual);
        let own = Effort { width: self.sizes.width.saturating_sub(near), ..effort };
        let is_from_one_block = self.state.draws == 1 && self.state.searches == 0 && !factorization.is_restarted;
        let is_exact = PRODUCT_ROUNDING * first <= gap * last;
        if is_from_one_block && is_exact && own.is_enough(self.state.steps) {
            self.completeness = checked(own.failure_probability(self.state.steps));
            return Ok(Outcome::Complete(ritz));
        }
        factorization.shrink(session, &ritz, values.len());
        let found = Outcome::Complete(Ritz::of_rotated_bases(factorization.kind(), &values));
        let search = Search {
            operator: inner,
            found: factorization.extended().panels(),
            threshold: (1.0 + margin) * last,
            steps: effort.steps(),
            seed: self.options.seed.wrapping_add((self.state.searches as u64) << 32),
            // What is left of a dominant vector is multiplied by σ₁².
            tolerance: gap * (STRETCHED_LOSS / NORMAL_LOSS / (first / last).powi(2)).min(1.0),
        };
        let steps = search.steps;
        let missing = search.run(session)?;
        self.state.searches += 1;
        let Some(vectors) = missing else {
            self.completeness = checked(effort.failure_probability(steps));
            return Ok(found);
        };
        // Each search can find a block of copies of a repeated value.
        if self.state.searches > 2 * self.options.rank.div_ceil(WIDTH) {
            return Ok(found);
        }
        // The columns multiplied so far do not count against the limit.
        self.state.limit = self.sizes.columns as f64 + self.operator.count().get();
        self.state.next_check = 0;
        let random = self.random_block(session)?;
        let joined = session.hstack(&[&vectors, &random])?;
        self.state.factorization.append(session, &self.operator, joined)?;
        Ok(Outcome::Incomplete)
    }
}

/// A search by block Lanczos on P·MᵀM·P, where P removes the vectors found so far.
struct Search {
    /// M, or Mᵀ where the vectors found are left ones.
    operator: Operator,
    /// Singular vectors found so far.
    found: Vec<Shard>,
    /// A larger Ritz value is that of a missing triplet.
    threshold: f64,
    steps: usize,
    seed: u64,
    /// What the orthogonality of the basis follows from: Ritz values need no small residuals.
    tolerance: f64,
}

impl Search {
    /// Ritz vectors above the threshold, orthogonal to the vectors found before; `None` if there are
    /// none.
    fn run(self, session: &mut Session<'_>) -> Result<Option<Shard>, SvdError> {
        let Self { operator, found, threshold, steps, seed, tolerance } = self;
        let known: usize = found.iter().map(Shard::cols).sum();
        let width = WIDTH.min(operator.columns - known);
        let random = session.random_normal(operator.columns, width, seed, stream::COMPLETENESS)?;
        let mut factorization = Factorization::new(Kind::Normal, Some(tolerance), width).orthogonal_to(found);
        factorization.append(session, &operator, random)?;
        for _ in 0..steps {
            if factorization.next() == 0 {
                break;
            }
            factorization.expand(session, &operator)?;
        }
        let ritz = factorization.ritz(session, Some(WIDTH))?;
        let above = ritz.values.iter().take_while(|value| **value > threshold).count();
        if above == 0 {
            return Ok(None);
        }
        let panels = factorization.right.panels();
        combine(session, &panels.iter().collect::<Vec<_>>(), ritz.right.subcols(0, above)).map(Some)
    }
}
