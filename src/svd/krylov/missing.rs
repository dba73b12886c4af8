//! The search for singular vectors that a basis lacks; [`super::super::completeness`] has the theory.

use super::super::certificate::rounding_level;
use super::super::completeness::{Completeness, CompletenessCheck, Effort, WIDTH, count_near, margin};
use super::super::options::SvdError;
use super::care::{Bases, Care};
use super::check::Checks;
use super::project::{Projected, Rotations};
use super::split::{Split, split};
use super::{Growth, NONE, Next};
use crate::engine::{Session, Shard};
use crate::kernel::random::stream;

/// How a run goes on after the wanted triplets were found.
pub(super) enum Outcome {
    /// None is missing, or there was no search.
    Complete(Rotations),
    /// The next block, with directions of missing triplets in it.
    Incomplete(Next),
}

impl Growth<'_> {
    /// Searches for missing triplets, unless the run itself shows that there are none. For a search the
    /// bases are reduced to the wanted triplets. If one is missing, its direction joins the next
    /// block, and random columns with it: they hold further copies of a repeated singular value.
    pub(super) fn search(
        &mut self,
        session: &mut Session<'_>,
        rotations: Rotations,
        wanted: usize,
        worst_residual: f64,
        next: Next,
    ) -> Result<Outcome, SvdError> {
        let Completeness::Gap(gap) = self.options.completeness else { return Ok(Outcome::Complete(rotations)) };
        if self.is_whole() {
            self.completeness = Some(CompletenessCheck::EXHAUSTIVE);
            return Ok(Outcome::Complete(rotations));
        }
        let count = wanted.min(rotations.singular_values.len());
        let values = &rotations.singular_values[..count];
        let (Some(first), Some(last)) = (values.first(), values.last()) else {
            return Ok(Outcome::Complete(rotations));
        };
        let margin = margin(gap, worst_residual, *first, *last);
        let effort = Effort { gap, margin, dimension: next.block.total_rows(), width: WIDTH };
        // A value of M above (1 + gap')·σ is one of N above (1 − error)·(1 + gap')·σ = (1 + gap)·σ.
        let gap_of_matrix = (gap + self.surrogate_error) / (1.0 - self.surrogate_error);
        let checked = |failure_probability| Some(CompletenessCheck { gap: gap_of_matrix, failure_probability });
        let own =
            Effort { width: self.sizes.width.saturating_sub(count_near(values, margin, worst_residual)), ..effort };
        if self.is_from_one_block() && own.is_enough(self.steps) {
            self.completeness = checked(own.failure_probability(self.steps));
            return Ok(Outcome::Complete(rotations));
        }
        self.reduce(session, &rotations, count);
        let (basis, programs) = match self.bases {
            Bases::Right => (&self.right, [self.matrix.plain, self.matrix.transposed]),
            Bases::Both => (&self.left, [self.matrix.transposed, self.matrix.plain]),
        };
        let steps = effort.steps();
        let search = Search {
            programs,
            found: basis.blocks(),
            threshold: ((1.0 + margin) * last).max(rounding_level(*first)),
            steps,
            seed: self.options.seed.wrapping_add((self.searches as u64) << 32),
            // Ritz values need no small residuals; what is left of a dominant vector is multiplied by σ₁².
            care: Care::for_tolerance(Some(gap), Bases::Right).beside(Some(gap), (first / last).powi(2)),
        };
        let Missing { vectors, operator_columns } = search.run(session)?;
        self.searches += 1;
        self.operator_columns += operator_columns;
        match vectors {
            // Each search can find a block of copies of a repeated value.
            Some(vectors) if self.searches <= 2 * self.options.rank.div_ceil(WIDTH) => {
                Ok(Outcome::Incomplete(self.join(session, vectors, next)?))
            }
            Some(_) => Ok(Outcome::Complete(Rotations::diagonal(self.bases, values))),
            None => {
                self.completeness = checked(effort.failure_probability(steps));
                Ok(Outcome::Complete(Rotations::diagonal(self.bases, values)))
            }
        }
    }

    /// Whether the basis is the whole Krylov space of one random block.
    fn is_from_one_block(&self) -> bool {
        self.drawn == 1 && self.searches == 0 && self.right.best() == 0 && self.options.start.is_none()
    }

    /// The next block, with some vectors and images of random ones as further columns.
    fn join(&mut self, session: &mut Session<'_>, vectors: Shard, next: Next) -> Result<Next, SvdError> {
        // What was done so far does not count against the limit.
        self.limit += self.operator_columns;
        self.checks = Checks::default();
        let random = self.draw(session)?;
        let (basis, program) = match self.bases {
            Bases::Right => (&self.right, self.matrix.transposed),
            Bases::Both => (&self.left, self.matrix.plain),
        };
        let blocks: Vec<Shard> = basis.blocks().iter().chain([&next.block]).cloned().collect();
        let images = self.multiply(session, program, &random)?;
        let joined = session.hstack(&[&vectors, &images])?;
        let known = blocks.iter().map(Shard::cols).sum();
        let most = self.matrix.columns.saturating_sub(known);
        let care = self.careful();
        let errors = vec![care.orthonormal; known];
        let Split { fresh, error, .. } = split(session, &blocks, &errors, NONE, joined, most, care)?;
        let block = session.hstack(&[&next.block, &fresh])?;
        Ok(Next { block, error: next.error.max(error), step: next.step })
    }
}

