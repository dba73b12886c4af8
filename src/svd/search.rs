//! The search for singular triplets that a basis lacks; [`super::completeness`] has the theory.

use super::certificate::{PRODUCT_ROUNDING, rounding_level};
use super::completeness::{Completeness, CompletenessCheck, Effort, WIDTH, count_near, margin};
use super::driver::Driver;
use super::factorization::{Factorization, Kind, Normal, RayleighQuotient, Ritz};
use super::operator::Operator;
use super::options::SvdError;
use super::orthogonalize::{Against, BlockQr, OrthogonalityTarget, block_qr};
use super::stopping::CheckSchedule;
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
    /// bases are reduced to the wanted triplets. If one is missing, its direction joins F, and the images
    /// of random columns with it: they hold further copies of a repeated singular value.
    pub(super) fn check_completeness(
        &mut self,
        session: &mut Session<'_>,
        factorization: &mut dyn Factorization,
        ritz: Ritz,
        wanted: usize,
        worst_residual: f64,
    ) -> Result<Outcome, SvdError> {
        let Completeness::Gap(gap) = self.options.completeness else { return Ok(Outcome::Complete(ritz)) };
        if self.is_whole(factorization) {
            self.completeness = Some(CompletenessCheck::EXHAUSTIVE);
            return Ok(Outcome::Complete(ritz));
        }
        let found = &ritz.values[..wanted.min(ritz.values.len())];
        let values: Vec<f64> = found.iter().copied().take_while(|value| *value > 0.0).collect();
        let (Some(&first), Some(&last), None) = (values.first(), values.last(), &self.options.start) else {
            return Ok(Outcome::Complete(ritz));
        };
        let parts = factorization.parts();
        // A value below the rounding level of σ₁ cannot be told from rounding: the gap is widened accordingly.
        let rounding = rounding_level(first) / last;
        let gap = gap.max((1.0 + gap) * rounding - 1.0);
        let margin = margin(gap, worst_residual, first, last).max(rounding - 1.0);
        let effort = Effort { gap, margin, dimension: parts.residual.panel.total_rows(), width: WIDTH };
        // A value of M above (1 + gap')·σ is one of N above (1 − error)·(1 + gap')·σ, and the last value of N
        // is at most (1 + error)·σ.
        let error = self.surrogate_error;
        let gap_of_matrix = (1.0 + gap) * (1.0 + error) / (1.0 - error) - 1.0;
        let checked = |failure_probability| Some(CompletenessCheck { gap: gap_of_matrix, failure_probability });
        let near = count_near(&values, margin, worst_residual);
        let own = Effort { width: self.sizes.width.saturating_sub(near), ..effort };
        let is_from_one_block = self.draws == 1 && self.searches == 0 && parts.right.retained() == 0;
        let is_exact = PRODUCT_ROUNDING * first <= gap * last;
        if is_from_one_block && is_exact && own.is_enough(self.steps) {
            self.completeness = checked(own.failure_probability(self.steps));
            return Ok(Outcome::Complete(ritz));
        }
        let kind = parts.quotient.kind();
        factorization.shrink(session, &ritz, values.len());
        let (basis, operator) = factorization.extended();
        let steps = effort.steps();
        let search = Search {
            operator,
            found: basis.panels(),
            threshold: (1.0 + margin) * last,
            steps,
            seed: self.options.seed.wrapping_add((self.searches as u64) << 32),
            // Ritz values need no small residuals; what is left of a dominant vector is multiplied by σ₁².
            target: Normal::target(Some(gap)).stretched(Some(gap), (first / last).powi(2)),
        };
        let Missing { vectors, operator_columns } = search.run(session)?;
        self.searches += 1;
        factorization.parts_mut().operator_columns += operator_columns;
        let found = Outcome::Complete(Ritz::of_rotated_bases(kind, &values));
        let Some(vectors) = vectors else {
            self.completeness = checked(effort.failure_probability(steps));
            return Ok(found);
        };
        // Each search can find a block of copies of a repeated value.
        if self.searches > 2 * self.options.rank.div_ceil(WIDTH) {
            return Ok(found);
        }
        // The columns multiplied so far do not count against the limit.
        self.rule.limit = self.sizes.columns.saturating_add(factorization.parts().operator_columns);
        self.schedule = CheckSchedule::default();
        let random = self.draw(session, kind)?;
        let images = factorization.image_of(session, &random)?;
        let joined = session.hstack(&[&vectors, &images])?;
        factorization.append(session, joined)?;
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
    target: OrthogonalityTarget,
}

/// What a search has found.
struct Missing {
    /// Ritz vectors above the threshold, orthogonal to the vectors found before; `None` if there are none.
    vectors: Option<Shard>,
    operator_columns: usize,
}

impl Search {
    fn run(self, session: &mut Session<'_>) -> Result<Missing, SvdError> {
        let Self { operator, found, threshold, steps, seed, target } = self;
        let (rows, known): (usize, usize) = (operator.columns, found.iter().map(Shard::cols).sum());
        let count = found.len();
        let (mut panels, mut columns, mut operator_columns) = (found, known, 0);
        let mut quotient = RayleighQuotient::new(Kind::Normal);
        let random = session.random_normal(rows, WIDTH.min(rows - known), seed, stream::COMPLETENESS)?;
        let against = |panels: &[Shard]| Against::panels(panels.to_vec(), target.loss);
        let mut block = block_qr(session, &against(&panels), random, rows - known, target)?.q;
        for step in 1..=steps {
            let width = block.cols();
            if width == 0 {
                break;
            }
            let images = operator.normal(session, &block)?;
            operator_columns += 2 * width;
            panels.push(block);
            columns += width;
            if step == steps {
                // The next block is not needed, only the projections of the images.
                let products = session.gram_against(&panels, &images)?;
                quotient.push(&products[known * width..columns * width], width);
                break;
            }
            let BlockQr { q, projections, .. } = block_qr(session, &against(&panels), images, rows - columns, target)?;
            quotient.push(&projections[known * width..], width);
            block = q;
        }
        let order = quotient.order();
        let ritz = quotient.ritz(session, order, Some(WIDTH.min(order)))?;
        let above = ritz.values.iter().take_while(|value| **value > threshold).count();
        if above == 0 {
            return Ok(Missing { vectors: None, operator_columns });
        }
        let small: Vec<f32> = ritz.right(above).into_iter().map(|entry| entry as f32).collect();
        let vectors = session.blocks_times_small(&panels[count..].iter().collect::<Vec<_>>(), &small, above)?;
        Ok(Missing { vectors: Some(vectors), operator_columns })
    }
}