/// A search by block Lanczos on P·MᵀM·P, where P removes the vectors found so far.
struct Search<'a> {
    /// The programs of M and Mᵀ, in the order that maps the vectors found onto themselves.
    programs: [usize; 2],
    /// Orthonormal vectors: singular vectors found so far.
    found: &'a [Shard],
    /// A Ritz value above the square of this is missing.
    threshold: f64,
    steps: usize,
    seed: u64,
    care: Care,
}

/// What a search has found.
struct Missing {
    /// Ritz vectors above the threshold, orthonormal and orthogonal to the vectors found before;
    /// `None` if there are none.
    vectors: Option<Shard>,
    /// Columns multiplied by M or its transpose.
    operator_columns: usize,
}

impl Search<'_> {
    fn run(self, session: &mut Session<'_>) -> Result<Missing, SvdError> {
        let Self { programs, found, threshold, steps, seed, care } = self;
        let rows = found.first().map_or(0, Shard::total_rows);
        let known: usize = found.iter().map(Shard::cols).sum();
        let (mut blocks, mut columns) = (found.to_vec(), known);
        let mut projected = Projected::new(Bases::Right);
        let random = session.random_normal(rows, WIDTH.min(rows - known), seed, stream::COMPLETENESS)?;
        let mut block =
            split(session, &blocks, &vec![care.orthonormal; columns], 0..0, random, rows - known, care)?.fresh;
        let mut operator_columns = 0;
        for step in 1..=steps {
            let width = block.cols();
            if width == 0 {
                break;
            }
            let images = session.multiply_in_turn(&programs, &block)?;
            operator_columns += 2 * width;
            blocks.push(block);
            columns += width;
            if step == steps {
                // The next block is not needed, only what the images have in common with the others.
                let products = session.gram_against(&blocks, &images)?;
                projected.push(&products[known * width..columns * width], width);
                break;
            }
            let errors = vec![care.orthonormal; columns];
            let Split { fresh, within, .. } = split(session, &blocks, &errors, 0..0, images, rows - columns, care)?;
            projected.push(&within[known * width..], width);
            block = fresh;
        }
        let order = projected.width();
        let rotations = Rotations::shared(session, &mut projected, order, Some(WIDTH.min(order)))?;
        let values = &rotations.singular_values;
        let above = values.iter().take_while(|value| **value > threshold).count();
        if above == 0 {
            return Ok(Missing { vectors: None, operator_columns });
        }
        let small = Rotations::first(&rotations.right, values.len(), above);
        let small: Vec<f32> = small.into_iter().map(|entry| entry as f32).collect();
        let panels: Vec<&Shard> = blocks[found.len()..].iter().collect();
        let vectors = session.blocks_times_small(&panels, &small, above)?;
        Ok(Missing { vectors: Some(vectors), operator_columns })
    }
}
